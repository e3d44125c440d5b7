"""The graph leg: from what the other legs found to the memories that it is connected with.

A question often names one thing and asks about another: "who may restart what draws our labels?"
One memory says that Gannet draws them, another who may restart Gannet. The second shares nothing
with the question; it shares a name with the first. This leg starts at the surest finds of the other
legs, the seeds, and goes over the concepts that they name to the memories about those concepts.

What decides whether that helps (docs/adr/0020 has the measurements):

* Precise edges: a memory that is *about* a concept counts more than one that merely names it.
* Specific concepts: one that many memories mention leads everywhere, so it leads nowhere.
* Strong seeds: strength falls steeply from the first seed on, and counts by its evidence, so that
  a query which nothing answers well stays as it is.
* The memory's own likeness to the query decides among those that are reached.
* What comes out is evidence on the scale of the other legs, and is added to theirs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import NamedTuple

from recollect.concepts import ConceptName, Mentioned, Role
from recollect.protocols import GraphSearch
from recollect.spotting import Text
from recollect.trace import LegReport
from recollect.types import Candidate, Filter, Fused, MemoryId, Query, Ranking, Step

#: A concept that so many memories mention is no connection any more.
TOO_COMMON = 100
#: At most so many mentions are looked at in a hop, those of the most specific concepts first, and
#: so many memories are compared with the query: a bound on the work, whatever the graph is like.
_MOST_MENTIONS = 2_000
_MOST_COMPARED = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far and how strongly evidence goes over the graph; each is a share or a factor."""

    seeds: int = 8  #: from how many of the surest finds it starts
    hops: int = 2
    named: float = 0.35  #: what a memory about something that the query names gains
    weight: float = 1.2  #: of all that is reached
    steepness: float = 3.0  #: how much surer a seed must be to count more
    most: float = 1.5  #: the evidence of the surest seed counts up to this
    about: float = 0.4  #: of a memory about the concept, whatever it is like
    about_alike: float = 0.5  #: and by its likeness to the query
    names: float = 0.05  #: of a memory that names the concept, whatever it is like
    names_alike: float = 0.5  #: and by its likeness to the query
    further: float = 0.5  #: what is left with each further hop
    too_common: int = TOO_COMMON

    def specificity(self, memories: int) -> float:
        """How much a concept tells that so many memories mention: all, down to nothing."""
        return max(0.0, 1.0 - math.log(max(1, memories)) / math.log(self.too_common))

    def worth(self, role: Role, likeness: float) -> float:
        """What a memory is worth that does this with the concept."""
        if role is Role.SUBJECT:
            return self.about + self.about_alike * likeness
        return self.names + self.names_alike * likeness


class _Reached(NamedTuple):
    """A memory that was reached, by the best way to it."""

    evidence: float
    path: tuple[Step, ...]


@dataclass(frozen=True, slots=True)
class GraphLeg:
    """Satisfies `recollect.protocols.Following`."""

    search: GraphSearch = field(repr=False)
    spread: Spread = Spread()

    @property
    def name(self) -> str:
        """How the leg is called in traces."""
        return "graph"

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], fused: Sequence[Fused]
    ) -> tuple[Ranking, LegReport]:
        """The memories that what was found leads to."""
        began = perf_counter()
        walk = _Walk(self.search, self.spread, query.filter, rankings, fused)
        reached = walk(query.text)
        found = sorted(reached.items(), key=lambda item: (-item[1].evidence, item[0]))
        ranking = Ranking(
            leg=self.name,
            candidates=tuple(
                Candidate(id_, evidence, min(1.0, evidence), evidence)
                for id_, (evidence, _) in found
            ),
            paths={id_: path for id_, (_, path) in found},
            follows=True,
        )
        report = LegReport(
            leg=self.name,
            found=len(found),
            milliseconds=(perf_counter() - began) * 1e3,
            detail={
                "named": sorted(walk.named),
                "seeds": walk.seeds,
                "concepts": walk.followed,
            },
        )
        return ranking, report


class _Walk:
    """One walk through the graph."""

    def __init__(
        self,
        search: GraphSearch,
        spread: Spread,
        filter: Filter,
        rankings: Sequence[Ranking],
        fused: Sequence[Fused],
    ) -> None:
        self._search = search
        self._spread = spread
        self._filter = filter
        self._fused = {candidate.id: candidate.score for candidate in fused}
        self._likeness = _Likeness(rankings)
        self.named: set[ConceptName] = set()  #: concepts that the query names
        self.seeds = 0
        self.followed = 0  #: concepts

    def __call__(self, text: str) -> dict[MemoryId, _Reached]:
        """Every memory that was reached, and how."""
        reached = self._from_query(text)
        strengths = self._strengths(reached)
        seeds = _best(strengths, self._spread.seeds)
        self.seeds = len(seeds)
        if not seeds:
            return reached
        surest = max(seeds.values())
        left = min(surest, self._spread.most) * self._spread.weight
        steps: dict[MemoryId, _Reached] = {}
        done: set[MemoryId] = set()
        for _ in range(self._spread.hops):
            shares = {
                id_: left * (x / surest) ** self._spread.steepness for id_, x in seeds.items()
            }
            done |= seeds.keys()
            for id_, found in self._hop(shares, steps).items():
                if id_ not in steps or found.evidence > steps[id_].evidence:
                    steps[id_] = found
            further = {id_: self._base(id_, reached) + x.evidence for id_, x in steps.items()}
            seeds = {
                id_: x for id_, x in _best(further, self._spread.seeds).items() if id_ not in done
            }
            left *= self._spread.further
            if not seeds:
                break
        return self._together(reached, steps)

    # ---- from the query ------------------------------------------------------------------------

    def _from_query(self, text: str) -> dict[MemoryId, _Reached]:
        """The memories about what the query names."""
        asked = Text(text)
        known = self._search.concepts(self._filter.scope, asked.names)
        named = [known[each.name] for each in asked.named(known.keys())]
        self.named = {concept.name for concept in named}
        specific = [
            concept.name
            for concept in named
            if concept.subjects and self._spread.specificity(concept.memories)
        ]
        found = self._mentioning(specific, Role.SUBJECT)
        reached: dict[MemoryId, _Reached] = {}
        for each in found:
            evidence = self._spread.named * self._spread.specificity(each.memories)
            if each.id not in reached or evidence > reached[each.id].evidence:
                step = Step(None, each.concept, each.role, each.id)
                reached[each.id] = _Reached(evidence, (step,))
        return reached

    def _strengths(self, reached: Mapping[MemoryId, _Reached]) -> dict[MemoryId, float]:
        """How sure each memory is, before the graph is walked."""
        self._likeness.learn([id_ for id_ in reached if id_ not in self._fused])
        ids = {*self._fused, *reached}
        return {id_: self._base(id_, reached) for id_ in ids}

    def _base(self, id_: MemoryId, reached: Mapping[MemoryId, _Reached]) -> float:
        base = self._fused.get(id_)
        if base is None:
            base = self._likeness.of(id_)
        return base + (reached[id_].evidence if id_ in reached else 0.0)

    # ---- from memory to memory -----------------------------------------------------------------

    def _hop(
        self, shares: Mapping[MemoryId, float], before: Mapping[MemoryId, _Reached]
    ) -> dict[MemoryId, _Reached]:
        """The memories that these lead to, each by its strongest way."""
        ways = self._ways(shares)
        found = self._mentioning([*ways])
        self.followed += len(ways)
        best: dict[MemoryId, tuple[float, Role, Mentioned, MemoryId]] = {}
        for each in found:
            for source, strength in ways[each.concept].items():
                if source == each.id:
                    continue
                # Without knowing what the memory is like: enough to choose whom to compare.
                rough = strength * self._spread.worth(each.role, 0.5)
                if each.id not in best or rough > best[each.id][0]:
                    best[each.id] = (rough, each.role, each, source)
        self._learn_likeness(best)
        reached = {}
        for id_, (_, role, each, source) in best.items():
            if not self._likeness.knows(id_):
                continue
            strength = ways[each.concept][source]
            evidence = strength * self._spread.worth(role, self._likeness.of(id_))
            came = before[source].path if source in before else ()
            reached[id_] = _Reached(evidence, (*came, Step(source, each.concept, role, id_)))
        return reached

    def _ways(self, shares: Mapping[MemoryId, float]) -> dict[ConceptName, dict[MemoryId, float]]:
        """By concept: from which seeds it is reached, and how strongly."""
        mentions = self._search.mentions_in(self._filter, [*shares])
        about = {(each.id, each.concept) for each in mentions if each.role is Role.SUBJECT}
        ways: dict[ConceptName, dict[MemoryId, float]] = {}
        left = _MOST_MENTIONS
        for each in sorted(mentions, key=lambda each: (each.memories, each.concept)):
            share = self._spread.specificity(each.memories)
            if not share or each.concept in self.named or (each.id, each.concept) in about:
                continue
            if each.concept not in ways:
                left -= each.memories
                if left < 0:
                    break
            ways.setdefault(each.concept, {})[each.id] = shares[each.id] * share
        return ways

    def _learn_likeness(
        self, best: Mapping[MemoryId, tuple[float, Role, Mentioned, MemoryId]]
    ) -> None:
        unknown = [id_ for id_ in best if not self._likeness.knows(id_)]
        unknown.sort(key=lambda id_: (-best[id_][0], id_))
        self._likeness.learn(unknown[:_MOST_COMPARED])

    def _mentioning(
        self, names: Collection[ConceptName], role: Role | None = None
    ) -> list[Mentioned]:
        if not names:
            return []
        return self._search.mentioning(self._filter, names, self._spread.too_common, role)

    def _together(
        self, named: Mapping[MemoryId, _Reached], steps: Mapping[MemoryId, _Reached]
    ) -> dict[MemoryId, _Reached]:
        """What the query names and what was reached from the seeds, added up."""
        together = {}
        for id_ in {*named, *steps}:
            given = [x[id_] for x in (named, steps) if id_ in x]
            evidence = math.fsum(each.evidence for each in given)
            if id_ not in self._fused:  # no other leg will say what the memory is like
                evidence += self._likeness.of(id_)
            path = max(given, key=lambda each: each.evidence).path
            together[id_] = _Reached(evidence, path)
        return together


class _Likeness:
    """How alike memories are to the query, as the legs that can tell say."""

    def __init__(self, rankings: Sequence[Ranking]) -> None:
        self._known: dict[MemoryId, float] = {}
        self._judges = [ranking.judge for ranking in rankings if ranking.judge]
        for ranking in rankings:
            if ranking.judge:
                for candidate in ranking.candidates:
                    self._known[candidate.id] = candidate.evidence

    def learn(self, ids: Sequence[MemoryId]) -> None:
        """Have the legs judge these memories; one that none can judge is like nothing."""
        missing = [id_ for id_ in ids if id_ not in self._known]
        self._known |= dict.fromkeys(missing, 0.0)
        for judge in self._judges:
            if missing:
                judged = judge(missing).values()
                self._known |= {candidate.id: candidate.evidence for candidate in judged}

    def knows(self, id_: MemoryId) -> bool:
        return id_ in self._known

    def of(self, id_: MemoryId) -> float:
        return self._known.get(id_, 0.0)


def _best(strengths: Mapping[MemoryId, float], count: int) -> dict[MemoryId, float]:
    """The strongest, as far as they have any strength."""
    ordered = sorted(strengths.items(), key=lambda item: (-item[1], item[0]))
    return {id_: strength for id_, strength in ordered[:count] if strength > 0.0}
