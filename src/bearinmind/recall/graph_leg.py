"""The graph leg: from what the other legs found to the memories that it is connected with.

A question often names one thing and asks about another: "who may restart what draws our labels?"
One memory says that Gannet draws them, another who may restart Gannet. The second shares nothing
with the question; it shares a name with the first. This leg starts at the surest finds of the other
legs, the seeds, and goes over the concepts that they name to the memories about those concepts.

What decides whether that helps (docs/adr/0020 has the measurements):

* Precise edges: a memory that is *about* a concept counts more than one that merely names it.
* Specific concepts: one that many memories mention leads everywhere, so it leads nowhere.
* Strong seeds: a seed counts by the square of its evidence, so that a query which nothing answers
  well stays as it is.
* Nothing passes the seed that led to it: what the other legs find well by themselves keeps its
  order, and only what they cannot see is lifted.
* What comes out is evidence on the scale of the other legs, and is added to theirs.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import accumulate
from time import perf_counter
from typing import Any, NamedTuple, Self

from bearinmind.concepts import ConceptName, Mentioned, Role
from bearinmind.protocols import Connections
from bearinmind.recall.dense import LOOKED_AT, waiting_memories
from bearinmind.text.names import Text
from bearinmind.trace import Answer, LegReport
from bearinmind.types import Candidate, Filter, Memory, MemoryId, Query, Ranking, Step

#: A concept that so many memories mention is no connection any more.
TOO_COMMON = 50
#: Bounds on the work in any graph: mentions that are looked at in a hop, the strongest concepts'
#: first, and memories that are compared with the query.
_MOST_MENTIONS = 2_000
_MOST_COMPARED = 200
_COUNTS = ("seeds", "hops", "too_common")


class Likeness:
    """How alike memories are to the query, by the legs that can judge any memory."""

    def __init__(self, rankings: Sequence[Ranking]) -> None:
        self._known: dict[MemoryId, float] = {}
        self._judges = [ranking.judge for ranking in rankings if ranking.judge]
        for ranking in rankings:
            if ranking.judge:
                self._known |= {each.id: each.evidence for each in ranking.candidates}

    def learn(self, ids: Sequence[MemoryId]) -> None:
        """Have the legs judge these memories; one that no leg can judge gets 0."""
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
        """The evidence that a memory is what was asked for, by its likeness."""
        return self._known.get(id_, 0.0)


@dataclass(frozen=True, slots=True, kw_only=True)
class Spread:
    """How far and how strongly evidence goes over the graph; each is a share or a factor."""

    seeds: int = 5  #: from how many of the surest finds it starts
    hops: int = 1
    named: float = 0.35  #: what a memory about something that the query names gains
    power: float = 2.0  #: of a seed's evidence: how much more a surer one counts
    most: float = 1.5  #: the evidence of a seed counts up to this
    about: float = 0.9  #: what a memory about the concept is worth
    names: float = 0.07  #: what one that names it is worth, whatever it is like
    names_alike: float = 0.7  #: and by its likeness to the query
    below: float = 0.8  #: how near to its seed a memory may come; 0: as near as it likes, and past
    further: float = 0.5  #: what is left with each further hop
    too_common: int = TOO_COMMON  #: so many memories mention a concept that leads nowhere

    @classmethod
    def of(cls, weights: Mapping[str, Any]) -> Self:
        """The defaults with these weights changed; counts are whole numbers."""
        counts = {name: int(weights[name]) for name in _COUNTS if name in weights}
        return cls(**{**weights, **counts})

    def specificity(self, memories: int) -> float:
        """How much a concept tells that so many memories mention: all, down to nothing."""
        return max(0.0, 1.0 - math.log(max(1, memories)) / math.log(max(2, self.too_common)))

    def worth(self, role: Role, likeness: float) -> float:
        """What a memory is worth that does this with the concept."""
        return self.about if role is Role.SUBJECT else self.names + self.names_alike * likeness

    def gained(self, offered: float, base: float, seed: float) -> float:
        """What of the offered evidence a memory gains that has this much without, by its seed's."""
        if not self.below:
            return offered
        room = max(0.0, self.below * seed - base)
        return min(room, offered * max(0.0, 1.0 - base / seed))


class _Reached(NamedTuple):
    """A memory that was reached, by the best way to it."""

    evidence: float
    path: tuple[Step, ...]


#: How a memory is reached in one hop: roughly how well, over a concept from a seed how strongly,
#: the mention at its end, and the seed.
_Way = tuple[float, float, Mentioned, MemoryId]


@dataclass(frozen=True, slots=True)
class GraphLeg:
    """Satisfies `bearinmind.protocols.Following`."""

    search: Connections = field(repr=False)
    spread: Spread = Spread()
    name = "graph"  #: in traces

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        """The memories that what was found leads to."""
        began = perf_counter()
        so_far = self.search.read_so_far(query.filter.scope, LOOKED_AT)
        if not so_far.has_concepts:
            return _nothing("nothing is read for the graph yet", began)
        walk = _Walk(self.search, self.spread, query.filter, rankings, scores)
        reached = walk(query.text)
        if not walk.seeds and not reached:
            return _nothing("no other leg found anything to start from", began)
        ranked = sorted(reached.items(), key=lambda item: (-item[1].evidence, item[0]))
        ranking = Ranking(
            leg=self.name,
            candidates=tuple(
                Candidate(id_, each.evidence, walk.confidence(each), each.evidence)
                for id_, each in ranked
            ),
            paths={id_: path for id_, (_, path) in ranked},
            follows=True,
        )
        report = LegReport(
            leg=self.name,
            found=len(ranked),
            milliseconds=(perf_counter() - began) * 1e3,
            detail={
                "named": sorted(walk.named),
                "seeds": [*walk.seeds],
                "surest": max(walk.seeds.values(), default=0.0),
                "concepts": walk.followed,
            },
            partial=waiting_memories(so_far.waiting, "read for the graph", LOOKED_AT),
        )
        return ranking, report


class _Walk:
    """One walk through the graph."""

    def __init__(
        self,
        search: Connections,
        spread: Spread,
        filter: Filter,
        rankings: Sequence[Ranking],
        scores: Mapping[MemoryId, float],
    ) -> None:
        self._search = search
        self._spread = spread
        self._filter = filter
        self._scores = scores  # of what the other legs found
        self._likeness = Likeness(rankings)
        self._rankings = rankings
        self._named: dict[MemoryId, _Reached] = {}  # memories about what the query names
        self.named: set[ConceptName] = set()  #: concepts that the query names
        self.seeds: dict[MemoryId, float] = {}  #: where the walk began, and how sure those are
        self.followed = 0  #: concepts

    def __call__(self, text: str) -> dict[MemoryId, _Reached]:
        """Every memory that was reached, and how."""
        self._named = self._from_query(text)
        self._likeness.learn([id_ for id_ in self._named if id_ not in self._scores])
        strengths = {**self._scores, **{id_: self._base(id_) for id_ in self._named}}
        self.seeds = seeds = _best(strengths, self._spread.seeds)
        steps: dict[MemoryId, _Reached] = {}
        done: set[MemoryId] = set()
        share = 1.0
        for hop in range(self._spread.hops):
            if hop:
                further = {id_: self._base(id_) + x.evidence for id_, x in steps.items()}
                best = _best(further, self._spread.seeds)
                seeds = {id_: x for id_, x in best.items() if id_ not in done}
                share *= self._spread.further
            if not seeds:
                break
            done |= seeds.keys()
            for id_, found in self._hop(seeds, share, steps).items():
                if id_ not in steps or found.evidence > steps[id_].evidence:
                    steps[id_] = found
        return self._together(steps)

    def confidence(self, reached: _Reached) -> float:
        """How sure a memory is: no more so than the seed that led there."""
        seed = reached.path[0].source
        most = 1.0 if seed is None else self._confidences.get(seed, self.seeds[seed])
        return min(1.0, reached.evidence, most)

    @cached_property
    def _confidences(self) -> dict[MemoryId, float]:
        """Of the seeds that another leg found: that of the surest."""
        seeds = [c for ranking in self._rankings for c in ranking.candidates if c.id in self.seeds]
        return {c.id: c.confidence for c in sorted(seeds, key=lambda c: c.confidence)}

    # ---- from the query ------------------------------------------------------------------------

    def _from_query(self, text: str) -> dict[MemoryId, _Reached]:
        """The memories about what the query names."""
        query = Text(text)
        known = self._search.concepts(self._filter.scope, query.names)
        named = [known[each.name] for each in query.named(known.keys())]
        self.named = {concept.name for concept in named}
        specific = [
            concept.name
            for concept in named
            if concept.subjects and self._spread.specificity(concept.memories)
        ]
        reached: dict[MemoryId, _Reached] = {}
        for each in self._mentioning(specific, Role.SUBJECT):
            evidence = self._spread.named * self._spread.specificity(each.memories)
            if each.id not in reached or evidence > reached[each.id].evidence:
                step = Step(None, each.concept, each.role, each.id)
                reached[each.id] = _Reached(evidence, (step,))
        return reached

    def _base(self, id_: MemoryId) -> float:
        """How sure a memory is before the graph is walked."""
        base = self._scores[id_] if id_ in self._scores else self._likeness.of(id_)
        return base + (self._named[id_].evidence if id_ in self._named else 0.0)

    # ---- from memory to memory -----------------------------------------------------------------

    def _hop(
        self, seeds: Mapping[MemoryId, float], share: float, before: Mapping[MemoryId, _Reached]
    ) -> dict[MemoryId, _Reached]:
        """The memories that these lead to, each by its strongest way."""
        spread = self._spread
        shares = {id_: share * min(x, spread.most) ** spread.power for id_, x in seeds.items()}
        ways = self._ways(shares)
        self.followed += len(ways)
        best = self._strongest(self._mentioning([*ways]), ways)
        unknown = [id_ for id_ in best if not self._likeness.knows(id_)]
        if len(unknown) > _MOST_COMPARED:
            unknown = sorted(unknown, key=lambda id_: (-best[id_][0], id_))[:_MOST_COMPARED]
        self._likeness.learn(unknown)
        reached = {}
        for id_, (_, strength, each, source) in best.items():
            if not self._likeness.knows(id_):
                continue
            offered = strength * spread.worth(each.role, self._likeness.of(id_))
            evidence = spread.gained(offered, self._base(id_), seeds[source])
            if evidence > 0.0:
                came = before[source].path if source in before else ()
                step = Step(source, each.concept, each.role, id_)
                reached[id_] = _Reached(evidence, (*came, step))
        return reached

    def _strongest(
        self, found: Sequence[Mentioned], ways: Mapping[ConceptName, Mapping[MemoryId, float]]
    ) -> dict[MemoryId, _Way]:
        """By memory: the way that is strongest, whatever it is like."""
        subject = Role.SUBJECT
        about, names = (self._spread.worth(role, 0.5) for role in (subject, Role.NAME))
        sources = {
            concept: sorted(by_seed.items(), key=lambda item: -item[1])
            for concept, by_seed in ways.items()
        }
        best: dict[MemoryId, _Way] = {}
        for each in found:
            id_ = each.id
            for source, strength in sources[each.concept]:
                if source != id_:
                    rough = strength * (about if each.role is subject else names)
                    if id_ not in best or rough > best[id_][0]:
                        best[id_] = (rough, strength, each, source)
                    break
        return best

    def _ways(self, shares: Mapping[MemoryId, float]) -> dict[ConceptName, dict[MemoryId, float]]:
        """By concept: from which seeds it is reached, and how strongly."""
        mentions = self._search.mentions_in(self._filter, [*shares])
        about = {(each.id, each.concept) for each in mentions if each.role is Role.SUBJECT}
        ways: dict[ConceptName, dict[MemoryId, float]] = {}
        for each in mentions:
            share = self._spread.specificity(each.memories)
            if share and each.concept not in self.named and (each.id, each.concept) not in about:
                ways.setdefault(each.concept, {})[each.id] = shares[each.id] * share
        common = {each.concept: each.memories for each in mentions}
        strongest = sorted(ways, key=lambda concept: (-max(ways[concept].values()), concept))
        led_to = accumulate(common[concept] for concept in strongest)
        return {
            concept: ways[concept]
            for concept, memories in zip(strongest, led_to, strict=True)
            if memories <= _MOST_MENTIONS
        }

    def _mentioning(
        self, names: Collection[ConceptName], role: Role | None = None
    ) -> list[Mentioned]:
        if not names:
            return []
        return self._search.mentioning(self._filter, names, self._spread.too_common, role)

    def _together(self, steps: Mapping[MemoryId, _Reached]) -> dict[MemoryId, _Reached]:
        """What the query names and what was reached from the seeds, added up."""
        named = self._named
        together = {**steps, **named}
        for id_ in named.keys() & steps.keys():
            one, other = named[id_], steps[id_]
            path = max(one, other, key=lambda each: each.evidence).path
            together[id_] = _Reached(one.evidence + other.evidence, path)
        for id_ in together.keys() - self._scores.keys():
            # No other leg adds the likeness of this memory.
            evidence, path = together[id_]
            together[id_] = _Reached(evidence + self._likeness.of(id_), path)
        return together


def _nothing(off: str, began: float) -> tuple[Ranking, LegReport]:
    report = LegReport(
        leg="graph", found=0, milliseconds=(perf_counter() - began) * 1e3, detail={"off": off}
    )
    return Ranking(leg="graph", candidates=(), follows=True), report


def _best(strengths: Mapping[MemoryId, float], count: int) -> dict[MemoryId, float]:
    """The strongest, as far as they have any strength."""
    strongest = sorted(strengths.values(), reverse=True)[:count]
    least = strongest[-1] if strongest else math.inf
    few = [(-x, id_) for id_, x in strengths.items() if x >= least and x > 0.0]
    return {id_: -x for x, id_ in sorted(few)[:count]}


# ---- how it leads to a memory, in words ----------------------------------------------------------


Labels = Mapping[ConceptName, str]  #: how concepts are written; one without a label by its name
_SHOWN = 3  # concepts of a memory that are named

_DOES = {
    Role.SUBJECT: "is about it",
    Role.NAME: "names it too",
    Role.TAG: "is tagged with it",
    Role.KEYWORD: "has it as a keyword",
}


def in_words(path: Iterable[Step], id_: MemoryId, labels: Labels) -> str:
    """How a path leads to a memory, step by step."""
    steps = []
    for source, concept, role, target in path:
        name, does = label(concept, labels), _DOES[Role(role)]
        reached = "this memory" if target == id_ else target
        if source is None:
            steps.append(f'the query names "{name}", {reached} {does.removesuffix(" too")}')
        else:
            start = "this memory" if source == id_ else source
            steps.append(f'via "{name}": {start} mentions it, {reached} {does}')
    return "; ".join(steps)


def over(path: Iterable[Step], labels: Labels) -> str:
    """The concepts of a path."""
    return ", ".join(dict.fromkeys(label(step.concept, labels) for step in path))


def concepts(paths: Iterable[Iterable[Step]]) -> set[ConceptName]:
    """Every concept of some paths."""
    return {ConceptName(step.concept) for path in paths for step in path}


def label(concept: str, labels: Labels) -> str:
    """A concept as it is written."""
    return labels.get(ConceptName(concept), concept)


def notes(
    leg: GraphLeg, filter: Filter, memory: Memory, answer: Answer, report: LegReport
) -> Iterator[str]:
    """How the graph leads to a memory, or why it does not."""
    connection = _Connection(leg, filter, memory, report)
    path = answer.trace.paths.get(memory.id, ())
    if path:
        yield in_words(path, memory.id, connection.labels(concepts([path])))
        yield f"the surest to start from has {report.detail['surest']:.2f}"
    else:
        yield connection.why_none(found=any(x.id == memory.id for x in answer.trace.fused))


class _Connection:
    """The connection between a memory and the seeds of the graph leg."""

    def __init__(self, leg: GraphLeg, filter: Filter, memory: Memory, report: LegReport) -> None:
        self._search, self._spread = leg.search, leg.spread
        self._filter = filter
        self._memory = memory
        self._report = report
        named, seeds = report.detail.get("named"), report.detail.get("seeds")
        self._named: set[ConceptName] = {*named} if isinstance(named, list) else set()
        self._seeds: list[MemoryId] = [*seeds] if isinstance(seeds, list) else []

    def labels(self, names: Collection[ConceptName]) -> Mapping[ConceptName, str]:
        """How concepts are written."""
        known = self._search.concepts(self._filter.scope, names)
        return {name: concept.label for name, concept in known.items()}

    def why_none(self, *, found: bool) -> str:
        """Why no path leads to the memory, which another leg may have found."""
        if self._memory.sensitive:
            return "sensitive memories are never read for the graph"
        own = self._search.mentions_in(self._filter, [self._memory.id])
        if not own:
            unread = self._report.partial is not None
            return "not read for the graph yet" if unread else "it mentions no concept"
        labels = self.labels({each.concept for each in own})
        return self._by_query(own, labels) or self._by_seeds(own, labels, found=found)

    def _by_query(self, own: list[Mentioned], labels: Mapping[ConceptName, str]) -> str:
        """What keeps a concept that the query names from leading to the memory."""
        for each in own:
            if each.concept in self._named:
                text = f'the query names "{label(each.concept, labels)}", '
                if not self._spread.specificity(each.memories):
                    return text + self._too_common(each)
                if each.role is not Role.SUBJECT:
                    return f"{text}which leads to the memories about it, and this one is not"
        return ""

    def _by_seeds(
        self, own: list[Mentioned], labels: Mapping[ConceptName, str], *, found: bool
    ) -> str:
        """What keeps the memories that the leg starts from from leading to this one."""
        others = [id_ for id_ in self._seeds if id_ != self._memory.id]
        mine = {each.concept for each in own}
        shared = [x for x in self._search.mentions_in(self._filter, others) if x.concept in mine]
        if not shared:
            rarest = sorted(own, key=lambda each: (each.memories, each.concept))[:_SHOWN]
            text = ", ".join(f'"{label(each.concept, labels)}"' for each in rarest)
            return f"shares no concept with the {len(others)} it starts from; it mentions {text}"
        best = min(shared, key=lambda each: (each.memories, each.role is Role.SUBJECT, each.id))
        text = f'shares "{label(best.concept, labels)}" with {best.id}, '
        if not self._spread.specificity(best.memories):
            return text + self._too_common(best)
        if best.role is Role.SUBJECT:
            return f"{text}which is about it, and leads on only by what else it mentions"
        if found and self._spread.below:
            return f"{text}which lifts nothing above {self._spread.below:.0%} of its own score"
        return f"{text}but other ways were stronger"

    def _too_common(self, each: Mentioned) -> str:
        return (
            f"which {each.memories:,} memories mention: "
            f"from {self._spread.too_common} on a concept leads nowhere"
        )
