"""Who may do what: users and their keys, and what owners share with others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from bearinmind import errors
from bearinmind.concepts import Concept, ConceptName
from bearinmind.errors import UserNotFound
from bearinmind.mirrors import is_mirror
from bearinmind.protocols import AuditEntry, LexicalStatistics, Sighting, User
from bearinmind.store import graph_search, rows, sync_feed
from bearinmind.store.database import Database, OnDatabase, Owned, Parameters, Row
from bearinmind.types import Access, Filter, Key, Memory, MemoryId, Right, Scope, Share, UserId

_FIRST_DAY = date(1970, 1, 1)


class AccountsInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Accounts`."""

    def add_user(self, user: User) -> bool:
        """Make a user known; False when one of that name is."""
        added = user._asdict() | {
            "created_at": rows.from_time(user.created_at),
            "disabled_at": _from_end(user.disabled_at),
        }
        with self._database.writing() as transaction:
            return bool(transaction.change("add_user", added))

    def users(self) -> list[User]:
        """Everybody, by name."""
        found = self._database.read("users")
        return [
            User(UserId(name), rows.to_time(created_at), rows.to_end(disabled_at))
            for name, created_at, disabled_at in found
        ]

    def set_disabled(self, name: UserId, at: datetime | None) -> bool:
        """Let a user in no more, or again; False when nobody has that name."""
        changed = {"name": name, "disabled_at": _from_end(at)}
        with self._database.writing() as transaction:
            return bool(transaction.change("set_disabled", changed))

    def add_key(self, key: Key) -> None:
        """Keep a key of a user who is known."""
        with self._database.writing() as transaction:
            if not transaction.change("add_key", _from_key(key)):
                raise UserNotFound(f"nobody has the name {key.user!r}")

    def key(self, id: str) -> Key | None:
        """A key, expired and revoked ones included; None also when its user is disabled."""
        found = self._database.read("key_to_let_in", {"id": id})
        return _to_key(found[0]) if found else None

    def keys(self, user: UserId | None = None) -> list[Key]:
        """The keys of a user, or of everybody, oldest first."""
        return [*map(_to_key, self._database.read("keys", {"user": user}))]

    def end_key(self, id: str, *, revoked_at: datetime) -> bool:
        """Take a key for none from a moment on, at the earliest of those given; False: no such."""
        ended = {"id": id, "revoked_at": rows.from_time(revoked_at)}
        with self._database.writing() as transaction:
            return bool(transaction.change("end_key", ended))

    def count_writes(self, key_id: str, day: date, most: int, count: int = 1) -> bool:
        """Count writes with a key; False, and none counted, when it has had so many that day."""
        number = (day - _FIRST_DAY).days
        counted = {"key_id": key_id, "day": number, "most": most, "count": count}
        with self._database.writing() as transaction:
            return bool(transaction.change("count_writes", counted))

    def whole_audit(self, limit: int) -> list[AuditEntry]:
        """The youngest audit entries of everybody, youngest first."""
        return [*map(rows.to_entry, self._database.read("list_whole_audit", {"limit": limit}))]


def _from_end(time: datetime | None) -> int | None:
    return rows.NOT_YET if time is None else rows.from_time(time)


def _from_key(key: Key) -> dict[str, Any]:
    return {
        "id": key.id,
        "user": key.user,
        "access": key.access,
        "hash": key.hash,
        "label": key.label,
        "created_at": rows.from_time(key.created_at),
        "expires_at": _from_end(key.expires_at),
        "revoked_at": _from_end(key.revoked_at),
        "per_minute": key.per_minute,
        "per_day": key.per_day,
    }


def _to_key(row: Sequence[Any]) -> Key:
    id_, user, access, hash_, label, created_at, expires_at, revoked_at, per_minute, per_day = row
    return Key(
        id=id_,
        user=UserId(user),
        access=Access(access),
        hash=bytes(hash_),
        label=label,
        created_at=rows.to_time(created_at),
        expires_at=rows.to_end(expires_at),
        revoked_at=rows.to_end(revoked_at),
        per_minute=per_minute,
        per_day=per_day,
    )


Read = Callable[[str, Parameters], list[Row]]  #: all rows of a statement


class SharingInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Shares`, but for `replace_shared`, which writes memories."""

    # ---- shares --------------------------------------------------------------------------------

    def add_share(self, scope: Scope, share: Share) -> Share:
        """Keep a share of the scope's owner, in place of one of the same with the same reader."""
        with self._writing(scope) as transaction:
            if share.memory is not None and not transaction.row(
                "present_version", {"id": share.memory}
            ):
                raise errors.MemoryNotFound(f"there is no memory {share.memory!r}")
            parameters = rows.from_share(share)
            found = transaction.row("live_share", parameters)
            if found is not None:
                known = rows.to_share(found)
                if known.right is share.right:
                    return known
                ended = {"ended_at": rows.from_time(share.created_at)}
                transaction.change("end_share", parameters | ended)
            [number] = transaction.numbers(1)
            transaction.change("insert_share", parameters | {"number": number})
            sync_feed.note_share(transaction, share)
        return share

    def end_share(self, scope: Scope, share: Share) -> bool:
        """End the share of the same thing with the same reader; False when there is none."""
        with self._writing(scope) as transaction:
            ended = {"ended_at": rows.from_time(share.ended_at or share.created_at)}
            has_ended = bool(transaction.change("end_share", rows.from_share(share) | ended))
            if has_ended:
                sync_feed.note_share(transaction, share)
        return has_ended

    def shares(self, scope: Scope) -> list[Share]:
        """What the scope's owner shares, oldest first; ended ones are left out."""
        found = self._database.read("list_shares", {"owner": scope.user})
        return [*map(rows.to_share, found)]

    def shared_with(self, reader: UserId) -> list[Share]:
        """What others share with somebody, by owner and then oldest first."""
        return [*map(rows.to_share, self._database.read("shared_with", {"reader": reader}))]

    def sharers(self, reader: UserId) -> list[UserId]:
        """Who shares anything with somebody; cheap: every recall asks it."""
        return [UserId(owner) for [owner] in self._database.read("sharers", {"reader": reader})]

    # ---- what a reader sees --------------------------------------------------------------------

    def visible(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        """Those of these memories that the filter, which has a reader, admits."""
        return visible_memories(self._database.read, filter, ids)

    def visible_beginning(self, filter: Filter, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids of visible memories that begin so, in order."""
        asked = rows.from_filter(filter) | rows.from_prefix(prefix) | {"limit": limit}
        return [MemoryId(id_) for [id_] in self._database.read("shared_beginning", asked)]

    def visible_after(self, filter: Filter, after: str, limit: int) -> list[Sighting]:
        """The visible memories whose ids come behind one, in their order."""
        asked = rows.from_filter(filter) | {"after": after, "limit": limit}
        return [
            Sighting(MemoryId(id_), version, rows.to_time(updated_at), _right(writable))
            for id_, version, updated_at, writable in self._database.read("shared_after", asked)
        ]

    def rights(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Right]:
        """The most that the reader may do with each of these memories, as far as visible."""
        found = self._database.read("shared_rights", _by_ids(filter, ids))
        return {MemoryId(id_): _right(writable) for id_, writable in found}

    def visible_statistics(self, filter: Filter, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent terms are among what the reader can see."""
        return visible_statistics(self._database, filter, terms)

    def visible_concepts(
        self, filter: Filter, names: Sequence[ConceptName]
    ) -> dict[ConceptName, Concept]:
        """Those of these names that a visible memory mentions; only visible ones are counted."""
        return graph_search.visible_concepts(self._database, filter, names)


def visible_memories(read: Read, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
    """Those of these memories that a filter with a reader admits."""
    found = read("shared_memories", _by_ids(filter, ids))
    return {row[0]: rows.to_memory(row) for row in found}


def visible_statistics(
    database: Database, filter: Filter, terms: Sequence[str]
) -> LexicalStatistics:
    """How frequent terms are among what the filter's reader can see."""
    asked = rows.from_place(filter) | {"terms": [*terms]}
    [(_, total, length), *counted] = database.read("shared_terms", asked)
    frequency = {term: count for term, count, _ in counted}
    return LexicalStatistics(total, length / total if total else 0.0, frequency)


def _right(writable: object) -> Right:
    return Right.WRITE if writable else Right.READ


def _by_ids(filter: Filter, ids: Sequence[MemoryId]) -> dict[str, Any]:
    return rows.from_filter(filter) | {"ids": [*dict.fromkeys(ids)]}


# What follows runs inside a transaction of the caller.


def require_write(transaction: Owned, filter: Filter, memory: Memory) -> None:
    """Make sure that the reader may make this the present version of a memory.

    Raises:
        NotAllowed: the reader may not, or not any more.
    """
    asked = rows.from_filter(filter) | {"id": memory.id}
    # A copy is changed where it came from: here it would be lost with the next look at the server.
    copied = is_mirror(filter.scope.user)
    found = None if copied else transaction.row("writable_version", asked)
    if found is None:
        raise errors.NotAllowed(
            f"{filter.reader!r} may not write the memory {memory.id}",
            hint="Ask its owner to share it with the right to write.",
        )
    present = rows.to_memory(found)
    changed = [
        name for name in ("tags", "sensitive") if getattr(present, name) != getattr(memory, name)
    ]
    if changed:
        raise errors.NotAllowed(
            f"{filter.reader!r} may not change {' and '.join(changed)} of the memory {memory.id}:"
            " who sees it depends on that",
            hint="Only its owner may; leave it as it is.",
        )
