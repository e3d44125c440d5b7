"""Users, their keys, and the audit of what was done."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from hashlib import sha256
from typing import TYPE_CHECKING

from bearinmind import errors
from bearinmind.accounts.keys import (
    OVERLAP,
    Authenticator,
    Bearer,
    NewKey,
    Terms,
    check_overlap,
    make_key,
    renewed,
)
from bearinmind.config import Settings
from bearinmind.protocols import AuditEntry, Store, User
from bearinmind.recall.pipeline import LARGEST_POOL, check_number
from bearinmind.recall.query_log import QueryLog
from bearinmind.remember.admit import check_text, check_time, check_user
from bearinmind.remember.secrets import refuse_in_clear
from bearinmind.types import Access, Key, Scope, UserId, choose

if TYPE_CHECKING:
    from bearinmind.accounts.openid import People
    from bearinmind.accounts.sessions import Sessions

_SHOWN = 12  # characters of an unknown key id in a message: the text may be a part of a key


class Action(StrEnum):
    """What the audit records about accounts."""

    ADD_USER = "add user"
    DISABLE_USER = "disable user"
    ENABLE_USER = "enable user"
    ERASE_USER = "erase user"
    CREATE_KEY = "create key"
    RENEW_KEY = "renew key"
    REVOKE_KEY = "revoke key"


@dataclass(frozen=True, slots=True, kw_only=True)
class Erasure:
    """What erasing a user removes for good, or has removed."""

    user: UserId
    held: Mapping[str, int]  #: by kind
    pseudonym: str  #: in the place of the name, in the audit of others
    erased: bool = False
    traces_may_remain: bool = False  #: for a while, in files that others read

    @property
    def memories(self) -> int:
        """How many memories, in whatever state."""
        return self.held["memories"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Accounts:
    """The users whom a server lets in, and their keys.

    Everybody who can open the store may do all of this; on a server it takes a key with admin
    access.
    """

    store: Store
    scope: Scope
    settings: Settings
    clock: Callable[[], datetime]
    key: str | None  #: the id of the key with which the user came, for the audit

    def add_user(self, name: str) -> User:
        """Add a user; nobody else sees their memories until they share them."""
        refuse_in_clear("the name", name)
        user = User(check_user(name), self.clock())
        if not self.store.add_user(user):
            raise errors.UserExists(f"there is already a user {name!r}")
        self._note(user.name, Action.ADD_USER)
        return user

    def users(self) -> Sequence[User]:
        """Every user, by name."""
        return self.store.users()

    def disable_user(self, name: str) -> User:
        """Lock a user out; their memories and keys stay."""
        return self._set_disabled(name, self.clock(), Action.DISABLE_USER)

    def enable_user(self, name: str) -> User:
        """Let a user in again."""
        return self._set_disabled(name, None, Action.ENABLE_USER)

    def plan_erasure(self, name: str) -> Erasure:
        """What erasing a user would remove for good; nothing is changed."""
        user = check_user(name)
        held = self.store.held_by(user)
        if not any(held.values()):
            raise errors.UserNotFound(
                f"nobody has the name {name!r}, and nothing is stored under it"
            )
        # Who knows the name can find what stands for it again; others cannot.
        pseudonym = f"erased-{sha256(user.encode()).hexdigest()[:12]}"
        return Erasure(user=user, held=held, pseudonym=pseudonym)

    def erase_user(self, name: str, *, memories: int) -> Erasure:
        """Remove everything of a user for good, if they have as many memories as was agreed to.

        The audit of who asks says that it was done, and how much it was, under a pseudonym.
        """
        plan = self.plan_erasure(name)
        if plan.user == self.scope.user:
            raise errors.NotAllowed("nobody erases themselves", hint="Another administrator can.")
        if plan.memories != memories:
            raise errors.UserChanged(
                f"{name!r} has {plan.memories:,} memories by now, not {memories:,}"
            )
        whole = self.store.erase_user(plan.user, plan.pseudonym)
        if any(self.store.held_by(plan.user).values()):  # by a request that had been let in before
            whole = self.store.erase_user(plan.user, plan.pseudonym)
        QueryLog.beside(self.settings.beside, plan.user).forget()
        counted = ", ".join(f"{what} {count:,}" for what, count in plan.held.items() if count)
        self._note(self.scope.user, Action.ERASE_USER, f"{plan.pseudonym}: {counted}")
        return replace(plan, erased=True, traces_may_remain=not whole)

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
        """A new key for a user. Its text is shown only now: the store keeps a hash of it."""
        refuse_in_clear("the label", label)
        terms = Terms(
            access=choose(Access, access, errors.InvalidKeyTerms),
            label=" ".join(check_text(label, "the label").split()),
            expires_at=check_time(expires_at, "expires_at"),
            per_minute=per_minute,
            per_day=per_day,
        )
        new = make_key(check_user(user), terms, self.clock())
        self.store.add_key(new.key)
        self._note(new.key.user, Action.CREATE_KEY, f"{new.key.id} {new.key.access}")
        return new

    def keys(self, user: str | None = None) -> Sequence[Key]:
        """The keys of one user, or of all users, oldest first."""
        return self.store.keys(None if user is None else check_user(user))

    def renew_key(self, id: str, *, overlap: timedelta = OVERLAP) -> NewKey:
        """A new key with the same terms; the old one stays valid during the overlap."""
        old = self._find_key(id)
        now = self.clock()
        ends = now + check_overlap(overlap)
        new = renewed(old, now)
        self.store.add_key(new.key)
        self.store.carry_writes(old.id, new.key.id, now.astimezone(UTC).date())
        self.store.end_key(old.id, revoked_at=ends)
        self._note(old.user, Action.RENEW_KEY, f"{old.id} by {new.key.id}")
        return new

    def revoke_key(self, id: str) -> Key:
        """Revoke a key at once."""
        key = self._find_key(id)
        self.store.end_key(key.id, revoked_at=self.clock())
        self._note(key.user, Action.REVOKE_KEY, key.id)
        return self._find_key(key.id)

    def my_keys(self) -> Sequence[Key]:
        """The keys of this user, oldest first."""
        return self.store.keys(self.scope.user)

    def renew_my_key(self, *, overlap: timedelta = OVERLAP) -> NewKey:
        """A new key in place of the one with which this user came.

        Only that one: a key that was stolen must not fetch another with more rights.
        """
        if self.key is None:
            raise errors.KeyNotFound(
                "you came without a key: there is none to renew",
                hint="Sign in with the key that is to be renewed, or ask an administrator.",
            )
        return self.renew_key(self.key, overlap=overlap)

    def revoke_my_key(self, id: str) -> Key:
        """Revoke a key of this user at once."""
        key = self._find_key(id)
        if key.user != self.scope.user:
            raise errors.KeyNotFound(f"there is no key {key.id!r}")  # of yours
        return self.revoke_key(key.id)

    def writes_today(self) -> Mapping[str, int]:
        """By key id: the writes that count against the quota of today."""
        return self.store.writes_on(self.clock().astimezone(UTC).date())

    def first_key(self) -> NewKey | None:
        """An admin key for the user of the settings; None when the store has users already."""
        if self.store.users():
            return None
        try:
            user = self.add_user(self.settings.user)
        except errors.UserExists:  # another process was faster
            return None
        return self.create_key(user.name, access=Access.ADMIN, label="first key")

    def audit(self, limit: int = 100, *, everybody: bool = False) -> Sequence[AuditEntry]:
        """The audit of this user, or of all users, youngest entry first."""
        count = check_number("limit", limit, LARGEST_POOL)
        return self.store.whole_audit(count) if everybody else self.store.audit(self.scope, count)

    def my_audit(self, limit: int = 100) -> Sequence[AuditEntry]:
        """The audit of this user, youngest entry first."""
        return self.audit(limit)

    def sessions(self) -> Sessions:
        """The sessions of browsers, for a server."""
        from bearinmind.accounts.sessions import Sessions  # noqa: PLC0415 (only a server needs it)

        life = timedelta(hours=self.settings.session_hours)
        return Sessions(store=self.store, clock=self.clock, life=life)

    def people(self) -> People:
        """The people whom the providers of the settings vouch for, for a server."""
        from bearinmind.accounts.openid import People, Provider, Rules  # noqa: PLC0415 (likewise)

        known, secret = self.settings, self.settings.oidc_client_secret
        rules = Rules(**{name: getattr(known, f"oidc_{name}") for name in Rules.__slots__})
        providers = [*map(Provider, known.oauth_issuers)]
        if providers and known.oidc_client_id:
            providers[0].client_id = known.oidc_client_id
            providers[0].client_secret = secret.get_secret_value() if secret else ""
        return People(
            providers=providers,
            rules=rules,
            scopes=known.oidc_scopes,
            find=self.store.user,
            add=self.add_user,
        )

    def authenticator(self) -> Authenticator:
        """The check of keys that a server makes for every request."""
        return Authenticator(
            self.store,
            clock=self.clock,
            per_minute=self.settings.key_per_minute,
            failures_per_minute=self.settings.key_failures_per_minute,
        )

    def _set_disabled(self, name: str, at: datetime | None, action: Action) -> User:
        user = check_user(name)
        if not self.store.set_disabled(user, at):
            raise errors.UserNotFound(f"nobody has the name {name!r}")
        self._note(user, action)
        return next(known for known in self.store.users() if known.name == user)

    def _find_key(self, id: str) -> Key:
        bearer = Bearer.read(id)  # the caller may give the whole key
        id_ = bearer.id if bearer else id
        key = next((key for key in self.store.keys(None) if key.id == id_), None)
        if key is None:
            raise errors.KeyNotFound(f"there is no key {id_[:_SHOWN]!r}")
        return key

    def _note(self, user: UserId, action: Action, detail: str | None = None) -> None:
        """Write into the audit who did what to an account."""
        self.store.note(
            AuditEntry(self.clock(), user, action, None, None, self.scope.user, self.key, detail)
        )
