"""Seals what sensitive memories say with AES-256-GCM."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import threading
from collections.abc import Callable

from bearinmind.errors import SealBroken, VaultKeyMissing
from bearinmind.protocols import Sealed
from bearinmind.types import MemoryId, UserId
from bearinmind.vault.keys import Key, Keyring
from bearinmind.vault.sources import FileKeys, KeySource

_NONCE_BYTES = 12
_FINGERPRINT_BYTES = 16  # as long as the hash of any other content
_FORMAT = 1  # of what is bound to a ciphertext


class SealingVault:
    """Satisfies `bearinmind.protocols.Vault`. The keys are read when they are first needed."""

    def __init__(self, source: KeySource, *, is_first_use: Callable[[], bool]) -> None:
        """Take a source of keys; where it is a file, one is made on first use."""
        self.source = source
        self.made_key_at: FileKeys | None = None  #: where a key was made since the vault was opened
        self._is_first_use = is_first_use
        self._keys: Keyring | None = None
        self._lock = threading.Lock()

    def seal(self, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:
        """Encrypt a content for one version of one memory of one owner."""
        return sealed_with(self._keys_to_seal().present, owner, id, version, content)

    def open(self, sealed: Sealed) -> str:
        """The content."""
        key = self._find(sealed.key_id)
        if key is None:  # another process may have rotated meanwhile
            self.refresh()
            key = self._find(sealed.key_id)
        if key is None:
            raise VaultKeyMissing(
                f"memory {sealed.id} is sealed under the key {sealed.key_id}, "
                f"which is not in {self.source.where}"
            )
        return opened_with(key, sealed)

    def fingerprint(self, owner: UserId, content: str) -> bytes:
        """The same for the same content of an owner."""
        return _fingerprint(self._keys_to_seal().present, owner, content)

    def refresh(self) -> None:
        """Read the keys anew."""
        with self._lock:
            self._keys = None

    def keys(self) -> Keyring | None:
        """The keys that there are."""
        with self._lock:
            if self._keys is None:
                self._keys = self.source.load()
            return self._keys

    def create(self) -> Keyring:
        """The keys of the file, which is made if it is not there."""
        keys = self.keys()
        if keys is not None:
            return keys
        if not isinstance(self.source, FileKeys):
            raise VaultKeyMissing(f"there is no key in {self.source.where}")
        with self._lock:
            self._keys = keys = self.source.create()
            self.made_key_at = self.source
        return keys

    def _find(self, key_id: str) -> Key | None:
        keys = self.keys()
        return keys.find(key_id) if keys else None

    def _keys_to_seal(self) -> Keyring:
        keys = self.keys()
        if keys is not None:
            return keys
        if not self._is_first_use():
            raise VaultKeyMissing(
                f"there are secrets here already, and their key is not in {self.source.where}"
            )
        return self.create()


def sealed_with(key: Key, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:
    """A content under a key. The nonce is random: no two records ever share one."""
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415  costly to load

    nonce = os.urandom(_NONCE_BYTES)
    bound = _bound(owner, id, version)
    ciphertext = AESGCM(key.for_encryption).encrypt(nonce, content.encode(), bound)
    return Sealed(
        owner=owner,
        id=id,
        version=version,
        key_id=key.id,
        nonce=nonce,
        ciphertext=ciphertext,
        fingerprint=_fingerprint(key, owner, content),
    )


def opened_with(key: Key, sealed: Sealed) -> str:
    """The content of a record, if it is what was sealed for this very place."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    bound = _bound(sealed.owner, sealed.id, sealed.version)
    try:
        content = AESGCM(key.for_encryption).decrypt(sealed.nonce, sealed.ciphertext, bound)
    except (InvalidTag, ValueError):
        raise SealBroken(f"what memory {sealed.id} says cannot be opened") from None
    return content.decode()


def _bound(owner: UserId, id: MemoryId, version: int) -> bytes:
    """What a ciphertext is bound to: moved to another place it no longer opens."""
    return json.dumps([_FORMAT, owner, id, version], ensure_ascii=False).encode()


def _fingerprint(key: Key, owner: UserId, content: str) -> bytes:
    """The same for texts of an owner that differ in nothing but white space; a keyed hash."""
    said = f"{owner}\0{' '.join(content.split())}".encode()
    return hmac.digest(key.for_fingerprints, said, hashlib.sha256)[:_FINGERPRINT_BYTES]
