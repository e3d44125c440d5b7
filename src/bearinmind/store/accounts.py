"""The users of a store, their keys, and what was done by whom."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from bearinmind.errors import UserNotFound
from bearinmind.protocols import AuditEntry, User
from bearinmind.store import rows
from bearinmind.store.database import OnDatabase
from bearinmind.types import Access, Key, UserId

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
