"""Tells a server what was changed on a replica."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bearinmind.changes import Change, Refused, Stale, SubjectKind, Taken, Verdict
from bearinmind.errors import InvalidAnswer, MindError, SupersedeCycle
from bearinmind.protocols import Settled, Store
from bearinmind.sync.pages import PAGE_BYTES, size_of
from bearinmind.sync.pulling import drop_link
from bearinmind.sync.report import SyncReport
from bearinmind.sync.transport import Operation, SyncServer
from bearinmind.types import Scope

BATCH = 100  # changes at a time, at most


@dataclass(slots=True, kw_only=True)
class Telling:
    """Tells what is pending, in order; whatever is not taken stays pending."""

    store: Store
    scope: Scope
    server: SyncServer
    clock: Callable[[], datetime]
    report: SyncReport
    advance: Callable[[int], None] = lambda _: None  #: told how many changes were seen to
    stale: list[int] = field(default_factory=list)  #: the server's numbers of what was stale

    def tell(self, epoch: str) -> None:
        """Tell everything that was pending when this began.

        What the server refused before is asked again: it may have other settings by now.
        """
        feed = self.store.feed(self.scope)
        last, after = (feed.head if feed else 0), 0
        while changes := self.store.changes(self.scope, after, BATCH):
            known = [change for change in changes if change.number <= last]
            for some in self._batches(known):
                asked = [operation for _, operation in some]
                verdicts = self.server.push(epoch, asked)
                if len(verdicts) != len(asked):
                    raise InvalidAnswer(f"{len(verdicts)} verdicts on {len(asked)} changes")
                self._note([change for change, _ in some], verdicts)
                self.advance(len(some))
            if len(known) < len(changes):
                return
            after = changes[-1].number

    def _batches(self, changes: Sequence[Change]) -> Iterator[list[tuple[Change, Operation]]]:
        """What is pending as operations, as many at once as may be told together."""
        subjects = [change.subject for change in changes]
        # The server's numbers before the states: were a pull to come between them, the number would
        # be too old, and the change stale; never would an old state be told for a newer one.
        bases = self.store.peer_numbers(self.scope, subjects)
        states = self.store.states(self.scope, subjects)
        batch: list[tuple[Change, Operation]] = []
        size = 0
        for change in changes:
            state = states[change.subject]
            if batch and size + size_of(state) > PAGE_BYTES:
                yield batch
                batch, size = [], 0
            batch.append((change, Operation(change.subject, bases.get(change.subject, 0), state)))
            size += size_of(state)
        if batch:
            yield batch

    def _note(self, changes: Sequence[Change], verdicts: Sequence[Verdict]) -> None:
        """Keep what became of changes."""
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
        reason = f"{error.message} {error.hint}".strip()
        self.store.refuse(self.scope, change.subject, change.number, reason)
