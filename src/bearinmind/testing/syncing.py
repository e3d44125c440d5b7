"""What a store in memory knows of its changes, and of the server with which it syncs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime

from bearinmind.changes import (
    Change,
    ConflictState,
    Feed,
    LinkState,
    Peer,
    ShareState,
    Subject,
    SubjectKind,
    SyncConflict,
    conflict_subject,
    memory_subject,
)
from bearinmind.protocols import Gone, Settled, SubjectState
from bearinmind.testing.feeds import NumberedChanges, subject_of
from bearinmind.testing.holdings import Holdings, age, when_made
from bearinmind.testing.sharing import shared
from bearinmind.testing.vectors import VectorsInMemory
from bearinmind.types import Scope, UserId


@dataclass(slots=True)
class _Synced:
    """What one user's replica knows of its server."""

    peer: Peer | None = None
    numbers: dict[Subject, int] = field(default_factory=dict)
    conflicts: list[SyncConflict] = field(default_factory=list)


class FeedInMemory(VectorsInMemory):
    """Satisfies `bearinmind.protocols.Syncing`, but for what is received."""

    def __init__(self) -> None:
        super().__init__()
        self._synced: dict[UserId, _Synced] = defaultdict(_Synced)

    # ---- feeds ---------------------------------------------------------------------------------

    def open_feed(self, scope: Scope, epoch: str) -> Feed:
        """Number everything that is there, and every change from now on."""
        with self._lock:
            if scope.user not in self._feeds:
                owned = self._holdings[scope.user]
                held = sorted((row.memory for row in owned.at(None).values()), key=when_made)
                subjects = [
                    *(memory_subject(memory.id) for memory in held),
                    *(subject_of(link) for link in sorted(owned.links, key=age)),
                    *(shared(share) for share in self.shares(scope)),
                    *map(conflict_subject, self._synced[scope.user].conflicts),
                ]
                self._feeds[scope.user] = NumberedChanges(epoch)
                self._note(scope, dict.fromkeys(subjects, ()))
            return self._feed_of(scope.user)

    def feed(self, scope: Scope) -> Feed | None:
        """The feed of a scope."""
        with self._lock:
            return self._feed_of(scope.user) if scope.user in self._feeds else None

    def _feed_of(self, user: UserId) -> Feed:
        return Feed(epoch=self._feeds[user].epoch, head=self._feeds[user].head)

    def close_feed(self, scope: Scope) -> None:
        """Number no more changes, and forget the peer and what is known of it; memories stay."""
        with self._lock:
            self._feeds.pop(scope.user, None)
            self._synced.pop(scope.user, None)

    def _changes(self, scope: Scope) -> dict[Subject, Change]:
        """What is numbered; nothing without a feed."""
        return self._feeds[scope.user].changes if scope.user in self._feeds else {}

    def changes(self, scope: Scope, after: int, limit: int) -> list[Change]:
        """The changes behind a number, in order; each thing once, under its last number."""
        with self._lock:
            behind = [x for x in self._changes(scope).values() if x.number > after]
        return sorted(behind, key=lambda change: change.number)[:limit]

    def numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The numbers of those things that have one."""
        with self._lock:
            known = self._changes(scope)
            return {subject: known[subject].number for subject in subjects if subject in known}

    def states(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, SubjectState]:
        """What stands there now for each of these things."""
        with self._lock:
            owned = self._holdings[scope.user]
            return {subject: self._subject_state(scope, owned, subject) for subject in subjects}

    def _subject_state(self, scope: Scope, owned: Holdings, subject: Subject) -> SubjectState:
        if subject.kind is SubjectKind.LINK:
            links = (link for link in owned.links if subject_of(link) == subject)
            return LinkState(tuple(sorted(links, key=age)))
        if subject.kind is SubjectKind.SHARE:
            held = (share for share in self.shares(scope) if shared(share) == subject)
            return ShareState(next(held, None))
        if subject.kind is SubjectKind.CONFLICT:
            kept = self._synced[scope.user].conflicts
            same = (x._replace(number=0) for x in kept if conflict_subject(x) == subject)
            return ConflictState(next(same, None))
        history = owned.history(subject)
        known = self._changes(scope).get(subject)
        return history if history.versions else Gone(known.gone if known else ())

    # ---- a replica -----------------------------------------------------------------------------

    def peer(self, scope: Scope) -> Peer | None:
        """The server of a replica, and how far it has come with it."""
        with self._lock:
            return self._synced[scope.user].peer

    def keep_peer(self, scope: Scope, peer: Peer) -> None:
        """Keep how far it has come. With another epoch the numbers of the server are forgotten."""
        with self._lock:
            synced = self._synced[scope.user]
            if synced.peer is not None and synced.peer.epoch != peer.epoch:
                synced.numbers.clear()
            synced.peer = peer

    def peer_numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The last numbers that the server gave these things, as far as any is known."""
        with self._lock:
            known = self._synced[scope.user].numbers
            return {subject: known[subject] for subject in subjects if subject in known}

    def settle(self, scope: Scope, settled: Sequence[Settled]) -> None:
        """Keep the server's numbers; what has not changed since it was sent is pending no more."""
        with self._lock:
            known = self._changes(scope)
            for subject, number, peer_number in settled:
                self._synced[scope.user].numbers[subject] = peer_number
                if subject in known and known[subject].number == number:
                    del known[subject]

    def refuse(self, scope: Scope, subject: Subject, number: int, reason: str) -> None:
        """Keep why the server does not take a change, until the thing changes again."""
        with self._lock:
            known = self._changes(scope)
            if subject in known and known[subject].number == number:
                known[subject] = known[subject]._replace(refused=reason)

    def _keep_conflict(self, scope: Scope, conflict: SyncConflict) -> Subject:
        """Put a conflict on the list, in place of what is known of the same one."""
        kept = self._synced[scope.user].conflicts
        subject = conflict_subject(conflict)
        places = [place for place, each in enumerate(kept) if conflict_subject(each) == subject]
        if places:
            kept[places[0]] = conflict._replace(number=kept[places[0]].number)
        else:
            kept.append(conflict._replace(number=len(kept) + 1))
        return subject

    def conflicts(self, scope: Scope, limit: int, *, every: bool = False) -> list[SyncConflict]:
        """The conflicts that nobody has resolved, oldest first; with `every`, all of them."""
        with self._lock:
            kept = self._synced[scope.user].conflicts
            return [each for each in kept if every or each.resolved_at is None][:limit]

    def resolve_conflict(self, scope: Scope, number: int, at: datetime) -> bool:
        """Take a conflict off the list, here and wherever it is synced; False: it is not on it."""
        with self._lock:
            kept = self._synced[scope.user].conflicts
            if not 1 <= number <= len(kept) or kept[number - 1].resolved_at is not None:
                return False
            kept[number - 1] = kept[number - 1]._replace(resolved_at=at)
            self._note(scope, {conflict_subject(kept[number - 1]): ()})
            return True
