"""Who may do what: users and their keys, and what owners share with others."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import date, datetime
from typing import Any

from bearinmind import errors
from bearinmind.changes import is_copy
from bearinmind.concepts import Concept, ConceptName
from bearinmind.protocols import AuditEntry, LexicalStatistics, Sighting, User
from bearinmind.store import graph_search, rows, sync_feed
from bearinmind.store.database import Database, OnDatabase, Owned, Parameters, Row
from bearinmind.types import Access, Filter, Key, Memory, MemoryId, Right, Scope, Share, UserId

_FIRST_DAY = date(1970, 1, 1)


class AccessInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Accounts` and `bearinmind.protocols.Shares`.

    `replace_shared` is in `memories`, since it writes memories.
    """

    def add_user(self, user: User) -> bool:
        """Add a user; False when the name is taken."""
        with self._database.writing() as transaction:
            return bool(transaction.change("add_user", rows.from_noun(user)))

    def users(self) -> list[User]:
        """All users, by name."""
        records = self._database.read("users")
        return [
            User(UserId(name), rows.to_time(created_at), rows.to_end(disabled_at))
            for name, created_at, disabled_at in records
        ]

    def set_disabled(self, name: UserId, at: datetime | None) -> bool:
        """Disable a user, or enable one again; False when there is no such user."""
        changed = {"name": name, "disabled_at": rows.from_end(at)}
        with self._database.writing() as transaction:
            return bool(transaction.change("set_disabled", changed))

    def add_key(self, key: Key) -> None:
        """Keep a key of a user who is known."""
        with self._database.writing() as transaction:
            if not transaction.change("add_key", rows.from_noun(key)):
                raise errors.UserNotFound(f"there is no user {key.user!r}")

    def key(self, id: str) -> Key | None:
        """A key, expired and revoked ones included; None also when its user is disabled."""
        records = self._database.read("key_to_let_in", {"id": id})
        return _to_key(records[0]) if records else None

    def keys(self, user: UserId | None = None) -> list[Key]:
        """The keys of one user, or of all users, oldest first."""
        return [*map(_to_key, self._database.read("keys", {"user": user}))]

    def end_key(self, id: str, *, revoked_at: datetime) -> bool:
        """Revoke a key, at the earliest of the given moments; False when there is no such key."""
        ended = {"id": id, "revoked_at": rows.from_time(revoked_at)}
        with self._database.writing() as transaction:
            return bool(transaction.change("end_key", ended))

    def count_writes(self, key_id: str, day: date, most: int, count: int = 1) -> bool:
        """Count writes with a key; False, and nothing counted, when the day's limit is reached."""
        number = (day - _FIRST_DAY).days
        counted = {"key_id": key_id, "day": number, "most": most, "count": count}
        with self._database.writing() as transaction:
            return bool(transaction.change("count_writes", counted))

    def whole_audit(self, limit: int) -> list[AuditEntry]:
        """The latest audit entries of all users, latest first."""
        return [*map(rows.to_entry, self._database.read("list_whole_audit", {"limit": limit}))]

    # ---- shares --------------------------------------------------------------------------------

    def add_share(self, scope: Scope, share: Share) -> Share:
        """Add a share; it replaces one of the same thing with the same reader."""
        with self._writing(scope) as transaction:
            if share.memory is not None and not transaction.row(
                "present_version", {"id": share.memory}
            ):
                raise errors.MemoryNotFound(f"there is no memory {share.memory!r}")
            parameters = rows.from_share(share)
            row = transaction.row("live_share", parameters)
            if row is not None:
                known = rows.to_share(row)
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
        return [*map(rows.to_share, self._read(scope, "list_shares"))]

    def shared_with(self, reader: UserId) -> list[Share]:
        """What others share with a reader, by owner and then oldest first."""
        return [*map(rows.to_share, self._database.read("shared_with", {"reader": reader}))]

    def sharers(self, reader: UserId) -> list[UserId]:
        """The owners who share anything with a reader. Cheap: every recall asks for it."""
        return [UserId(owner) for [owner] in self._database.read("sharers", {"reader": reader})]

    # ---- what a reader sees --------------------------------------------------------------------

    def visible(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
        """The memories among these that the filter admits; the filter has a reader."""
        return visible_memories(self._database.read, filter, ids)

    def visible_beginning(self, filter: Filter, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids of visible memories that begin with a prefix, in order."""
        parameters = rows.from_filter(filter) | rows.from_prefix(prefix) | {"limit": limit}
        return [MemoryId(id_) for [id_] in self._database.read("shared_beginning", parameters)]

    def visible_after(self, filter: Filter, after: str, limit: int) -> list[Sighting]:
        """The visible memories whose ids come after one, in the order of ids."""
        parameters = rows.from_filter(filter) | {"after": after, "limit": limit}
        records = self._database.read("shared_after", parameters)
        return [
            Sighting(MemoryId(id_), version, rows.to_time(updated_at), _right(writable))
            for id_, version, updated_at, writable in records
        ]

    def rights(self, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Right]:
        """The reader's right to each of these memories that is visible."""
        records = self._database.read("shared_rights", _by_ids(filter, ids))
        return {MemoryId(id_): _right(writable) for id_, writable in records}

    def visible_statistics(self, filter: Filter, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent terms are among what the reader can see."""
        return visible_statistics(self._database, filter, terms)

    def visible_concepts(
        self, filter: Filter, names: Sequence[ConceptName]
    ) -> dict[ConceptName, Concept]:
        """The names among these that visible memories mention; only those are counted."""
        return graph_search.visible_concepts(self._database, filter, names)


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


def visible_memories(read: Read, filter: Filter, ids: Sequence[MemoryId]) -> dict[MemoryId, Memory]:
    """The memories among these that a filter with a reader admits."""
    records = read("shared_memories", _by_ids(filter, ids))
    return {row[0]: rows.to_memory(row) for row in records}


def visible_statistics(
    database: Database, filter: Filter, terms: Sequence[str]
) -> LexicalStatistics:
    """How frequent terms are among what the filter's reader can see."""
    parameters = rows.from_place(filter) | {"terms": [*terms]}
    [(_, total, length), *counted] = database.read("shared_terms", parameters)
    frequency = {term: count for term, count, _ in counted}
    return LexicalStatistics(total, length / total if total else 0.0, frequency)


def _right(writable: object) -> Right:
    return Right.WRITE if writable else Right.READ


def _by_ids(filter: Filter, ids: Sequence[MemoryId]) -> dict[str, Any]:
    return rows.from_filter(filter) | {"ids": [*dict.fromkeys(ids)]}


# The functions below run inside a transaction of the caller.


def require_write(transaction: Owned, filter: Filter, memory: Memory) -> None:
    """Raise unless the reader may make this the present version of a memory.

    Raises:
        NotAllowed: the reader has no such right.
    """
    parameters = rows.from_filter(filter) | {"id": memory.id}
    # A copy is changed at its origin: a change here would be lost with the next sync.
    copied = is_copy(filter.scope.user)
    row = None if copied else transaction.row("writable_version", parameters)
    if row is None:
        raise errors.NotAllowed(
            f"{filter.reader!r} may not write the memory {memory.id}",
            hint="Ask its owner to share it with the right to write.",
        )
    present = rows.to_memory(row)
    changed = [
        name for name in ("tags", "sensitive") if getattr(present, name) != getattr(memory, name)
    ]
    if changed:
        raise errors.NotAllowed(
            f"{filter.reader!r} may not change {' and '.join(changed)} of the memory {memory.id}:"
            " who sees it depends on that",
            hint="Only its owner may; leave it as it is.",
        )
