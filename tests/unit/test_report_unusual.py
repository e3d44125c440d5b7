"""The page of the benchmark when there is more or less to show than usual."""

from __future__ import annotations

import re

from bearinmind_bench.report.page import render
from bearinmind_bench.report.runs import comparable
from support.bench_runs import STRATA, made_comparison, made_result, made_rows
from support.html_tree import by_id, has_id, parsed, text_of, with_class


def test_one_run_has_nothing_to_be_compared_with() -> None:
    tree = parsed(render([made_result()]))
    assert not has_id(tree, "differences")
    assert not with_class(tree, "legend")
    assert not with_class(tree, "verdict")


def test_runs_of_different_sets_stand_side_by_side_and_are_not_compared() -> None:
    here = made_result(made_rows(40))
    there = made_result(made_rows(40, strata=("where",)), {"data": "x", "fingerprint": "0"})
    tree = parsed(render([here, there]))
    (line,) = with_class(tree, "verdict")
    assert "did not answer the same queries" in text_of(line)
    chart = by_id(tree, "strata-ndcg-10")
    assert [text_of(name) for name in with_class(chart, "name")] == [
        "overall",
        *here.strata,
        "where",
    ]
    assert text_of(chart).count("no queries") == len(STRATA) + 1


def test_a_comparison_goes_to_the_run_it_was_made_for() -> None:
    base = made_result(made_rows(60))
    other_set = made_result(made_rows(60), {"fingerprint": "0"})
    broken = made_result(made_rows(60, 1.2), faults=("ranks do not count from 1",))
    good = made_result(made_rows(60, 2.5))
    results = [base, other_set, broken, good]
    assert comparable(results) == (good,)
    lines = with_class(parsed(render(results, [made_comparison(base, good)])), "verdict")
    assert [re.sub(r":.*", "", text_of(line)) for line in lines] == [
        "B is not compared with A",
        "C is not compared with A",
        "D is better than A",
    ]


def test_too_few_queries_are_said_to_be_too_few() -> None:
    tree = parsed(render([made_result(made_rows(12)), made_result(made_rows(12, 2.0))]))
    (line,) = with_class(tree, "verdict")
    assert "12 answerable queries are too few; at least 30 are needed" in text_of(line)


def test_without_an_answerable_query_there_are_no_ranked_metrics() -> None:
    tree = parsed(render([made_result(made_rows(0, unanswerable=8))]))
    assert "No answerable query" in text_of(by_id(tree, "overall"))
    assert not has_id(tree, "strata")
    assert not has_id(tree, "queries")
    assert has_id(tree, "abstention")


def test_without_unanswerable_queries_nothing_is_said_about_abstention() -> None:
    assert not has_id(parsed(render([made_result()])), "abstention")


def test_a_run_that_does_not_say_how_sure_it_is_has_no_abstention_curve() -> None:
    rows = [
        row.model_copy(update={"confidence": None, "confidences": (), "legs": {}})
        for row in made_rows(40, unanswerable=9)
    ]
    tree = parsed(render([made_result(rows, legs={})]))
    assert "does not say how sure it is" in text_of(by_id(tree, "abstention"))
    assert not has_id(tree, "abstention-curve")
    assert "No run says which leg found what" in text_of(by_id(tree, "legs"))


def test_metrics_that_only_one_run_has_are_left_open_for_the_other() -> None:
    rows = [
        row.model_copy(
            update={"metrics": {k: v for k, v in row.metrics.items() if "answers" not in k}}
        )
        for row in made_rows(40)
    ]
    tree = parsed(render([made_result(rows), made_result(made_rows(40))]))
    (table,) = by_id(tree, "overall").iter("table")
    (row,) = (row for row in table.iter("tr") if text_of(row[0]).startswith("answers@10"))
    assert text_of(row[1]) == "–"  # noqa: RUF001  an en dash
    assert re.match(r"0\.\d{3}", text_of(row[2]))
