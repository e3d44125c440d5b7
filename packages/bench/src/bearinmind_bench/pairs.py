"""Which labelled pairs of memories are taken for two states of one thing."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from bearinmind_bench.evaluation import Pair
from bearinmind_bench.results import Pairs, PairShare

#: The newer and the older memory of a link that marks.
Mark = tuple[str, str]


def measure(
    pairs: Sequence[Pair], marks: frozenset[Mark], groups: Iterable[frozenset[str]]
) -> Pairs:
    """The shares of these pairs that are taken for a change, by label and by shape.

    A pair in which both hold is wrongly outdated when it is marked in either direction, or when any
    answer gives the two as states of one thing. A change is found when its newer memory is known
    to outdate the older.
    """
    grouped = [*groups]

    def taken(pair: Pair) -> bool:
        if pair.outdates:
            return (pair.newer, pair.older) in marks
        both = {pair.newer, pair.older}
        reverse = (pair.older, pair.newer)
        return not marks.isdisjoint(((pair.newer, pair.older), reverse)) or any(
            both <= group for group in grouped
        )

    changes = [pair for pair in pairs if pair.outdates]
    return Pairs(
        wrongly_outdated=_share([pair for pair in pairs if not pair.outdates], taken),
        changes_found=_share(changes, taken),
        announced=_share([pair for pair in changes if pair.announced], taken),
        silent=_share([pair for pair in changes if not pair.announced], taken),
        shapes={
            shape: _share([pair for pair in pairs if pair.shape == shape], taken)
            for shape in sorted({pair.shape for pair in pairs}, key=_changes_first(pairs))
        },
    )


def _share(pairs: Sequence[Pair], taken: Callable[[Pair], bool]) -> PairShare:
    return PairShare(pairs=len(pairs), share=sum(map(taken, pairs)) / (len(pairs) or 1))


def _changes_first(pairs: Sequence[Pair]) -> Callable[[str], tuple[bool, str]]:
    changed = {pair.shape for pair in pairs if pair.outdates}
    return lambda shape: (shape not in changed, shape)
