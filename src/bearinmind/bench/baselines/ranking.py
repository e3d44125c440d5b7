"""What every baseline can do, and what it gives back."""

from __future__ import annotations

import heapq
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

from bearinmind.bench.evaluation import Record

#: How deep a baseline looks that puts candidates in a new order.
POOL = 50

#: The id of a memory and its score.
Ranked = tuple[str, float]


class Baseline(Protocol):
    """A retriever that scores, says what it takes up and can be closed.

    `others` are the memories of all other users. They count in the statistics of words, as they do
    where many users share one index, and are never given back.
    """

    def __init__(self, corpus: Sequence[Record], *, others: Sequence[Record] = ()) -> None: ...

    def retrieve(self, query: str, k: int) -> Sequence[Ranked]:
        """The best k memories, best first; equal scores break on the id."""

    def facts(self) -> dict[str, Any]:
        """`store_bytes`, and `models` where any took part."""

    def close(self) -> None:
        """Let go of what it holds."""


def best_first(scored: Iterable[Ranked], k: int) -> list[Ranked]:
    """The k memories with the highest scores; equal scores break on the id."""
    return heapq.nsmallest(k, scored, key=lambda ranked: (-ranked[1], ranked[0]))
