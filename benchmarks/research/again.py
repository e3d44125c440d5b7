"""Iterative recall: what was found names things; they are added to the query, and it is put again.

No graph is walked: the legs themselves look for what the names lead to. It costs another recall,
with an embedding of its own, for each round.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from time import perf_counter

from bearinmind.concepts import ConceptName, Role
from bearinmind.protocols import Fusion, GraphSearch, Leg
from bearinmind.recall.graph import Spread
from bearinmind.recall.pipeline import run
from bearinmind.spotting import Text
from bearinmind.trace import LegReport
from bearinmind.types import Candidate, MemoryId, Query, Ranking, Step


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAgain:
    """Satisfies `bearinmind.protocols.Following`."""

    search: GraphSearch = field(repr=False)
    legs: tuple[Leg, ...] = field(repr=False)
    fusion: Fusion
    rounds: int = 1
    finds: int = 1  #: of how many of the surest finds of a round the names are taken
    names: int = 4  #: how many of them are added in a round, the most specific first
    weight: float = 0.5  #: of what is found with them, beside what the query itself finds

    @property
    def name(self) -> str:
        """How the leg is called in traces."""
        return "graph"

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """What the legs find once the names that they brought are asked for, too."""
        del rankings  # the legs are asked anew
        began = perf_counter()
        gained: dict[MemoryId, float] = {}
        added: list[ConceptName] = []
        looked_at: set[MemoryId] = set()
        for _ in range(self.rounds):
            surest = self._surest(scores, gained, looked_at)
            looked_at |= {*surest}
            new = self._names(query, surest, added)
            if not new:
                break
            added += new
            asked = replace(query, text=" ".join([query.text, *added]))
            found = self.fusion.scores([run(leg, asked)[0] for leg in self.legs])
            for id_, score in found.items():
                gained[id_] = max(gained.get(id_, 0.0), self.weight * score)
        return self._ranking(gained, added, query.pool), LegReport(
            leg=self.name,
            found=min(len(gained), query.pool),
            milliseconds=(perf_counter() - began) * 1e3,
            detail={"added": [*added]},
        )

    def _surest(
        self,
        scores: Mapping[MemoryId, float],
        gained: Mapping[MemoryId, float],
        looked_at: set[MemoryId],
    ) -> list[MemoryId]:
        """The surest finds whose names were not taken yet."""
        sums = {
            id_: scores.get(id_, 0.0) + gained.get(id_, 0.0)
            for id_ in {*scores, *gained} - looked_at
        }
        return sorted(sums, key=lambda id_: (-sums[id_], id_))[: self.finds]

    def _names(
        self, query: Query, surest: Sequence[MemoryId], added: Sequence[ConceptName]
    ) -> list[ConceptName]:
        """The most specific names in these memories that the query lacks."""
        specificity = Spread().specificity
        said = {*Text(query.text).names, *added}
        found = {
            each.concept: specificity(each.memories)
            for each in self.search.mentions_in(query.filter, surest)
            if each.concept not in said and each.memories > 1  # a name alone leads nowhere
        }
        ordered = sorted(found, key=lambda name: (-found[name], name))
        return [name for name in ordered if found[name]][: self.names]

    def _ranking(
        self, gained: Mapping[MemoryId, float], added: Sequence[ConceptName], pool: int
    ) -> Ranking:
        asked_for = ", ".join(added)  # together: which of them brought a memory is not known
        found = sorted(gained.items(), key=lambda item: (-item[1], item[0]))[:pool]
        return Ranking(
            leg=self.name,
            candidates=tuple(
                Candidate(id_, evidence, min(1.0, evidence), evidence) for id_, evidence in found
            ),
            paths={id_: (Step(None, asked_for, Role.NAME, id_),) for id_, _ in found},
            follows=True,
        )
