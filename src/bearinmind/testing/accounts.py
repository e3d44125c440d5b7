"""The users and keys of a store in memory."""

from __future__ import annotations

import threading
from collections import Counter
from dataclasses import replace
from datetime import date, datetime

from bearinmind.errors import UserNotFound
from bearinmind.protocols import AuditEntry, User
from bearinmind.types import Key, UserId


class AccountsInMemory:
    """Satisfies `bearinmind.protocols.Accounts`."""

    _lock: threading.RLock
    _audit: list[AuditEntry]

    def __init__(self) -> None:
        super().__init__()
        self._users: dict[UserId, User] = {}
        self._keys: dict[str, Key] = {}
        self._writes: Counter[tuple[str, date]] = Counter()

    def add_user(self, user: User) -> bool:
        """Make a user known; False when one of that name is."""
        with self._lock:
            return self._users.setdefault(user.name, user) is user

    def users(self) -> list[User]:
        """Everybody, by name."""
        with self._lock:
            return sorted(self._users.values())

    def set_disabled(self, name: UserId, at: datetime | None) -> bool:
        """Let a user in no more, or again; False when nobody has that name."""
        with self._lock:
            if name not in self._users:
                return False
            self._users[name] = self._users[name]._replace(disabled_at=at)
            return True

    def add_key(self, key: Key) -> None:
        """Keep a key of a user who is known."""
        with self._lock:
            if key.user not in self._users:
                raise UserNotFound(f"nobody has the name {key.user!r}")
            self._keys[key.id] = key

    def key(self, id: str) -> Key | None:
        """A key, expired and revoked ones included; None also when its user is disabled."""
        with self._lock:
            key = self._keys.get(id)
            return None if key is None or self._users[key.user].disabled_at else key

    def keys(self, user: UserId | None = None) -> list[Key]:
        """The keys of a user, or of everybody, oldest first."""
        with self._lock:
            found = [key for key in self._keys.values() if user in (None, key.user)]
        return sorted(found, key=lambda key: (key.created_at, key.id))

    def end_key(self, id: str, *, revoked_at: datetime) -> bool:
        """Take a key for none from a moment on, at the earliest of those given; False: no such."""
        with self._lock:
            key = self._keys.get(id)
            if key is None:
                return False
            earliest = min(key.revoked_at or revoked_at, revoked_at)
            self._keys[id] = replace(key, revoked_at=earliest)
            return True

    def count_writes(self, key_id: str, day: date, most: int, count: int = 1) -> bool:
        """Count writes with a key; False, and none counted, when it has had so many that day."""
        with self._lock:
            if key_id not in self._keys or self._writes[key_id, day] >= most:
                return False
            self._writes[key_id, day] += count
            return True

    def whole_audit(self, limit: int) -> list[AuditEntry]:
        """The youngest audit entries of everybody, youngest first."""
        with self._lock:
            return self._audit[::-1][:limit]
