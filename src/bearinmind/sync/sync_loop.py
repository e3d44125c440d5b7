"""Syncing in the background: on a thread, every so often, by one process at a time.

Every process that keeps a store open has such a thread. Before each round it takes a lock beside
the store, which the system frees when its holder dies; without the lock it skips the round.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Generic, Protocol, TypeVar

from bearinmind.errors import MindError, StoreReadOnly
from bearinmind.sync.model import SyncReport

_LONGEST_PAUSE = 900.0  # seconds between two attempts, however long a server has been away
_LONGEST_STOP = 5.0  # seconds that closing waits for a round; one that is cut off is repeated
_JITTER = 0.1  # up to this share is added, lest many replicas come at once
_log = logging.getLogger(__name__)


Memories = TypeVar("Memories")


class Lock(Protocol):
    """A lock on a file beside a store."""

    path: Path

    def acquire(self) -> bool:
        """Take it, unless another process has it."""

    def release(self) -> None:
        """Let another process take it."""


class SyncLoop(Generic[Memories]):
    """Syncs memories every so many seconds, as long as they are open."""

    def __init__(
        self,
        memories: Memories,
        *,
        every: float,
        sync_once: Callable[[Memories], SyncReport | None],
    ) -> None:
        # The thread must not keep alive what nobody else uses any more.
        self._memories = weakref.ref(memories)
        self._every = every
        self._sync_once = sync_once
        # A finalizer may run anywhere, also where an event's lock is held: a queue has none.
        self._wakeups: queue.SimpleQueue[None] = queue.SimpleQueue()
        self._stopping = False
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="bearinmind-sync", daemon=True)
        self._thread.start()
        weakref.finalize(memories, self._stop)

    def close(self) -> None:
        """Stop it, and wait a few seconds for a round that runs."""
        self._stop()
        self._thread.join(_LONGEST_STOP)

    def _stop(self) -> None:
        self._stopping = True
        self._wakeups.put(None)

    def _run(self) -> None:
        while not self._stopping:
            self._try()
            try:
                self._wakeups.get(timeout=self._pause())
            except queue.Empty:
                continue

    def _try(self) -> None:
        """Sync once; what fails is tried again."""
        memories = self._memories()
        if memories is None:
            self._stopping = True
            return
        try:
            report = self._sync_once(memories)
        except MindError as exc:
            self._failed(exc.message)
        except Exception as exc:  # noqa: BLE001  such as a store that was closed under a long round
            self._failed(type(exc).__name__)
        else:
            if report is not None and report.error is not None:
                self._failed(report.error.message)
            elif report is not None:
                self._failures = 0

    def _failed(self, why: str) -> None:
        self._failures += 1
        if not self._stopping:
            _log.warning("not synced: %s", why, extra={"action": "sync_postponed"})

    def _pause(self) -> float:
        """Seconds until the next round; they double with every failure."""
        pause = min(self._every * 2.0 ** min(self._failures, 16), _LONGEST_PAUSE)
        pause = max(pause, self._every)
        return pause * (1.0 + _JITTER * random.random())  # noqa: S311  no secret depends on it


@contextmanager
def held(lock: Lock) -> Iterator[bool]:
    """Take a lock, unless another process has it, and leave it at the end; whether it was taken."""
    try:
        taken = lock.acquire()
    except OSError as exc:
        raise StoreReadOnly(f"{str(lock.path)!r} cannot be written: {exc.strerror}") from exc
    try:
        yield taken
    finally:
        if taken:
            lock.release()
