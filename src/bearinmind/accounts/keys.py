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
from dataclasses import dataclass, field
from typing import Self

from bearinmind.types import Key

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
