"""Does something again and again beside an open memory, on a thread of its own."""

from __future__ import annotations

import logging
import random
import threading
import weakref
from collections.abc import Callable
from typing import Generic, TypeVar

from bearinmind.errors import MindError
from bearinmind.work.worker import Wakeup

_LONGEST_PAUSE = 900.0  # seconds between two attempts, however long a server has been away
_JITTER = 0.1  # up to this share is added, lest many processes come at once

_log = logging.getLogger(__name__)
Open = TypeVar("Open")


class Rounds(Generic[Open]):
    """Calls a function every so many seconds with what is open, until that is closed.

    The function is also given whether it is to stop, and says whether it did anything. After one
    that failed the next comes later.
    """

    def __init__(
        self,
        opened: Open,
        do: Callable[[Open, Callable[[], bool]], bool],
        *,
        name: str,
        every: float,
        at_once: bool = True,
        patience: float | None = None,
    ) -> None:
        """Start the thread; closing waits `patience` seconds for a round, or for its end."""
        # The thread must not keep alive what nobody else uses any more.
        self._opened = weakref.ref(opened)
        self._do = do
        self._name = name
        self._every = every
        self._at_once = at_once
        self._patience = patience
        # A finalizer may run anywhere, also where an event's lock is held.
        self._wakeup = Wakeup()
        self._stopping = False
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name=f"bearinmind-{name}", daemon=True)
        self._thread.start()
        weakref.finalize(opened, self._stop)

    def close(self) -> None:
        """Stop it, and wait for a round that runs."""
        self._stop()
        self._thread.join(self._patience)

    def _stop(self) -> None:
        self._stopping = True
        self._wakeup.set()

    def _run(self) -> None:
        if not self._at_once:
            self._wakeup.wait(self._every)
        while not self._stopping:
            self._try()
            # Seconds until the next round; they double with every failure.
            pause = min(self._every * 2.0 ** min(self._failures, 16), _LONGEST_PAUSE)
            jitter = 1.0 + _JITTER * random.random()  # noqa: S311  no secret depends on it
            self._wakeup.wait(max(pause, self._every) * jitter)

    def _try(self) -> None:
        """Do it once; what fails is tried again."""
        opened = self._opened()
        if opened is None:
            self._stopping = True
            return
        try:
            done = self._do(opened, lambda: self._stopping)
        except MindError as exc:
            why = exc.message
        except Exception as exc:  # noqa: BLE001  such as a store that was closed under a long round
            why = type(exc).__name__
        else:
            self._failures = 0 if done else self._failures  # a skipped round tells nothing
            return
        self._failures += 1
        if not self._stopping:
            action = f"{self._name}_postponed"
            _log.warning("no %s this time: %s", self._name, why, extra={"action": action})
