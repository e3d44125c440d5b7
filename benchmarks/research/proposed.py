"""The graph as a reranker: it may move what another leg proposed, and bring nothing in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bearinmind.protocols import Following
from bearinmind.trace import LegReport
from bearinmind.types import MemoryId, Query, Ranking


@dataclass(frozen=True, slots=True)
class OnlyProposed:
    """A leg that goes on from the others, kept to what they found themselves."""

    leg: Following

    @property
    def name(self) -> str:
        """How the leg is called in traces."""
        return self.leg.name

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """What the leg says of the memories that are candidates already."""
        ranking, report = self.leg(query, rankings, scores)
        kept = tuple(each for each in ranking.candidates if each.id in scores)
        paths = {id_: path for id_, path in ranking.paths.items() if id_ in scores}
        return replace(ranking, candidates=kept, paths=paths), replace(report, found=len(kept))
