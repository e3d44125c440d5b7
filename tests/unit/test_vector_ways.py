"""The way of searching vectors is the one that is reckoned the fastest, and says why."""

from __future__ import annotations

from dataclasses import replace

import hypothesis.strategies as st
import numpy as np
import pytest
from hypothesis import given
from hypothesis.extra.numpy import arrays

from bearinmind.errors import StoreDamaged
from bearinmind.store.postgres.search_plan import (
    COSTS,
    MOST_DIMENSIONS,
    SearchMethod,
    SearchPlan,
    SearchTask,
    VectorCounts,
    choose_plan,
)
from bearinmind.store.postgres.vectors import from_halfvec, to_halfvec

LARGE = SearchTask(
    facts=VectorCounts(space=1, vectors=100_000, indexed=100_000),
    dimensions=768,
    limit=200,
    filtered=False,
    pointless=False,
)
FILTERED = replace(LARGE, filtered=True)


def choose(search: SearchTask, *, admitted: float = 100_000, passed: float = 200) -> SearchPlan:
    return choose_plan(COSTS, search, admitted=admitted, passed=passed)


def of(vectors: int, indexed: int | None, search: SearchTask = LARGE) -> SearchTask:
    return replace(search, facts=VectorCounts(1, vectors, indexed))


def test_a_large_owner_is_searched_by_the_index() -> None:
    choice = choose(LARGE)
    assert choice.way is SearchMethod.INDEX
    assert choice.how.startswith("HNSW with ef 400: about ")
    assert "exact 1" in choice.how, "what it was chosen over"


def test_the_index_is_searched_at_least_twice_as_wide_as_is_asked_for() -> None:
    for limit in (1, 50, 200, 201, 500):
        choice = choose(replace(LARGE, limit=limit))
        assert choice.ef >= 2 * limit
    assert choose(replace(LARGE, limit=501)).way is SearchMethod.WHOLE


@pytest.mark.parametrize(
    ("search", "reason"),
    [
        (of(100_000, None), "no index yet"),
        (replace(LARGE, dimensions=MOST_DIMENSIONS + 96), "4,096 dimensions cannot be indexed"),
        (replace(LARGE, limit=5_000), "too many are wanted"),
        (replace(LARGE, pointless=True), "too many are wanted"),
        (of(20_000, 4_000_000), "the index would pass 40,000"),
    ],
)
def test_why_the_index_is_not_taken_is_said(search: SearchTask, reason: str) -> None:
    choice = choose(search)
    assert choice.way is SearchMethod.WHOLE
    assert reason in choice.how


def test_an_index_is_not_asked_where_it_would_miss_much() -> None:
    assert choose(FILTERED, admitted=90_000, passed=2_000).way is SearchMethod.INDEX
    choice = choose(FILTERED, admitted=90_000, passed=2_100)
    assert choice.way is SearchMethod.WHOLE
    assert "the index would pass 2,100" in choice.how


def test_few_that_a_filter_admits_are_looked_up() -> None:
    assert choose(FILTERED, admitted=1_000, passed=20_000).way is SearchMethod.AMONG


def test_many_that_a_filter_admits_are_found_by_the_index() -> None:
    assert choose(FILTERED, admitted=90_000, passed=220).way is SearchMethod.INDEX


def test_without_an_index_many_are_compared_with_all_others() -> None:
    search = of(100_000, None, FILTERED)
    assert choose(search, admitted=90_000).way is SearchMethod.WHOLE
    assert choose(search, admitted=900).way is SearchMethod.AMONG


def test_a_small_share_of_an_index_is_not_searched_by_it() -> None:
    assert choose(of(100_000, 200_000)).way is SearchMethod.INDEX
    assert choose(of(100_000, 5_000_000)).way is SearchMethod.WHOLE


def test_an_index_is_worth_its_while_for_one_large_owner_among_few_others() -> None:
    assert not COSTS.is_worth_an_index(1_000, 1_000, 768)
    assert not COSTS.is_worth_an_index(1_000, 1_000_000, 768)
    assert COSTS.is_worth_an_index(100_000, 100_000, 768)
    assert COSTS.is_worth_an_index(100_000, 1_000_000, 768)
    assert not COSTS.is_worth_an_index(100_000, 1_000_000_000, 768)
    assert not COSTS.is_worth_an_index(100_000, 100_000, MOST_DIMENSIONS + 1)
    assert not COSTS.is_worth_an_index(0, 0, 768)


@given(arrays(np.float16, 5, elements=st.floats(-1, 1, width=16)))
def test_a_vector_is_written_without_loss(half: np.ndarray) -> None:
    assert to_halfvec(half).startswith("[")
    back = np.array(to_halfvec(half)[1:-1].split(","), np.float64).astype(np.float16)
    assert (back == half).all()


def test_vectors_are_received_in_their_order() -> None:
    halves = np.array([[1, -0.5], [0.25, 0]], np.float16)
    sent = [b"\0\2\0\0" + half.astype(">f2").tobytes() for half in halves]
    assert (from_halfvec(sent, 2) == halves).all()
    with pytest.raises(StoreDamaged):
        from_halfvec(sent, 3)
