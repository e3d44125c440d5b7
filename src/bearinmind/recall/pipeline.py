"""The read path: parse, legs, fuse, hydrate, adjust, rerank, select, attach links. Never writes."""

from __future__ import annotations

import logging
import math
import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from time import perf_counter
from typing import Any, NamedTuple

from bearinmind import errors
from bearinmind.errors import MindError
from bearinmind.outdates.verdicts import MARK, begins, is_decided, judgement_of
from bearinmind.protocols import Following, Fusion, Leg, Readable, ReadPairs
from bearinmind.recall import groups
from bearinmind.recall.attach import NONE, attachments
from bearinmind.recall.question_time import read, without_time
from bearinmind.recall.rerank import Rerank
from bearinmind.recall.scores import Adjustments, share_of_time
from bearinmind.recall.second_look import read_first, read_states
from bearinmind.recall.selection import (
    Budget,
    Eligibility,
    MemoryReader,
    Selection,
    admits,
    heads,
    present,
)
from bearinmind.recall.verdict import Evidence, VerdictModels, models
from bearinmind.trace import (
    Answer,
    BelowLimit,
    Dropped,
    Judged,
    LegReport,
    OnDemand,
    PairsRead,
    QuestionTime,
    Reason,
    RerankReport,
    Span,
    StepKind,
    Superseded,
    Trace,
    Unlikely,
    step,
)
from bearinmind.types import (
    Fused,
    Hit,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Query,
    Ranking,
    State,
    Step,
)

TEXT_LIMIT = 100_000  # characters
LARGEST_LIMIT = 1_000
LARGEST_POOL = 10_000

# Halves of characters and NUL cannot be looked for; a space in their place changes nothing else.
_UNSEARCHABLE = re.compile("[\x00\ud800-\udfff]")
logger = logging.getLogger(__name__)

_CONTENDERS = 3  # times as many as are asked for may usually still come first


def parse(query: Query) -> Query:
    """The query as the legs will see it, if its text and its numbers are within their limits."""
    if len(query.text) > TEXT_LIMIT:
        raise errors.InvalidQuery(
            f"the query has {len(query.text):,} characters; it may have {TEXT_LIMIT:,}",
            hint="Ask with the part of the text that matters.",
        )
    check_number("limit", query.limit, LARGEST_LIMIT)
    check_number("pool", query.pool, LARGEST_POOL)
    if State.DELETED in query.filter.states:
        raise errors.InvalidQuery(
            "deleted memories are not recalled",
            hint="`bearinmind list --state deleted` shows them; `--as-of` recalls what was there.",
        )
    if query.budget_bytes is not None and query.budget_bytes < 0:
        raise errors.InvalidQuery(
            f"the budget of {query.budget_bytes:,} bytes is negative",
            hint="Give 0 bytes or more, such as 4000.",
        )
    return replace(
        query,
        text=_UNSEARCHABLE.sub(" ", query.text),
        expanded=tuple(_UNSEARCHABLE.sub(" ", term) for term in query.expanded),
        pool=max(query.pool, query.limit),  # a pool that cannot fill the answer would hide memories
    )


def check_number(name: str, value: int, most: int, least: int = 1) -> int:
    """The number, if it is in its range."""
    if not least <= value <= most:
        raise errors.InvalidQuery(
            f"{name} {value!r} is not between {least} and {most:,}",
            hint=f"Choose a {name} in that range.",
        )
    return value


@dataclass(frozen=True, slots=True, kw_only=True)
class Recall:
    """Finds the memories most relevant to a query, and says how."""

    store: Readable
    legs: tuple[Leg, ...]
    fusion: Fusion
    adjustments: Adjustments
    selection: Selection
    executor: Executor = field(repr=False)
    rerank: Rerank | None = None
    following: tuple[Following, ...] = ()  #: legs that go on from what the others found
    verdicts: VerdictModels = field(default_factory=models, repr=False)
    #: The model that reads memories with the question; None where words alone are compared.
    pair_reader: Callable[[], ReadPairs | None] = field(default=lambda: None, repr=False)

    def __call__(self, query: Query) -> Answer:
        """The memories that matter, best first, with the trace of how they were found."""
        query = parse(query)
        watch = _Stopwatch()
        answers = self._ask(query)
        watch.lap("legs")
        rankings = [ranking for ranking, _ in answers]
        for leg in self.following:
            answers.append(run(leg, query, rankings, self.fusion.scores(rankings)))
            rankings = [*rankings, answers[-1][0]]
            watch.lap(leg.name)
        fused = self.fusion(rankings)
        watch.lap("fuse")
        linked = self.store.has_links(query.filter.scope)
        time = read(query.text, query.filter.now)
        newer = self._newer(query, rankings, fused) if linked and fused else _NONE_NEWER
        reader = MemoryReader(self.store, query.filter, rankings)
        evidence = Evidence(self.verdicts, without_time(query.text, time), rankings, fused)
        choice = self._choose(_Asked(query, time, newer, reader, evidence), fused)
        watch.lap("choose")
        if choice.rerank:
            watch.carve("rerank", choice.rerank.milliseconds, out_of="choose")
        if choice.read:
            watch.carve("read", choice.read.milliseconds, out_of="choose")
        evidence.read = choice.odds
        probabilities = self._probabilities(choice, evidence)
        best = max(probabilities.values(), default=0.0)
        least = query.min_probability
        floor = evidence.floors.below(best) if least is None else least
        unlikely = {
            id_: Unlikely(probability=probability, floor=floor)
            for id_, probability in probabilities.items()
            if probability < floor and not query.all
        }
        watch.lap("verdict")
        folded = choice.arranged.left_out(Dropped(*each) for each in unlikely.items())
        dropped = [*choice.dropped, *folded]
        below = BelowLimit(limit=query.limit)
        paths = {id_: path for ranking in rankings for id_, path in ranking.paths.items()}
        hits = self._hits(query, choice, probabilities, unlikely, paths, linked=linked)
        kept = len(hits) - len(unlikely)
        watch.lap("links")
        return Answer(
            query=query,
            verdict=evidence.floors.verdict(best),
            hits=tuple(hits[:kept]),
            weak=tuple(hits[kept:]),
            trace=Trace(
                legs=tuple(report for _, report in answers),
                fusion=repr(self.fusion),
                adjustments=repr(self.adjustments),
                selection=repr(self.selection),
                fused=OnDemand(lambda: fused),
                judged=tuple(choice.arranged.judged),
                dropped=OnDemand(
                    lambda: [
                        *dropped,
                        *(Dropped(x.id, below) for x in fused if x.id not in choice.considered),
                    ]
                ),
                milliseconds=watch.stages,
                rerank=choice.rerank,
                read=choice.read,
                paths=paths,
                time=time,
                floor=floor,
            ),
        )

    def _ask(self, query: Query) -> list[tuple[Ranking, LegReport]]:
        """Every leg's answer; side by side when there is more than one."""
        *others, own = self.legs  # this thread would only wait otherwise
        answers = [self.executor.submit(run, leg, query) for leg in others]
        answer = run(own, query)
        return [*(each.result() for each in answers), answer]

    def _choose(self, asked: _Asked, fused: Sequence[Fused]) -> _Choice:
        """Adjust and select among those candidates that may still come first.

        The others are not even read, unless one of these is dropped and makes room.
        """
        if self.rerank:  # it may lift any candidate
            return self._choose_among(asked, fused)
        depth = self._contenders(asked, fused)
        superseded = asked.newer.superseded
        replaced = [x for x in fused[depth:] if x.id in superseded] if superseded else []
        choice = self._choose_among(asked, [*fused[:depth], *replaced])
        makes_room = any(_makes_room(each.reason) for each in choice.dropped)
        if (makes_room or choice.arranged.earlier) and depth < len(fused):
            return self._choose_among(asked, fused)
        return choice

    def _newer(self, query: Query, rankings: Sequence[Ranking], fused: Sequence[Fused]) -> _Newer:
        """What supersedes the candidates, and what may outdate the best of them."""
        ids = [*dict.fromkeys(each.id for ranking in rankings for each in ranking.candidates)]
        scope, as_of = query.filter.scope, query.filter.as_of
        superseded = heads(self.store.newer(scope, ids, as_of))
        best = [superseded.get(each.id, each.id) for each in fused[: groups.DEPTH]]
        # What was decided about a memory holds for what supersedes it.
        carried = [
            replace(x, source=superseded.get(x.source, x.source)) if is_decided(x) else x
            for x in self.store.newer(scope, best, as_of, [LinkKind.OUTDATES])
        ]
        outdates = [x for x in carried if x.source != x.target]
        words = next((ranking for ranking in rankings if ranking.frequency), rankings[0])
        return _Newer(superseded, outdates, words.frequency, words.among)

    def _contenders(self, asked: _Asked, fused: Sequence[Fused]) -> int:
        """How many of the best candidates can be among the first once adjusted.

        The last of those will have at least the lowest adjusted score of any so many memories; a
        candidate that stays below it even with the most favourable factors is not one of them.
        """
        query, span, adjust = asked.query, asked.time.span, self.adjustments
        wanted = max(query.limit, groups.DEPTH if asked.newer.outdates else groups.ORDERED + 1)
        first: dict[MemoryId, float] = {}  # the score of what is served
        place = 0
        while len(first) < wanted:
            if place == len(fused):
                return place
            first.setdefault(asked.served(fused[place].id), fused[place].score)
            place += 1
        likely = [asked.served(x.id) for x in fused[place : _CONTENDERS * place]]
        memories = asked.reader.get([*first], likely)
        lowest = min(
            score * math.prod(adjust(query, memories[id_], query.filter.now, span).values())
            if id_ in memories
            else 0.0  # it was purged meanwhile
            for id_, score in first.items()
        )
        least = lowest / adjust.most(query, span)
        return bisect_right(fused, -least, lo=place, key=lambda candidate: -candidate.score)

    def _choose_among(self, asked: _Asked, fused: Sequence[Fused]) -> _Choice:
        query, newer, reader = asked.query, asked.newer, asked.reader
        eligibility = Eligibility(query.filter, fused, newer.superseded, reader)
        memories, by_legs = eligibility.memories, asked.evidence.probability
        judged, report = self._judge(asked, eligibility), None
        if self.rerank:
            judged, report = self.rerank(query, judged, memories)
        read_pairs, read = self.pair_reader(), None
        odds: Mapping[MemoryId, float] = {}
        if read_pairs:
            judged, odds, read = read_first(
                read_pairs, asked.text_for, judged, memories, by_legs, is_ordered=report is not None
            )
        links = groups.that_matter(newer.outdates, judged)
        seen = {**eligibility.servable(reader, links)}
        seen |= {x.id: memories[x.id] for x in judged[: groups.ORDERED]}
        question = groups.Question.of(asked.time, newer.frequency, newer.among)
        preferences: groups.Preferences | None = {} if read_pairs else None
        if read_pairs and not self.rerank:
            doubtful = groups.to_be_read(judged, links, seen, question, odds)
            preferences, more = read_states(read_pairs, query.text, doubtful, odds)
            read = read + more if read and more else read or more
        may_be_hits = {id_ for id_, each in seen.items() if admits(query.filter, each)}
        arranged = groups.arrange(
            judged, links, seen, question, query.group, preferences, may_be_hits
        )
        budget = Budget(query.budget_bytes)
        chosen, dropped = self.selection(
            query, arranged.judged, memories, budget, arranged.outdated
        )
        states = [x.memory for each in chosen for x in arranged.earlier.get(each.id, ())]
        over = [Dropped(x.id, reason) for x in states if (reason := budget.take(x))]
        every = [*eligibility.dropped, *arranged.left_out(dropped), *over]
        considered = {x.id for x in (*fused, *eligibility.kept)}
        return _Choice(arranged, chosen, every, considered, eligibility, odds, budget, report, read)

    def _judge(self, asked: _Asked, eligibility: Eligibility) -> list[Judged]:
        """The candidates that may be served, adjusted, best first."""
        query, memories, adjust = asked.query, eligibility.memories, self.adjustments
        judged = []
        for id_, fused, placings in eligibility.kept:
            factors = adjust(query, memories[id_], query.filter.now, asked.time.span)
            score = fused * math.prod(factors.values())
            judged.append(Judged(id_, score, fused, placings, factors))
        judged.sort(key=lambda candidate: (-candidate.score, candidate.id))
        return judged

    def _probabilities(self, choice: _Choice, evidence: Evidence) -> dict[MemoryId, float]:
        """How probable it is that each of the chosen answers: it, or an earlier state under it.

        What was put before another is taken for its present state, so it is as probable: nobody is
        given the old one without the new.
        """
        memories, earlier = choice.eligibility.memories, choice.arranged.earlier
        placings = {x.id: x.placings for x in choice.eligibility.kept}
        placings |= {x.id: x.placings for x in choice.chosen}
        probabilities = {}
        for chosen in choice.chosen:
            behind = choice.arranged.behind(chosen.id)  # also where the limit leaves them out
            states = [*behind, *(x.memory.id for id_ in behind for x in earlier.get(id_, ()))]
            probabilities[chosen.id] = max(
                evidence.probability(memories[id_], placings[id_])
                for id_ in states
                if id_ in placings
            )
        return probabilities

    def _hits(
        self,
        query: Query,
        choice: _Choice,
        probabilities: Mapping[MemoryId, float],
        unlikely: Collection[MemoryId],
        paths: Mapping[MemoryId, tuple[Step, ...]],
        *,
        linked: bool,
    ) -> list[Hit]:
        """The chosen as hits, the unlikely ones last."""
        memories, replaced = choice.eligibility.memories, choice.eligibility.replaced
        arranged = choice.arranged
        chosen = present(choice.chosen, memories, query.sort_by)
        chosen.sort(key=lambda candidate: candidate.id in unlikely)
        left_out = {each.id for each in choice.dropped}
        ids = [candidate.id for candidate in chosen]
        kept = {*ids}.difference(unlikely)
        extra = attachments(self.store, query.filter, ids, choice.budget) if linked else {}
        hits = []
        for rank, candidate in enumerate(chosen, start=1):
            added = extra.get(candidate.id, NONE)
            served_for = replaced.get(candidate.id, ())
            outdated = arranged.outdated.get(candidate.id)
            earlier = arranged.earlier.get(candidate.id, ())
            attached = added.attached
            if outdated and outdated.by not in kept and outdated.by in memories:
                attached = (*attached, memories[outdated.by])  # never the old without the new
            # How a following leg came to it, or to the one that it is served in place of.
            is_followed = any(leg.name in candidate.placings for leg in self.following)
            ways = (paths[id_] for id_ in (candidate.id, *served_for) if id_ in paths)
            hits.append(
                Hit(
                    memory=memories[candidate.id],
                    rank=rank,
                    score=candidate.score,
                    placings=candidate.placings,
                    factors=candidate.factors,
                    reranked=candidate.reranked,
                    replaces=served_for,
                    attached=attached,
                    pointers=added.pointers,
                    path=next(ways, ()) if is_followed else (),
                    probability=probabilities[candidate.id],
                    earlier=tuple(x for x in earlier if x.memory.id not in left_out),
                    outdated=outdated,
                )
            )
        return hits


class _Newer(NamedTuple):
    """Newer memories than the candidates."""

    superseded: Mapping[MemoryId, MemoryId]  #: by what each superseded one is replaced
    outdates: Sequence[Link]  #: above the best
    frequency: Mapping[str, int] = {}  #: of the terms of the query ...
    among: int = 0  #: ... in so many memories


_NONE_NEWER = _Newer({}, ())


class _Asked(NamedTuple):
    """A query, and what the choice among its candidates goes by."""

    query: Query
    time: QuestionTime
    newer: _Newer
    reader: MemoryReader
    evidence: Evidence

    def text_for(self, memory: Memory) -> str:
        """The question; of a memory that held at the time it names, without the words for that.

        What was so in May seldom says so: its dates do (docs/adr/0072).
        """
        text, span = self.query.text, self.time.span
        return without_time(text, self.time) if span and self._held(memory, span) else text

    def _held(self, memory: Memory, span: Span) -> bool:
        """Whether a memory is from a span, or a state of something that had begun by then."""
        marked = (x for x in self.newer.outdates if judgement_of(x).probability >= MARK)
        had_begun = begins(memory)[0] < span.end and (
            span.start is None or any(memory.id in (x.source, x.target) for x in marked)
        )
        return had_begun or share_of_time(memory, span) > 0

    def served(self, id_: MemoryId) -> MemoryId:
        """What is served for a candidate: it, or what supersedes it."""
        if State.SUPERSEDED in self.query.filter.states:
            return id_
        return self.newer.superseded.get(id_, id_)


def _makes_room(reason: Reason) -> bool:
    """Whether another candidate may take the place of one that was dropped for this reason."""
    match reason:
        case BelowLimit() | Superseded(served=True):
            return False
        case _:
            return True


class _Choice(NamedTuple):
    """What was chosen among the candidates, and why not the others."""

    arranged: groups.Arranged
    chosen: list[Judged]
    dropped: list[Dropped]
    considered: Collection[MemoryId]  #: the other candidates are below the limit
    eligibility: Eligibility
    odds: Mapping[MemoryId, float]  #: that those which were read answer
    budget: Budget  #: what is left of it
    rerank: RerankReport | None = None
    read: PairsRead | None = None


def run(leg: Leg | Following, query: Query, *found: Any) -> tuple[Ranking, LegReport]:  # noqa: ANN401
    """A leg's answer, or an empty one that says why: a failing leg costs its leg, no more.

    A following leg gets what the others found, too.
    """
    began, name = perf_counter(), leg.name
    try:
        with step(StepKind.LEG, name):
            return leg(query, *found)
    except Exception as exc:
        known = isinstance(exc, MindError)
        logger.warning("leg failed", exc_info=not known, extra={"action": "leg", "leg": name})
        error = f"{exc.code}: {exc.message}" if isinstance(exc, MindError) else type(exc).__name__
        elapsed = (perf_counter() - began) * 1e3
        report = LegReport(leg=name, found=0, milliseconds=elapsed, error=error)
        return Ranking(leg=name, candidates=()), report


class _Stopwatch:
    """Milliseconds by stage."""

    def __init__(self) -> None:
        self.stages: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, stage: str) -> None:
        now = perf_counter()
        self.stages[stage] = (now - self._last) * 1e3
        self._last = now

    def carve(self, stage: str, milliseconds: float, *, out_of: str) -> None:
        """Show a part of a stage as one of its own."""
        self.stages[out_of] -= milliseconds
        self.stages[stage] = milliseconds
