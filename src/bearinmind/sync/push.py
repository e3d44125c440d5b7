"""Sends a server what was changed on a replica, and marks things to be sent again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bearinmind.changes import (
    Change,
    Refused,
    Stale,
    Subject,
    SubjectKind,
    Taken,
    Verdict,
    conflict_subject,
    link_subject,
    memory_subject,
    share_subject,
)
from bearinmind.errors import InvalidAnswer, MindError, QuotaUsedUp, SupersedeCycle
from bearinmind.models.outbound_http import batches
from bearinmind.protocols import Received, Settled, Store, every_memory
from bearinmind.sync.model import PAGE_BYTES, Operation, SyncReport, SyncServer, error_text, size_of
from bearinmind.sync.pull import drop_link
from bearinmind.types import Filter, Scope, State

BATCH = 100  # changes at a time, at most
_RESENT_AT_ONCE = 100
_MOST_CONFLICTS = 100_000


@dataclass(slots=True, kw_only=True)
class Push:
    """Sends what is pending, in order; what the server does not take stays pending."""

    store: Store
    scope: Scope
    server: SyncServer
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
        except QuotaUsedUp:
            if len(some) == 1:
                raise
            half = len(some) // 2
            self._send(epoch, some[:half])
            self._send(epoch, some[half:])
            return
        if len(verdicts) != len(some):
            raise InvalidAnswer(f"{len(verdicts)} verdicts on {len(some)} changes")
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
            (
                change,
                Operation(change.subject, bases.get(change.subject, 0), states[change.subject]),
            )
            for change in changes
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

    def _refuse(self, change: Change, error: MindError) -> None:
        self.report.refused += 1
        if change.subject.kind is SubjectKind.LINK and isinstance(error, SupersedeCycle):
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
    yield from map(conflict_subject, store.conflicts(scope, _MOST_CONFLICTS, every=True))
