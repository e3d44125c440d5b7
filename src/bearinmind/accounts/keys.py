"""Bearer keys: their text, their hash and their terms.

A key is written `bim_ID_SECRET`. The id is no secret: lists, logs and the audit name a key by it.
The secret has 256 random bits, so the store keeps one fast hash of it: there is no word to guess,
and a slow hash would only slow down every request.
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
_WRITTEN = re.compile(rf"bim_([a-z0-9]{{{_ID_LENGTH}}})_([A-Za-z0-9]{{{_SECRET_LENGTH}}})")
_NO_KEY = secrets.token_bytes(hashlib.sha256().digest_size)  # the hash of no secret

LABEL_LIMIT = 100  # characters: where a key is used, such as "laptop, Claude Code"
PER_MINUTE_LIMIT = 1_000_000
PER_DAY_LIMIT = 1_000_000_000
OVERLAP_LIMIT = timedelta(days=30)  # for which a key stays good after it was renewed
OVERLAP = timedelta(hours=24)


@dataclass(frozen=True, slots=True)
class Bearer:
    """The id and the secret of a key, as its user holds them."""

    id: str
    secret: str = field(repr=False)

    @classmethod
    def new(cls) -> Self:
        """A random id and secret."""
        return cls(_random_text(_ID, _ID_LENGTH), _random_text(_SECRET, _SECRET_LENGTH))

    @classmethod
    def read(cls, text: str) -> Self | None:
        """Parse the text of a key; None when it is not one."""
        match = _WRITTEN.fullmatch(text)
        return cls(match[1], match[2]) if match else None

    @property
    def text(self) -> str:
        """The key as it is sent."""
        return f"bim_{self.id}_{self.secret}"

    @property
    def hash(self) -> bytes:
        """The hash of the secret, which the store keeps."""
        return hashlib.sha256(self.secret.encode()).digest()

    def opens(self, key: Key | None) -> bool:
        """Whether this is the text of that key; takes as long when there is no such key."""
        kept = _NO_KEY if key is None else key.hash
        return hmac.compare_digest(self.hash, kept) and key is not None


@dataclass(frozen=True, slots=True, kw_only=True)
class NewKey:
    """A key that was just made, with its text, which is shown once."""

    key: Key
    text: str = field(repr=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Terms:
    """The access, the lifetime and the limits of a key."""

    access: Access = Access.WRITE
    label: str = ""
    expires_at: datetime | None = None
    per_minute: int | None = None  #: requests; None: as many as the server lets any key have
    per_day: int | None = None  #: writes; None: any number


def make_key(user: UserId, terms: Terms, now: datetime) -> NewKey:
    """A new key with these terms; raises `InvalidKeyTerms` for terms that it cannot have."""
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
    """A new key with the terms of another one, which must still be valid."""
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
    """Check how long a renewed key stays valid beside the new one."""
    if not timedelta(0) <= overlap <= OVERLAP_LIMIT:
        wrong = "negative" if overlap < timedelta(0) else f"longer than {OVERLAP_LIMIT.days} days"
        raise InvalidKeyTerms(
            f"an overlap of {str(overlap).removesuffix(', 0:00:00')} is {wrong}",
            hint="Give the time that it takes to replace the old key wherever it is used.",
        )
    return overlap


def ended_at(key: Key) -> datetime | None:
    """When a key expires or was revoked, whichever is first; None when neither."""
    return min((end for end in (key.expires_at, key.revoked_at) if end is not None), default=None)


def _random_text(letters: str, count: int) -> str:
    return "".join(secrets.choice(letters) for _ in range(count))


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
    for value, what, most in (
        (terms.per_minute, "requests a minute", PER_MINUTE_LIMIT),
        (terms.per_day, "writes a day", PER_DAY_LIMIT),
    ):
        if value is not None and not 1 <= value <= most:
            raise InvalidKeyTerms(
                f"{value:,} {what} is not between 1 and {most:,}",
                hint="Leave it out for no limit of the key's own.",
            )
