"""Selection: which of the judged candidates are given back. Pure; what is left out is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from bearinmind.recall.alike import Said, are_distinct, said, shared
from bearinmind.trace import (
    BelowLimit,
    Dropped,
    Judged,
    OverBudget,
    Reason,
    SaysTheSame,
    TooUncertain,
)
from bearinmind.types import Memory, MemoryId, Query, SortBy

_ROUNDING = 1e-9  # a memory that covers all of a query may be a few digits short of 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The rules of selection; its repr is the recipe that a trace shows."""

    least_confidence: float = 0.0  #: below this no leg has evidence enough; 0 never abstains
    near_duplicates: float = 0.0  #: the share of common words from which one speaks for both; 0 off

    def __call__(
        self, query: Query, judged: Iterable[Judged], memories: Mapping[MemoryId, Memory]
    ) -> tuple[list[Judged], list[Dropped]]:
        """The chosen, best first, and the others with the reason why not."""
        chosen: list[Judged] = []
        dropped: list[Dropped] = []
        given = _Given(self.near_duplicates)
        left = query.budget_bytes
        below = BelowLimit(limit=query.limit)
        for candidate in judged:
            if len(chosen) == query.limit:
                dropped.append(Dropped(candidate.id, below))
                continue
            memory = memories[candidate.id]
            size = 0 if left is None else len(memory.content.encode())
            reason = self._uncertain(candidate) or given.twin(memory) or _oversized(size, left)
            if reason:
                dropped.append(Dropped(candidate.id, reason))
                continue
            chosen.append(candidate)
            given.add(memory)
            left = None if left is None else left - size
        return chosen, dropped

    def _uncertain(self, candidate: Judged) -> Reason | None:
        """Abstention: no leg is sure enough of a memory."""
        if not self.least_confidence:
            return None
        confidence = max(placing.confidence for placing in candidate.placings.values())
        if confidence >= self.least_confidence - _ROUNDING:
            return None
        return TooUncertain(confidence=confidence, floor=self.least_confidence)


def _oversized(size: int, left: int | None) -> Reason | None:
    """The budget: a memory is given whole or not at all."""
    return None if left is None or size <= left else OverBudget(size=size, left=left)


class _Given:
    """What the memories chosen so far say."""

    def __init__(self, near: float) -> None:
        self._near = near
        self._same: dict[str, MemoryId] = {}
        self._said: list[tuple[MemoryId, Said]] = []

    def add(self, memory: Memory) -> None:
        self._same[_without_form(memory.content)] = memory.id
        if self._near and not memory.sensitive:
            self._said.append((memory.id, said(memory.content)))

    def twin(self, memory: Memory) -> Reason | None:
        """The chosen memory that says the same as this one, or nearly."""
        by = self._same.get(_without_form(memory.content))
        if by is not None:
            return SaysTheSame(by=by)
        if not self._near or memory.sensitive:  # placeholders are alike; what they hide is not
            return None
        mine = said(memory.content)
        for id_, other in self._said:
            share = shared(mine, other)
            if share >= self._near and not are_distinct(mine, other):
                return SaysTheSame(by=id_, shared=share)
        return None


def _without_form(content: str) -> str:
    """The words alone: white space and capitals say nothing."""
    return " ".join(content.casefold().split())


def present(
    chosen: Sequence[Judged], memories: Mapping[MemoryId, Memory], sort_by: SortBy
) -> list[Judged]:
    """The chosen in the order asked for. Relevance chooses; this only arranges."""
    match sort_by:
        case SortBy.RELEVANCE:
            return [*chosen]
        case SortBy.IMPORTANCE:
            return sorted(chosen, key=lambda c: -memories[c.id].importance)
        case SortBy.RECENCY:
            return sorted(chosen, key=lambda c: memories[c.id].created_at, reverse=True)
