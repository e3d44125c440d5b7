"""What a user has in a store in memory, and how its lexical matches are ranked."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import cached_property
from typing import NamedTuple

from bearinmind import analysis, errors
from bearinmind.changes import Subject
from bearinmind.filters import is_expired
from bearinmind.protocols import History, LexicalStatistics, Sealed
from bearinmind.types import Link, LinkKind, Memory, MemoryId, State, UserId

#: What an occurrence counts by its column: content, keywords, tags, category, function words.
COLUMN_WEIGHTS = (1.0, 0.7, 0.7, 0.2, 0.1)
K1, B = 1.2, 0.75  # as in SQLite's bm25()
LEAST_INFORMATION = 1e-6  # of a term that most memories hold; as there
TAGS_COUNTED = 20
_SUPERSEDES = LinkKind.SUPERSEDES
_NEVER = datetime.max.replace(tzinfo=UTC)
_row_numbers = itertools.count(1)


class Indexed:
    """The index entry of a version, made when somebody looks for something."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory

    @cached_property
    def entry(self) -> analysis.Entry:
        """What the version is found by."""
        return analysis.entry(self._memory)

    @cached_property
    def weights(self) -> dict[str, float]:
        """By term: its occurrences, each counted by its column."""
        counted: dict[str, float] = {}
        for column, weight in zip(self.entry[:5], COLUMN_WEIGHTS, strict=True):
            for term in column.split():
                counted[term] = counted.get(term, 0.0) + weight
        return counted

    @cached_property
    def size(self) -> int:
        """How many terms it holds, each as often as it occurs."""
        return sum(len(column.split()) for column in self.entry[:5])


class Row(NamedTuple):
    """One version of a memory, and when it stopped being the present one."""

    number: int  #: no other version of any user has it
    memory: Memory
    replaced_at: datetime | None
    indexed: Indexed | None  #: None for a deleted version: nothing finds it


@dataclass(frozen=True, slots=True)
class Holdings:
    """What one user has: versions in the order of writing, links, and secrets."""

    rows: list[Row] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)
    sealed: list[Sealed] = field(default_factory=list)

    def at(self, as_of: datetime | None) -> dict[MemoryId, Row]:
        """The versions that were the present ones at a moment."""
        held = (x for x in self.rows if holds(x.memory.updated_at, x.replaced_at, as_of))
        return {row.memory.id: row for row in held}

    def earlier(self, row: Row) -> list[Row]:
        """The versions of the same memory before one."""
        versions = (x for x in self.rows if x.memory.id == row.memory.id)
        return [x for x in versions if x.memory.version < row.memory.version]

    def links_at(self, as_of: datetime | None) -> list[Link]:
        """The links that held at a moment."""
        return [link for link in self.links if holds(link.created_at, link.removed_at, as_of)]

    def superseding(self, as_of: datetime | None) -> list[Link]:
        """The supersedes links in force: a deleted memory supersedes nothing."""
        able = {id_ for id_, row in self.at(as_of).items() if row.memory.deleted_at is None}
        return [x for x in self.links_at(as_of) if x.kind is _SUPERSEDES and x.source in able]

    def states(self, as_of: datetime | None, now: datetime) -> dict[MemoryId, State]:
        """Where every memory stood."""
        held = {id_: row.memory for id_, row in self.at(as_of).items()}
        states = {x: State.EXPIRED if is_expired(held[x], now) else State.LIVE for x in held}
        states |= {x.target: State.SUPERSEDED for x in self.superseding(as_of) if x.target in held}
        return states | {x: State.DELETED for x in held if held[x].deleted_at is not None}

    def known(self, memory: Memory) -> Memory | None:
        """The oldest other memory that says the same and is neither deleted nor superseded."""
        fingerprint = self.fingerprint(memory)
        hidden = {link.target for link in self.superseding(None)} | {memory.id}
        others = [row.memory for id_, row in self.at(None).items() if id_ not in hidden]
        live = [other for other in others if other.deleted_at is None]
        twins = [other for other in live if self.fingerprint(other) == fingerprint]
        return min(twins, key=when_made, default=None)

    def fingerprint(self, memory: Memory) -> bytes:
        """Under what a version is known: of a sensitive one never the hash of its text."""
        records = [
            record
            for record in self.sealed
            if record.id == memory.id and record.version <= memory.version
        ]
        if memory.sensitive and records:
            return max(records, key=lambda record: record.version).fingerprint
        return analysis.fingerprint(memory.content)

    def before(self, memory: Memory) -> Row:
        """The present version of a memory, which a new one must follow."""
        present = self.at(None).get(memory.id)
        if present is None or present.memory.version != memory.version - 1:
            raise errors.VersionConflict(f"{memory.id} has another version before this one")
        return present

    def close(self, present: Row, at: datetime) -> None:
        """End the present version of a memory."""
        self.rows[self.rows.index(present)] = present._replace(replaced_at=at)

    def conceal(self, memory: Memory) -> None:
        """Overwrite an earlier version that has become sensitive."""
        for place, row in enumerate(self.rows):
            if (row.memory.id, row.memory.version) == (memory.id, memory.version):
                indexed = Indexed(memory) if memory.deleted_at is None else None
                self.rows[place] = Row(next(_row_numbers), memory, row.replaced_at, indexed)

    def insert(self, memory: Memory, replaced_at: datetime | None = None) -> None:
        """Add a version."""
        indexed = Indexed(memory) if memory.deleted_at is None else None
        self.rows.append(Row(next(_row_numbers), memory, replaced_at, indexed))

    def history(self, subject: Subject) -> History:
        """Every version of a memory, and what its sensitive ones say."""
        [id_] = subject.parts
        versions = [row.memory for row in self.rows if row.memory.id == id_]
        sealed = [record for record in self.sealed if record.id == id_]
        return History(
            versions=tuple(sorted(versions, key=lambda memory: memory.version)),
            sealed=tuple(sorted(sealed, key=lambda record: record.version)),
        )

    def forget_behind(self, subject: Subject, version: int) -> None:
        """Remove the versions of a memory behind one, and what they kept sealed."""
        [id_] = subject.parts
        self.rows[:] = [
            row for row in self.rows if row.memory.id != id_ or row.memory.version <= version
        ]
        self.sealed[:] = [x for x in self.sealed if x.id != id_ or x.version <= version]

    def forget(self, gone: frozenset[MemoryId]) -> None:
        """Remove memories with their versions, their links and what they kept sealed."""
        self.rows[:] = [row for row in self.rows if row.memory.id not in gone]
        self.links[:] = [x for x in self.links if gone.isdisjoint((x.source, x.target))]
        self.sealed[:] = [record for record in self.sealed if record.id not in gone]

    def link(self, link: Link) -> None:
        """Add a link, unless it is there or would close a circle."""
        if link.source == link.target:
            raise errors.SelfLink(f"memory {link.source} cannot be linked to itself")
        if link.kind is _SUPERSEDES and link.removed_at is None:
            below = {link.target}
            holding = [x for x in self.links_at(None) if x.kind is _SUPERSEDES]
            while reached := {x.target for x in holding if x.source in below} - below:
                below |= reached
            if link.source in below:
                raise errors.SupersedeCycle(f"{link.target} already supersedes {link.source}")
        if any(identity(link) == identity(kept) for kept in self.links):
            raise errors.DuplicateLink(f"{link.source} {link.kind} {link.target} is there already")
        self.links.append(link)


def owned_by(user: UserId, memory: Memory) -> Memory:
    """The memory as one of a user's."""
    return memory if memory.owner == user else replace(memory, owner=user)


def statistics(rows: Sequence[Row], terms: Sequence[str]) -> LexicalStatistics:
    """How frequent terms are among versions."""
    index = [row.indexed for row in rows if row.indexed]
    average = sum(indexed.entry.length for indexed in index) / (len(index) or 1)
    frequency = {term: sum(term in indexed.weights for indexed in index) for term in terms}
    return LexicalStatistics(len(index), average, frequency)


def bm25(index: Sequence[Indexed], terms: Sequence[str]) -> Callable[[Indexed], float]:
    """SQLite's formula, in the same order of operations, so that ties agree too."""
    average = sum(indexed.size for indexed in index) / (len(index) or 1)
    information: dict[str, float] = {}
    for term in terms:
        held = sum(term in indexed.weights for indexed in index)
        informed = math.log((len(index) - held + 0.5) / (held + 0.5))
        information[term] = informed if informed > 0 else LEAST_INFORMATION

    def score(indexed: Indexed) -> float:
        total = 0.0
        norm = K1 * (1 - B + B * indexed.size / average)
        for term in terms:
            count = indexed.weights.get(term, 0.0)
            total += information[term] * (count * (K1 + 1.0) / (count + norm))
        return total

    return score


def holds(since: datetime, until: datetime | None, as_of: datetime | None) -> bool:
    """Whether a span holds at a moment; without one, whether it has not ended."""
    if as_of is None:
        return until is None
    return since <= as_of and (until is None or until > as_of)


def when_made(memory: Memory) -> tuple[datetime, MemoryId]:
    """The order of a list."""
    return (memory.created_at, memory.id)


def identity(link: Link) -> tuple[MemoryId, LinkKind, MemoryId, datetime | None]:
    """What no two links have in common."""
    return (link.source, link.kind, link.target, link.removed_at)


def age(link: Link) -> tuple[datetime, MemoryId, LinkKind, MemoryId, datetime]:
    """The order of links."""
    return (link.created_at, *identity(link)[:3], link.removed_at or _NEVER)


def most(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first; equal ones in order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
