"""Two results side by side: what may be said, and when nothing may."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence

import pytest

from bearinmind import errors
from bearinmind_bench import metrics
from bearinmind_bench.compare import Compared, compare, corrected
from bearinmind_bench.inference import Verdict
from bearinmind_bench.results import QueryRow, Result
from support.bench_sets import measure, small_set, with_rankings


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    """The product on forty queries, twenty in each stratum."""
    return measure(small_set(tmp_path_factory.mktemp("set")))


def changed(result: Result, change: Callable[[QueryRow], Sequence[str]]) -> Result:
    return with_rankings(result, metrics.score, change)


def perfect(row: QueryRow) -> list[str]:
    return [*row.grades]


def useless(_: QueryRow) -> list[str]:
    return ["nothing"]


def test_a_run_is_not_better_than_itself(result: Result) -> None:
    for row in compare(result, result).rows:
        assert row.difference.mean == 0
        assert row.difference.p == row.corrected_p == 1.0
        assert (row.difference.wins, row.difference.losses) == (0, 0)
        assert row.verdict in (Verdict.CANNOT_TELL, Verdict.TOO_FEW)


def test_a_better_run_is_better_and_the_other_way_round_it_is_worse(result: Result) -> None:
    bad = changed(result, useless)
    better, worse = compare(bad, result), compare(result, bad)

    assert better.headline.metric == "ndcg@10"
    assert better.headline.stratum == "overall"
    assert better.headline.verdict is Verdict.BETTER
    assert worse.headline.verdict is Verdict.WORSE


def test_every_row_mirrors_the_other_way_round(result: Result) -> None:
    chance = random.Random(3)
    other = changed(result, lambda row: chance.sample(row.ranked, len(row.ranked)))
    mirrored = {
        Verdict.BETTER: Verdict.WORSE,
        Verdict.WORSE: Verdict.BETTER,
        Verdict.CANNOT_TELL: Verdict.CANNOT_TELL,
        Verdict.TOO_FEW: Verdict.TOO_FEW,
    }
    forth, back = compare(result, other), compare(other, result)
    for one, two in zip(forth.rows, back.rows, strict=True):
        assert one.difference.mean == pytest.approx(-two.difference.mean)
        assert (one.difference.low, one.difference.high) == pytest.approx(
            (-two.difference.high, -two.difference.low)
        )
        assert one.corrected_p == two.corrected_p
        assert two.verdict is mirrored[one.verdict]


def test_a_comparison_is_the_same_every_time(result: Result) -> None:
    other = changed(result, perfect)
    assert compare(result, other) == compare(result, other)


def test_all_metrics_and_strata_are_compared_unless_some_are_named(result: Result) -> None:
    rows = compare(result, result).rows
    assert {row.stratum for row in rows} == {"overall", "where", "who"}
    assert {row.metric for row in rows} == {*metrics.names()}
    named = compare(result, result, ["mrr", "recall@5"])
    assert named.headline.metric == "mrr"
    assert [row.metric for row in named.rows] == ["mrr", "recall@5"] * 3


def test_a_stratum_below_the_minimum_says_so_and_costs_the_others_nothing(result: Result) -> None:
    bad = changed(result, useless)
    rows = compare(result, bad, ["ndcg@10"]).rows

    assert [row.verdict for row in rows] == [Verdict.WORSE, Verdict.TOO_FEW, Verdict.TOO_FEW]
    assert rows[0].corrected_p == rows[0].difference.p
    assert [row.corrected_p for row in rows[1:]] == [1.0, 1.0]


def test_a_lower_minimum_lets_strata_speak(result: Result) -> None:
    rows = compare(result, changed(result, useless), ["ndcg@10"], minimum=20).rows
    assert [row.verdict for row in rows] == [Verdict.WORSE] * 3


def test_the_headline_stands_alone_and_the_others_are_corrected_together(result: Result) -> None:
    headline, *others = compare(result, changed(result, useless), ["ndcg@10"], minimum=20).rows

    assert headline.corrected_p == headline.difference.p
    assert min(row.corrected_p for row in others) == pytest.approx(
        2 * min(row.difference.p for row in others)
    )


def test_many_metrics_make_each_of_them_harder_to_believe(result: Result) -> None:
    every = compare(result, changed(result, useless))
    alone = compare(result, changed(result, useless), ["mrr"])
    (mrr,) = (row for row in every.rows if (row.stratum, row.metric) == ("overall", "mrr"))
    assert mrr.difference.p == alone.headline.difference.p
    assert mrr.corrected_p > alone.headline.corrected_p


def test_arms_are_corrected_for_each_other(result: Result) -> None:
    found: list[Compared] = [
        compare(result, changed(result, change), ["mrr"]).headline
        for change in (perfect, useless, perfect)
    ]
    together = corrected(found)
    assert [item.corrected_p for item in together] >= [item.difference.p for item in found]
    assert together[0].corrected_p == pytest.approx(found[0].difference.p * 2, rel=0.6)
    assert together[1].corrected_p == pytest.approx(found[1].difference.p * 3)


# ---- refusals ----------------------------------------------------------------------------------


def test_too_few_queries_are_refused_with_their_number_and_the_minimum(result: Result) -> None:
    few = result.model_copy(update={"rows": result.rows[:29]})
    with pytest.raises(errors.TooFewQueries, match=r"29 answerable queries .* below 30"):
        compare(few, few)
    with pytest.raises(errors.TooFewQueries, match="below 41"):
        compare(result, result, minimum=41)
    assert compare(few, few, minimum=29).headline.verdict is Verdict.CANNOT_TELL


def test_unanswerable_queries_do_not_count_towards_the_minimum(result: Result) -> None:
    rows = [
        row.model_copy(update={"grades": {}, "metrics": {}}) if place < 15 else row
        for place, row in enumerate(result.rows)
    ]
    mostly = result.model_copy(update={"rows": tuple(rows)})
    with pytest.raises(errors.TooFewQueries, match="25 answerable"):
        compare(mostly, mostly)


def test_results_of_different_data_are_not_compared(result: Result) -> None:
    manifest = result.manifest.model_copy(update={"data": "else", "fingerprint": "f" * 64})
    other = result.model_copy(update={"manifest": manifest})
    with pytest.raises(errors.IncomparableResults, match=r"different data: .* else \(ffff"):
        compare(result, other)


def test_results_of_different_queries_are_not_compared(result: Result) -> None:
    manifest = result.manifest.model_copy(update={"split": "dev"})
    half = result.model_copy(update={"rows": result.rows[:20], "manifest": manifest})
    with pytest.raises(errors.IncomparableResults, match=r"split all \(40\) and dev \(20\)"):
        compare(result, half)


@pytest.mark.parametrize("place", [0, 1])
def test_a_result_with_faults_decides_nothing(result: Result, place: int) -> None:
    pair = [result, result]
    pair[place] = result.model_copy(update={"faults": ("a memory stands in an answer twice (1)",)})
    named = ("first", "second")[place]
    with pytest.raises(errors.IncomparableResults, match=f"the {named} result .* twice"):
        compare(pair[0], pair[1])


def test_an_unknown_metric_is_refused_and_the_known_ones_are_named(result: Result) -> None:
    with pytest.raises(errors.InvalidData, match="'ndcg@5' is not a metric") as raised:
        compare(result, result, ["mrr", "ndcg@5"])
    assert "ndcg@10" in raised.value.hint


def test_less_of_a_fault_is_better_and_only_queries_that_have_it_are_compared(
    result: Result,
) -> None:
    def with_stale(first: bool) -> Result:
        rows = [
            row.model_copy(update={"metrics": {**row.metrics, "stale_above_current": float(first)}})
            if number % 5 < 4  # 32 of the 40 queries are about now
            else row
            for number, row in enumerate(result.rows)
        ]
        overall = {**result.overall, "stale_above_current": float(first)}
        return result.model_copy(update={"rows": tuple(rows), "overall": overall})

    [row, *_] = compare(with_stale(True), with_stale(False), ["stale_above_current"]).rows
    assert (row.difference.queries, row.difference.mean) == (32, -1.0)
    assert row.verdict is Verdict.BETTER
    [row, *_] = compare(with_stale(False), with_stale(True), ["stale_above_current"]).rows
    assert row.verdict is Verdict.WORSE
