"""BM25 as SQLite computes it, over memories in a list: what the ranking of a store is held to."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import cache

from bearinmind.text import analysis
from bearinmind.types import Memory

#: What an occurrence counts by its column: content, keywords, tags, category, function words.
COLUMN_WEIGHTS = (1.0, 0.7, 0.7, 0.2, 0.1)
K1, B = 1.2, 0.75
LEAST_INFORMATION = 1e-6  # of a term that most memories hold


@cache
def weights(memory: Memory) -> Counter[str]:
    """By term: its occurrences, each counted by its column."""
    counted: Counter[str] = Counter()
    for column, weight in zip(analysis.entry(memory)[:5], COLUMN_WEIGHTS, strict=True):
        for term in column.split():
            counted[term] += weight  # type: ignore[assignment]  # a weight is a part of one
    return counted


@cache
def size(memory: Memory) -> int:
    """How many terms it holds, each as often as it occurs."""
    return sum(len(column.split()) for column in analysis.entry(memory)[:5])


def scorer(memories: Sequence[Memory], terms: Iterable[str]) -> Callable[[Memory], float]:
    """How well a memory matches terms, which are the rarer the more they tell."""
    average = sum(map(size, memories)) / len(memories)
    held = Counter(term for memory in memories for term in weights(memory))
    information = {
        term: max(
            math.log((len(memories) - held[term] + 0.5) / (held[term] + 0.5)), LEAST_INFORMATION
        )
        for term in terms
    }

    def score(memory: Memory) -> float:
        counts = weights(memory)
        norm = K1 * (1 - B + B * size(memory) / average)
        # In the order of SQLite's operations, so that equal scores are equal here, too.
        return sum(
            told * (counts[term] * (K1 + 1.0) / (counts[term] + norm))
            for term, told in information.items()
        )

    return score
