"""Background work in this process: on a thread, or at once for whoever waits."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Mapping
from datetime import datetime

from bearinmind.errors import MindError
from bearinmind.protocols import Work
from bearinmind.work.status import WorkDone
from bearinmind.work.worker import SOON, Handler, Progress, Worker

_LONGEST_STOP = 5.0  # seconds that closing waits for the jobs in hand; a server may take longer
_log = logging.getLogger(__name__)


class Background:
    """Sees to it that what was stored is worked on.

    When `automatic`, the first `nudge` starts a thread that stays until `close`. Whatever is not
    done by then stays in the queue.
    """

    def __init__(
        self,
        work: Work,
        handlers: Mapping[str, Handler],
        clock: Callable[[], datetime],
        *,
        automatic: bool,
    ) -> None:
        self._work = work
        self._handlers = handlers
        self._clock = clock
        self._automatic = automatic
        self._lock = threading.Lock()
        self._thread: _Thread | None = None

    def worker(self, *kinds: str) -> Worker:
        """A worker for this store, perhaps for some kinds alone; as it begins, they get ready."""
        handlers = {kind: x for kind, x in self._handlers.items() if not kinds or kind in kinds}
        return Worker(self._work, handlers, clock=self._clock)

    def nudge(self) -> None:
        """Something was stored: see to it soon."""
        with self._lock:
            if not self._automatic:
                return
            if self._thread is None:
                self._thread = _Thread(self.worker())
                # A program that ends without closing stops it too: a thread cut off in the middle
                # of a model's work may take the process down with it.
                weakref.finalize(self, self._thread.close)
            self._thread.worker.wake()

    def once(self, progress: Progress | None = None) -> WorkDone:
        """Do here and now what is due."""
        return self.worker().once(progress)

    def finish(
        self,
        progress: Progress | None = None,
        *,
        timeout: float | None = None,
        patience: float = SOON,
    ) -> WorkDone:
        """Work here and now until nothing waits, as `Worker.finish` does."""
        return self.worker().finish(progress, timeout=timeout, patience=patience)

    def close(self) -> None:
        """Stop the thread after the jobs in hand."""
        with self._lock:
            thread, self._thread = self._thread, None
            self._automatic = False
        if thread is not None:
            thread.close()


class _Thread:
    """A worker that stays, on a thread of its own."""

    def __init__(self, worker: Worker) -> None:
        self.worker = worker
        self._thread = threading.Thread(target=self._run, name="bearinmind-worker", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop it, and wait until it has."""
        self.worker.stop()
        self._thread.join(_LONGEST_STOP)

    def _run(self) -> None:
        try:
            self.worker.watch()
        except MindError as exc:
            _log.warning("background work ended: %s", exc.message, extra={"action": "work_ended"})
