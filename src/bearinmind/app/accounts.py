"""The verbs about users, their keys and what was done."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import TYPE_CHECKING

from bearinmind.accounts.keys import Bearer, NewKey
from bearinmind.accounts.terms import OVERLAP, Terms, check_overlap, make_key, renewed
from bearinmind.config import Settings
from bearinmind.errors import InvalidKeyTerms, KeyNotFound, UserExists, UserNotFound
from bearinmind.protocols import AuditEntry, Store, User
from bearinmind.recall.parse import LARGEST_POOL, check_number
from bearinmind.remember.admit import check_text, check_time, check_user
from bearinmind.remember.secrets import refuse_in_clear
from bearinmind.types import Access, Key, Scope, UserId, choose

if TYPE_CHECKING:
    from bearinmind.accounts.gate import Gate

_SHOWN = 12  # characters of what is no id of a key: it may be a part of one


class Action(StrEnum):
    """What the audit has about accounts."""

    ADD_USER = "add user"
    DISABLE_USER = "disable user"
    ENABLE_USER = "enable user"
    CREATE_KEY = "create key"
    RENEW_KEY = "renew key"
    REVOKE_KEY = "revoke key"


class AccountVerbs:
    """What a Bear in Mind does about those whom a server lets in.

    Whoever opens a store may do all of it; on a server it takes a key with admin access.
    """

    scope: Scope
    settings: Settings
    _store: Store
    _clock: Callable[[], datetime]
    _key: str | None

    def add_user(self, name: str) -> User:
        """Make somebody known; what they remember is theirs alone until they share it."""
        refuse_in_clear("the name", name)
        user = User(check_user(name), self._clock())
        if not self._store.add_user(user):
            raise UserExists(f"there is a user {name!r} already")
        self._account_for(user.name, Action.ADD_USER)
        return user

    def users(self) -> Sequence[User]:
        """Everybody, by name."""
        return self._store.users()

    def disable_user(self, name: str) -> User:
        """Let a user in no more; their memories and keys stay."""
        return self._set_disabled(name, self._clock(), Action.DISABLE_USER)

    def enable_user(self, name: str) -> User:
        """Let a user in again."""
        return self._set_disabled(name, None, Action.ENABLE_USER)

    def create_key(
        self,
        user: str,
        *,
        access: Access | str = Access.WRITE,
        label: str = "",
        expires_at: datetime | None = None,
        per_minute: int | None = None,
        per_day: int | None = None,
    ) -> NewKey:
        """A new key of a user. Only now can its text be seen: the store has a hash of it."""
        refuse_in_clear("the label", label)
        terms = Terms(
            access=choose(Access, access, InvalidKeyTerms),
            label=" ".join(check_text(label, "the label").split()),
            expires_at=check_time(expires_at, "expires_at"),
            per_minute=per_minute,
            per_day=per_day,
        )
        made = make_key(check_user(user), terms, self._clock())
        self._store.add_key(made.key)
        self._account_for(made.key.user, Action.CREATE_KEY, f"{made.key.id} {made.key.access}")
        return made

    def keys(self, user: str | None = None) -> Sequence[Key]:
        """The keys of a user, or of everybody, oldest first."""
        return self._store.keys(None if user is None else check_user(user))

    def renew_key(self, id: str, *, overlap: timedelta = OVERLAP) -> NewKey:
        """A new key with the same terms; the old one stays good for as long as the overlap."""
        old = self._find_key(id)
        now = self._clock()
        ends = now + check_overlap(overlap)
        made = renewed(old, now)
        self._store.add_key(made.key)
        self._store.end_key(old.id, revoked_at=ends)
        self._account_for(old.user, Action.RENEW_KEY, f"{old.id} by {made.key.id}")
        return made

    def revoke_key(self, id: str) -> Key:
        """Take a key for none from now on."""
        key = self._find_key(id)
        self._store.end_key(key.id, revoked_at=self._clock())
        self._account_for(key.user, Action.REVOKE_KEY, key.id)
        return self._find_key(key.id)

    def first_key(self) -> NewKey | None:
        """A key with admin access for the user of the settings, if the store knows nobody yet."""
        if self._store.users():
            return None
        try:
            user = self.add_user(self.settings.user)
        except UserExists:  # somebody else was faster
            return None
        return self.create_key(user.name, access=Access.ADMIN, label="first key")

    def audit_log(self, limit: int = 100, *, everybody: bool = False) -> Sequence[AuditEntry]:
        """What was done that is to be accounted for, youngest first."""
        count = check_number("limit", limit, LARGEST_POOL)
        return self._store.whole_audit(count) if everybody else self._store.audit(self.scope, count)

    def gate(self) -> Gate:
        """What lets the bearers of keys in."""
        from bearinmind.accounts.gate import Gate  # noqa: PLC0415 (only a server needs it)

        return Gate(
            self._store,
            clock=self._clock,
            per_minute=self.settings.key_per_minute,
            failures_per_minute=self.settings.key_failures_per_minute,
        )

    def _set_disabled(self, name: str, at: datetime | None, action: Action) -> User:
        user = check_user(name)
        if not self._store.set_disabled(user, at):
            raise UserNotFound(f"nobody has the name {name!r}")
        self._account_for(user, action)
        return next(each for each in self._store.users() if each.name == user)

    def _find_key(self, id: str) -> Key:
        bearer = Bearer.read(id)  # somebody may give the whole key
        id_ = bearer.id if bearer else id
        everybodys: Sequence[Key] = self._store.keys(None)
        found = next((key for key in everybodys if key.id == id_), None)
        if found is None:
            raise KeyNotFound(f"there is no key {id_[:_SHOWN]!r}")
        return found

    def _account_for(self, user: UserId, action: Action, detail: str | None = None) -> None:
        """Write down who did what to an account."""
        self._store.note(
            AuditEntry(self._clock(), user, action, None, None, self.scope.user, self._key, detail)
        )
