"""Syncing in the background: on a thread, every so often, by one process at a time.

Every process that stays with a memory has such a thread. Before each round it takes a lock beside
the store, which is free again the moment its holder dies; whoever does not get it leaves the round
to the other.
"""

from __future__ import annotations

import logging
import random
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from bearinmind.app import Mind
from bearinmind.errors import MindError, StoreReadOnly
from bearinmind.work.bell import Bell
from bearinmind.work.post import Post

_LONGEST_PAUSE = 900.0  # seconds between two attempts, however long a server has been away
_LONGEST_STOP = 5.0  # seconds that closing waits for a round; one that is cut off is repeated
_JITTER = 0.1  # up to this share is added, lest many replicas come at once
_log = logging.getLogger(__name__)


def lock_of(store: Path) -> Post:
    """The lock of the store whose things lie beside a path: who has it may sync."""
    place = store.resolve()
    return Post(place.with_name(f"{place.name}.sync"))


class Keeping:
    """Keeps a memory in step with its server, as long as it is open and has one."""

    def __init__(self, app: Mind) -> None:
        # The thread must not keep alive what nobody else uses any more.
        self._app = weakref.ref(app)
        self._every = app.settings.sync_seconds
        self._lock = lock_of(app.settings.beside)
        self._bell = Bell()
        self._stopping = False
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="bearinmind-sync", daemon=True)
        self._thread.start()
        weakref.finalize(app, self._stop)

    def close(self) -> None:
        """Stop it, and wait a little until it has."""
        self._stop()
        self._thread.join(_LONGEST_STOP)

    def _stop(self) -> None:
        self._stopping = True
        self._bell.ring()

    def _run(self) -> None:
        while not self._stopping:
            self._look()
            self._bell.wait(self._pause())

    def _look(self) -> None:
        """Sync, if there is a server and nobody else does; what goes wrong is tried again."""
        app = self._app()
        if app is None:
            self._stopping = True
            return
        try:
            if app.sync.peer() is not None:
                self._round(app)
        except MindError as exc:
            self._failed(exc.message)
        except Exception as exc:  # noqa: BLE001  such as a store that was closed under a long round
            self._failed(type(exc).__name__)

    def _round(self, app: Mind) -> None:
        with held(self._lock) as taken:
            if not taken:
                return
            # Only whoever has a server needs this; httpx takes long to load.
            from bearinmind.surfaces.syncing.connecting import server_of  # noqa: PLC0415

            with server_of(app) as server:
                report = app.sync.run(server)
        if report.error is None:
            self._failures = 0
        else:
            self._failed(report.error.message)

    def _failed(self, why: str) -> None:
        self._failures += 1
        if not self._stopping:
            _log.warning("not synced: %s", why, extra={"action": "sync_postponed"})

    def _pause(self) -> float:
        """Seconds until the next look: more of them the longer nothing has come of it."""
        pause = min(self._every * 2.0 ** min(self._failures, 16), _LONGEST_PAUSE)
        pause = max(pause, self._every)
        return pause * (1.0 + _JITTER * random.random())  # noqa: S311  no secret depends on it


def keep(app: Mind) -> Keeping | None:
    """Begin to keep a memory in step; None when that is turned off."""
    return Keeping(app) if app.settings.sync_seconds else None


@contextmanager
def in_step(app: Mind) -> Iterator[None]:
    """Keep a memory in step for a while."""
    kept = keep(app)
    try:
        yield
    finally:
        if kept is not None:
            kept.close()


@contextmanager
def held(lock: Post) -> Iterator[bool]:
    """Have a lock, if nobody else has it.

    Raises:
        StoreReadOnly: its file cannot be made.
    """
    try:
        taken = lock.take()
    except OSError as exc:
        raise StoreReadOnly(f"{str(lock.path)!r} cannot be written: {exc.strerror}") from exc
    try:
        yield taken
    finally:
        if taken:
            lock.leave()
