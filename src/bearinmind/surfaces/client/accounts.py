"""The verbs about users, keys and the audit, as steps: for a client whose key has admin access."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bearinmind.accounts.keys import Bearer, NewKey
from bearinmind.accounts.terms import OVERLAP
from bearinmind.errors import InvalidAnswer, InvalidKeyTerms
from bearinmind.protocols import AuditEntry, User
from bearinmind.remember.admit import check_user
from bearinmind.surfaces.client.asking import Asking
from bearinmind.surfaces.client.calling import Steps
from bearinmind.surfaces.verbs import admin
from bearinmind.surfaces.verbs.requests import Nothing
from bearinmind.types import Access, Key, MemoryId, UserId, choose

_HOUR = timedelta(hours=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class AccountVerbs(Asking):
    """What whoever runs a server asks of it."""

    def users(self) -> Steps[Sequence[User]]:
        """Everybody, by name."""
        got = yield from self.answer("users", Nothing, admin.UsersAnswer, {})
        return tuple(map(_user, got.users))

    def add_user(self, name: str) -> Steps[User]:
        """Make somebody known."""
        return (yield from self._user("add_user", name))

    def disable_user(self, name: str) -> Steps[User]:
        """Let a user in no more; their memories and keys stay."""
        return (yield from self._user("disable_user", name))

    def enable_user(self, name: str) -> Steps[User]:
        """Let a user in again."""
        return (yield from self._user("enable_user", name))

    def keys(self, user: str | None = None) -> Steps[Sequence[Key]]:
        """The keys of a user, or of everybody, oldest first; their hashes stay on the server."""
        said = {"user": None if user is None else check_user(user)}
        got = yield from self.answer("keys", admin.KeysRequest, admin.KeysAnswer, said)
        return tuple(map(_key, got.keys))

    def create_key(
        self,
        user: str,
        *,
        access: Access | str = Access.WRITE,
        label: str = "",
        expires_at: datetime | None = None,
        per_minute: int | None = None,
        per_day: int | None = None,
    ) -> Steps[NewKey]:
        """A new key of a user. Only now can its text be seen."""
        said = {
            "user": check_user(user),
            "access": choose(Access, access, InvalidKeyTerms),
            "label": label,
            "expires_at": expires_at,
            "per_minute": per_minute,
            "per_day": per_day,
        }
        got = yield from self.answer("create_key", admin.CreateKeyRequest, admin.NewKeyAnswer, said)
        return _new_key(got)

    def renew_key(self, id: str, *, overlap: timedelta = OVERLAP) -> Steps[NewKey]:
        """A new key with the same terms; the old one stays good for as long as the overlap."""
        said = {"id": _id_of(id), "overlap_hours": overlap / _HOUR}
        got = yield from self.answer("renew_key", admin.RenewKeyRequest, admin.NewKeyAnswer, said)
        return _new_key(got)

    def revoke_key(self, id: str) -> Steps[Key]:
        """Take a key for none from now on."""
        said = {"id": _id_of(id)}
        got = yield from self.answer("revoke_key", admin.KeyRequest, admin.KeyAnswer, said)
        return _key(got)

    def audit_log(self, limit: int = 100) -> Steps[Sequence[AuditEntry]]:
        """What everybody did that is to be accounted for, youngest first."""
        said = {"limit": limit}
        got = yield from self.answer("audit_log", admin.AuditRequest, admin.AuditAnswer, said)
        return tuple(map(_entry, got.entries))

    def _user(self, verb: str, name: str) -> Steps[User]:
        got = yield from self.answer(
            verb, admin.UserRequest, admin.UserAnswer, {"name": check_user(name)}
        )
        return _user(got)


def _id_of(text: str) -> str:
    """The id of a key; were the whole of it given, its secret would be in the path."""
    bearer = Bearer.read(text)
    return bearer.id if bearer else text


def _user(said: admin.UserAnswer) -> User:
    return User(UserId(said.name), said.created_at, said.disabled_at)


def _key(said: admin.KeyAnswer, hash_: bytes = b"") -> Key:
    return Key(
        id=said.id,
        user=UserId(said.user),
        access=said.access,
        hash=hash_,
        label=said.label,
        created_at=said.created_at,
        expires_at=said.expires_at,
        revoked_at=said.revoked_at,
        per_minute=said.per_minute,
        per_day=said.per_day,
    )


def _new_key(said: admin.NewKeyAnswer) -> NewKey:
    bearer = Bearer.read(said.key)
    if bearer is None:
        raise InvalidAnswer("the server answered a new key that is none")
    return NewKey(key=_key(said, bearer.hash), text=bearer.text)


def _entry(said: admin.AuditEntryAnswer) -> AuditEntry:
    return AuditEntry(
        said.at,
        UserId(said.owner),
        said.action,
        None if said.id is None else MemoryId(said.id),
        said.version,
        said.agent,
        said.key,
        said.detail,
    )
