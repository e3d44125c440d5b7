"""A replica: memories on this machine that are kept the same as those on a server.

A write does not wait for the server. What was changed here is pending until the server took it;
what was changed elsewhere is merged here, where the keys are. Every step can be repeated: a crash,
a lost answer or a second process that does the same costs time and nothing else.
"""

from __future__ import annotations

import logging
import queue
import random
import threading
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from bearinmind.changes import Peer, Subject, SubjectKind
from bearinmind.errors import (
    FeedRestarted,
    InvalidAnswer,
    InvalidChange,
    MindError,
    PeerNotFound,
    StoreReadOnly,
)
from bearinmind.protocols import Store
from bearinmind.sync.model import (
    Arrived,
    Pulled,
    Sealing,
    SyncReport,
    SyncServer,
    error_text,
    vectors_by_id,
)
from bearinmind.sync.pull import Pull
from bearinmind.sync.push import Push, resend_everything
from bearinmind.types import Scope

PAGE = 200  # changes of one request


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """Syncs one user's memories with a server."""

    store: Store
    scope: Scope
    server: SyncServer
    sealing: Sealing
    clock: Callable[[], datetime]
    advance: Callable[[int], None] = lambda _: None  #: called with how many changes are done
    arrived: Callable[[Sequence[Subject]], None] = lambda _: None  #: called with what was pulled
    #: What this release knows of: a pull stops before anything else, and loses nothing.
    kinds: frozenset[SubjectKind] = frozenset(SubjectKind)

    def round(self) -> SyncReport:
        """Pull and push; once more for what somebody else had changed meanwhile.

        Neither waits for the other's success: what failed is in the report, and kept for
        `sync status`.
        """
        report = SyncReport()
        self._pull(report)
        if self._push(report):
            self._pull(report)
            self._push(report)
        return report

    # ---- pulling -------------------------------------------------------------------------------

    def _pull(self, report: SyncReport) -> None:
        try:
            self._take_all(report)
        except MindError as error:
            report.pull_error = error
            self._keep(pull_error=error_text(error))
        else:
            report.pull_error = None
            self._keep(pull_error=None, pulled_at=self.clock())

    def _take_all(self, report: SyncReport) -> None:
        pull = self._new_pull(report)
        after = self._peer().cursor
        while True:
            page = self._page(after)
            readable = [*self._readable(page.changes)]
            pull.take(readable)
            self.advance(len(readable))
            self.arrived([change.subject for change in readable])
            space = self.store.active_space() if page.vectors else None
            if space is not None:  # what the server has embedded need not be embedded here
                self.store.carry_vectors(self.scope, space, vectors_by_id(page.vectors))
            if len(readable) < len(page.changes):
                self._keep_cursor(readable[-1].number if readable else None, pull)
                kind = page.changes[len(readable)].subject.kind
                raise InvalidChange(
                    f"the server sent a {kind}, which this release does not know",
                    hint="Upgrade Bear in Mind on this machine; what comes behind is pulled then.",
                )
            after = page.cursor
            if not page.more:
                break
            self._keep_cursor(after, pull)
        pull.finish()
        self._keep_cursor(after, pull)

    def _page(self, after: int) -> Pulled:
        """The next page; from the beginning, when the server numbers its changes anew."""
        peer = self._peer()
        space = self.store.active_space()
        page = self.server.pull(peer.epoch, after, PAGE, space.key if space else None)
        if page.more and not page.changes:
            raise InvalidAnswer("the server announces more changes, and sends none")
        if page.epoch != peer.epoch:
            if peer.epoch:  # the server may have lost something: everything is sent again
                resend_everything(self.store, self.scope, self.clock())
            self._keep(epoch=page.epoch, cursor=0)
        return page

    def _readable(self, changes: tuple[Arrived, ...]) -> Iterator[Arrived]:
        """The changes up to the first one that this release does not know."""
        for change in changes:
            if change.subject.kind not in self.kinds:
                return
            yield change

    def _keep_cursor(self, cursor: int | None, pull: Pull) -> None:
        """Keep how far everything was taken: never beyond a deferred change."""
        waiting = [change.number - 1 for change in pull.deferred]
        if cursor is not None:
            self._keep(cursor=min([cursor, *waiting]))

    # ---- pushing -------------------------------------------------------------------------------

    def _push(self, report: SyncReport) -> bool:
        """Send what is pending; whether a second pull and push may settle more."""
        push = Push(
            store=self.store,
            scope=self.scope,
            server=self.server,
            clock=self.clock,
            report=report,
            advance=self.advance,
        )
        try:
            push.send(self._peer().epoch or self._page(0).epoch)
            self._look_again(push.stale, report)
        except MindError as error:
            report.push_error = error
            self._keep(push_error=error_text(error))
            return isinstance(error, FeedRestarted)
        report.stale += len(push.stale)
        report.push_error = None
        self._keep(push_error=None, pushed_at=self.clock())
        return bool(push.stale)

    def _look_again(self, numbers: list[int], report: SyncReport) -> None:
        """Take changes that a pull passed over because a key was missing."""
        peer = self._peer()
        pull = self._new_pull(report)
        for number in numbers:
            if 0 < number <= peer.cursor:
                page = self.server.pull(peer.epoch, number - 1, 1)
                if page.epoch == peer.epoch:
                    pull.take([*self._readable(page.changes)])

    # ---- what both need ------------------------------------------------------------------------

    def _new_pull(self, report: SyncReport) -> Pull:
        return Pull(
            store=self.store,
            scope=self.scope,
            sealing=self.sealing,
            clock=self.clock,
            report=report,
        )

    def _peer(self) -> Peer:
        peer = self.store.peer(self.scope)
        if peer is None:
            raise PeerNotFound
        return peer

    def _keep(self, **changed: Any) -> None:  # noqa: ANN401  (fields of `Peer`)
        peer = self._peer()
        kept = replace(peer, **changed)
        if kept != peer:  # a round in which nothing happened writes nothing but when it was
            self.store.keep_peer(self.scope, kept)


# ---- rounds in the background --------------------------------------------------------------------


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
    """Syncs memories every so many seconds, as long as they are open.

    Every process that keeps a store open has such a thread. Before each round it takes a lock
    beside the store, which the system frees when its holder dies; without the lock it skips the
    round.
    """

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
                # Seconds until the next round; they double with every failure.
                pause = min(self._every * 2.0 ** min(self._failures, 16), _LONGEST_PAUSE)
                jitter = 1.0 + _JITTER * random.random()  # noqa: S311  no secret depends on it
                self._wakeups.get(timeout=max(pause, self._every) * jitter)
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
