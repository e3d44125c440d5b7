"""The rerank stage: it reorders the best, loses nothing, sends no secret and never costs more."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.errors import ModelFailure, RerankerFailure
from bearinmind.recall.rerank import MOST_AT_ONCE, Rerank
from bearinmind.trace import Judged, RerankReport
from bearinmind.types import Filter, Memory, MemoryId, Provenance, Query, Scope, UserId
from support.rerankers import Failing, Hanging, Scripted

Make = Callable[..., Memory]
Ask = Callable[..., Query]

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)


def candidate(id_: str, score: float = 1.0) -> Judged:
    return Judged(MemoryId(id_), score, score, {}, {})


def memory(id_: MemoryId, *, sensitive: bool = False) -> Memory:
    return Memory(
        id=id_,
        owner=UserId("ada"),
        content=f"what {id_} says",
        category="facts",
        tags=(),
        keywords=(),
        importance=0.5,
        sensitive=sensitive,
        created_at=NOON,
        updated_at=NOON,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(),
        version=1,
    )


QUERY = Query(text="walrus", filter=Filter(scope=Scope(user=UserId("ada")), now=NOON))


def rerank(
    stage: Rerank, judged: Sequence[Judged], sensitive: Sequence[str] = (), query: Query = QUERY
) -> tuple[list[Judged], RerankReport]:
    memories = {item.id: memory(item.id, sensitive=item.id in sensitive) for item in judged}
    return stage(query, judged, memories)


def ids(judged: Sequence[Judged]) -> str:
    return "".join(item.id for item in judged)


# ---- the order -----------------------------------------------------------------------------------


def test_the_best_stand_in_the_rerankers_order_and_the_rest_as_they_were() -> None:
    scripted = Scripted({MemoryId(x): score for x, score in zip("abcd", (1, 3, 2, 9), strict=True)})

    reranked, report = rerank(Rerank(reranker=scripted, depth=3), [*map(candidate, "abcd")])

    assert ids(reranked) == "bcad"
    assert [item.reranked and item.reranked[:3] for item in reranked] == [
        (2, 1, 3),
        (3, 2, 2),
        (1, 3, 1),
        None,
    ]
    assert (report.model, report.sent, report.withheld, report.error) == ("scripted", 3, 0, None)
    assert report.recipe == "Rerank(depth=3, seconds=1.0, weight=1.0)"


def test_equal_scores_leave_the_order_as_it_was() -> None:
    scripted = Scripted({MemoryId(x): 0.5 for x in "abc"})

    assert ids(rerank(Rerank(reranker=scripted), [*map(candidate, "abc")])[0]) == "abc"


@pytest.mark.parametrize(("weight", "order"), [(1.0, "cab"), (0.6, "acb"), (0.0, "abc")])
def test_the_weight_lets_the_recalls_own_score_count(weight: float, order: str) -> None:
    scripted = Scripted({MemoryId("a"): 7.0, MemoryId("b"): 0.0, MemoryId("c"): 10.0})
    judged = [candidate("a", 1.0), candidate("b", 0.4), candidate("c", 0.0)]

    assert ids(rerank(Rerank(reranker=scripted, weight=weight), judged)[0]) == order


@st.composite
def situations(draw: st.DrawFn) -> tuple[list[Judged], list[str], dict[MemoryId, float]]:
    """Judged candidates in their order, which of them are sensitive, and the reranker's scores."""
    anything = st.floats(allow_nan=False, allow_infinity=False)
    rows = draw(
        st.lists(st.tuples(st.floats(0, 2), st.booleans(), st.one_of(anything, st.just(0.0))))
    )
    rows.sort(key=lambda row: -row[0])
    names = [f"m{n}" for n in range(len(rows))]
    judged = [candidate(name, row[0]) for name, row in zip(names, rows, strict=True)]
    secret = [name for name, row in zip(names, rows, strict=True) if row[1]]
    return judged, secret, {MemoryId(n): row[2] for n, row in zip(names, rows, strict=True)}


@given(situation=situations(), depth=st.integers(1, 12), weight=st.floats(0, 1))
def test_nothing_is_lost_invented_or_moved_that_was_not_sent(
    situation: tuple[list[Judged], list[str], dict[MemoryId, float]], depth: int, weight: float
) -> None:
    judged, secret, scores = situation
    scripted = Scripted(scores)

    reranked, report = rerank(Rerank(reranker=scripted, depth=depth, weight=weight), judged, secret)

    assert sorted(ids([item]) for item in reranked) == sorted(ids([item]) for item in judged)
    assert [item for item in reranked if item.id in secret] == [
        item for item in judged if item.id in secret
    ]
    for place, item in enumerate(reranked, start=1):
        if item.reranked:
            assert item.reranked.after == place <= depth
            assert item._replace(reranked=None) == judged[item.reranked.before - 1]
            assert item.reranked.score == scores[item.id]
        else:
            assert item == judged[place - 1]
    blends = [item.reranked.blend for item in reranked if item.reranked]
    assert blends == sorted(blends, reverse=True)
    assert all(-1e-9 <= blend <= 1 + 1e-9 for blend in blends)
    block = [item.id for item in judged[:depth]]
    assert report.withheld == len({*block} & {*secret})
    assert {passage.id for passage in scripted.sent} <= {*block} - {*secret}
    assert report.sent == len(scripted.sent) == sum(bool(item.reranked) for item in reranked)


@given(situation=situations())
def test_with_its_whole_weight_the_order_is_exactly_the_rerankers(
    situation: tuple[list[Judged], list[str], dict[MemoryId, float]],
) -> None:
    judged, _, scores = situation

    reranked, _ = rerank(Rerank(reranker=Scripted(scores), depth=100), judged)

    assert ids(reranked) == ids(sorted(judged, key=lambda item: -scores[item.id]))


# ---- what is sent --------------------------------------------------------------------------------


def test_a_sensitive_memory_keeps_its_place_and_is_not_sent() -> None:
    scripted = Scripted({MemoryId(x): float(ord(x)) for x in "abcd"})

    reranked, report = rerank(
        Rerank(reranker=scripted, depth=4), [*map(candidate, "abcd")], sensitive="b"
    )

    assert ids(reranked) == "dbca"
    assert [passage.text for passage in scripted.sent] == [f"what {x} says" for x in "acd"]
    assert (report.sent, report.withheld) == (3, 1)


@pytest.mark.parametrize(
    ("judged", "sensitive", "text"), [("", "", "walrus"), ("ab", "b", "walrus"), ("abc", "", " \n")]
)
def test_where_there_is_no_order_to_find_nobody_is_asked(
    judged: str, sensitive: str, text: str, ask: Ask
) -> None:
    scripted = Scripted({})

    reranked, report = rerank(
        Rerank(reranker=scripted), [*map(candidate, judged)], sensitive, ask(text)
    )

    assert ids(reranked) == judged
    assert scripted.sent == []
    assert (report.sent, report.error) == (0, None)


# ---- when it goes wrong --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        (RerankerFailure("the server is down"), "the server is down"),
        (ModelFailure("no such model"), "no such model"),
        (RuntimeError("secret detail"), "RuntimeError"),
        (TimeoutError(), "no answer within 1 s"),
        ([1.0, 2.0], "2 scores for 3 memories"),
        ([1.0, math.nan, 2.0], "a score is not a finite number"),
        ([1.0, math.inf, 2.0], "a score is not a finite number"),
    ],
)
def test_a_failure_costs_the_rerank_and_is_named(
    answer: Exception | list[float], told: str
) -> None:
    judged = [*map(candidate, "abc")]

    reranked, report = rerank(Rerank(reranker=Failing(answer)), judged)

    assert reranked == judged
    assert report.error == f"reranker_failure: {told}"


def test_a_late_reranker_is_left_to_itself() -> None:
    hanging = Hanging()
    judged = [*map(candidate, "abc")]

    reranked, report = rerank(Rerank(reranker=hanging, seconds=0.02), judged)

    assert hanging.ended == 0
    assert reranked == judged
    assert report.error == "reranker_failure: no answer within 0.02 s"
    hanging.go_on.set()


def test_a_reranker_that_hangs_is_not_asked_without_end() -> None:
    hanging = Hanging()
    stage = Rerank(reranker=hanging, seconds=0.001)
    judged = [*map(candidate, "abc")]
    errors = [rerank(stage, judged)[1].error for _ in range(MOST_AT_ONCE + 3)]

    assert "earlier calls have not ended" not in str(errors[:MOST_AT_ONCE])
    assert all("earlier calls have not ended" in str(error) for error in errors[MOST_AT_ONCE:])
    hanging.go_on.set()
    while hanging.ended < MOST_AT_ONCE or stage._free._value < MOST_AT_ONCE:
        time.sleep(0.001)
    assert "have not ended" not in str(rerank(stage, judged)[1].error)


def test_a_process_ends_though_its_reranker_never_does() -> None:
    code = """
from test_reranking import Hanging, Rerank, candidate, rerank
print(rerank(Rerank(reranker=Hanging(), seconds=0.01), [*map(candidate, "ab")])[1].error)
"""
    here = Path(__file__).parent
    places = os.pathsep.join(map(str, (here, here.parent)))
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": places},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "no answer within 0.01 s" in done.stdout


def test_a_repeated_recall_asks_everything_once() -> None:
    scripted = Scripted({MemoryId(x): float(ord(x)) for x in "abc"})
    stage = Rerank(reranker=scripted).repeated()
    judged = [*map(candidate, "abc")]

    first, again = rerank(stage, judged), rerank(stage, judged)

    assert first[0] == again[0]
    assert len(scripted.sent) == 3
    failing = Rerank(reranker=Failing(RerankerFailure("no"))).repeated()
    assert rerank(failing, judged)[1].error == rerank(failing, judged)[1].error
