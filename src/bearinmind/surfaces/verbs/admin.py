"""Users, keys and the audit, as they are asked for and answered over a server."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Annotated

from pydantic import Field

from bearinmind.accounts.keys import NewKey
from bearinmind.app import Mind
from bearinmind.protocols import AuditEntry
from bearinmind.protocols import User as Account
from bearinmind.surfaces.records import Moment
from bearinmind.surfaces.verbs.answers import Answer
from bearinmind.surfaces.verbs.requests import Count, Nothing, Request, User
from bearinmind.types import Access, Key

KeyId = Annotated[str, Field(min_length=1, max_length=100, description="The id of a key.")]

# ---- what is asked -----------------------------------------------------------------------------


class UserRequest(Request):
    """Somebody."""

    name: User


class KeysRequest(Request):
    """Whose keys are meant."""

    user: User | None = None


class CreateKeyRequest(Request):
    """For whom and for what a key is to be good."""

    user: User
    access: Access = Access.WRITE
    label: Annotated[str, Field(max_length=100)] = ""
    expires_at: Moment | None = None
    per_minute: Annotated[int, Field(ge=1, le=1_000_000)] | None = None
    per_day: Annotated[int, Field(ge=1, le=1_000_000_000)] | None = None


class KeyRequest(Request):
    """A key."""

    id: KeyId


class RenewKeyRequest(KeyRequest):
    """A key, and for how long it stays good beside the new one."""

    overlap_hours: Annotated[float, Field(ge=0, le=720)] = 24.0


class AuditRequest(Request):
    """How much of the audit is to be seen."""

    limit: Count = 100


# ---- what is answered --------------------------------------------------------------------------


class UserAnswer(Answer):
    """Somebody whom the server knows."""

    name: str
    created_at: datetime
    disabled_at: datetime | None


class UsersAnswer(Answer):
    """Everybody."""

    users: list[UserAnswer]


class KeyAnswer(Answer):
    """A key, without what makes it one."""

    id: str
    user: str
    access: Access
    label: str
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    per_minute: int | None
    per_day: int | None


class NewKeyAnswer(KeyAnswer):
    """A key that was just made."""

    key: str = Field(description="What its bearer sends; it is never shown again.")


class KeysAnswer(Answer):
    """Keys."""

    keys: list[KeyAnswer]


class AuditEntryAnswer(Answer):
    """That somebody did something that is to be accounted for."""

    at: datetime
    owner: str
    action: str
    id: str | None
    version: int | None
    agent: str | None
    key: str | None
    detail: str | None


class AuditAnswer(Answer):
    """What was done, youngest first."""

    entries: list[AuditEntryAnswer]


# ---- from the one to the other -----------------------------------------------------------------


def add_user(app: Mind, asked: UserRequest) -> UserAnswer:
    """Make somebody known."""
    return _user(app.accounts.add_user(asked.name))


def users(app: Mind, asked: Nothing) -> UsersAnswer:  # noqa: ARG001  nothing is asked
    """Everybody."""
    return UsersAnswer(users=[_user(each) for each in app.accounts.users()])


def disable_user(app: Mind, asked: UserRequest) -> UserAnswer:
    """Let a user in no more."""
    return _user(app.accounts.disable_user(asked.name))


def enable_user(app: Mind, asked: UserRequest) -> UserAnswer:
    """Let a user in again."""
    return _user(app.accounts.enable_user(asked.name))


def create_key(app: Mind, asked: CreateKeyRequest) -> NewKeyAnswer:
    """A new key."""
    return _new_key(app.accounts.create_key(asked.user, **asked.given("user")))


def keys(app: Mind, asked: KeysRequest) -> KeysAnswer:
    """Keys."""
    return KeysAnswer(keys=[_key(each) for each in app.accounts.keys(asked.user)])


def renew_key(app: Mind, asked: RenewKeyRequest) -> NewKeyAnswer:
    """A new key in place of an old one."""
    return _new_key(app.accounts.renew_key(asked.id, overlap=timedelta(hours=asked.overlap_hours)))


def revoke_key(app: Mind, asked: KeyRequest) -> KeyAnswer:
    """Take a key for none."""
    return _key(app.accounts.revoke_key(asked.id))


def audit_log(app: Mind, asked: AuditRequest) -> AuditAnswer:
    """What everybody did."""
    found = app.accounts.audit(asked.limit, everybody=True)
    return AuditAnswer(entries=[_entry(each) for each in found])


def _user(value: Account) -> UserAnswer:
    return UserAnswer.model_validate(value._asdict())


def _key(value: Key) -> KeyAnswer:
    return KeyAnswer.model_validate({name: getattr(value, name) for name in KeyAnswer.model_fields})


def _new_key(value: NewKey) -> NewKeyAnswer:
    return NewKeyAnswer(**_key(value.key).model_dump(), key=value.text)


def _entry(value: AuditEntry) -> AuditEntryAnswer:
    return AuditEntryAnswer.model_validate(value._asdict())
