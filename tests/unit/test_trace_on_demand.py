"""The long parts of a trace are made when somebody looks at them, and are the same then."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.app import Mind
from bearinmind.recall.scores import Merged
from bearinmind.trace import OnDemand
from bearinmind.types import Candidate, Fused, MemoryId, Placing, Ranking


def test_nothing_is_made_before_anybody_looks_and_nothing_twice() -> None:
    made: list[str] = []

    def make() -> Iterator[str]:
        made.append("once")
        yield from "abc"

    lazy = OnDemand(make)
    assert made == []
    assert (len(lazy), [*lazy], lazy[1], lazy[1:]) == (3, ["a", "b", "c"], "b", ("b", "c"))
    assert made == ["once"]


def test_it_is_equal_to_the_tuple_that_it_stands_for() -> None:
    lazy = OnDemand(lambda: "abc")
    same = ("a", "b", "c")
    assert lazy == same
    assert same == lazy
    assert lazy == OnDemand(lambda: same)
    assert lazy != ("a", "b")
    assert (hash(lazy), repr(lazy)) == (hash(same), repr(same))
    assert type(pickle.loads(pickle.dumps(lazy))) is tuple  # noqa: S301 (our own)


candidates = st.lists(st.sampled_from("abcdefgh"), unique=True)


@given(one=candidates, other=candidates, place=st.slices(16))
def test_a_candidate_is_the_same_whether_it_is_asked_for_alone_or_with_all(
    one: list[str], other: list[str], place: slice
) -> None:
    rankings = [_ranking("lexical", one), _ranking("dense", other)]
    scores = {MemoryId(x): float(len(one) - n) for n, x in enumerate(one)}
    scores |= {MemoryId(x): 1.0 for x in other}
    every = [*Merged(rankings, scores)]
    best_first = sorted(scores, key=lambda id_: (-scores[id_], id_))
    assert every == [_fused(id_, scores[id_], rankings) for id_ in best_first]
    assert Merged(rankings, scores)[place] == every[place]
    for number, each in enumerate(every):
        assert Merged(rankings, scores)[number] == each


def _ranking(leg: str, ids: list[str]) -> Ranking:
    found = [Candidate(MemoryId(x), 9.0 - n, 0.5, 0.1 * n) for n, x in enumerate(ids)]
    return Ranking(leg=leg, candidates=tuple(found))


def _fused(id_: MemoryId, score: float, rankings: list[Ranking]) -> Fused:
    placings = {
        ranking.leg: Placing(rank, *candidate[1:])
        for ranking in rankings
        for rank, candidate in enumerate(ranking.candidates, start=1)
        if candidate.id == id_
    }
    return Fused(id_, score, placings)


@pytest.mark.parametrize("limit", [1, 5, 50])
def test_a_trace_tells_of_the_moment_of_the_recall_however_late_it_is_read(
    open_memory: Callable[..., Mind], limit: int
) -> None:
    memory = open_memory()
    stored = [memory.store(f"walrus {n}", importance=n / 40).memory.id for n in range(40)]
    late, at_once = (memory.recall("walrus 7", limit=limit) for _ in range(2))
    seen = ([*at_once.trace.fused], [*at_once.trace.dropped])
    for id_ in stored:
        memory.delete(id_)
    memory.close()
    assert ([*late.trace.fused], [*late.trace.dropped]) == seen
    assert {each.id for each in late.trace.fused} == {*stored}
    served = {hit.memory.id for hit in late.hits}
    assert served | {each.id for each in late.trace.dropped} == {*stored}
