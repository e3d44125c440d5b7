"""Which names are one concept: what is certain is merged, what is likely is proposed.

A new name is looked for under the names that its spelling suggests (`spellings.variants`), which
costs the same however many concepts there are. Comparing concepts with each other is for a review
that somebody asks for, over so many of them as they say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations
from typing import NamedTuple, Protocol

from bearinmind.concepts import Concept, ConceptName, Kind, Merge
from bearinmind.graph.spellings import (
    CERTAIN,
    Named,
    Verdict,
    judge,
    parts_of,
    tells_apart,
    variants,
)
from bearinmind.protocols import Embedder
from bearinmind.text.analysis import FUNCTION_WORDS

#: Cosine of two labels, tuned on development pairs for a precision of .98 with the shipped encoder
#: (`make bench-canonical`). So high, it finds next to nothing that the rules do not: `Paul Simon`
#: and `Simon Paul` are at .983, `Dana Whitfield` and `Dana Whitmore` at .962. Hence rules alone
#: decide, and neighbours are only ever proposed.
THRESHOLD = 0.985
BEGINNING = 4  # letters that two words share which may be one
LARGEST_BLOCK = 50  # names; what so many share is no sign of anything


class Near(NamedTuple):
    """Two of the labels that were compared, by their places, and their cosine."""

    one: int
    other: int
    cosine: float


def blocks_of(label: str) -> set[str]:
    """What another label must share with this one to be compared."""
    parts = parts_of(label)
    return {*parts} | {part[:BEGINNING] for part in parts if len(part) >= BEGINNING}


def pairs(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The labels that may name one thing, as places, each pair once."""
    blocks: dict[str, list[int]] = {}
    for at, label in enumerate(labels):
        for block in blocks_of(label):
            blocks.setdefault(block, []).append(at)
    seen: set[tuple[int, int]] = set()
    for members in blocks.values():
        if len(members) > LARGEST_BLOCK:
            continue
        for pair in combinations(members, 2):
            if pair not in seen:
                seen.add(pair)
                yield pair


def near(labels: Sequence[str], embedder: Embedder, threshold: float = THRESHOLD) -> list[Near]:
    """The pairs of labels that mean nearly the same, nearest first."""
    import numpy as np  # noqa: PLC0415  slow to import

    compared = [
        (one, other) for one, other in pairs(labels) if not tells_apart(labels[one], labels[other])
    ]
    if not compared:
        return []
    vectors = embedder.embed_memories(labels)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = np.array(compared).T
    cosines = np.einsum("ij,ij->i", vectors[first], vectors[second])
    found = [
        Near(one, other, min(1.0, float(cosine)))
        for (one, other), cosine in zip(compared, cosines, strict=True)
        if cosine >= threshold
    ]
    return sorted(found, key=lambda each: (-each.cosine, each.one, each.other))


FIRST_NAME_SCORE = 0.5  # one full name here begins or ends so; whether it is meant nobody knows
_NOT_PEOPLE = frozenset({Kind.TOPIC, Kind.IDENTIFIER, Kind.HOST, Kind.PLACE, Kind.ORGANISATION})

#: The concepts that have these names, by the names asked for; as `GraphSearch.concepts` in a scope.
Known = Callable[[Collection[ConceptName]], Mapping[ConceptName, Concept]]


class Nameable(Protocol):
    """A mention, or a concept."""

    @property
    def name(self) -> ConceptName:
        """The folded name."""

    @property
    def label(self) -> str:
        """As it was written."""

    @property
    def kind(self) -> Kind:
        """What it is."""


class Canonicaliser:
    """Finds names of one concept. With an embedder, a review also proposes near neighbours."""

    def __init__(self, embedder: Embedder | None = None) -> None:
        self._embedder = embedder

    def certain(self, new: Sequence[Nameable], known: Known, at: datetime) -> list[Merge]:
        """The merges of new names that need nobody's judgement."""
        return [merge for merge in self.propose(new, known, at) if merge.score >= CERTAIN]

    def propose(self, new: Sequence[Nameable], known: Known, at: datetime) -> list[Merge]:
        """What new names may be the same as, the surest for each: known concepts, or each other.

        One look-up for all of them, whose size depends on these names alone.
        """
        fresh = {each.name: each for each in new if _can_be_merged(each.name)}
        spelled = {name: variants(each.label) for name, each in fresh.items()}
        found = known({variant for names in spelled.values() for variant in names})
        best: dict[ConceptName, Merge] = {}
        for name, each in fresh.items():
            for other, as_known in _others(spelled[name], found, fresh):
                verdict = judge(_named(each), as_known)
                if verdict is None or other.name == name:
                    continue
                _keep_surest(best, _merge(each, other, verdict, at))
        return sorted(best.values(), key=_by_certainty)

    def review(self, concepts: Sequence[Concept], at: datetime) -> list[Merge]:
        """Every merge among these concepts that is worth a look, the surest first."""
        held = [concept for concept in concepts if _can_be_merged(concept.name)]
        best: dict[ConceptName, Merge] = {}
        for one, other in _judged(held):
            verdict = judge(_named(one), _named(other))
            if verdict is not None:
                _keep_surest(best, _merge(one, other, verdict, at))
        for one, other, verdict in (*_lone_full_names(held), *self._near(held)):
            merge = _merge(one, other, verdict, at)
            if merge.alias not in best:
                best[merge.alias] = merge
        return sorted(best.values(), key=_by_certainty)

    def _near(self, held: Sequence[Concept]) -> Iterator[tuple[Concept, Concept, Verdict]]:
        if self._embedder is None or not held:
            return
        for one, other, cosine in near([each.label for each in held], self._embedder):
            # Never certain: two people of one name are as near as two spellings.
            score = min(cosine, CERTAIN - 0.01)
            yield held[one], held[other], Verdict(score, f"means nearly the same ({cosine:.3f})")


def _can_be_merged(name: ConceptName) -> bool:
    return len(name) > 1 and name not in FUNCTION_WORDS


def _named(each: Nameable) -> Named:
    return Named(each.label, each.kind)


def _others(
    spelled: Collection[ConceptName],
    found: Mapping[ConceptName, Concept],
    fresh: Mapping[ConceptName, Nameable],
) -> Iterator[tuple[Nameable, Named]]:
    """What has one of these names, and as what: what is known, otherwise what is new too."""
    for variant in sorted(spelled):
        other = found.get(variant) or fresh.get(variant)
        if other is not None:
            is_alias = other.name != variant  # of which the label is not known
            yield other, Named(variant, other.kind) if is_alias else _named(other)


def _keep_surest(best: dict[ConceptName, Merge], merge: Merge) -> None:
    """An alias has one concept, and a pair is merged in one direction."""
    known = best.get(merge.alias)
    turned = best.get(merge.into)
    if turned is not None and turned.into == merge.alias:
        return
    if known is None or (-merge.score, merge.into) < (-known.score, known.into):
        best[merge.alias] = merge


def _merge(one: Nameable, other: Nameable, verdict: Verdict, at: datetime) -> Merge:
    into, alias = sorted((one, other), key=_by_standing)
    return Merge(
        alias=alias.name, into=into.name, reason=verdict.reason, score=verdict.score, merged_at=at
    )


def _by_standing(each: Nameable) -> tuple[object, ...]:
    """Which of two is the concept: one with aliases, one that memories are about, the better known.

    Of two that are equally known the longer label says more, and the name decides at last.
    """
    if not isinstance(each, Concept):
        return (True, 0, 0, -len(each.label), each.name)
    return (not each.aliases, -each.subjects, -each.memories, -len(each.label), each.name)


def _by_certainty(merge: Merge) -> tuple[float, str, str]:
    return (-merge.score, merge.alias, merge.into)


def _judged(held: Sequence[Concept]) -> Iterator[tuple[Concept, Concept]]:
    """The pairs of which one has a name that the other's spelling suggests."""
    by_name = {concept.name: concept for concept in held}
    for concept in held:
        for variant in sorted(variants(concept.label)):
            other = by_name.get(variant)
            if other is not None and other.name != concept.name:
                yield concept, other


def _lone_full_names(held: Sequence[Concept]) -> Iterator[tuple[Concept, Concept, Verdict]]:
    """`Ilse` for Ilse Navrat, where nobody else here has that name."""
    bearers: dict[str, list[Concept]] = {}
    for concept in held:
        parts = concept.name.split()
        if len(parts) == 2 and concept.kind not in _NOT_PEOPLE:  # noqa: PLR2004
            for part in parts:
                bearers.setdefault(part, []).append(concept)
    for concept in held:
        full = bearers.get(concept.name, [])
        if len(full) == 1 and concept.label[:1].isupper() and concept.kind not in _NOT_PEOPLE:
            yield concept, full[0], Verdict(FIRST_NAME_SCORE, "the only full name with it")
