"""Near-duplicates: which memory could be served in the place of which other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bearinmind.curate.differences import Comparison, compare_read, key, may_be_same
from bearinmind.curate.gathering import Held, hindrances
from bearinmind.curate.neighbours import Near
from bearinmind.curate.proposing import CONSOLIDATION, Find
from bearinmind.proposals import ProposalKind
from bearinmind.types import MemoryId

Cosine = Callable[[MemoryId, MemoryId], float | None]


class Twins(NamedTuple):
    """Two memories that say the same, and the one that can be served for both."""

    keeper: Held
    other: Held
    comparison: Comparison
    cosine: float | None


def twins(
    held: Mapping[MemoryId, Held], new: Collection[MemoryId], cosine: Cosine, at_least: float
) -> Iterator[Twins]:
    """Every memory that another one says as well, with the best one to keep.

    Those of a pair have the same `key`, so that none is missed in a store of any size. When both
    are embedded they must also be near in meaning.
    """
    for group in _groups(held.values()):
        yield from _within(group, new, cosine, at_least)


def _groups(held: Iterable[Held]) -> Iterator[list[Held]]:
    """Memories with the same key, where there are several."""
    by_key: defaultdict[int, list[Held]] = defaultdict(list)
    for each in held:
        tokens = each.tokens
        if tokens:
            by_key[hash(key(tokens))].append(each)
    return (group for group in by_key.values() if len(group) > 1)


def _within(
    group: Sequence[Held], new: Collection[MemoryId], cosine: Cosine, at_least: float
) -> Iterator[Twins]:
    """The best memories keep their place; each other one goes to the first that can replace it."""
    keepers: list[Held] = []
    for each in sorted(group, key=_worth, reverse=True):
        for keeper in keepers:
            if each.memory.id not in new and keeper.memory.id not in new:
                continue
            comparison = takes_place(keeper, each)
            if comparison is None:
                continue
            near = cosine(keeper.memory.id, each.memory.id)
            if near is None or near >= at_least:
                yield Twins(keeper, each, comparison, near)
                break
        else:
            keepers.append(each)


def takes_place(keeper: Held, other: Held) -> Comparison | None:
    """How two memories compare if one can be served in place of the other; None if it cannot."""
    if hindrances(keeper, other):
        return None
    comparison = compare_read(keeper.tokens, other.tokens)
    return comparison if comparison.is_same and comparison.more >= 0 else None


def _worth(held: Held) -> tuple[int, int, float, str]:
    """The most complete, the most widely seen, the newest; the id so that it is always the same."""
    memory = held.memory
    return len(held.tokens), len(held.readers), memory.updated_at.timestamp(), memory.id


def supersede(found: Twins) -> Find:
    """That the one be served in place of the other."""
    more = ", and more" if found.comparison.more else ""
    return Find(
        kind=ProposalKind.SUPERSEDE,
        origin=CONSOLIDATION,
        memories=(found.keeper.memory, found.other.memory),
        reason=f"{found.keeper.memory.id} says the same as {found.other.memory.id}{more}",
        evidence=figures(found.comparison, found.cosine),
    )


def doubtful(near: Near) -> Find | None:
    """That somebody look at two memories that name the same things in other words."""
    comparison = compare_read(near.one.tokens, near.other.tokens)
    if comparison.is_same or not may_be_same(near.one.tokens, near.other.tokens):
        return None
    older, newer = sorted((near.one.memory, near.other.memory), key=lambda m: (m.created_at, m.id))
    return Find(
        kind=ProposalKind.REVIEW,
        origin=CONSOLIDATION,
        memories=(newer, older),
        reason="they may say the same: near in meaning, the same names and numbers",
        evidence=figures(comparison, near.cosine),
    )


def figures(comparison: Comparison, cosine: float | None) -> dict[str, float]:
    """What a comparison comes to, for whoever decides."""
    found = {"shared_words": round(comparison.shared, 3)}
    return found if cosine is None else found | {"cosine": round(cosine, 4)}
