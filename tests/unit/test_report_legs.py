"""The page of a run with a leg that goes on from what the others found."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind_bench import summary
from bearinmind_bench.report.page import render
from bearinmind_bench.results import QueryRow
from support.bench_runs import made_result, made_rows
from support.html_tree import by_id, parsed, text_of


def with_graph(rows: Sequence[QueryRow]) -> list[QueryRow]:
    """The same rows, with a graph leg that leads to every relevant memory."""
    return [
        row.model_copy(update={"legs": {**row.legs, "graph": dict.fromkeys(row.grades, 1)}})
        for row in rows
    ]


def test_a_leg_that_follows_makes_the_others_no_less_alone() -> None:
    rows = made_rows(60)
    before = summary.contributions(rows, {})
    after = summary.contributions(with_graph(rows), {})
    assert {leg: after[leg] for leg in before} == before
    by_itself = sum(
        id_ not in {*row.legs["lexical"], *row.legs["dense"]} for row in rows for id_ in row.grades
    )
    assert after["graph"].found == sum(len(row.grades) for row in rows)
    assert after["graph"].alone == by_itself > 0


def test_the_page_has_a_row_for_every_leg_and_says_what_alone_means() -> None:
    rows = made_rows(40)
    two, three = made_result(rows), made_result(with_graph(rows))
    both = by_id(parsed(render([two, three])), "legs")
    [table] = [t for t in both.iter("table") if "Contribution of each leg" in text_of(t)]
    named = [[text_of(cell) for cell in row][:2] for row in table.iter("tr")][1:]
    assert named == [
        ["lexical", "A"],
        ["lexical", "B"],
        ["dense", "A"],
        ["dense", "B"],
        ["graph", "B"],
    ]
    told = "The graph leg goes on from what the others found"
    assert told in text_of(both)
    assert told not in text_of(by_id(parsed(render([two])), "legs"))


def test_what_only_the_graph_led_to_counts_as_found() -> None:
    found_by_none = [row.model_copy(update={"legs": {}, "ranked": ()}) for row in made_rows(40)]
    told = text_of(by_id(parsed(render([made_result(with_graph(found_by_none))])), "ranks"))
    assert "deeper 100%, not found 0%" in told
