"""Queries without an answer: kept apart, and told from the others by verdict and probability."""

from __future__ import annotations

from pathlib import Path

import pytest

from bearinmind_bench import metrics
from bearinmind_bench.results import QueryRow, Result
from bearinmind_bench.summary import abstention, calibration_error, verdicts
from support.bench_sets import Row, measure, rows_of, small_set, write_set


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


# ---- verdicts ------------------------------------------------------------------------------------


def judged(id_: str, verdict: str, *, answerable: bool, kept: bool = True) -> QueryRow:
    made = row(id_, {"found": 0.8, "perhaps": 0.2, "nothing": 0.0}[verdict], answerable=answerable)
    changes = {"verdict": verdict, "folded": frozenset() if kept else {"a"}, "stratum": id_[0]}
    return made.model_copy(update=changes)


def test_verdicts_are_counted_by_stratum() -> None:
    rows = [
        judged("k1", "found", answerable=True),
        judged("k2", "perhaps", answerable=True),
        judged("m1", "nothing", answerable=True, kept=False),
        judged("u1", "nothing", answerable=False, kept=False),
        judged("u2", "perhaps", answerable=False),
        judged("v1", "nothing", answerable=False, kept=False),
    ]
    found = verdicts(rows)
    assert found is not None
    assert found.nothing == {"u": 0.5, "v": 1.0}
    assert found.areas == {"u": pytest.approx(4 / 6), "v": pytest.approx(2.5 / 3)}
    assert found.kept == {"overall": pytest.approx(2 / 3), "k": 1.0, "m": 0.0}
    assert found.found == {"overall": pytest.approx(1 / 3), "k": 0.5, "m": 0.0}
    abstained = abstention(rows)
    assert abstained is not None
    assert abstained.answered_now == pytest.approx(1 / 3)
    assert verdicts([*rows, row("x", 0.5, answerable=True)]) is None  # it gives no verdict


def test_a_relevant_memory_beyond_the_first_ten_is_not_asked_to_be_kept() -> None:
    far = judged("k1", "found", answerable=True).model_copy(
        update={"ranked": (*map(str, range(10)), "a"), "confidences": (0.5,) * 11}
    )
    found = verdicts([far, judged("k2", "found", answerable=True)])
    assert found is not None
    assert found.kept == {"overall": 1.0, "k": 1.0}


@pytest.mark.parametrize(
    ("hits", "error"),
    [
        ([(0.8, True)] * 8 + [(0.8, False)] * 2, 0.32),  # bins of one hit each
        ([(0.0, False)] * 10 + [(1.0, True)] * 10, 0.0),
        ([(0.5, False)] * 20, 0.5),
        ([], 0.0),
    ],
)
def test_the_calibration_error_is_how_far_probabilities_are_from_shares(
    hits: list[tuple[float, bool]], error: float
) -> None:
    assert calibration_error(hits) == pytest.approx(error)


def test_what_the_product_folds_away_is_still_ranked_and_measured(tmp_path: Path) -> None:
    corpus, queries = rows_of()
    strange: list[Row] = [{"query_id": f"u{n}", "text": f"zqv{n} wxk{n}"} for n in range(8)]
    made = write_set(tmp_path, corpus=corpus, queries=queries, queries_unanswerable=strange)
    measured = measure(made)
    assert measured.verdicts is not None
    assert measured.verdicts.nothing == {"all queries": 1.0}
    assert measured.verdicts.kept["overall"] > 0.9
    for each in measured.rows:
        assert {*each.ranked} >= each.folded
        assert (each.verdict == "nothing") == ({*each.ranked} == each.folded)
