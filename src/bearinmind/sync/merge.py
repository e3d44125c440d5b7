"""Two histories of one memory become one in which nothing is lost.

What the server has comes first and stays as it is; what only this replica has follows, numbered
anew. Where both sides changed a memory, a last version takes every field from the side that changed
it. Where both changed the same field, the later change is served, and the conflict is named.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import NamedTuple

from bearinmind.changes import is_same_version
from bearinmind.protocols import History, Sealed
from bearinmind.sync.fields import Fields, Sealing, fields_of, merged_fields, opening, text_of
from bearinmind.sync.lineage import Told, conceals, history_of, says, shared, told
from bearinmind.types import Memory

_TICK = timedelta(microseconds=1)


class Merged(NamedTuple):
    """One history out of two."""

    history: History
    settled: bool  #: whether the server has exactly this
    fields: tuple[str, ...] = ()  #: what both sides changed, differently
    served: str = ""  #: the digest of the version that is served
    other: str = ""  #: of the one that contradicts it


def merge(local: History, server: History, sealing: Sealing, now: datetime) -> Merged:
    """One history out of a replica's and its server's.

    Raises:
        VaultFailure: what is sensitive must be sealed anew, and its key is not here.
    """
    ours, theirs = told(local), told(server)
    common = shared(ours, theirs, opening(sealing))
    growing = _Growing([_hidden_one(*pair) for pair in zip(ours, theirs, strict=False)][:common])
    shut_there = _shuts(theirs, ours, common)
    if common == len(theirs) and not shut_there:
        growing.versions += ours[common:]
        return Merged(history_of(growing.versions), settled=growing.is_told(theirs))
    shut_here = _shuts(ours, theirs, common)
    growing.versions += [
        _sealed_in_place(version, sealing) if shut_here else version for version in theirs[common:]
    ]
    unsent, base = _unsent(ours, theirs, common)
    if not unsent:
        return Merged(history_of(growing.versions), settled=growing.is_told(theirs))
    their = growing.versions[-1]
    for version in unsent:
        growing.append(_rewritten(growing, version, sealing, shut=shut_there))
    return _with_last(growing, _Sides(ours[-1], their, base), sealing, now)


def _with_last(growing: _Growing, sides: _Sides, sealing: Sealing, now: datetime) -> Merged:
    """The history with a version in which every field is that of the side that changed it."""
    our, their = fields_of(sides.our, sealing), fields_of(sides.their, sealing)
    base = fields_of(sides.base, sealing) if sides.base else None
    ours_win = sides.our.memory.updated_at > sides.their.memory.updated_at
    merged, names = merged_fields(our, their, base, ours_win=ours_win)
    last = growing.versions[-1]
    if fields_of(last, sealing) != merged:
        growing.append(_made(growing, sides.their.memory, merged, sealing, now))
    return Merged(
        history_of(growing.versions),
        settled=False,
        fields=names,
        served=growing.versions[-1].digest,
        other=sides.their.digest if ours_win else last.digest,
    )


class _Sides(NamedTuple):
    """The last version of each side, and the last that both have."""

    our: Told
    their: Told
    base: Told | None


class _Growing:
    """A history to which versions are added."""

    def __init__(self, versions: Sequence[Told]) -> None:
        self.versions = [*versions]

    def place(self, at: datetime) -> tuple[int, datetime]:
        """The number of the next version, and when it is written: never before the last."""
        if not self.versions:
            return 1, at
        last = self.versions[-1].memory
        return last.version + 1, max(at, last.updated_at + _TICK)

    def append(self, version: tuple[Memory, tuple[Sealed, ...]]) -> None:
        """Add a version with its record."""
        memory, records = version
        self.versions += told(History(versions=(memory,), sealed=records))

    def is_told(self, theirs: Sequence[Told]) -> bool:
        """Whether the server has all of it."""
        return len(self.versions) == len(theirs) and all(
            is_same_version(our.memory, their.memory)
            for our, their in zip(self.versions, theirs, strict=True)
        )


# ---- what was sealed afterwards ----------------------------------------------------------------


def _hidden_one(our: Told, their: Told) -> Told:
    """Of two that are the same the sealed one; with our record, which opens with our key."""
    return their if conceals(their, our) else our


def _shuts(these: Sequence[Told], those: Sequence[Told], common: int) -> bool:
    """Whether one side sealed the memory with all its versions, and the other has some in clear."""
    pairs = zip(these[:common], those[:common], strict=True)
    return all(x.memory.sensitive for x in these) and any(conceals(*pair) for pair in pairs)


def _sealed_in_place(version: Told, sealing: Sealing) -> Told:
    if version.memory.sensitive:
        return version
    memory, records = sealing.guard(replace(version.memory, sensitive=True))
    return told(History(versions=(memory,), sealed=records))[0]


# ---- what the server does not have -------------------------------------------------------------


def _unsent(
    ours: Sequence[Told], theirs: Sequence[Told], common: int
) -> tuple[list[Told], Told | None]:
    """What only this replica has, and the last of its versions that the server has as well.

    A version that says what one of the server's says is the same change, made on two machines or
    sent before: it is not repeated.
    """
    there = {says(version) for version in theirs[common:]}
    base = ours[common - 1] if common else None
    unsent: list[Told] = []
    for version in ours[common:]:
        if says(version) in there:
            base = version
        else:
            unsent.append(version)
    return unsent, base


def _rewritten(
    growing: _Growing, version: Told, sealing: Sealing, *, shut: bool
) -> tuple[Memory, tuple[Sealed, ...]]:
    """A version at another place; what is sealed is bound to its place, and is sealed anew."""
    before = version.memory
    number, at = growing.place(before.updated_at)
    is_deletion = before.deleted_at == before.updated_at
    moved = replace(
        before,
        version=number,
        updated_at=at,
        deleted_at=at if is_deletion else before.deleted_at,
    )
    if before.sensitive:
        text = text_of(version, sealing)
        return moved, (sealing.vault.seal(moved.owner, moved.id, number, text),)
    return sealing.guard(replace(moved, sensitive=True)) if shut else (moved, ())


def _made(
    growing: _Growing, like: Memory, fields: Fields, sealing: Sealing, now: datetime
) -> tuple[Memory, tuple[Sealed, ...]]:
    """A version with these fields."""
    number, at = growing.place(now)
    made = replace(
        like,
        content=fields.content,
        sensitive=fields.sensitive,
        category=fields.category,
        tags=fields.tags,
        keywords=fields.keywords,
        importance=fields.importance,
        valid_from=fields.validity[0],
        valid_to=fields.validity[1],
        provenance=fields.provenance,
        version=number,
        updated_at=at,
        deleted_at=at if fields.deletion else None,
    )
    return sealing.guard(made) if made.sensitive else (made, ())
