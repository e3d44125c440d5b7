"""Queries without an answer: kept apart, and told from the others by confidence."""

from __future__ import annotations

from pathlib import Path

import pytest

from bearinmind_bench import metrics
from bearinmind_bench.results import QueryRow, Result
from bearinmind_bench.summary import abstention
from support.bench_sets import Row, measure, rows_of, small_set, words, write_set


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Forty queries, half of them dev and half of them test."""
    return small_set(tmp_path_factory.mktemp("sets") / "harbour")


@pytest.fixture(scope="module")
def result(folder: Path) -> Result:
    return measure(folder)


def test_unanswerable_queries_stay_out_of_the_ranked_metrics(
    folder: Path, result: Result, tmp_path: Path
) -> None:
    corpus, queries = rows_of()
    strange: list[Row] = [
        {"query_id": f"u{n}", "text": f"zqv{n} wxk{n}", "stratum": "none"} for n in range(10)
    ]
    made = write_set(tmp_path, corpus=corpus, queries=queries, queries_unanswerable=strange)
    mixed = measure(made)

    assert mixed.overall == result.overall
    assert mixed.intervals == result.intervals
    assert {*mixed.strata} == {"where", "who"}
    assert [row.metrics for row in mixed.rows[40:]] == [{}] * 10
    found = mixed.unanswerable
    assert found is not None
    assert (found.queries, found.answered_now, found.area) == (10, 0.0, 1.0)
    assert len(found.curve) == 21


def test_a_set_of_nothing_but_unanswerable_queries_has_no_ranked_metrics(tmp_path: Path) -> None:
    corpus: list[Row] = [{"id": 1, "content": "the walrus sings"}]
    queries: list[Row] = [{"query_id": n, "text": "walrus"} for n in range(5)]
    result = measure(write_set(tmp_path, corpus=corpus, queries=queries))
    assert result.overall == {"queries": 0}
    assert result.strata == {}
    assert result.unanswerable is not None
    assert result.unanswerable.answered_now == 1.0


def row(id_: str, confidence: float | None, *, answerable: bool) -> QueryRow:
    grades = {"a": 1} if answerable else {}
    return QueryRow(
        query_id=id_,
        stratum="s",
        split=None,
        user="local",
        grades=grades,
        ranked=("a",),
        legs={},
        confidence=confidence,
        confidences=() if confidence is None else (confidence,),
        milliseconds=1.0,
        metrics=metrics.score(["a"], grades) if grades else {},
    )


@pytest.mark.parametrize(
    ("known", "unknown", "area"),
    [
        ([0.8, 0.9, 1.0], [0.1, 0.2], 1.0),
        ([0.1, 0.2], [0.8, 0.9, 1.0], 0.0),
        ([0.5, 0.5, 0.5], [0.5, 0.5], 0.5),
        ([0.2, 0.4, 0.6, 0.8], [0.2, 0.4, 0.6, 0.8], 0.5),
        ([0.3, 0.9], [0.6], 0.5),
        ([0.5, 0.9], [0.5, 0.1], 0.875),
    ],
)
def test_the_area_is_the_chance_that_the_answerable_query_is_the_surer_one(
    known: list[float], unknown: list[float], area: float
) -> None:
    rows = [row(f"k{n}", value, answerable=True) for n, value in enumerate(known)]
    rows += [row(f"u{n}", value, answerable=False) for n, value in enumerate(unknown)]
    found = abstention(rows)
    assert found is not None
    assert found.area == pytest.approx(area)
    first, last = found.curve[0], found.curve[-1]
    assert (first.floor, first.abstained, first.silenced, first.recall) == (0.0, 0.0, 0.0, 1.0)
    assert last.floor == 1.0
    for before, after in zip(found.curve, found.curve[1:], strict=False):
        assert before.abstained <= after.abstained
        assert before.silenced <= after.silenced
        assert before.recall >= after.recall
    assert found.curve[10].silenced == sum(value < 0.5 for value in known) / len(known)
    assert found.curve[10].abstained == sum(value < 0.5 for value in unknown) / len(unknown)


def test_without_confidence_nothing_is_said_about_a_floor() -> None:
    rows = [row("k", 0.9, answerable=True), row("u", None, answerable=False)]
    found = abstention(rows)
    assert found is not None
    assert (found.area, found.curve) == (None, ())
    assert abstention(rows[:1]) is None


@pytest.mark.parametrize("step", [6, 10, 14])
def test_the_curve_says_how_often_the_product_would_be_silent(tmp_path: Path, step: int) -> None:
    """Held against real runs with that floor."""
    corpus, queries = rows_of()
    named = words(200)[100:]
    for number, query in enumerate(queries):  # the more unknown words, the less sure
        query["text"] += " " + " ".join(named[: number % 6])
    strange: list[Row] = [
        {"query_id": f"u{n}", "text": f"harbour {' '.join(named[:n])}"} for n in range(8)
    ]
    made = write_set(tmp_path, corpus=corpus, queries=queries, queries_unanswerable=strange)
    found = measure(made).unanswerable
    assert found is not None
    point = found.curve[step]
    silent = measure(made, settings={"least_confidence": point.floor})
    empty = [not row.ranked for row in silent.rows]
    assert point.silenced == pytest.approx(sum(empty[:40]) / 40)
    assert point.abstained == pytest.approx(sum(empty[40:]) / 8)
    assert 0 < point.silenced < 1
    assert point.recall == pytest.approx(silent.overall["recall@10"])
