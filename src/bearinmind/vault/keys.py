"""The keys of a vault: 32 random bytes each, one of them the present one."""

from __future__ import annotations

import base64
import binascii
import hashlib
import hmac
import os
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Self

from bearinmind.errors import InvalidVaultKey

KEY_BYTES = 32
_SEPARATOR = re.compile(r"[\s,]+")
_COMMENT = re.compile(r"#.*")


@dataclass(frozen=True)
class Key:
    """One key. What encrypts and what makes fingerprints are both derived from it, once."""

    material: bytes = field(repr=False)

    def __post_init__(self) -> None:
        if len(self.material) != KEY_BYTES:
            raise InvalidVaultKey(
                f"the key of the vault has {len(self.material)} bytes; it must have {KEY_BYTES}"
            )

    @classmethod
    def new(cls) -> Self:
        """A random key."""
        return cls(os.urandom(KEY_BYTES))

    @cached_property
    def id(self) -> str:
        """Its name, which tells nothing about it."""
        return self._derived(b"name")[:8].hex()

    @cached_property
    def for_encryption(self) -> bytes:
        """What encrypts."""
        return self._derived(b"encryption")

    @cached_property
    def for_fingerprints(self) -> bytes:
        """What makes fingerprints."""
        return self._derived(b"fingerprints")

    @property
    def text(self) -> str:
        """The key itself, in base64."""
        return base64.b64encode(self.material).decode()

    def _derived(self, purpose: bytes) -> bytes:
        return hmac.digest(self.material, b"bearinmind vault 1: " + purpose, hashlib.sha256)


@dataclass(frozen=True, slots=True)
class Keyring:
    """Keys, the present one first; the others only open what was sealed before."""

    keys: tuple[Key, ...]

    @classmethod
    def read(cls, text: str) -> Self:
        """The keys of a text: base64, separated by spaces, commas or line ends; # begins a remark.

        Raises:
            InvalidVaultKey: something in it is no key; what it is, is not said.
        """
        words = [word for word in _SEPARATOR.split(_COMMENT.sub("", text)) if word]
        if not words:
            raise InvalidVaultKey("the key of the vault is empty")
        return cls(tuple(dict.fromkeys(map(_decoded, words))))

    @property
    def present(self) -> Key:
        """The key that seals."""
        return self.keys[0]

    def find(self, key_id: str) -> Key | None:
        """The key of that name."""
        return next((key for key in self.keys if key.id == key_id), None)


def _decoded(word: str) -> Key:
    try:
        return Key(base64.b64decode(word, altchars=b"-_" if {*"-_"} & {*word} else None))
    except (binascii.Error, ValueError):
        raise InvalidVaultKey("the key of the vault is not base64") from None
