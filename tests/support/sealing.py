"""Sealed versions as a store takes them; nothing in them is enciphered."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from bearinmind.protocols import Sealed
from bearinmind.types import Memory, UserId

_HOUR = timedelta(hours=1)


def sensitive(memory: Memory, kind: str = "password") -> Memory:
    """A version with a placeholder for its text."""
    placeholder = f"[sensitive: {kind}; bearinmind secret get {memory.id}]"
    return replace(memory, content=placeholder, sensitive=True)


def seal(memory: Memory, says: str = "kelp", key_id: str = "key-1", owner: str = "ada") -> Sealed:
    """What a version says, sealed."""
    return Sealed(
        owner=UserId(owner),
        id=memory.id,
        version=memory.version,
        key_id=key_id,
        nonce=f"{memory.id}{memory.version}{key_id}".encode(),
        ciphertext=says[::-1].encode(),
        fingerprint=f"{says:>16}".encode(),
    )


def after(memory: Memory, **changes: object) -> Memory:
    """The version that follows one, an hour later."""
    later = memory.updated_at + _HOUR
    return replace(memory, version=memory.version + 1, updated_at=later, **changes)  # type: ignore[arg-type]
