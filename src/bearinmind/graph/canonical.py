"""Which names are one concept: what is certain is merged, what is likely is proposed.

A new name is looked for under the names that its spelling suggests (`spellings.variants`), which
costs the same however many concepts there are. Comparing concepts with each other is for a review
that somebody asks for, over so many of them as they say.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime
from itertools import combinations

from bearinmind.concepts import Concept, ConceptName, Kind, Mention, Merge
from bearinmind.graph.spellings import (
    CERTAIN,
    Named,
    Verdict,
    are_distinct,
    judge,
    parts_of,
    variants,
)
from bearinmind.protocols import Embedder
from bearinmind.text.analysis import FUNCTION_WORDS

#: Cosine of two labels, tuned on development pairs for a precision of .98 with the shipped encoder
#: (`make bench-canonical`). So high, it finds next to nothing that the rules do not: `Paul Simon`
#: and `Simon Paul` are at .978, `Dana Whitfield` and `Dana Whitmore` at .949. Hence rules alone
#: decide, and neighbours are only ever proposed.
THRESHOLD = 0.98
BEGINNING = 4  # letters that two words share which may be one
LARGEST_BLOCK = 50  # names; what so many share is no sign of anything
FIRST_NAME_SCORE = 0.5  # one full name here begins or ends so; whether it is meant nobody knows
_NOT_PEOPLE = frozenset({Kind.TOPIC, Kind.IDENTIFIER, Kind.HOST, Kind.PLACE, Kind.ORGANISATION})

#: The concepts that have these names, by the names asked for; as `GraphSearch.concepts` in a scope.
ConceptLookup = Callable[[Collection[ConceptName]], Mapping[ConceptName, Concept]]


def certain(new: Sequence[Mention | Concept], known: ConceptLookup, at: datetime) -> list[Merge]:
    """The merges of new names that need nobody's judgement."""
    return [merge for merge in propose(new, known, at) if merge.score >= CERTAIN]


def propose(new: Sequence[Mention | Concept], known: ConceptLookup, at: datetime) -> list[Merge]:
    """The surest merge of each new name with a known concept or another new name.

    One look-up serves all of them; its size depends on these names alone.
    """
    fresh = {each.name: each for each in new if _can_be_merged(each.name)}
    spelled = {name: variants(each.label) for name, each in fresh.items()}
    existing = known({variant for names in spelled.values() for variant in names})
    best: dict[ConceptName, Merge] = {}
    for name, each in fresh.items():
        for variant in sorted(spelled[name]):
            other = existing.get(variant) or fresh.get(variant)
            if other is None or other.name == name:
                continue
            is_alias = other.name != variant  # of which the label is not known
            as_known = Named(variant, other.kind) if is_alias else _named(other)
            if verdict := judge(_named(each), as_known):
                _keep_surest(best, _merge(each, other, verdict, at))
    return sorted(best.values(), key=_by_certainty)


def review(
    concepts: Sequence[Concept], at: datetime, embedder: Embedder | None = None
) -> list[Merge]:
    """Every merge among these concepts that is worth a look, the surest first.

    With an embedder, near neighbours are proposed too.
    """
    mergeable = [concept for concept in concepts if _can_be_merged(concept.name)]
    best = {merge.alias: merge for merge in propose(mergeable, lambda _: {}, at)}
    near = _near(mergeable, embedder) if embedder else ()
    for one, other, verdict in (*_lone_full_names(mergeable), *near):
        merge = _merge(one, other, verdict, at)
        best.setdefault(merge.alias, merge)
    return sorted(best.values(), key=_by_certainty)


def _can_be_merged(name: ConceptName) -> bool:
    return len(name) > 1 and name not in FUNCTION_WORDS


def _named(each: Mention | Concept) -> Named:
    return Named(each.label, each.kind)


def _keep_surest(best: dict[ConceptName, Merge], merge: Merge) -> None:
    """Keep the surest merge of an alias, and only one direction of a pair."""
    known = best.get(merge.alias)
    reverse = best.get(merge.into)
    if reverse is not None and reverse.into == merge.alias:
        return
    if known is None or (-merge.score, merge.into) < (-known.score, known.into):
        best[merge.alias] = merge


def _merge(
    one: Mention | Concept, other: Mention | Concept, verdict: Verdict, at: datetime
) -> Merge:
    into, alias = sorted((one, other), key=_concept_first)
    return Merge(
        alias=alias.name, into=into.name, reason=verdict.reason, score=verdict.score, merged_at=at
    )


def _concept_first(each: Mention | Concept) -> tuple[object, ...]:
    """Which of two is the concept: one with aliases, one that memories are about, the better known.

    Of two that are equally known the longer label says more, and the name decides at last.
    """
    if not isinstance(each, Concept):
        return (True, 0, 0, -len(each.label), each.name)
    return (not each.aliases, -each.subjects, -each.memories, -len(each.label), each.name)


def _by_certainty(merge: Merge) -> tuple[float, str, str]:
    return (-merge.score, merge.alias, merge.into)


def _lone_full_names(mergeable: Sequence[Concept]) -> Iterator[tuple[Concept, Concept, Verdict]]:
    """`Ilse` for Ilse Navrat, where nobody else here has that name."""
    bearers: dict[str, list[Concept]] = {}
    for concept in mergeable:
        parts = concept.name.split()
        if len(parts) == 2 and concept.kind not in _NOT_PEOPLE:  # noqa: PLR2004
            for part in parts:
                bearers.setdefault(part, []).append(concept)
    for concept in mergeable:
        full = bearers.get(concept.name, [])
        if len(full) == 1 and concept.label[:1].isupper() and concept.kind not in _NOT_PEOPLE:
            yield concept, full[0], Verdict(FIRST_NAME_SCORE, "the only full name with it")


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


def _near(
    mergeable: Sequence[Concept], embedder: Embedder
) -> Iterator[tuple[Concept, Concept, Verdict]]:
    """The concepts whose labels mean nearly the same, the nearest first."""
    import numpy as np  # noqa: PLC0415  slow to import

    labels = [each.label for each in mergeable]
    compared = [
        (one, other) for one, other in pairs(labels) if not are_distinct(labels[one], labels[other])
    ]
    if not compared:
        return
    vectors = embedder.embed_memories(labels)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = np.array(compared).T
    cosines = np.einsum("ij,ij->i", vectors[first], vectors[second])
    near = [
        (min(1.0, float(cosine)), one, other)
        for (one, other), cosine in zip(compared, cosines, strict=True)
        if cosine >= THRESHOLD
    ]
    for cosine, one, other in sorted(near, key=lambda each: (-each[0], each[1], each[2])):
        # Never certain: two people of one name are as near as two spellings.
        verdict = Verdict(min(cosine, CERTAIN - 0.01), f"means nearly the same ({cosine:.3f})")
        yield mergeable[one], mergeable[other], verdict
