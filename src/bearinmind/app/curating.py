"""Curation in the background, for whoever asked for it: it fills the inbox, and changes nothing."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

from bearinmind.errors import MindError

if TYPE_CHECKING:
    from bearinmind.app.mind import Mind

_log = logging.getLogger(__name__)
_OVERLAP = timedelta(minutes=10)  # clocks differ; what is seen twice is proposed once


class Curating:
    """Looks every so often at what is new, on a thread of its own, until it is closed."""

    def __init__(
        self, app: Mind, seconds: float, after_look: Callable[[], None] = lambda: None
    ) -> None:
        self._app = app
        self._seconds = seconds
        self._after_look = after_look
        self._closing = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bearinmind-curate", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """End it; a look that has begun is finished first."""
        self._closing.set()
        self._thread.join()

    def _run(self) -> None:
        since: datetime | None = None  # first at everything: who knows what was before
        while not self._closing.wait(self._seconds):
            began = datetime.now(UTC)
            for user in self._users():
                if self._closing.is_set():
                    return
                self._look(user, since)
            since = began - _OVERLAP
            self._after_look()

    def _users(self) -> list[str]:
        """Whose memories are in the store, as far as it knows."""
        try:
            return sorted({self._app.scope.user, *(each.name for each in self._app.users())})
        except MindError as exc:
            _log.warning("curation could not ask who there is: %s", exc.code)
            return []

    def _look(self, user: str, since: datetime | None) -> None:
        try:
            self._app.for_user(user).curate(propose=True, since=since)
        except MindError as exc:  # a message may name what is stored
            _log.warning("curation failed: %s", exc.code)


def begin(app: Mind) -> Curating | None:
    """Begin to look, if the settings say so."""
    if app.settings.curate == "off":
        return None
    return Curating(app, app.settings.curate_hours * 3600)
