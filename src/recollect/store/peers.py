"""What a replica knows of its server."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime

from recollect.changes import ConflictKind, Peer, Subject, SubjectKind, SyncConflict
from recollect.protocols import Settled
from recollect.store import rows
from recollect.store.database import OnDatabase, Owned, Row
from recollect.store.feeds import numbers_in
from recollect.types import Scope, UserId


class PeersInDatabase(OnDatabase):
    """Satisfies the part of `recollect.protocols.Syncing` that is for replicas."""

    def peer(self, scope: Scope) -> Peer | None:
        """The server of a replica, and how far it has come with it."""
        found = self._database.read("peer", {"owner": scope.user})
        return _to_peer(found[0]) if found else None

    def keep_peer(self, scope: Scope, peer: Peer) -> None:
        """Keep how far it has come. With another epoch the numbers of the server are forgotten."""
        times = {"pulled_at": peer.pulled_at, "pushed_at": peer.pushed_at}
        kept = asdict(peer) | {name: rows.from_time(time) for name, time in times.items()}
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

    def conflicts(self, scope: Scope, limit: int) -> list[SyncConflict]:
        """The conflicts that nobody has resolved, oldest first."""
        found = self._database.read("conflicts", {"owner": scope.user, "limit": limit})
        return [*map(_to_conflict, found)]

    def resolve_conflict(self, scope: Scope, number: int, at: datetime) -> bool:
        """Take a conflict off the list; False when it is not on it."""
        with self._writing(scope) as transaction:
            resolved = {"number": number, "at": rows.from_time(at)}
            return bool(transaction.change("resolve_conflict", resolved))


def _place(subject: Subject) -> dict[str, object]:
    return {"kind": subject.kind, "name": subject.name}


def _to_peer(row: Row) -> Peer:
    url, user, epoch, cursor, pulled_at, pushed_at, pull_error, push_error = row
    return Peer(
        url=url,
        user=UserId(user),
        epoch=epoch,
        cursor=cursor,
        pulled_at=rows.to_optional_time(pulled_at),
        pushed_at=rows.to_optional_time(pushed_at),
        pull_error=pull_error,
        push_error=push_error,
    )


def _to_conflict(row: Row) -> SyncConflict:
    number, kind, subject_kind, name, served, other, detail, at, resolved_at = row
    return SyncConflict(
        number=number,
        kind=ConflictKind(kind),
        subject=Subject(SubjectKind(subject_kind), name),
        served=served,
        other=other,
        detail=detail,
        at=rows.to_time(at),
        resolved_at=rows.to_end(resolved_at),
    )


# What follows runs inside a transaction of the caller.


def keep_numbers(transaction: Owned, numbers: dict[Subject, int]) -> None:
    """Keep the numbers that the server gave."""
    transaction.change_each(
        "keep_peer_number",
        [_place(subject) | {"number": number} for subject, number in numbers.items()],
    )


def keep_conflict(transaction: Owned, conflict: SyncConflict) -> None:
    """Put a conflict on the list."""
    transaction.change(
        "keep_conflict",
        {
            "kind": conflict.kind,
            "subject_kind": conflict.subject.kind,
            "subject_name": conflict.subject.name,
            "served": conflict.served,
            "other": conflict.other,
            "detail": conflict.detail,
            "at": rows.from_time(conflict.at),
        },
    )
