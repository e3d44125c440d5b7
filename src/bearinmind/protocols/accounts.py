"""What keeps users, their keys and what was done with them."""

from __future__ import annotations

from datetime import date, datetime
from typing import NamedTuple, Protocol

from bearinmind.protocols.secrets import AuditEntry
from bearinmind.types import Key, UserId


class User(NamedTuple):
    """Somebody whom a server knows."""

    name: UserId
    created_at: datetime
    disabled_at: datetime | None = None


class Accounts(Protocol):
    """Keeps users and keys. A store without any serves whoever can open it."""

    def add_user(self, user: User) -> bool:
        """Make a user known; False when one of that name is."""

    def users(self) -> list[User]:
        """Everybody, by name."""

    def set_disabled(self, name: UserId, at: datetime | None) -> bool:
        """Let a user in no more, or again; False when nobody has that name."""

    def add_key(self, key: Key) -> None:
        """Keep a key.

        Raises:
            UserNotFound: nobody has the name of its user.
        """

    def key(self, id: str) -> Key | None:
        """A key, expired and revoked ones included; None also when its user is disabled."""

    def keys(self, user: UserId | None = None) -> list[Key]:
        """The keys of a user, or of everybody, oldest first."""

    def end_key(self, id: str, *, revoked_at: datetime) -> bool:
        """Take a key for none from a moment on, at the earliest of those given; False: no such."""

    def count_writes(self, key_id: str, day: date, most: int, count: int = 1) -> bool:
        """Count writes with a key; False, and none counted, when it has had so many that day.

        Several at once are counted as long as there is one left: they have been made together.
        """

    def whole_audit(self, limit: int) -> list[AuditEntry]:
        """The youngest audit entries of everybody, youngest first."""
