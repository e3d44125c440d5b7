"""For tests: a store in memory, a clock that stands still, ids that count.

`MemoryStore` is held to the same contract tests as the stores that keep files, and ranks lexical
matches by the same formula, so what is tested with it holds for them.
"""

from __future__ import annotations

import itertools
import math
import operator
import threading
from collections import Counter, defaultdict
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import NamedTuple

from recollect import analysis, errors, ids
from recollect.filters import admits, is_expired, says_more
from recollect.protocols import Finding, History, LexicalMatch, LexicalStatistics, Page, Statistics
from recollect.types import (
    AlreadyKnown,
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Scope,
    State,
    Stored,
    UserId,
)

#: What an occurrence counts by its column: content, keywords, tags, category, function words.
COLUMN_WEIGHTS = (1.0, 0.7, 0.7, 0.2, 0.1)
K1, B = 1.2, 0.75  # as in SQLite's bm25()
LEAST_INFORMATION = 1e-6  # of a term that most memories hold; as there
TAGS_COUNTED = 20
_SUPERSEDES = LinkKind.SUPERSEDES
_NEVER = datetime.max.replace(tzinfo=UTC)


class FixedClock:
    """A clock that stands still until it is advanced."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The present moment."""
        return self.now

    def advance(self, **span: float) -> datetime:
        """Let time pass; the keywords are those of `timedelta`."""
        self.now += timedelta(**span)
        return self.now


def counting_ids() -> Callable[[], MemoryId]:
    """A source of valid ids that sort as they are made: 000100000000, 000200000000, ..."""
    counter = itertools.count(1)
    base = len(ids.ALPHABET)

    def new_id() -> MemoryId:
        number = next(counter)
        digits = [ids.ALPHABET[number // base**place % base] for place in (3, 2, 1, 0)]
        return MemoryId("".join(digits).ljust(ids.LENGTH, ids.ALPHABET[0]))

    return new_id


class _Indexed:
    """The index entry of a version, counted."""

    def __init__(self, memory: Memory) -> None:
        self.entry = analysis.entry(memory)
        self.weights: dict[str, float] = {}  # term -> its occurrences, each counted by its column
        self.size = 0
        for column, weight in zip(self.entry[:5], COLUMN_WEIGHTS, strict=True):
            for term in column.split():
                self.weights[term] = self.weights.get(term, 0.0) + weight
                self.size += 1


class _Row(NamedTuple):
    """One version of a memory, and when it stopped being the present one."""

    memory: Memory
    replaced_at: datetime | None
    indexed: _Indexed | None  #: None for a deleted version: nothing finds it


@dataclass(frozen=True, slots=True)
class _Space:
    """What one user has: versions in the order of writing, and links."""

    rows: list[_Row] = field(default_factory=list)
    links: list[Link] = field(default_factory=list)

    def at(self, as_of: datetime | None) -> dict[MemoryId, _Row]:
        """The versions that were the present ones at a moment."""
        held = (x for x in self.rows if _holds(x.memory.updated_at, x.replaced_at, as_of))
        return {row.memory.id: row for row in held}

    def links_at(self, as_of: datetime | None) -> list[Link]:
        """The links that held at a moment."""
        return [link for link in self.links if _holds(link.created_at, link.removed_at, as_of)]

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
        fingerprint = analysis.fingerprint(memory.content)
        hidden = {link.target for link in self.superseding(None)} | {memory.id}
        others = [row.memory for id_, row in self.at(None).items() if id_ not in hidden]
        live = [other for other in others if other.deleted_at is None]
        twins = [other for other in live if analysis.fingerprint(other.content) == fingerprint]
        return min(twins, key=_place, default=None)

    def insert(self, memory: Memory, replaced_at: datetime | None = None) -> None:
        """Add a version."""
        indexed = _Indexed(memory) if memory.deleted_at is None else None
        self.rows.append(_Row(memory, replaced_at, indexed))

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
        if any(_key(link) == _key(kept) for kept in self.links):
            raise errors.DuplicateLink(f"{link.source} {link.kind} {link.target} is there already")
        self.links.append(link)


class MemoryStore:
    """A store that lives and dies with the process; satisfies `recollect.protocols.Store`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._spaces: dict[UserId, _Space] = defaultdict(_Space)

    @contextmanager
    def _write(self, scope: Scope) -> Iterator[_Space]:
        """One transaction: all of it, or nothing when it raises."""
        with self._lock:
            space = self._spaces[scope.user]
            changed = _Space([*space.rows], [*space.links])
            yield changed
            self._spaces[scope.user] = changed

    def _read(self, scope: Scope) -> _Space:
        """What a user has: a value that no later transaction changes."""
        with self._lock:
            return self._spaces[scope.user]

    # ---- writing -------------------------------------------------------------------------------

    def put(self, scope: Scope, memory: Memory, links: Sequence[Link] = ()) -> Outcome:
        """Keep a new memory with its links, unless a live one has the same content."""
        with self._write(scope) as space:
            known = space.known(memory)
            if known is not None:
                return AlreadyKnown(memory=known)
            if memory.id in space.at(None):
                raise errors.IdTaken(f"a memory with the id {memory.id!r} exists already")
            space.insert(replace(memory, owner=scope.user))
            for link in links:
                space.link(link)
        return Stored(memory=memory)

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        """Keep many in one transaction; None where that id is stored already, in any state."""
        outcomes: list[Outcome | None] = []
        with self._write(scope) as space:
            for history in histories:
                present = history.versions[-1]
                known = None if present.deleted_at else space.known(present)
                if present.id in space.at(None):
                    outcomes.append(None)
                elif known is not None and known.id not in siblings:
                    outcomes.append(AlreadyKnown(memory=known))
                else:
                    ends = [later.updated_at for later in history.versions[1:]]
                    for memory, end in zip(history.versions, [*ends, None], strict=True):
                        space.insert(replace(memory, owner=scope.user), end)
                    outcomes.append(Stored(memory=present))
        return outcomes

    def replace(self, scope: Scope, memory: Memory, links: Sequence[Link] = ()) -> None:
        """Make `memory` the present version of its id, and keep these links with it."""
        with self._write(scope) as space:
            present = space.at(None).get(memory.id)
            if present is None or present.memory.version != memory.version - 1:
                raise errors.VersionConflict(f"{memory.id} has another version before this one")
            known = space.known(memory) if says_more(present.memory, memory) else None
            if known is not None:
                raise errors.DuplicateContent(f"memory {known.id} already says exactly this")
            place = space.rows.index(present)
            space.rows[place] = present._replace(replaced_at=memory.updated_at)
            space.insert(replace(memory, owner=scope.user))
            for link in links:
                space.link(link)

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        """Remove these memories, their versions and their links for good."""
        gone = frozenset(ids)
        with self._write(scope) as space:
            space.rows[:] = [row for row in space.rows if row.memory.id not in gone]
            space.links[:] = [x for x in space.links if gone.isdisjoint((x.source, x.target))]
        return True

    # ---- reading -------------------------------------------------------------------------------

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        """The version of a memory that was the present one at a moment, deleted or not."""
        return self.get_many(scope, [id], as_of).get(id)

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        """The same for many."""
        held = self._read(scope).at(as_of)
        return {id_: held[id_].memory for id_ in ids if id_ in held}

    def resolve(self, scope: Scope, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids that begin so, in order."""
        return sorted(x for x in self._read(scope).at(None) if x.startswith(prefix))[:limit]

    def versions(self, scope: Scope, id: MemoryId) -> list[Memory]:
        """Every version of a memory, oldest first."""
        versions = [row.memory for row in self._read(scope).rows if row.memory.id == id]
        return sorted(versions, key=lambda memory: memory.version)

    def browse(self, filter: Filter, page: Page) -> list[Memory]:
        """The memories that a filter admits, by creation time and then id."""
        space = self._read(filter.scope)
        states = space.states(filter.as_of, filter.now)
        held = [row.memory for row in space.at(filter.as_of).values()]
        found = [m for m in held if admits(filter, m) and states[m.id] in filter.states]
        found.sort(key=_place, reverse=page.newest_first)
        if page.after is not None:
            beyond = operator.lt if page.newest_first else operator.gt
            found = [memory for memory in found if beyond(_place(memory), page.after)]
        return found[: page.limit]

    def statistics(self, scope: Scope, now: datetime) -> Statistics:
        """Counts of what a scope holds."""
        space = self._read(scope)
        states = space.states(None, now)
        counts = Counter(states.values())
        held = [row.memory for row in space.at(None).values()]
        live = [memory for memory in held if states[memory.id] is State.LIVE]
        times = [memory.created_at for memory in held if memory.deleted_at is None]
        return Statistics(
            live=counts[State.LIVE],
            superseded=counts[State.SUPERSEDED],
            expired=counts[State.EXPIRED],
            deleted=counts[State.DELETED],
            earlier_versions=len(space.rows) - len(held),
            links=len(space.links_at(None)),
            categories=dict(_most(Counter(memory.category for memory in live))),
            tags=dict(_most(Counter(t for m in live for t in m.tags))[:TAGS_COUNTED]),
            oldest=min(times, default=None),
            newest=max(times, default=None),
        )

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link; duplicates and supersede cycles are refused."""
        with self._write(scope) as space:
            space.link(link)

    def remove_link(self, scope: Scope, link: Link) -> bool:
        """Close a link at `link.removed_at`; False when there is none to close."""
        with self._write(scope) as space:
            for place, kept in enumerate(space.links):
                if _key(kept) == _key(replace(link, removed_at=None)):
                    space.links[place] = replace(kept, removed_at=link.removed_at)
                    return True
        return False

    def has_links(self, scope: Scope) -> bool:
        """Whether a scope has any link, past or present."""
        return bool(self._read(scope).links)

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The links that begin or end at these memories, oldest first."""
        holding = self._read(scope).links_at(as_of)
        return sorted((x for x in holding if x.source in ids or x.target in ids), key=_age)

    def all_links(self, scope: Scope) -> Iterator[Link]:
        """Every link ever made in a scope, removed ones too."""
        return iter(sorted(self._read(scope).links, key=_age))

    def superseding(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The supersedes links above these memories, as far as their chains go."""
        links = self._read(scope).superseding(as_of)
        reached = frozenset(ids)
        while more := {link.source for link in links if link.target in reached} - reached:
            reached |= more
        return sorted((link for link in links if link.target in reached), key=_age)

    def _index(self) -> list[_Indexed]:
        with self._lock:
            spaces = [*self._spaces.values()]
        return [row.indexed for space in spaces for row in space.rows if row.indexed]

    def lexical_statistics(self, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are in the whole index."""
        index = self._index()
        average = sum(indexed.entry.length for indexed in index) / (len(index) or 1)
        frequency = {term: sum(term in indexed.weights for indexed in index) for term in terms}
        return LexicalStatistics(len(index), average, frequency)

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` admitted memories that hold every, or any, of the terms, by BM25."""
        score = _bm25(self._index(), terms)
        wanted = len({*terms}) if every else 1
        found: list[tuple[float, LexicalMatch]] = []
        for memory, _, indexed in self._read(filter.scope).at(filter.as_of).values():
            held = len(indexed.weights.keys() & {*terms}) if indexed else 0
            if indexed and held and held >= wanted and admits(filter, memory):
                load = partial(replace, memory)
                match = LexicalMatch(memory.id, memory.content, *indexed.entry, load)
                found.append((score(indexed), match))
        found.sort(key=lambda match: -match[0])  # stable: equal scores stay in the order of writing
        return [match for _, match in found[:limit]]

    def check(self) -> list[Finding]:
        """There is no file to be damaged."""
        return []

    def close(self) -> None:
        """There is nothing to release."""


def _bm25(index: Sequence[_Indexed], terms: Sequence[str]) -> Callable[[_Indexed], float]:
    """The formula of SQLite's bm25(), in the same order of operations, so that ties agree too."""
    average = sum(indexed.size for indexed in index) / (len(index) or 1)
    information: dict[str, float] = {}
    for term in terms:
        held = sum(term in indexed.weights for indexed in index)
        informed = math.log((len(index) - held + 0.5) / (held + 0.5))
        information[term] = informed if informed > 0 else LEAST_INFORMATION

    def score(indexed: _Indexed) -> float:
        total = 0.0
        norm = K1 * (1 - B + B * indexed.size / average)
        for term in terms:
            count = indexed.weights.get(term, 0.0)
            total += information[term] * (count * (K1 + 1.0) / (count + norm))
        return total

    return score


def _holds(since: datetime, until: datetime | None, as_of: datetime | None) -> bool:
    """Whether a span holds at a moment; without one, whether it has not ended."""
    if as_of is None:
        return until is None
    return since <= as_of and (until is None or until > as_of)


def _place(memory: Memory) -> tuple[datetime, MemoryId]:
    return (memory.created_at, memory.id)


def _key(link: Link) -> tuple[MemoryId, LinkKind, MemoryId, datetime | None]:
    return (link.source, link.kind, link.target, link.removed_at)


def _age(link: Link) -> tuple[datetime, MemoryId, LinkKind, MemoryId, datetime]:
    return (link.created_at, *_key(link)[:3], link.removed_at or _NEVER)


def _most(counts: Counter[str]) -> list[tuple[str, int]]:
    """The most frequent first; equal ones in order."""
    return sorted(counts.items(), key=lambda item: (-item[1], item[0]))
