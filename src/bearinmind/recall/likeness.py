"""How alike memories are to a query, whoever found them."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.types import MemoryId, Ranking


class Likeness:
    """How alike memories are to the query, as the legs that can tell say."""

    def __init__(self, rankings: Sequence[Ranking]) -> None:
        self._known: dict[MemoryId, float] = {}
        self._judges = [ranking.judge for ranking in rankings if ranking.judge]
        for ranking in rankings:
            if ranking.judge:
                self._known |= {each.id: each.evidence for each in ranking.candidates}

    def learn(self, ids: Sequence[MemoryId]) -> None:
        """Have the legs judge these memories; one that none can judge is like nothing."""
        missing = [id_ for id_ in ids if id_ not in self._known]
        self._known |= dict.fromkeys(missing, 0.0)
        for judge in self._judges:
            if missing:
                judged = judge(missing).values()
                self._known |= {candidate.id: candidate.evidence for candidate in judged}

    def knows(self, id_: MemoryId) -> bool:
        """Whether a memory was judged."""
        return id_ in self._known

    def of(self, id_: MemoryId) -> float:
        """The evidence that a memory is what was asked for, by what it is like."""
        return self._known.get(id_, 0.0)
