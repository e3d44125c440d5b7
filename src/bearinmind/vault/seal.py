"""Encrypts the content of sensitive memories with AES-256-GCM, and rotates the key."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from bearinmind.errors import MindError, SealBroken, VaultFailure, VaultKeyMissing
from bearinmind.models import forks
from bearinmind.protocols import Sealed, Secrets
from bearinmind.types import MemoryId, UserId
from bearinmind.vault.keys import FileKeys, Key, Keyring, KeySource

_NONCE_BYTES = 12
_FINGERPRINT_BYTES = 16  # as long as the hash of any other content
_FORMAT = 1  # of what is bound to a ciphertext
_BATCH = 100  # records of one transaction of a rotation


class SealingVault:
    """Satisfies `bearinmind.protocols.Vault`. The keys are read when they are first needed."""

    def __init__(self, source: KeySource, *, is_first_use: Callable[[], bool]) -> None:
        """Take a source of keys; a key file is made on first use."""
        self.source = source
        self.made_key_at: FileKeys | None = None  #: where a key was made since the vault was opened
        self._is_first_use = is_first_use
        self._keys: Keyring | None = None
        self._lock = forks.Lock()

    def seal(self, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:
        """Encrypt a content for one version of one memory of one owner."""
        return sealed_with(self._keys_to_seal().present, owner, id, version, content)

    def open(self, sealed: Sealed) -> str:
        """Decrypt a content."""
        for _ in range(2):
            keys = self.keys()
            key = keys.find(sealed.key_id) if keys else None
            if key is not None:
                return opened_with(key, sealed)
            self.refresh()  # another process may have rotated meanwhile
        raise VaultKeyMissing(
            f"memory {sealed.id} is sealed under the key {sealed.key_id}, "
            f"which is not in {self.source.where}"
        )

    def fingerprint(self, owner: UserId, content: str) -> bytes:
        """A keyed hash, equal for equal contents of one owner."""
        return _fingerprint(self._keys_to_seal().present, owner, content)

    def refresh(self) -> None:
        """Forget the keys; the next use reads them again."""
        with self._lock:
            self._keys = None

    def keys(self) -> Keyring | None:
        """The keys of the source; None when it has none yet."""
        with self._lock:
            if self._keys is None:
                self._keys = self.source.load()
            return self._keys

    def create(self) -> Keyring:
        """The keys; a missing key file is made."""
        keys = self.keys()
        if keys is not None:
            return keys
        if not isinstance(self.source, FileKeys):
            raise VaultKeyMissing(f"there is no key in {self.source.where}")
        with self._lock:
            self._keys = keys = self.source.create()
            self.made_key_at = self.source
        return keys

    def _keys_to_seal(self) -> Keyring:
        keys = self.keys()
        if keys is not None:
            return keys
        if not self._is_first_use():
            raise VaultKeyMissing(
                f"there are secrets here already, and their key is not in {self.source.where}",
                hint="Bring the key there: back, or from the machine that sealed them. If machines "
                "that sync with this server sealed all of them, give it a key of its own, once: "
                "`bearinmind secret key --create` on the server. Everything else works without it.",
            )
        return self.create()


def sealed_with(key: Key, owner: UserId, id: MemoryId, version: int, content: str) -> Sealed:
    """Encrypt a content with a key. The nonce is random: no two records ever share one."""
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
    """Decrypt a record; raises `SealBroken` when it was changed or moved to another memory."""
    from cryptography.exceptions import InvalidTag  # noqa: PLC0415
    from cryptography.hazmat.primitives.ciphers.aead import AESGCM  # noqa: PLC0415

    bound = _bound(sealed.owner, sealed.id, sealed.version)
    try:
        content = AESGCM(key.for_encryption).decrypt(sealed.nonce, sealed.ciphertext, bound)
    except (InvalidTag, ValueError):
        raise SealBroken(f"what memory {sealed.id} says cannot be opened") from None
    return content.decode()


def _bound(owner: UserId, id: MemoryId, version: int) -> bytes:
    """The associated data of a ciphertext: moved to another memory it no longer opens."""
    return json.dumps([_FORMAT, owner, id, version], ensure_ascii=False).encode()


def _fingerprint(key: Key, owner: UserId, content: str) -> bytes:
    """A keyed hash that ignores differences in white space."""
    text = f"{owner}\0{' '.join(content.split())}".encode()
    return hmac.digest(key.for_fingerprints, text, hashlib.sha256)[:_FINGERPRINT_BYTES]


class Rotated(NamedTuple):
    """The result of a key rotation."""

    key_id: str  #: the present key
    made: bool  #: whether the rotation made it
    sealed: int  #: records that were encrypted again
    unreadable: int  #: records whose key is missing; they stay as they are
    dropped: int  #: old keys that were removed from the file


def rotate(
    vault: SealingVault,
    store: Secrets,
    now: datetime,
    *,
    drop_old: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> Rotated:
    """Encrypt every record with a new key, or finish a rotation that was interrupted.

    The old keys stay until the last record is done, so a crash loses nothing: every record opens
    with one of them, and running it again goes on.
    """
    vault.create()
    with vault.source.alone() if isinstance(vault.source, FileKeys) else nullcontext():
        vault.refresh()
        keys = vault.keys()
        if keys is None:
            raise VaultKeyMissing(f"the key is no longer in {vault.source.where}")
        under = {*store.sealed_under()}
        made = not any(key.id in under for key in keys.keys[1:])
        if made:
            keys = _with_new_key(vault, keys)
        # From here on no process keeps anything under another key, whatever it had read before.
        store.retire_keys([key.id for key in keys.keys[1:]], now)
        sealed, unreadable = _reseal(vault, keys.present, store, advance)
        dropped = 0
        if drop_old and isinstance(vault.source, FileKeys):
            vault.source.replace(Keyring((keys.present,)))
            vault.refresh()
            dropped = len(keys.keys) - 1
    return Rotated(keys.present.id, made, sealed, unreadable, dropped)


def _with_new_key(vault: SealingVault, keys: Keyring) -> Keyring:
    if not isinstance(vault.source, FileKeys):
        raise VaultKeyMissing(
            f"everything is sealed under the key {keys.present.id} already, "
            f"and no new one is in {vault.source.where}",
            hint="Put a new key before the old one, separated by a space, and repeat this; "
            "`bearinmind secret key --new` prints one.",
        )
    longer = Keyring((Key.new(), *keys.keys))
    vault.source.replace(longer)
    vault.refresh()
    return longer


def _reseal(
    vault: SealingVault, key: Key, store: Secrets, advance: Callable[[int], None]
) -> tuple[int, int]:
    sealed = unreadable = 0
    last: Sealed | None = None
    while batch := store.sealed_otherwise(key.id, last, _BATCH):
        pairs = []
        for record in batch:
            try:
                content = vault.open(record)
            except VaultFailure:
                unreadable += 1
                continue
            new = sealed_with(key, record.owner, record.id, record.version, content)
            pairs.append((record, new))
        sealed += store.reseal(pairs)
        last = batch[-1]
        advance(len(batch))
    return sealed, unreadable


@dataclass(frozen=True, slots=True, kw_only=True)
class VaultStatus:
    """The state of the keys and of the secrets; nothing is decrypted for it."""

    where: str  #: the source of the keys
    key_ids: tuple[str, ...]  #: the present one first; none when there is no key
    problem: str  #: why the keys cannot be loaded; empty when they can
    hint: str
    secrets: int  #: of the whole store, counting each text once
    unreadable: int  #: secrets whose key is missing

    @property
    def good(self) -> bool:
        """Whether every secret can be read."""
        return not self.unreadable and not (self.problem and self.secrets)


def examine(vault: SealingVault, under: Mapping[str, int]) -> VaultStatus:
    """The status of a vault, by how many secrets are encrypted with which key."""
    problem = hint = ""
    key_ids: tuple[str, ...] = ()
    try:
        vault.refresh()
        keys = vault.keys()
        key_ids = tuple(key.id for key in keys.keys) if keys else ()
    except MindError as exc:
        problem, hint = exc.message, exc.hint
    return VaultStatus(
        where=vault.source.where,
        key_ids=key_ids,
        problem=problem,
        hint=hint,
        secrets=sum(under.values()),
        unreadable=sum(count for key_id, count in under.items() if key_id not in key_ids),
    )
