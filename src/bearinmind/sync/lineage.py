"""Which versions of two histories are the same, wherever each of them was written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import NamedTuple

from bearinmind.changes import digest, is_same_version
from bearinmind.protocols import History, Sealed
from bearinmind.types import Memory


class Told(NamedTuple):
    """A version as it stands in a history."""

    memory: Memory
    record: Sealed | None  #: what it says, if it is sensitive

    @property
    def digest(self) -> str:
        """What tells it from every other version."""
        return digest(self.memory)

    @property
    def own_record(self) -> tuple[Sealed, ...]:
        """The record that was made with this version, if one was."""
        made = self.record is not None and self.record.version == self.memory.version
        return (self.record,) if self.record is not None and made else ()


def told(history: History) -> list[Told]:
    """The versions of a history, each with what it says."""
    records = {record.version: record for record in history.sealed}
    found: list[Told] = []
    record: Sealed | None = None
    for memory in history.versions:
        record = records.get(memory.version, record)
        found.append(Told(memory, record if memory.sensitive else None))
    return found


def history_of(versions: Sequence[Told]) -> History:
    """The versions as one history."""
    return History(
        versions=tuple(each.memory for each in versions),
        sealed=tuple(record for each in versions for record in each.own_record),
    )


Opening = Callable[[Sealed], str | None]  #: what a record says; None without its key


def closed(_: Sealed) -> None:
    """Nothing is opened where there is no key."""


def shared(ours: Sequence[Told], theirs: Sequence[Told], opening: Opening = closed) -> int:
    """How many versions both begin with."""
    count = 0
    for our, their in zip(ours, theirs, strict=False):
        concealed = conceals(our, their, opening) or conceals(their, our, opening)
        if our.memory.version != their.memory.version:
            break  # of two numbers the server's holds, and a sealed record is bound to its own
        if not concealed and not is_same(our, their):
            break
        count += 1
    return count


def is_same(one: Told, other: Told) -> bool:
    """Whether two versions are the same.

    Two placeholders look alike, so the sealed texts are compared as well, as far as that can be
    done: a text that was sealed anew under another key has another fingerprint.
    """
    if not is_same_version(one.memory, other.memory):
        return False
    if one.record is None or other.record is None or one.record.key_id != other.record.key_id:
        return True
    return one.record.fingerprint == other.record.fingerprint


def conceals(hidden: Told, clear: Told, opening: Opening = closed) -> bool:
    """Whether one is what the other became when its text was sealed afterwards.

    Two machines may have written them at the same moment: whoever can, looks at what is sealed.
    """
    if clear.memory.sensitive or not hidden.memory.sensitive:
        return False
    sealed = replace(clear.memory, content=hidden.memory.content, sensitive=True)
    if digest(sealed) != hidden.digest:
        return False
    text = opening(hidden.record) if hidden.record else None
    return text is None or text == clear.memory.content


def continues(longer: History, shorter: History) -> bool:
    """Whether a history goes on where another one ends; what was in clear may be sealed by now."""
    ours, theirs = told(longer), told(shorter)
    if len(ours) < len(theirs) or shared(ours, theirs) < len(theirs):
        return False
    return not any(conceals(their, our) for our, their in zip(ours, theirs, strict=False))


def says(version: Told) -> tuple[object, ...]:
    """All that a version says, but for when it was written."""
    memory = version.memory
    text = version.record.fingerprint if version.record else memory.content
    return (
        text,
        memory.sensitive,
        memory.category,
        memory.tags,
        memory.keywords,
        memory.importance,
        memory.valid_from,
        memory.valid_to,
        memory.provenance,
        memory.deleted_at is None,
    )
