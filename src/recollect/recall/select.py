"""Selection: which of the judged candidates are given back. Pure; what is left out is named."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from recollect.trace import BelowLimit, Dropped, Judged, OverBudget, SaysTheSame, TooUncertain
from recollect.types import Memory, MemoryId, Query, SortBy


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """The rules of selection; its repr is the recipe that a trace shows."""

    least_confidence: float = 0.0  #: below this no leg has evidence enough; 0 never abstains

    def __call__(
        self, query: Query, judged: Iterable[Judged], memories: Mapping[MemoryId, Memory]
    ) -> tuple[list[Judged], list[Dropped]]:
        """The chosen, best first, and the others with the reason why not."""
        chosen: list[Judged] = []
        dropped: list[Dropped] = []
        words: dict[str, MemoryId] = {}
        left = query.budget_bytes
        below = BelowLimit(limit=query.limit)
        for candidate in judged:
            if len(chosen) == query.limit:
                dropped.append(Dropped(candidate.id, below))
                continue
            if self.least_confidence:
                confidence = max(placing.confidence for placing in candidate.placings.values())
                if confidence < self.least_confidence:
                    reason = TooUncertain(confidence=confidence, floor=self.least_confidence)
                    dropped.append(Dropped(candidate.id, reason))
                    continue
            content = memories[candidate.id].content
            twin = words.setdefault(" ".join(content.casefold().split()), candidate.id)
            if twin != candidate.id:
                dropped.append(Dropped(candidate.id, SaysTheSame(by=twin)))
                continue
            if left is not None:
                size = len(content.encode())
                if size > left:
                    dropped.append(Dropped(candidate.id, OverBudget(size=size, left=left)))
                    continue
                left -= size
            chosen.append(candidate)
        return chosen, dropped


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
