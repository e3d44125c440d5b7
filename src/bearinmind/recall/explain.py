"""Why-not: where an expected memory ranked, what kept it out, and what would have admitted it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypedDict, cast

from bearinmind.recall.groups import CURRENT, EARLIER
from bearinmind.recall.leg_positions import (
    CachedLeg,
    DeepPlacing,
    deep_placing,
    followed_placing,
    leg_position,
)
from bearinmind.recall.pipeline import LARGEST_LIMIT, Recall
from bearinmind.recall.second_look import ANSWERS
from bearinmind.recall.selection import refusals
from bearinmind.text import analysis
from bearinmind.text.analysis import one_line
from bearinmind.trace import Answer, BelowLimit, SaysTheSame, WhyNot
from bearinmind.types import Hit, Memory, Query, SortBy, State, is_expired

_SHOWN_WORDS = 5
#: What puts a memory before another that scores higher, and how that is told.
_LIFTS = {
    CURRENT: "which may outdate it",
    EARLIER: "a state of the time that was asked for",
    ANSWERS: "which was read with the question and answers it better",
}


def why_not(recall: Recall, query: Query, memory: Memory) -> WhyNot:
    """Why a memory is not in the answer to a query."""
    legs = tuple(map(CachedLeg, recall.legs))
    following = tuple(map(CachedLeg, recall.following))
    recall = replace(
        recall, legs=legs, following=following, rerank=recall.rerank and recall.rerank.repeated()
    )
    answer = recall(query)
    hit = _hit(answer, memory)
    if hit is not None:
        return WhyNot(id=memory.id, rank=hit.rank, reason=_place(hit, memory))
    query = answer.query
    then = recall.store.get(query.filter.scope, memory.id, query.filter.as_of)
    excluded = _exclusion(query, memory, then)
    if excluded:
        reason, remedy = excluded
        return WhyNot(id=memory.id, rank=None, reason=reason, remedy=remedy)
    placings = [
        *(deep_placing(leg, query, then or memory) for leg in legs),
        *(followed_placing(leg, answer, then or memory) for leg in following),
    ]
    return _by_recall(recall, query, then or memory, answer, placings)


def _exclusion(query: Query, memory: Memory, then: Memory | None) -> tuple[str, str] | None:
    """Why the query cannot find a memory at all, and the remedy."""
    if then is None and memory.owner != query.filter.scope.user:
        reason = f"it is {memory.owner}'s, and of others only what is live now is seen"
        return reason, "ask without as_of"
    if then is None:
        moment = query.filter.as_of or query.filter.now
        return f"it did not exist on {moment:%Y-%m-%d %H:%M}", "ask as of a later moment"
    if then.deleted_at is not None:
        return "it is deleted", f"restore it: bearinmind restore {memory.id}"
    names = " and ".join(refusals(query.filter, then))
    return (f"the filter excludes it by {names}", f"ask without {names}") if names else None


def _by_recall(
    recall: Recall, query: Query, memory: Memory, answer: Answer, placings: Sequence[DeepPlacing]
) -> WhyNot:
    """A stage of the recall left the memory out."""
    reasons = [reason for id_, reason in answer.trace.dropped if id_ == memory.id]
    links = recall.store.newer(query.filter.scope, [memory.id], query.filter.as_of)
    state = State.EXPIRED if is_expired(memory, query.filter.now) else State.LIVE
    if any(link.target == memory.id for link in links):
        state = State.SUPERSEDED
    pools = sorted(each.pool for each in placings if each.is_evident)
    remedy = None
    if _hit(replace(answer, hits=answer.weak), memory):  # also where no leg has evidence for it
        remedy = " and ".join(_in_words({"all": True}))
    elif pools:
        remedies = Remedies(recall=recall, query=query, memory=memory, state=state, pools=pools)
        remedy = remedies.smallest()
    if remedy is None and any(isinstance(reason, SaysTheSame) for reason in reasons):
        remedy = "none that a query could make: another memory is served in its place"
    reason = str(reasons[0]) if reasons else _unproposed(query, memory, placings)
    if reasons and isinstance(reasons[0], BelowLimit):
        reason += _put_before(memory, answer)
    return WhyNot(
        id=memory.id,
        rank=None,
        reason=reason,
        positions=tuple(leg_position(each, query, memory, answer) for each in placings),
        remedy=remedy or _by_its_words(recall, query, memory, state, placings),
    )


def _hit(answer: Answer, memory: Memory) -> Hit | None:
    """The hit that a memory is, or under which it is shown as an earlier state."""
    shown = (
        hit
        for hit in answer.hits
        if memory.id in (hit.memory.id, *(state.memory.id for state in hit.earlier))
    )
    return next(shown, None)


def _place(hit: Hit, memory: Memory) -> str:
    """Where the answer has a memory."""
    for state in hit.earlier:
        if state.memory.id == memory.id:
            until = f"{state.outdated.until:%Y-%m-%d}"
            return f"it is shown under {hit.memory.id} as an earlier state, until {until}"
    return f"it was recalled, at rank {hit.rank}"


def _put_before(memory: Memory, answer: Answer) -> str:
    """Which memory a stage put before one that scored higher without it, if any."""
    judged = answer.trace.judged
    own = next((each for each in judged if each.id == memory.id), None)
    if own is None:
        return ""
    for factor, reason in _LIFTS.items():
        unlifted = own.score / own.factors.get(factor, 1.0)
        for each in judged:
            if own.score < each.score and each.score / each.factors.get(factor, 1.0) < unlifted:
                return f", and {each.id}, {reason}, was put before it"
    return ""


def _unproposed(query: Query, memory: Memory, placings: Sequence[DeepPlacing]) -> str:
    """Why no leg proposed the memory."""
    ranks = [
        f"{each.placing.rank:,} in the {each.leg.name} leg"
        + (f", which looks at {each.leg.depth * query.pool:,}" if each.leg.depth > 1 else "")
        for each in placings
        if each.placing and each.is_evident
    ]
    if ranks:
        return f"beyond the pool of {query.pool}: place {' and '.join(ranks)}"
    if is_expired(memory, query.filter.now):
        return "the moment lies outside its valid-from / valid-to span"
    able = " that could answer" if any(each.report.error for each in placings) else ""
    return f"no leg{able} connects it with the query"


def _by_its_words(
    recall: Recall, query: Query, memory: Memory, state: State, placings: Sequence[DeepPlacing]
) -> str:
    """Advice for a memory that the query does not lead to: its rarest words that find it."""
    spelling = {
        term.term: term.surface
        for word in memory.content.split()
        for term in analysis.ask(word).terms
        if term.surface not in analysis.FUNCTION_WORDS and term.surface in word.lower()
    }
    if not spelling or memory.sensitive:
        return f"give it keywords: {one_line(memory.content)!r} has no words to be found by"
    frequency = recall.store.lexical_statistics(query.filter.scope, [*spelling]).frequency
    rarest = sorted(spelling, key=lambda term: (frequency[term], term))[:_SHOWN_WORDS]
    working = [each.leg.name for each in placings if not each.report.error]
    able = replace(
        recall,
        legs=tuple(leg for leg in recall.legs if leg.name in working),
        following=tuple(leg for leg in recall.following if leg.name in working),
    )
    wider = replace(query.filter, states=query.filter.states | {state})
    words = [
        spelling[term]
        for term in rarest
        if able.legs and _hit(able(replace(query, filter=wider, text=spelling[term])), memory)
    ]
    if not words:
        return "give it keywords that a question would use"
    advice = f"ask with a word it holds ({', '.join(words)}), or give it keywords"
    return advice if state in query.filter.states else f"ask for {state} memories too, and {advice}"


class Changes(TypedDict, total=False):
    """The settings that are loosened, the likeliest first; a missing one stays as it was."""

    all: bool
    limit: int
    pool: int
    budget_bytes: int | None
    near_duplicates: float
    states: frozenset[State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedies:
    """Looks for the smallest change that admits a memory, by recalling with one after the other."""

    recall: Recall
    query: Query
    memory: Memory
    state: State  #: the memory's, at the moment asked about
    pools: Sequence[int]  #: at each of these one more leg proposes it, ascending
    _answers: dict[frozenset[tuple[str, object]], Answer] = field(default_factory=dict)

    def smallest(self) -> str | None:
        """The change in words; None when there is none."""
        loosened = self._loosened()
        beyond = self.pools[0] > self.query.pool
        for count in range(1, len(loosened) + 1):
            for names in combinations(loosened, count):
                if beyond and "pool" not in names:
                    continue
                only = {name: value for name, value in loosened.items() if name in names}
                changes = self._admitting(cast("Changes", only))
                if changes is not None:
                    return " and ".join(_in_words(self._tightened(changes)))
        return None

    def _loosened(self) -> Changes:
        """Every setting that could keep the memory out, as loose as it can be."""
        selection, states = self.recall.selection, self.query.filter.states
        changes: Changes = (
            {"limit": LARGEST_LIMIT} if self.query.all else {"all": True, "limit": LARGEST_LIMIT}
        )
        if self.pools[-1] > self.query.pool:
            changes["pool"] = self.pools[-1]
        if self.query.budget_bytes is not None:
            changes["budget_bytes"] = None
        if selection.near_duplicates:
            changes["near_duplicates"] = 0.0
        if self.state not in states:
            changes["states"] = states | {self.state}
        return changes

    def _admitting(self, changes: Changes) -> Changes | None:
        """The changes, if they admit the memory; with a limit of the right magnitude.

        A limit beyond the pool deepens the pool too, so that the largest is not the most admitting.
        """
        if "limit" not in changes:
            return changes if self._hit(changes) else None
        limit = self.query.limit
        while limit < LARGEST_LIMIT:
            limit = min(2 * limit, LARGEST_LIMIT)
            trial: Changes = {**changes, "limit": limit}
            if self._hit(trial):
                return trial
        return None

    def _tightened(self, changes: Changes) -> Changes:
        """The changes, none of them larger than it has to be."""
        for name, tighten in (
            ("pool", self._with_least_pool),
            ("near_duplicates", self._with_highest_share),
            ("budget_bytes", self._with_least_budget),
            ("limit", self._with_least_limit),
        ):
            if name in changes:
                changes = tighten(changes)
        return changes

    def _with_least_pool(self, changes: Changes) -> Changes:
        deeper = [pool for pool in self.pools if pool > self.query.pool]
        trials: list[Changes] = [{**changes, "pool": pool} for pool in deeper]
        return next(filter(self._hit, trials), changes)

    def _with_highest_share(self, changes: Changes) -> Changes:
        """Just above the share of words that the memory has in common with a chosen one."""
        share = self.recall.selection.near_duplicates
        while share <= 1:
            trial: Changes = {**changes, "near_duplicates": share}
            if self._hit(trial):
                return trial
            twin = dict(self._ask(trial).trace.dropped).get(self.memory.id)
            if not isinstance(twin, SaysTheSame):
                break
            share = (math.floor(twin.shared * 100) + 1) / 100
        return changes

    def _with_least_budget(self, changes: Changes) -> Changes:
        answer, hit = self._ask(changes), self._hit(changes)
        if hit is None or self.query.budget_bytes is None:
            return changes
        given = [x.memory for x in answer.hits[: hit.rank]]
        if hit.memory.id != self.memory.id:  # earlier states get what all hits leave
            hits = (*answer.hits, *answer.weak)
            given = [x.memory for x in hits] + [state.memory for x in hits for state in x.earlier]
            given = given[: [x.id for x in given].index(self.memory.id) + 1]
        sizes = [len(each.content.encode()) for each in given]
        enough: Changes = {**changes, "budget_bytes": sum(sizes)}
        least: Changes = {**changes, "budget_bytes": least_budget(sizes, self.query.budget_bytes)}
        return self._if_it_admits(least, self._if_it_admits(enough, changes))

    def _with_least_limit(self, changes: Changes) -> Changes:
        low, high = self.query.limit, changes["limit"]  # the one does not admit it, the other does
        pool = changes.get("pool", self.query.pool)
        hit = self._hit(changes)
        guess = hit.rank if hit else high
        while high - low > 1:
            limit = guess if low < guess < high else (low + high) // 2
            hit = self._hit({**changes, "limit": limit})
            if hit is None:
                low = limit
                continue
            high, guess = limit, hit.rank
            if hit.rank == limit <= pool:  # one less would leave everything else as it is
                break
        return {**changes, "limit": high}

    def _if_it_admits(self, changes: Changes, otherwise: Changes) -> Changes:
        return changes if self._hit(changes) else otherwise

    def _hit(self, changes: Changes) -> Hit | None:
        return _hit(self._ask(changes), self.memory)

    def _ask(self, changes: Changes) -> Answer:
        """The answer to the query with these changes, by relevance; each is recalled once."""
        key = frozenset(changes.items())
        if key in self._answers:
            return self._answers[key]
        query, selection = self.query, self.recall.selection
        changed = replace(
            query,
            sort_by=SortBy.RELEVANCE,
            filter=replace(query.filter, states=changes.get("states", query.filter.states)),
            pool=changes.get("pool", query.pool),
            limit=changes.get("limit", query.limit),
            budget_bytes=changes.get("budget_bytes", query.budget_bytes),
            all=changes.get("all", query.all),
        )
        looser = replace(
            selection, near_duplicates=changes.get("near_duplicates", selection.near_duplicates)
        )
        answer = self._answers[key] = replace(self.recall, selection=looser)(changed)
        return answer


def least_budget(sizes: Sequence[int], budget: int) -> int:
    """The smallest budget, from this one on, that has room for the last of these sizes.

    What does not fit is passed over, so that a larger budget may leave less for the last.
    """
    while True:
        left = budget
        lacking = []  # how many bytes each that was passed over is short of
        for size in sizes:
            if size <= left:
                left -= size
                lacking.append(0)
            else:
                lacking.append(size - left)
        if not lacking[-1]:
            return budget
        budget += min(filter(None, lacking))  # with less, exactly the same fit


def _in_words(changes: Changes) -> Iterator[str]:
    if "states" in changes:
        yield f"ask for the states {', '.join(sorted(changes['states']))}"
    if "all" in changes:
        yield "ask for all hits"
    if "near_duplicates" in changes:
        share = changes["near_duplicates"]
        yield f"near_duplicates = {share:.2f}" if share else "near_duplicates = 0, which is off"
    if "pool" in changes:
        yield f"a pool of {changes['pool']}"
    if "budget_bytes" in changes:
        size = changes["budget_bytes"]
        yield "no budget" if size is None else f"a budget of {size} bytes"
    if "limit" in changes:
        yield f"a limit of {changes['limit']}"
