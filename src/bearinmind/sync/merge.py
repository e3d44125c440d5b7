"""Merges two histories of one memory into one in which nothing is lost.

The versions of the server come first and stay as they are; those that only this replica has follow,
numbered anew. Where both sides changed a memory, a last version takes every field from the side
that changed it. Where both changed the same field, the later change is served, and the conflict is
named.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, NamedTuple, cast

from bearinmind.changes import digest, is_same_version
from bearinmind.errors import SealBroken, VaultFailure
from bearinmind.protocols import History, Sealed
from bearinmind.sync.model import Sealing
from bearinmind.types import Memory

_TICK = timedelta(microseconds=1)
#: Fields of a version that nobody edits by itself; the two ends of a span are edited as one.
_NOT_EDITED = {
    *("id", "owner", "version", "created_at", "updated_at", "deleted_at"),
    *("valid_from", "valid_to"),
}
_EDITED = tuple(field.name for field in fields(Memory) if field.name not in _NOT_EDITED)

#: What can be changed about a memory: its edited fields, `validity` and `deletion`. The `content`
#: of a sensitive version is its text, not the placeholder.
Fields = Mapping[str, object]
_Span = tuple[datetime | None, datetime | None]


class Merged(NamedTuple):
    """The merged history."""

    history: History
    settled: bool  #: whether the server has exactly this
    fields: tuple[str, ...] = ()  #: what both sides changed, differently
    served: str = ""  #: the digest of the version that is served
    other: str = ""  #: of the one that contradicts it


def merge(local: History, server: History, sealing: Sealing, now: datetime) -> Merged:
    """Merge the histories of a replica and its server; a missing key is a `VaultFailure`."""
    ours, theirs = versions_of(local), versions_of(server)
    common = common_length(ours, theirs, sealing)
    pairs = zip(ours[:common], theirs[:common], strict=True)
    # Of two that are the same, the sealed one; with our record, which opens with our key.
    merged = _History([their if conceals(their, our) else our for our, their in pairs])
    shut_there = _shuts(theirs, ours, common)
    if common == len(theirs) and not shut_there:
        merged.versions += ours[common:]
        return Merged(history_of(merged.versions), settled=merged.is_the_same_as(theirs))
    shut_here = _shuts(ours, theirs, common)
    merged.versions += [
        _sealed_in_place(version, sealing) if shut_here else version for version in theirs[common:]
    ]
    unsent, base = _unsent(ours, theirs, common)
    if not unsent:
        return Merged(history_of(merged.versions), settled=merged.is_the_same_as(theirs))
    their = merged.versions[-1]
    for version in unsent:
        merged.append(_rewritten(merged, version, sealing, shut=shut_there))
    return _with_last(merged, _Sides(ours[-1], their, base), sealing, now)


def _with_last(merged: _History, sides: _Sides, sealing: Sealing, now: datetime) -> Merged:
    """The history with a version in which every field is that of the side that changed it."""
    our, their = fields_of(sides.our, sealing), fields_of(sides.their, sealing)
    base = fields_of(sides.base, sealing) if sides.base else None
    ours_win = sides.our.memory.updated_at > sides.their.memory.updated_at
    chosen, contested = merged_fields(our, their, base, ours_win=ours_win)
    last = merged.versions[-1]
    if fields_of(last, sealing) != chosen:
        merged.append(_made(merged, sides.their.memory, chosen, sealing, now))
    return Merged(
        history_of(merged.versions),
        settled=False,
        fields=contested,
        served=merged.versions[-1].digest,
        other=sides.their.digest if ours_win else last.digest,
    )


class _Sides(NamedTuple):
    """The last version of each side, and the last that both have."""

    our: Version
    their: Version
    base: Version | None


class _History:
    """The merged history, to which versions are added."""

    def __init__(self, versions: Sequence[Version]) -> None:
        self.versions = [*versions]

    def next_version(self, at: datetime) -> tuple[int, datetime]:
        """The number of the next version, and when it is written: never before the last."""
        if not self.versions:
            return 1, at
        last = self.versions[-1].memory
        return last.version + 1, max(at, last.updated_at + _TICK)

    def append(self, version: tuple[Memory, tuple[Sealed, ...]]) -> None:
        """Add a version with its record."""
        memory, records = version
        self.versions += versions_of(History(versions=(memory,), sealed=records))

    def is_the_same_as(self, theirs: Sequence[Version]) -> bool:
        """Whether the server has all of it."""
        return len(self.versions) == len(theirs) and all(
            is_same_version(our.memory, their.memory)
            for our, their in zip(self.versions, theirs, strict=True)
        )


# ---- what was sealed afterwards ----------------------------------------------------------------


def _shuts(these: Sequence[Version], those: Sequence[Version], common: int) -> bool:
    """Whether one side sealed the memory with all its versions, and the other has some in clear."""
    pairs = zip(these[:common], those[:common], strict=True)
    return all(x.memory.sensitive for x in these) and any(conceals(*pair) for pair in pairs)


def _sealed_in_place(version: Version, sealing: Sealing) -> Version:
    if version.memory.sensitive:
        return version
    memory, records = sealing.guard(replace(version.memory, sensitive=True))
    return versions_of(History(versions=(memory,), sealed=records))[0]


# ---- what the server does not have -------------------------------------------------------------


def _unsent(
    ours: Sequence[Version], theirs: Sequence[Version], common: int
) -> tuple[list[Version], Version | None]:
    """What only this replica has, and the last of its versions that the server has as well.

    A version that says what one of the server's says is the same change, made on two machines or
    sent before: it is not repeated.
    """
    there = {fields_and_text(version) for version in theirs[common:]}
    base = ours[common - 1] if common else None
    unsent: list[Version] = []
    for version in ours[common:]:
        if fields_and_text(version) in there:
            base = version
        else:
            unsent.append(version)
    return unsent, base


def _rewritten(
    merged: _History, version: Version, sealing: Sealing, *, shut: bool
) -> tuple[Memory, tuple[Sealed, ...]]:
    """A version with another number; a sealed text is bound to its number, so it is sealed anew."""
    before = version.memory
    number, at = merged.next_version(before.updated_at)
    is_deletion = before.deleted_at == before.updated_at
    moved = replace(
        before, version=number, updated_at=at, deleted_at=at if is_deletion else before.deleted_at
    )
    if before.sensitive:
        text = text_of(version, sealing)
        return moved, (sealing.vault.seal(moved.owner, moved.id, number, text),)
    return sealing.guard(replace(moved, sensitive=True)) if shut else (moved, ())


def _made(
    merged: _History, like: Memory, chosen: Fields, sealing: Sealing, now: datetime
) -> tuple[Memory, tuple[Sealed, ...]]:
    number, at = merged.next_version(now)
    edited: dict[str, Any] = {name: chosen[name] for name in _EDITED}
    edited["valid_from"], edited["valid_to"] = cast("_Span", chosen["validity"])
    deleted_at = at if chosen["deletion"] else None
    version = replace(like, **edited, version=number, updated_at=at, deleted_at=deleted_at)
    return sealing.guard(version) if version.sensitive else (version, ())


# ---- the versions of two histories -------------------------------------------------------------


class Version(NamedTuple):
    """A version of a memory in a history."""

    memory: Memory
    record: Sealed | None  #: its text, if it is sensitive

    @property
    def digest(self) -> str:
        """What tells it from every other version."""
        return digest(self.memory)

    @property
    def own_record(self) -> tuple[Sealed, ...]:
        """The record that was made with this version, if one was."""
        record = self.record
        return (record,) if record and record.version == self.memory.version else ()


def versions_of(history: History) -> list[Version]:
    """The versions of a history, each with the record of its text."""
    records = {record.version: record for record in history.sealed}
    versions: list[Version] = []
    record: Sealed | None = None
    for memory in history.versions:
        record = records.get(memory.version, record)
        versions.append(Version(memory, record if memory.sensitive else None))
    return versions


def history_of(versions: Sequence[Version]) -> History:
    """The versions as one history."""
    return History(
        versions=tuple(each.memory for each in versions),
        sealed=tuple(record for each in versions for record in each.own_record),
    )


def common_length(
    ours: Sequence[Version], theirs: Sequence[Version], sealing: Sealing | None = None
) -> int:
    """How many versions both begin with."""
    count = 0
    for our, their in zip(ours, theirs, strict=False):
        concealed = conceals(our, their, sealing) or conceals(their, our, sealing)
        if our.memory.version != their.memory.version:
            break  # of two numbers the server's holds, and a sealed record is bound to its own
        if not concealed and not is_same(our, their):
            break
        count += 1
    return count


def is_same(one: Version, other: Version) -> bool:
    """Whether two versions are the same.

    Two placeholders look alike, so the sealed texts are compared as well, as far as that can be
    done: a text that was sealed anew under another key has another fingerprint.
    """
    if not is_same_version(one.memory, other.memory):
        return False
    if one.record is None or other.record is None or one.record.key_id != other.record.key_id:
        return True
    return one.record.fingerprint == other.record.fingerprint


def conceals(hidden: Version, clear: Version, sealing: Sealing | None = None) -> bool:
    """Whether one version is the other with its text sealed afterwards.

    Two machines may have written them at the same moment, so the texts are compared too if the key
    is here.
    """
    if clear.memory.sensitive or not hidden.memory.sensitive:
        return False
    sealed = replace(clear.memory, content=hidden.memory.content, sensitive=True)
    if digest(sealed) != hidden.digest:
        return False
    text = _opened(hidden.record, sealing)
    return text is None or text == clear.memory.content


def continues(longer: History, shorter: History) -> bool:
    """Whether a history goes on where another one ends; what was in clear may be sealed by now."""
    ours, theirs = versions_of(longer), versions_of(shorter)
    if len(ours) < len(theirs) or common_length(ours, theirs) < len(theirs):
        return False
    return not any(conceals(their, our) for our, their in zip(ours, theirs, strict=False))


def fields_and_text(version: Version) -> tuple[object, ...]:
    """All of a version except its time; a sealed text is not opened."""
    content = version.record.fingerprint if version.record else version.memory.content
    return tuple(_fields(version.memory, content).values())


# ---- the fields of two versions ----------------------------------------------------------------


def fields_of(version: Version, sealing: Sealing) -> Fields:
    """The fields of a version."""
    return _fields(version.memory, text_of(version, sealing))


def _fields(memory: Memory, content: object) -> dict[str, object]:
    return {
        **{name: getattr(memory, name) for name in _EDITED},
        "content": content,
        "validity": (memory.valid_from, memory.valid_to),
        "deletion": memory.deleted_at is not None,
    }


def text_of(version: Version, sealing: Sealing) -> str:
    """The text of a version, also when it is sealed."""
    if not version.memory.sensitive:
        return version.memory.content
    if version.record is None:
        raise SealBroken(f"the sealed text of memory {version.memory.id} is not in its history")
    return sealing.vault.open(version.record)


def _opened(record: Sealed | None, sealing: Sealing | None) -> str | None:
    """The text of a record; None without its key."""
    try:
        return sealing.vault.open(record) if sealing and record else None
    except VaultFailure:
        return None


def merged_fields(
    our: Fields, their: Fields, base: Fields | None, *, ours_win: bool
) -> tuple[Fields, tuple[str, ...]]:
    """Every field from the side that changed it, and the names of those that both changed.

    `base` has the fields when both were last the same. Of a field that both changed differently,
    one side's is taken. A deletion gives way to a change, so that nothing in use is taken away.
    """
    both = _changed(our, base) & _changed(their, base)
    contested = [name for name in our if name in both and our[name] != their[name]]
    taken = _changed(our, base) if ours_win else _changed(our, base) - _changed(their, base)
    merged = {**their, **{name: our[name] for name in taken}}
    other = their if our["deletion"] else our  # the side that did not delete it
    deleted_by_one = merged["deletion"] and our["deletion"] != their["deletion"]
    if deleted_by_one and _changed(other, base) - {"deletion"}:
        merged["deletion"] = False
        contested.append("deletion")
    merged["sensitive"] = _is_sensitive(merged, our, their, base)
    return merged, tuple(dict.fromkeys(contested))


def _changed(side: Fields, base: Fields | None) -> frozenset[str]:
    return frozenset(name for name in side if base is None or side[name] != base[name])


def _is_sensitive(merged: Fields, our: Fields, their: Fields, base: Fields | None) -> bool:
    """Whether the merged version is sensitive: nothing that was sensitive becomes readable.

    A flag that either side set stays; it is cleared only for the text for which it was cleared.
    """
    raised = not (base and base["sensitive"]) and bool(our["sensitive"] or their["sensitive"])
    in_clear = {side["content"] for side in (our, their) if not side["sensitive"]}
    return raised or merged["content"] not in in_clear
