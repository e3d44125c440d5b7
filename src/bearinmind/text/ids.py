"""Memory ids as people and models give them: a beginning, misread letters, the owner's name."""

from __future__ import annotations

from collections.abc import Container

from bearinmind import errors
from bearinmind.types import ID_ALPHABET, ID_LENGTH, MemoryId, UserId

#: Between an owner and an id; in no name of a user.
_BETWEEN = ":"
_MISREAD = str.maketrans("ilo", "110")
_WHOLE = 105  # characters, the most that a surface takes: a secret is seen as a whole alone
_SHOWN = 60  # characters of what is longer


def normalise(text: str) -> str:
    """An id, or the beginning of one, as stored; corrects case, dashes and misread letters."""
    prefix = text.strip().lower().replace("-", "").translate(_MISREAD)
    if not prefix or len(prefix) > ID_LENGTH or not set(prefix) <= set(ID_ALPHABET):
        raise _no_id(text)
    return prefix


def _no_id(text: str) -> errors.InvalidId:
    shown = repr(text) if len(text) <= _WHOLE else f"{text[:_SHOWN]!r}…"
    return errors.InvalidId(f"{shown} is not a memory id or the beginning of one")


def derived(digest: bytes) -> MemoryId:
    """The id of a digest of at least eight bytes."""
    number = int.from_bytes(digest[:8])
    base = len(ID_ALPHABET)
    return MemoryId("".join(ID_ALPHABET[number // base**n % base] for n in range(ID_LENGTH)))


def with_owner(owner: UserId, id: MemoryId) -> MemoryId:
    """An id that names its owner: two owners may hold one id."""
    return MemoryId(f"{owner}{_BETWEEN}{id}")


def name_among(names: Container[MemoryId], owner: UserId, id: MemoryId) -> MemoryId:
    """The name of a memory among these: with its owner, where another has the bare id."""
    whole = with_owner(owner, id)
    return whole if whole in names else id


def split_owner(text: str) -> tuple[str | None, str]:
    """The owner that an id names, if it names one, and the rest."""
    owner, between, rest = text.rpartition(_BETWEEN)
    return (owner if between else None), rest


def parse(text: str) -> tuple[str | None, str]:
    """The owner that an id names, if it names one, and the beginning of the id as stored."""
    owner, rest = split_owner(text.strip())
    try:
        return owner, normalise(rest)
    except errors.InvalidId:  # the whole text: what is secret in it is seen as a whole alone
        raise _no_id(text) from None


def canonical(text: str) -> str:
    """An id or the beginning of one as stored, with its owner if it names one."""
    owner, prefix = parse(text)
    return prefix if owner is None else f"{owner}{_BETWEEN}{prefix}"
