"""A replica: memories on this machine that are kept the same as those on a server.

A write does not wait for the server. What was changed here is pending until the server took it;
what was changed elsewhere is merged here, where the keys are, by `reconcile`. Every step can be
repeated: a crash, a lost answer or a second process that does the same costs time and nothing else.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any

from bearinmind import errors
from bearinmind.changes import (
    MOST_CONFLICTS,
    Change,
    ConflictState,
    LinkState,
    Peer,
    Refused,
    ShareState,
    Stale,
    Subject,
    SubjectKind,
    SyncConflict,
    Taken,
    Verdict,
    conflict_subject,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.models.outbound_http import batches
from bearinmind.outdates.verdicts import REPLACING
from bearinmind.protocols import Gone, History, Received, Settled, Store, SubjectState, every_memory
from bearinmind.sync.model import (
    PAGE_BYTES,
    Arrived,
    Operation,
    Pulled,
    Sealing,
    Server,
    error_text,
    size_of,
    vectors_by_id,
)
from bearinmind.sync.reconcile import (
    Reconciled,
    Reconciliation,
    disagreements,
    drop_link,
    drop_one_in_the_way,
)
from bearinmind.types import Filter, Link, LinkKind, Memory, MemoryId, Scope, State

PAGE = 200  # changes of one request
BATCH = 100  # changes that are sent at a time, at most
_RESENT_AT_ONCE = 100
_TRIES = 5  # against writers of this store that are faster: each try is over in milliseconds


@dataclass(slots=True, kw_only=True)
class SyncReport:
    """What a round of syncing did."""

    pulled: int = 0  #: changes of others that were taken
    pushed: int = 0  #: own changes that the server took
    merged: int = 0  #: of those pulled: what was changed here as well
    conflicts: int = 0  #: of those merged: where both sides contradicted each other
    stale: int = 0  #: own changes to a thing that somebody else changed first: they are merged
    refused: int = 0  #: own changes that the server does not take; `sync status` says why
    waiting: int = 0  #: what cannot be merged before its key is here
    joined: int = 0  #: memories that say the same and were made on two machines
    copied: int = 0  #: memories that others share, which are new here or changed
    dropped: int = 0  #: memories that others do not share any more: they are gone from here
    pull_error: errors.MindError | None = None
    push_error: errors.MindError | None = None
    shared_error: errors.MindError | None = None

    @property
    def error(self) -> errors.MindError | None:
        """Why a part of it could not be done, if one could not."""
        return self.pull_error or self.push_error or self.shared_error


@dataclass(frozen=True, slots=True, kw_only=True)
class Replica:
    """Syncs one user's memories with a server."""

    store: Store
    scope: Scope
    server: Server
    sealing: Sealing
    clock: Callable[[], datetime]
    advance: Callable[[int], None] = lambda _: None  #: called with how many changes are done
    arrived: Callable[[Sequence[Subject]], None] = lambda _: None  #: called with what was pulled

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
        except errors.MindError as error:
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
            pull.take(page.changes)
            self.advance(len(page.changes))
            self.arrived([change.subject for change in page.changes])
            space = self.store.active_space() if page.vectors else None
            if space is not None:  # what the server has embedded need not be embedded here
                self.store.carry_vectors(self.scope, space, vectors_by_id(page.vectors))
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
            raise errors.InvalidAnswer("the server announces more changes, and sends none")
        if page.epoch != peer.epoch:
            if peer.epoch:  # the server may have lost something: everything is sent again
                resend_everything(self.store, self.scope, self.clock())
            self._keep(epoch=page.epoch, cursor=0)
        return page

    def _keep_cursor(self, cursor: int, pull: Pull) -> None:
        """Keep how far everything was taken: never beyond a deferred change."""
        waiting = [change.number - 1 for change in pull.deferred]
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
        except errors.MindError as error:
            report.push_error = error
            self._keep(push_error=error_text(error))
            return isinstance(error, errors.FeedRestarted)
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
                    pull.take(page.changes)

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
            raise errors.PeerNotFound
        return peer

    def _keep(self, **changed: Any) -> None:  # noqa: ANN401  (fields of `Peer`)
        peer = self._peer()
        kept = replace(peer, **changed)
        if kept != peer:  # a round in which nothing happened writes nothing but when it was
            self.store.keep_peer(self.scope, kept)


# ---- what is pulled ------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Pull:
    """Takes changes of a server, each merged with what was changed here."""

    store: Store
    scope: Scope
    sealing: Sealing
    clock: Callable[[], datetime]
    report: SyncReport
    #: Links that are impossible beside another one; perhaps that one ends later in the feed.
    deferred: list[Arrived] = field(default_factory=list)

    def take(self, changes: Sequence[Arrived]) -> None:
        """Take changes, in order; what is known already changes nothing."""
        known = self.store.peer_numbers(self.scope, [change.subject for change in changes])
        new = [change for change in changes if change.number > known.get(change.subject, 0)]
        # Memories before links: a purge here removes links, and what the server has is merged then.
        for kinds in (Gone, History, LinkState | ShareState | ConflictState):
            self._take_all([change for change in new if isinstance(change.state, kinds)])
        self._join_twins(changes)
        links = [x.subject.parts for x in changes if x.subject.kind is SubjectKind.LINK]
        if pairs := {frozenset((x[0], x[2])) for x in links if x[1] in REPLACING}:
            for conflict in disagreements(self.store, self.scope, pairs):
                self._keep_conflict(conflict)

    def _take_all(self, changes: Sequence[Arrived]) -> None:
        """Take changes, as often as another writer is faster."""
        left = [*changes]
        for _ in range(_TRIES):
            if not left:
                return
            left = self._take(left)
        if left:
            raise errors.StoreBusy(
                f"{len(left)} changed things are being changed here all the time"
            )

    def _take(self, changes: Sequence[Arrived]) -> list[Arrived]:
        """Take changes; those that were not taken because another writer was faster."""
        subjects = [change.subject for change in changes]
        # Numbers before states: a change between them makes the number stale, and is seen.
        numbers = self.store.numbers(self.scope, subjects)
        states = self.store.states(self.scope, subjects)
        received: list[Received] = []
        for change in changes:
            each = self._received(change, states[change.subject], numbers.get(change.subject, 0))
            received += [] if each is None else [each]
        verdicts = self.store.receive(self.scope, received) if received else []
        by_subject = {change.subject: change for change in changes}
        overtaken: list[Arrived] = []
        for each, verdict in zip(received, verdicts, strict=True):
            change = by_subject[each.subject]
            match verdict:
                case Taken():
                    self.report.pulled += 1
                    self.report.merged += not each.settled
                    self.report.conflicts += each.conflict is not None
                case Stale():
                    overtaken.append(change)
                case Refused(errors.SupersedeCycle()):
                    self.deferred.append(change)
                case Refused(error):
                    raise error
        return overtaken

    def _received(self, change: Arrived, local: SubjectState, number: int) -> Received | None:
        """What is to be kept; None when the merge needs a key that is not here."""
        if number and local == LinkState(()):
            source, _, target = map(MemoryId, change.subject.parts)
            if len(self.store.get_many(self.scope, [source, target])) < 2:  # noqa: PLR2004 (both)
                settled = change.state == local  # a purge has removed it
                return Received(change.subject, local, number, settled, change.number)
        state, settled, conflict = Reconciled(change.state, settled=True)
        if number or isinstance(local, History):  # what is new here is taken as it is
            reconcile = Reconciliation(self.sealing, self.clock())
            try:
                state, settled, conflict = reconcile(
                    change.subject, local, change.state, pending=number > 0
                )
            except errors.VaultFailure as error:
                self.report.waiting += 1
                reason = f"it cannot be merged with what the server has: {error.message}"
                self.store.refuse(self.scope, change.subject, number, reason)
                return None
        if isinstance(state, History):
            state = self._under_present_key(state)
        return Received(change.subject, state, number, settled, change.number, conflict)

    def _under_present_key(self, history: History) -> History:
        """The history; what was sealed under a key that was rotated away here is sealed anew."""
        retired = self.store.retired_keys() if history.sealed else frozenset()
        if retired.isdisjoint(record.key_id for record in history.sealed):
            return history
        vault = self.sealing.vault
        sealed = [
            vault.seal(x.owner, x.id, x.version, vault.open(x)) if x.key_id in retired else x
            for x in history.sealed
        ]
        return replace(history, sealed=tuple(sealed))

    def finish(self) -> None:
        """Take the links that were impossible, once everything else was taken.

        A link of this replica that still makes one impossible is dropped: the server was first.
        """
        deferred, self.deferred = self.deferred, []
        for change in deferred:
            while drop_one_in_the_way(self.store, self.scope, change, self.clock()):
                pass
            self.take([change])

    def _keep_conflict(self, conflict: SyncConflict) -> None:
        """Keep a conflict, unless it is known, open or resolved."""
        subject = conflict_subject(conflict)
        number = self.store.numbers(self.scope, [subject]).get(subject, 0)
        state = self.store.states(self.scope, [subject])[subject]
        known = state.conflict if isinstance(state, ConflictState) else None
        if known is None or known.at < conflict.at:
            self.store.receive(self.scope, [Received(subject, ConflictState(conflict), number)])
            self.report.conflicts += 1

    # ---- memories that say the same ------------------------------------------------------------

    def _join_twins(self, changes: Sequence[Arrived]) -> None:
        """Of two memories that say the same, made on two machines, the older one is served.

        Every replica makes the same link. The texts of sensitive memories are not compared.
        """
        memories = [x.subject for x in changes if x.subject.kind is SubjectKind.MEMORY]
        ids = [MemoryId(subject.parts[0]) for subject in memories]
        superseded = {link.target for link in self.store.newer(self.scope, ids)}
        for memory in self.store.get_many(self.scope, ids).values():
            is_served = memory.deleted_at is None and memory.id not in superseded
            if is_served and (twin := self.store.same_content(self.scope, memory)):
                self._join(*sorted((memory, twin), key=lambda x: (x.created_at, x.id)))

    def _join(self, older: Memory, younger: Memory) -> None:
        at = max(self.clock(), younger.created_at)
        link = Link(source=older.id, target=younger.id, kind=LinkKind.SUPERSEDES, created_at=at)
        with suppress(errors.DuplicateLink, errors.SupersedeCycle):
            self.store.add_link(self.scope, link)
            self.report.joined += 1


# ---- what is sent --------------------------------------------------------------------------------


@dataclass(slots=True, kw_only=True)
class Push:
    """Sends what is pending, in order; what the server does not take stays pending."""

    store: Store
    scope: Scope
    server: Server
    clock: Callable[[], datetime]
    report: SyncReport
    advance: Callable[[int], None] = lambda _: None  #: gets the number of changes that were sent
    stale: list[int] = field(default_factory=list)  #: the server's numbers of what was stale

    def send(self, epoch: str) -> None:
        """Send everything that was pending when this began.

        What the server refused before is sent again: it may have other settings by now.
        """
        feed = self.store.feed(self.scope)
        last, after = (feed.head if feed else 0), 0
        while changes := self.store.changes(self.scope, after, BATCH):
            known = [change for change in changes if change.number <= last]
            for some in self._batches(known):
                self._send(epoch, some)
            if len(known) < len(changes):
                return
            after = changes[-1].number

    def _send(self, epoch: str, some: Sequence[tuple[Change, Operation]]) -> None:
        """Send a batch, or halves of it: of a quota that leaves fewer writes all are used."""
        try:
            verdicts = self.server.push(epoch, [operation for _, operation in some])
        except errors.QuotaUsedUp:
            if len(some) == 1:
                raise
            half = len(some) // 2
            self._send(epoch, some[:half])
            self._send(epoch, some[half:])
            return
        if len(verdicts) != len(some):
            raise errors.InvalidAnswer(f"{len(verdicts)} verdicts on {len(some)} changes")
        self._note([change for change, _ in some], verdicts)
        self.advance(len(some))

    def _batches(self, changes: Sequence[Change]) -> Iterator[list[tuple[Change, Operation]]]:
        """What is pending as operations, as many at once as may be sent together."""
        subjects = [change.subject for change in changes]
        # The server's numbers before the states: if a pull comes between them, the number is too
        # old and the change stale; an old state is never sent for a newer one.
        bases = self.store.peer_numbers(self.scope, subjects)
        states = self.store.states(self.scope, subjects)
        operations = [
            (x, Operation(x.subject, bases.get(x.subject, 0), states[x.subject])) for x in changes
        ]
        return batches(
            operations, lambda each: size_of(each[1].state), most=len(changes), size=PAGE_BYTES
        )

    def _note(self, changes: Sequence[Change], verdicts: Sequence[Verdict]) -> None:
        """Keep the verdicts on changes."""
        settled: list[Settled] = []
        for change, verdict in zip(changes, verdicts, strict=True):
            match verdict:
                case Taken(number):
                    settled.append(Settled(change.subject, change.number, number))
                case Stale(number):
                    self.stale.append(number)
                case Refused(error):
                    self._refuse(change, error)
        self.store.settle(self.scope, settled)
        self.report.pushed += len(settled)

    def _refuse(self, change: Change, error: errors.MindError) -> None:
        self.report.refused += 1
        if change.subject.kind is SubjectKind.LINK and isinstance(error, errors.SupersedeCycle):
            why, now = error.message, self.clock()
            drop_link(self.store, self.scope, change.subject, change.number, why, now)
            self.report.conflicts += 1
            return
        self.store.refuse(self.scope, change.subject, change.number, error_text(error))


# ---- what is sent again ------------------------------------------------------------------------


def resend_everything(store: Store, scope: Scope, now: datetime) -> None:
    """Make everything pending that is not; what the server has after all is settled by a pull."""
    resend(store, scope, _subjects(store, scope, now))


def resend(store: Store, scope: Scope, subjects: Iterable[Subject]) -> None:
    """Make these things pending, as they are."""
    left = iter(subjects)
    while some := [*itertools.islice(left, _RESENT_AT_ONCE)]:
        numbers = store.numbers(scope, some)
        unnumbered = [subject for subject in some if subject not in numbers]
        states = store.states(scope, unnumbered)
        # A change that comes between gets its number by itself: the state here is stale then, and
        # need not be sent.
        store.receive(scope, [Received(subject, states[subject], 0) for subject in unnumbered])


def _subjects(store: Store, scope: Scope, now: datetime) -> Iterator[Subject]:
    every = Filter(scope=scope, now=now, states=frozenset(State))
    for memory in every_memory(store, every, _RESENT_AT_ONCE):
        yield memory_subject(memory.id)
    links = (link_subject(x.source, x.kind, x.target) for x in store.all_links(scope))
    yield from dict.fromkeys(links)
    for share in store.shares(scope):
        yield share_subject(share.reader, share.memory, share.tag)
    yield from map(conflict_subject, store.conflicts(scope, MOST_CONFLICTS, every=True))
