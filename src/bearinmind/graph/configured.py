"""The extractor of a process: made once, when it is first asked for."""

from __future__ import annotations

import threading
from collections.abc import Callable

from bearinmind.protocols import Extractor


class ConfiguredExtractor:
    """Nothing is made, and no model loaded, before it is asked for.

    `choose` makes the extractor, None when the graph is not to be built.
    """

    def __init__(self, choose: Callable[[], Extractor | None]) -> None:
        self._choose = choose
        self._lock = threading.Lock()
        self._chosen: Extractor | None = None
        self._has_chosen = False

    def configured(self) -> Extractor | None:
        """The extractor of the settings; None when there is to be none.

        Raises:
            MindError: it cannot be made, such as for want of an address.
        """
        with self._lock:
            if not self._has_chosen:
                self._chosen = self._choose()
                self._has_chosen = True
            return self._chosen

    def close(self) -> None:
        """Release the model or the connections."""
        with self._lock:
            chosen, self._chosen, self._has_chosen = self._chosen, None, False
        if chosen is not None:
            chosen.close()
