"""Bearer keys: made, written, read and recognised.

A key is written `rcl_ID_SECRET`. The id is no secret: lists, logs and the audit name a key by it.
The secret is as random as an encryption key, so one fast hash of it keeps it from whoever reads the
store: there is no word to guess, and a slow hash would only slow down every request.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import string
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Self

from bearinmind.errors import InvalidKeyTerms
from bearinmind.types import Access, Key, UserId

_ID = string.ascii_lowercase + string.digits
_ID_LENGTH = 12
_SECRET = string.ascii_letters + string.digits  # no mark, so that a double click selects it
_SECRET_LENGTH = 43  # of these: 256 bits
_WRITTEN = re.compile(rf"rcl_([a-z0-9]{{{_ID_LENGTH}}})_([A-Za-z0-9]{{{_SECRET_LENGTH}}})")
_NOBODYS = secrets.token_bytes(hashlib.sha256().digest_size)  # the hash of no secret


@dataclass(frozen=True, slots=True)
class Bearer:
    """What the bearer of a key holds."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        """One that nobody has seen."""
        return cls(_drawn(_ID, _ID_LENGTH), _drawn(_SECRET, _SECRET_LENGTH))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """What a text says; None when it is no key."""
        found = _WRITTEN.fullmatch(text)
        return cls(found[1], found[2]) if found else None

    @property
    def text(self) -> str:
        """The key as its bearer sends it."""
        return f"rcl_{self.id}_{self.secret}"

    @property
    def hash(self) -> bytes:
        """What is kept of the secret."""
        return hashlib.sha256(self.secret.encode()).digest()

    def opens(self, key: Key | None) -> bool:
        """Whether this is that key; that there is none takes as long to say."""
        kept = _NOBODYS if key is None else key.hash
        return hmac.compare_digest(self.hash, kept) and key is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made: only now can its text be seen."""

    key: Key
    text: str = field(repr=False)


def _drawn(letters: str, count: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(count))


LABEL_LIMIT = 100  # characters: where a key is used, such as "laptop, Claude Code"
PER_MINUTE_LIMIT = 1_000_000
PER_DAY_LIMIT = 1_000_000_000
OVERLAP_LIMIT = timedelta(days=30)  # for which a key stays good after it was renewed
OVERLAP = timedelta(hours=24)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """What is agreed on for a key."""

    access: Access = Access.WRITE
    label: str = ""
    expires_at: datetime | None = None
    per_minute: int | None = None  #: requests; None: as many as the server lets any key have
    per_day: int | None = None  #: writes; None: any number


def make_key(user: UserId, terms: Terms, now: datetime) -> NewKey:
    """A new key with these terms.

    Raises:
        InvalidKeyTerms: it cannot have them.
    """
    _check(terms, now)
    bearer = Bearer.new()
    key = Key(
        id=bearer.id,
        user=user,
        access=terms.access,
        hash=bearer.hash,
        label=terms.label,
        created_at=now,
        expires_at=terms.expires_at,
        per_minute=terms.per_minute,
        per_day=terms.per_day,
    )
    return NewKey(key=key, text=bearer.text)


def renewed(key: Key, now: datetime) -> NewKey:
    """A new key with the terms of another one, which is good still.

    Raises:
        InvalidKeyTerms: that one is good no more.
    """
    ended = ended_at(key)
    if ended is not None and ended <= now:
        raise InvalidKeyTerms(
            f"the key {key.id} is not good any more since {ended.isoformat(timespec='minutes')}",
            hint="Only a key that is good can be renewed; `bearinmind key create` makes another.",
        )
    bearer = Bearer.new()
    new = replace(key, id=bearer.id, hash=bearer.hash, created_at=now, revoked_at=None)
    return NewKey(key=new, text=bearer.text)


def check_overlap(overlap: timedelta) -> timedelta:
    """For how long a renewed key stays good beside the new one."""
    if not timedelta(0) <= overlap <= OVERLAP_LIMIT:
        raise InvalidKeyTerms(
            f"an overlap of {overlap} is not between none and {OVERLAP_LIMIT.days} days",
            hint="Give the time that it takes to bring the new key to whoever uses the old one.",
        )
    return overlap


def ended_at(key: Key) -> datetime | None:
    """From when on a key is not good, whatever its user may do; None: it has no end."""
    return min((end for end in (key.expires_at, key.revoked_at) if end is not None), default=None)


def _check(terms: Terms, now: datetime) -> None:
    if terms.expires_at is not None and terms.expires_at <= now:
        raise InvalidKeyTerms(
            f"a key that expires at {terms.expires_at.isoformat(timespec='minutes')} "
            "would never be good",
            hint="Give a time that is still to come.",
        )
    if len(terms.label) > LABEL_LIMIT:
        raise InvalidKeyTerms(
            f"the label has {len(terms.label):,} characters; it may have {LABEL_LIMIT}",
            hint="Say in a few words where the key is used.",
        )
    _check_number(terms.per_minute, "requests a minute", PER_MINUTE_LIMIT)
    _check_number(terms.per_day, "writes a day", PER_DAY_LIMIT)


def _check_number(value: int | None, what: str, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise InvalidKeyTerms(
            f"{value:,} {what} is not between 1 and {most:,}",
            hint="Leave it out for no limit of the key's own.",
        )
