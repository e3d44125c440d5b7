"""Why-not: where an expected memory stood, what kept it out, and what would have let it in."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TypedDict, cast

from bearinmind.recall.attach import one_line
from bearinmind.recall.leg_positions import (
    AskedOnce,
    FollowedOnce,
    Place,
    followed,
    place,
    standing,
)
from bearinmind.recall.pipeline import LARGEST_LIMIT, Recall
from bearinmind.text import analysis
from bearinmind.trace import Answer, SaysTheSame, WhyNot
from bearinmind.types import Hit, Memory, Query, SortBy, State, is_expired, refusals


class Changes(TypedDict, total=False):
    """What is loosened; a name that is missing stays as it was. The likeliest come first."""

    limit: int
    pool: int
    budget_bytes: int | None
    least_confidence: float
    near_duplicates: float
    states: frozenset[State]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remedies:
    """Looks for the smallest change, by recalling again and again."""

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
                changes = self._admitting(_only(loosened, names))
                if changes is not None:
                    return " and ".join(_in_words(self._tightened(changes)))
        return None

    def _loosened(self) -> Changes:
        """Whatever could stand in the way, out of the way."""
        selection, states = self.recall.selection, self.query.filter.states
        changes: Changes = {"limit": LARGEST_LIMIT}
        if self.pools[-1] > self.query.pool:
            changes["pool"] = self.pools[-1]
        if self.query.budget_bytes is not None:
            changes["budget_bytes"] = None
        if selection.least_confidence:
            changes["least_confidence"] = 0.0
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
        if "pool" in changes:
            changes = self._with_least_pool(changes)
        if "least_confidence" in changes:
            changes = self._with_highest_floor(changes)
        if "near_duplicates" in changes:
            changes = self._with_highest_share(changes)
        if "budget_bytes" in changes:
            changes = self._with_least_budget(changes)
        if "limit" in changes:
            changes = self._with_least_limit(changes)
        return changes

    def _with_least_pool(self, changes: Changes) -> Changes:
        deeper = [pool for pool in self.pools if pool > self.query.pool]
        trials: list[Changes] = [{**changes, "pool": pool} for pool in deeper]
        return next(filter(self._hit, trials), changes)

    def _with_highest_floor(self, changes: Changes) -> Changes:
        hit = self._hit(changes)
        if hit is None:
            return changes
        # Rounded down, so that the number shown lets it in.
        floor = math.floor(hit.confidence * 100) / 100
        return self._if_it_admits({**changes, "least_confidence": floor}, changes)

    def _with_highest_share(self, changes: Changes) -> Changes:
        """Just above what the memory has in common with those that speak for it."""
        share = self.recall.selection.near_duplicates
        while share <= 1:
            trial: Changes = {**changes, "near_duplicates": share}
            if self._hit(trial):
                return trial
            reasons = dict(self._ask(trial).trace.dropped)
            twin = reasons.get(self.memory.id)
            if not isinstance(twin, SaysTheSame):
                break
            share = (math.floor(twin.shared * 100) + 1) / 100
        return changes

    def _with_least_budget(self, changes: Changes) -> Changes:
        hits, hit = self._ask(changes).hits, self._hit(changes)
        if hit is None or self.query.budget_bytes is None:
            return changes
        sizes = [len(each.memory.content.encode()) for each in hits[: hit.rank]]
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
        hits = self._ask(changes).hits
        return next((hit for hit in hits if hit.memory.id == self.memory.id), None)

    def _ask(self, changes: Changes) -> Answer:
        """The answer to the query with these changes, by relevance."""
        asked = frozenset(changes.items())
        if asked not in self._answers:
            self._answers[asked] = self._recalled(changes)
        return self._answers[asked]

    def _recalled(self, changes: Changes) -> Answer:
        query, selection = self.query, self.recall.selection
        changed = replace(
            query,
            sort_by=SortBy.RELEVANCE,
            filter=replace(query.filter, states=changes.get("states", query.filter.states)),
            pool=changes.get("pool", query.pool),
            limit=changes.get("limit", query.limit),
            budget_bytes=changes.get("budget_bytes", query.budget_bytes),
        )
        looser = replace(
            selection,
            least_confidence=changes.get("least_confidence", selection.least_confidence),
            near_duplicates=changes.get("near_duplicates", selection.near_duplicates),
        )
        return replace(self.recall, selection=looser)(changed)


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


def _only(changes: Changes, names: Sequence[str]) -> Changes:
    given = cast("Mapping[str, object]", changes)
    return cast("Changes", {name: given[name] for name in names})


def _in_words(changes: Changes) -> Iterator[str]:
    if "states" in changes:
        yield f"ask for the states {', '.join(sorted(changes['states']))}"
    if "least_confidence" in changes:
        yield f"a least confidence of {changes['least_confidence']:.2f} or lower"
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


_SHOWN_WORDS = 5


def why_not(recall: Recall, query: Query, memory: Memory) -> WhyNot:
    """Why a memory is not in the answer to a query."""
    legs = tuple(map(AskedOnce, recall.legs))
    following = tuple(map(FollowedOnce, recall.following))
    recall = replace(
        recall,
        legs=legs,
        following=following,
        rerank=recall.rerank and recall.rerank.repeated(),
    )
    answer = recall(query)
    hit = _hit(answer, memory)
    if hit is not None:
        return WhyNot(id=memory.id, rank=hit.rank, reason=f"it was recalled, at rank {hit.rank}")
    query = answer.query
    then = recall.store.get(query.filter.scope, memory.id, query.filter.as_of)
    impossible = _by_state(query, memory, then)
    if impossible:
        return impossible
    places = [
        *(place(leg, query, then or memory) for leg in legs),
        *(followed(leg, answer, then or memory) for leg in following),
    ]
    return _by_recall(recall, query, then or memory, answer, places)


def _by_state(query: Query, memory: Memory, then: Memory | None) -> WhyNot | None:
    """The memory is not one that the query may find at all."""
    if then is None and memory.owner != query.filter.scope.user:
        return WhyNot(
            id=memory.id,
            rank=None,
            reason=f"it is {memory.owner}'s, and of others only what is live now is seen",
            remedy="ask without as_of",
        )
    if then is None:
        moment = query.filter.as_of or query.filter.now
        reason = f"it did not exist on {moment:%Y-%m-%d %H:%M}"
        return WhyNot(id=memory.id, rank=None, reason=reason, remedy="ask as of a later moment")
    if then.deleted_at is not None:
        remedy = f"restore it: bearinmind restore {memory.id}"
        return WhyNot(id=memory.id, rank=None, reason="it is deleted", remedy=remedy)
    conditions = refusals(query.filter, then)
    if conditions:
        names = " and ".join(conditions)
        reason = f"the filter excludes it by {names}"
        return WhyNot(id=memory.id, rank=None, reason=reason, remedy=f"ask without {names}")
    return None


def _by_recall(
    recall: Recall, query: Query, memory: Memory, answer: Answer, places: Sequence[Place]
) -> WhyNot:
    """A stage of the recall left the memory out."""
    reasons = [reason for id_, reason in answer.trace.dropped if id_ == memory.id]
    state = _state(recall, query, memory)
    pools = sorted(each.pool for each in places if each.is_evident)
    remedy = None
    if pools:
        remedies = Remedies(recall=recall, query=query, memory=memory, state=state, pools=pools)
        remedy = remedies.smallest()
    if remedy is None and any(isinstance(reason, SaysTheSame) for reason in reasons):
        remedy = "none that a query could make: another memory is served in its place"
    return WhyNot(
        id=memory.id,
        rank=None,
        reason=str(reasons[0]) if reasons else _unproposed(query, memory, places),
        standings=tuple(standing(each, query, memory, answer) for each in places),
        remedy=remedy or _by_its_words(recall, query, memory, state, places),
    )


def _hit(answer: Answer, memory: Memory) -> Hit | None:
    return next((hit for hit in answer.hits if hit.memory.id == memory.id), None)


def _state(recall: Recall, query: Query, memory: Memory) -> State:
    """Where the memory stands at the moment asked about."""
    links = recall.store.superseding(query.filter.scope, [memory.id], query.filter.as_of)
    if any(link.target == memory.id for link in links):
        return State.SUPERSEDED
    return State.EXPIRED if is_expired(memory, query.filter.now) else State.LIVE


def _unproposed(query: Query, memory: Memory, places: Sequence[Place]) -> str:
    """Why no stage dropped the memory: no leg had proposed it."""
    ranks = [
        f"{each.placing.rank:,} in the {each.leg.name} leg"
        + (f", which looks at {each.leg.depth * query.pool:,}" if each.leg.depth > 1 else "")
        for each in places
        if each.placing and each.is_evident
    ]
    if ranks:
        return f"beyond the pool of {query.pool}: place {' and '.join(ranks)}"
    if is_expired(memory, query.filter.now):
        return "the moment lies outside its valid-from / valid-to span"
    able = " that could answer" if any(each.report.error for each in places) else ""
    return f"no leg{able} connects it with the query"


def _by_its_words(
    recall: Recall, query: Query, memory: Memory, state: State, places: Sequence[Place]
) -> str:
    """Advice for a memory that the query does not lead to: its rarest words, those that do."""
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
    well = [each.leg for each in places if not each.report.error]
    able = replace(
        recall,
        legs=tuple(leg for leg in well if isinstance(leg, AskedOnce)),
        following=tuple(leg for leg in well if isinstance(leg, FollowedOnce)),
    )
    states = query.filter.states | {state}
    asked = replace(query, filter=replace(query.filter, states=states))
    words = [
        spelling[term]
        for term in rarest
        if able.legs and _hit(able(replace(asked, text=spelling[term])), memory)
    ]
    if not words:
        return "give it keywords that a question would use"
    advice = f"ask with a word it holds ({', '.join(words)}), or give it keywords"
    return advice if state in query.filter.states else f"ask for {state} memories too, and {advice}"
