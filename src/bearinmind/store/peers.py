"""What a replica knows of its server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from bearinmind.changes import Peer, Subject, SyncConflict, conflict_subject
from bearinmind.protocols import Settled
from bearinmind.store import rows
from bearinmind.store.database import OnDatabase, Owned, Row
from bearinmind.store.feeds import note, numbers_in
from bearinmind.types import Scope, UserId


class PeersInDatabase(OnDatabase):
    """Satisfies the part of `bearinmind.protocols.Syncing` that is for replicas."""

    def peer(self, scope: Scope) -> Peer | None:
        """The server of a replica, and how far it has come with it."""
        found = self._database.read("peer", {"owner": scope.user})
        return _to_peer(found[0]) if found else None

    def keep_peer(self, scope: Scope, peer: Peer) -> None:
        """Keep how far it has come. With another epoch the numbers of the server are forgotten."""
        names = ("pulled_at", "pushed_at", "shared_at")
        kept = asdict(peer) | {name: rows.from_time(getattr(peer, name)) for name in names}
        with self._writing(scope) as transaction:
            known = transaction.row("peer")
            if known is not None and _to_peer(known).epoch != peer.epoch:
                transaction.change("forget_peer_numbers")
            transaction.change("keep_peer", kept)

    def peer_numbers(self, scope: Scope, subjects: Sequence[Subject]) -> dict[Subject, int]:
        """The last numbers that the server gave these things, as far as any is known."""
        return numbers_in(
            "peer_numbers",
            lambda statement, asked: self._database.read(statement, {**asked, "owner": scope.user}),
            subjects,
        )

    def settle(self, scope: Scope, settled: Sequence[Settled]) -> None:
        """Keep the server's numbers; what has not changed since it was sent is pending no more."""
        with self._writing(scope) as transaction:
            keep_numbers(transaction, {each.subject: each.peer_number for each in settled})
            transaction.change_each(
                "settle_change",
                [_place(each.subject) | {"number": each.number} for each in settled],
            )

    def refuse(self, scope: Scope, subject: Subject, number: int, reason: str) -> None:
        """Keep why the server does not take a change, until the thing changes again."""
        with self._writing(scope) as transaction:
            refused = {"number": number, "reason": reason}
            transaction.change("refuse_change", _place(subject) | refused)

    def conflicts(self, scope: Scope, limit: int, *, every: bool = False) -> list[SyncConflict]:
        """The conflicts that nobody has resolved, oldest first; with `every`, all of them."""
        asked = {"owner": scope.user, "limit": limit, "every": every}
        return [*map(rows.to_conflict, self._database.read("conflicts", asked))]

    def resolve_conflict(self, scope: Scope, number: int, at: datetime) -> bool:
        """Take a conflict off the list, here and wherever it is synced; False: it is not on it."""
        with self._writing(scope) as transaction:
            resolved = {"number": number, "at": rows.from_time(at)}
            found = transaction.rows("resolve_conflict", resolved)
            note(transaction, {conflict_subject(rows.to_conflict(row)): () for row in found})
        return bool(found)


def _place(subject: Subject) -> dict[str, object]:
    return {"kind": subject.kind, "name": subject.name}


def _to_peer(row: Row) -> Peer:
    url, user, epoch, cursor, pulled_at, pushed_at, pull_error, push_error, *shared = row
    shared_at, shared_error = shared
    return Peer(
        url=url,
        user=UserId(user),
        epoch=epoch,
        cursor=cursor,
        pulled_at=rows.to_optional_time(pulled_at),
        pushed_at=rows.to_optional_time(pushed_at),
        pull_error=pull_error,
        push_error=push_error,
        shared_at=rows.to_optional_time(shared_at),
        shared_error=shared_error,
    )


# What follows runs inside a transaction of the caller.


def keep_numbers(transaction: Owned, numbers: dict[Subject, int]) -> None:
    """Keep the numbers that the server gave."""
    transaction.change_each(
        "keep_peer_number",
        [_place(subject) | {"number": number} for subject, number in numbers.items()],
    )


def keep_conflict(transaction: Owned, conflict: SyncConflict) -> Subject:
    """Put a conflict on the list, in place of what is known of the same one; what it is there."""
    subject = conflict_subject(conflict)
    found = transaction.rows("conflicts_named", {"names": [subject.name]})
    known = [rows.to_conflict(columns) for _, *columns in found]
    kept = rows.from_conflict(conflict._replace(number=known[0].number if known else 0))
    transaction.change("remove_conflict_named", kept)
    transaction.change("keep_conflict", kept)
    return subject
