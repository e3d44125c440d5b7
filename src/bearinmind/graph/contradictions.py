"""Relations that cannot both hold, and what would settle it. Nothing is changed here."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from bearinmind.concepts import ConceptName, Relation
from bearinmind.outdates.verdicts import MARK, is_decided, judgement_of, prevailing_of_pairs
from bearinmind.types import Link, LinkKind, MemoryId

#: The `supersedes` and `outdates` links above some memories, up their chains.
Newer = Callable[[Collection[MemoryId]], Iterable[Link]]
#: When each of some memories came to say what it says.
Written = Callable[[Collection[MemoryId]], Mapping[MemoryId, datetime]]


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """The older relation held until the newer began."""

    number: int
    valid_to: datetime

    def __str__(self) -> str:
        return f"end it at {self.valid_to:%Y-%m-%d %H:%M} UTC"


@dataclass(frozen=True, slots=True, kw_only=True)
class Retract:
    """The older relation cannot have held at all: the newer began first."""

    number: int

    def __str__(self) -> str:
        return "stop believing it"


Proposal = End | Retract


@dataclass(frozen=True, slots=True, kw_only=True)
class Contradiction:
    """Two believed relations of one source where only one can hold at a time."""

    source: ConceptName
    type: str
    older: Relation
    newer: Relation
    proposal: Proposal


def contradictions(
    relations: Iterable[Relation], functional: Collection[str], newer: Newer, written: Written
) -> list[Contradiction]:
    """Pairs of relations with the same source and another target whose times overlap.

    Of a functional type a source has one target at a time. A relation of another type contradicts
    those whose memories outdate its own. Each relation is held against the next newer one, so that
    settling all of them leaves an unbroken history.
    """
    groups: defaultdict[tuple[ConceptName, str], list[Relation]] = defaultdict(list)
    for relation in relations:
        groups[relation.source, relation.type].append(relation)
    disputed = [group for group in groups.values() if len({r.target for r in group}) > 1]
    chronology = _Chronology.of(
        [relation for group in disputed for relation in group], newer, written
    )
    pairs = [
        each
        for group in disputed
        for each in _within(group, chronology, functional=group[0].type in functional)
    ]
    return sorted(pairs, key=lambda each: (each.source, each.type, each.older.number))


@dataclass(frozen=True, slots=True)
class _Chronology:
    """Orders relations by age."""

    above: Mapping[MemoryId, set[MemoryId]]  #: what superseded or outdates a memory
    compatible: set[frozenset[MemoryId]]  #: memories of which somebody decided that both hold
    outdated: set[MemoryId]
    written: Mapping[MemoryId, datetime]

    @classmethod
    def of(cls, relations: Iterable[Relation], newer: Newer, written: Written) -> _Chronology:
        evidence = {id_ for relation in relations for id_ in relation.evidence}
        if not evidence:
            return cls({}, set(), set(), {})
        links = [*newer(evidence)]
        judged = prevailing_of_pairs(x for x in links if x.kind is LinkKind.OUTDATES)
        outdates = [x for x in judged if judgement_of(x).probability >= MARK]
        above: defaultdict[MemoryId, set[MemoryId]] = defaultdict(set)
        for link in (*(x for x in links if x.kind is LinkKind.SUPERSEDES), *outdates):
            above[link.target].add(link.source)
        compatible = {
            frozenset({link.source, link.target})
            for link in judged
            if judgement_of(link).probability < MARK and is_decided(link)
        }
        outdated = {link.target for link in outdates}
        return cls(above, compatible, outdated, written(evidence))

    def begins(self, relation: Relation) -> datetime:
        """From when it held, as far as anybody said; else from when a memory says so."""
        written = [self.written[id_] for id_ in relation.evidence if id_ in self.written]
        return relation.valid_from or min([relation.recorded_at, *written])

    def replaced(self, older: Relation, newer: Relation) -> bool:
        """Whether a memory behind one was superseded or outdated by a memory behind the other."""
        reached: set[MemoryId] = set()
        frontier = {*older.evidence}
        while frontier:
            frontier = {id_ for below in frontier for id_ in self.above.get(below, ())} - reached
            reached |= frontier
        return not reached.isdisjoint(newer.evidence)

    def outdates(self, newer: Relation, older: Relation) -> bool:
        """Whether all memories behind one are outdated, by a memory behind the other alone.

        A relation that a current memory states too still holds: lists grow.
        """
        memories = {*older.evidence}
        is_outdated = bool(memories) and memories <= self.outdated
        return is_outdated and memories.isdisjoint(newer.evidence) and self.replaced(older, newer)

    def clash(self, older: Relation, newer: Relation) -> bool:
        """Whether both are said to hold at some moment; the older held always before."""
        pairs = (frozenset({a, b}) for a in older.evidence for b in newer.evidence)
        if older.target == newer.target or any(pair in self.compatible for pair in pairs):
            return False
        is_over = older.valid_to is not None and older.valid_to <= self.begins(newer)
        ended_before = (
            newer.valid_to is not None
            and older.valid_from is not None
            and newer.valid_to <= older.valid_from
        )
        return not is_over and not ended_before

    def sorted(self, group: Collection[Relation]) -> list[Relation]:
        """The oldest first: what others replaced, then what began earlier."""
        replaced = {
            relation.number: sum(self.replaced(relation, other) for other in group)
            for relation in group
        }
        return sorted(group, key=lambda r: (-replaced[r.number], self.begins(r), r.number))


def _within(
    group: Collection[Relation], chronology: _Chronology, *, functional: bool
) -> Iterable[Contradiction]:
    if not functional and not any({*r.evidence} & chronology.outdated for r in group):
        return
    by_age = chronology.sorted(group)
    for place, older in enumerate(by_age):
        later = (r for r in by_age[place + 1 :] if functional or chronology.outdates(r, older))
        newer = next((r for r in later if chronology.clash(older, r)), None)
        if newer is None:
            continue
        moment = chronology.begins(newer)
        proposal: Proposal = End(number=older.number, valid_to=moment)
        if older.valid_from is not None and older.valid_from >= moment:
            proposal = Retract(number=older.number)
        yield Contradiction(
            source=older.source, type=older.type, older=older, newer=newer, proposal=proposal
        )
