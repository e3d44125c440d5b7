"""Rotation: everything is sealed anew under a new key, and can be resumed at any point."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from datetime import datetime
from typing import NamedTuple

from bearinmind.errors import VaultFailure, VaultKeyMissing
from bearinmind.protocols import Sealed, Secrets
from bearinmind.vault.keys import Key, Keyring
from bearinmind.vault.seal import SealingVault, sealed_with
from bearinmind.vault.sources import FileKeys

_BATCH = 100  # records of one transaction


class Rotated(NamedTuple):
    """What a rotation did."""

    key_id: str  #: the present key
    made: bool  #: whether it was made for this
    sealed: int  #: records that were sealed anew
    unreadable: int  #: records whose key is not here; they stay as they are
    dropped: int  #: old keys that were taken out of the file


def rotate(
    vault: SealingVault,
    store: Secrets,
    now: datetime,
    *,
    drop_old: bool = False,
    advance: Callable[[int], None] = lambda _: None,
) -> Rotated:
    """Seal every record under the present key, which is made first unless one is under way.

    The old keys stay where they are until the last record is done, so a crash loses nothing: what
    was sealed is under one of them, and running it again goes on.

    Raises:
        VaultFailure: there is no key, or no new one.
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
        sealed, unreadable = _seal_anew(vault, keys.present, store, advance)
        dropped = _drop_old(vault, keys) if drop_old else 0
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


def _seal_anew(
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


def _drop_old(vault: SealingVault, keys: Keyring) -> int:
    if not isinstance(vault.source, FileKeys):
        return 0
    vault.source.replace(Keyring((keys.present,)))
    vault.refresh()
    return len(keys.keys) - 1
