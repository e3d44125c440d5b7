"""Why-not: where an expected memory stood, what kept it out, and what would have let it in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from bearinmind import analysis
from bearinmind.filters import is_expired, refusals
from bearinmind.recall.attach import one_line
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.places import AskedOnce, FollowedOnce, Place, followed, place, standing
from bearinmind.recall.remedy import Remedies
from bearinmind.trace import Answer, SaysTheSame, WhyNot
from bearinmind.types import Hit, Memory, Query, State

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
