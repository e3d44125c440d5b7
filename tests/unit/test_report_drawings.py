"""What the page draws is to scale: every test reads the axis first, then the shapes."""

from __future__ import annotations

import itertools
import math
import re
from collections import Counter
from collections.abc import Callable
from xml.etree.ElementTree import Element

import pytest

from bearinmind_bench.report.charts import decades, nice_step, steps_to
from bearinmind_bench.report.page import render
from bearinmind_bench.results import Result
from support.bench_runs import made_comparison, made_result, made_rows
from support.html_tree import by_id, parsed, text_of, with_class

CLOSE = 0.002  # of an axis: coordinates have two decimals
Place = Callable[[float], float]


@pytest.fixture(scope="module")
def runs() -> list[Result]:
    return [
        made_result(made_rows(120, 1.0, unanswerable=30)),
        made_result(made_rows(120, 1.7, unanswerable=30), {"settings": {"pool": 9}}),
    ]


@pytest.fixture(scope="module")
def page(runs: list[Result]) -> Element:
    return parsed(render(runs, [made_comparison(*runs)]))


def number_in(text: str) -> float:
    amount = float(text.rstrip("%").replace("\N{MINUS SIGN}", "-"))
    return amount / 100 if text.endswith("%") else amount


def ticks(chart: Element, axis: str) -> dict[float, float]:
    """Where the ticks of an axis are, by the values that stand beside them."""
    found = {}
    for group in with_class(chart, "axis", "g"):
        for grid, label in itertools.pairwise(group):
            if grid.tag == "line" and label.tag == "text" and is_tick(grid, label, axis):
                found[number_in(text_of(label))] = float(grid.get(f"{axis}1", ""))
    assert len(found) > 2
    return found


def is_tick(grid: Element, label: Element, axis: str) -> bool:
    upright = grid.get("x1") == grid.get("x2")
    return upright == (axis == "x") and "tick" in label.get("class", "")


def reader(chart: Element, axis: str, scale: Place = float) -> Place:
    """From a coordinate to the value that the axis gives it; the ticks must be evenly spaced."""
    places = sorted((scale(value), place) for value, place in ticks(chart, axis).items())
    (low, begin), (high, end) = places[0], places[-1]
    for value, place in places:
        assert math.isclose(
            place, begin + (value - low) / (high - low) * (end - begin), abs_tol=0.02
        )
    return lambda place: low + (place - begin) / (end - begin) * (high - low)


def coordinates(path: str) -> list[float]:
    return [float(number) for number in re.findall(r"-?[\d.]+", path)]


def points(line: Element) -> list[tuple[float, float]]:
    pairs = (pair.split(",") for pair in line.get("points", "").split())
    return [(float(x), float(y)) for x, y in pairs]


# ---- strata --------------------------------------------------------------------------------------


@pytest.mark.parametrize("metric", ["ndcg@10", "recall@5", "map"])
def test_bars_and_whiskers_are_as_long_as_their_values(
    runs: list[Result], page: Element, metric: str
) -> None:
    chart = by_id(page, f"strata-{metric.replace('@', '-')}")
    value_at = reader(chart, "x")
    bars = with_class(chart, "bar", "rect")
    whiskers = with_class(chart, "whisker")
    groups = ["overall", *runs[0].strata]
    expected = [
        (run.overall if name == "overall" else run.strata[name], run.intervals[name])
        for name in groups
        for run in runs
    ]
    assert len(bars) == len(whiskers) == len(expected)
    for bar, whisker, (figures, intervals) in zip(bars, whiskers, expected, strict=True):
        begin, length = float(bar.get("x", "")), float(bar.get("width", ""))
        assert value_at(begin) == pytest.approx(0, abs=CLOSE)
        assert value_at(begin + length) == pytest.approx(figures[metric], abs=CLOSE)
        low, _, high = coordinates(whisker.get("d", ""))[:3]
        assert (value_at(low), value_at(high)) == pytest.approx(intervals[metric], abs=CLOSE)


def test_a_stratum_with_few_queries_is_drawn_hollow(runs: list[Result], page: Element) -> None:
    bars = with_class(by_id(page, "strata-mrr"), "bar", "rect")
    hollow = ["few" in bar.get("class", "") for bar in bars]
    counts = [120.0, *(figures["queries"] for figures in runs[0].strata.values())]
    assert hollow == [count < 30 for count in counts for _ in runs]
    assert {*hollow} == {True, False}


def test_runs_with_different_strata_have_bars_only_where_they_have_queries() -> None:
    one = made_result(made_rows(40, strata=("where", "who")))
    other = made_result(made_rows(40, strata=("who", "when")), {"fingerprint": "0"})
    chart = by_id(parsed(render([one, other])), "strata-mrr")
    drawn = Counter(bar.get("class", "").split()[1] for bar in with_class(chart, "bar", "rect"))
    assert drawn == {"run-1": 3, "run-2": 3}
    assert text_of(chart).count("no queries") == 2


def test_intervals_beside_the_overall_table_share_one_axis(
    runs: list[Result], page: Element
) -> None:
    (table,) = by_id(page, "overall").iter("table")
    axis = {
        number_in(text_of(t)): float(t.get("x", "")) for t in next(table.iter("tr")).iter("text")
    }
    length = axis[1.0] - axis[0.0]
    names = [name for name in runs[0].overall if name not in ("queries", "ndcg@10")]
    for name, row in zip(["ndcg@10", *names], [*table.iter("tr")][1:], strict=True):
        drawn = zip(with_class(row, "interval"), with_class(row, "dot"), strict=True)
        for run, (interval, dot) in zip(runs, drawn, strict=True):
            low, high, middle = (
                (float(element.get(key, "")) - axis[0.0]) / length
                for element, key in ((interval, "x1"), (interval, "x2"), (dot, "cx"))
            )
            assert (low, high) == pytest.approx(run.intervals["overall"][name], abs=CLOSE)
            assert middle == pytest.approx(run.overall[name], abs=CLOSE)


# ---- differences ---------------------------------------------------------------------------------


def test_the_waterfall_has_every_gain_and_loss_from_the_greatest_gain_on(
    runs: list[Result], page: Element
) -> None:
    metric = "ndcg@10"
    chart = by_id(page, "waterfall-B-A-ndcg-10")
    value_at = reader(chart, "y")
    before, after = ([row for row in run.rows if row.metrics] for run in runs)
    changes = sorted(
        (b.metrics[metric] - a.metrics[metric] for a, b in zip(before, after, strict=True)),
        reverse=True,
    )
    (axis,) = with_class(chart, "zero")
    left, right = float(axis.get("x1", "")), float(axis.get("x2", ""))
    drawn = [0.0] * len(changes)
    for area in with_class(chart, "area"):
        begin = float(re.findall(r"M([\d.]+)", area.get("d", ""))[0])
        for height, end in re.findall(r"V([\d.]+)H([\d.]+)", area.get("d", "")):
            first, last = (
                round((float(x) - left) / (right - left) * len(changes)) for x in (begin, end)
            )
            drawn[first:last] = [value_at(float(height))] * (last - first)
            begin = float(end)
    assert drawn == pytest.approx(changes, abs=CLOSE)
    assert {"run-2", "run-1"} == {a.get("class", "").split()[1] for a in with_class(chart, "area")}


def test_runs_that_answer_the_same_have_an_empty_waterfall() -> None:
    same = made_result()
    chart = by_id(parsed(render([same, same])), "waterfall-B-A-mrr")
    assert not with_class(chart, "area")
    assert "tied: 60 (100%)" in text_of(chart)


def test_the_interval_of_a_difference_is_on_the_right_side_of_none(
    runs: list[Result], page: Element
) -> None:
    rows = [row for row in made_comparison(*runs).rows if row.metric == "ndcg@10"]
    panel = with_class(by_id(page, "differences"), "panel")[0]
    drawings = [svg for svg in panel.iter("svg") if svg.get("aria-hidden")]
    reach = None
    for row, svg in zip(rows, drawings, strict=True):
        (zero,), (interval,) = with_class(svg, "zero"), with_class(svg, "interval")
        middle = float(zero.get("x1", ""))
        edges = [float(interval.get(end, "")) - middle for end in ("x1", "x2")]
        found = row.difference
        scale = (edges[1] - edges[0]) / (found.high - found.low)
        reach = reach or scale
        assert scale == pytest.approx(reach, rel=0.02)
        assert edges == pytest.approx([found.low * scale, found.high * scale], abs=0.05)


# ---- ranks, latency, abstention ------------------------------------------------------------------


def band(rank: int | None, *, proposed: bool) -> str:
    if rank is None:
        return "deeper" if proposed else "not found"
    return "1" if rank == 1 else "2 to 5" if rank < 6 else "6 to 10" if rank < 11 else "11 to 20"


def test_the_columns_of_ranks_are_the_shares_of_relevant_memories(
    runs: list[Result], page: Element
) -> None:
    chart = by_id(page, "ranks")
    value_at = reader(chart, "y")
    names = [text_of(name) for name in with_class(chart, "name")]
    found: dict[str, Counter[str]] = {}
    for style, run in zip(("run-1", "run-2"), runs, strict=True):
        found[style] = Counter(
            band(
                row.ranked.index(id_) + 1 if id_ in row.ranked else None,
                proposed=any(id_ in leg for leg in row.legs.values()),
            )
            for row in run.rows
            for id_ in row.grades
        )
    bars = iter(with_class(chart, "bar", "rect"))
    for name in names:
        for style, counts in found.items():
            bar = next(bars)
            assert style in bar.get("class", "")
            top = float(bar.get("y", ""))
            share = counts[name] / counts.total()
            assert value_at(top) == pytest.approx(share, abs=CLOSE)
            assert value_at(top + float(bar.get("height", ""))) == pytest.approx(0, abs=CLOSE)
    assert next(bars, None) is None


def test_latency_curves_rise_to_one_and_p50_and_p95_are_marked(
    runs: list[Result], page: Element
) -> None:
    chart = by_id(page, "latency")
    time_at, share_at = reader(chart, "x", math.log10), reader(chart, "y")
    for run, curve in zip(runs, with_class(chart, "curve"), strict=True):
        times = sorted(row.milliseconds for row in run.rows)
        for x, y in points(curve)[1:]:
            done = round(share_at(y) * len(times))
            assert share_at(y) == pytest.approx(done / len(times), abs=CLOSE)
            assert time_at(x) == pytest.approx(math.log10(times[done - 1]), abs=CLOSE)
        assert share_at(points(curve)[-1][1]) == pytest.approx(1, abs=CLOSE)
    marks = [
        (10 ** time_at(float(dot.get("cx", ""))), share_at(float(dot.get("cy", ""))))
        for dot in with_class(chart, "dot")
    ]
    expected = [p for run in runs for p in ((run.latency.p50, 0.5), (run.latency.p95, 0.95))]
    assert [time for time, _ in marks] == pytest.approx([time for time, _ in expected], rel=0.01)
    assert [share for _, share in marks] == pytest.approx([s for _, s in expected], abs=CLOSE)


def test_the_abstention_curve_goes_through_every_floor(runs: list[Result], page: Element) -> None:
    chart = by_id(page, "abstention-curve")
    silenced_at, abstained_at = reader(chart, "x"), reader(chart, "y")
    for run, style in zip(runs, ("run-1", "run-2"), strict=True):
        (curve,) = (c for c in with_class(chart, "curve") if style in c.get("class", ""))
        assert run.unanswerable
        expected = [(point.silenced, point.abstained) for point in run.unanswerable.curve]
        for (x, y), (silenced, abstained) in zip(points(curve), expected, strict=True):
            assert silenced_at(x) == pytest.approx(silenced, abs=CLOSE)
            assert abstained_at(y) == pytest.approx(abstained, abs=CLOSE)
        assert f"{run.unanswerable.area:.3f}" in text_of(by_id(page, "abstention"))


# ---- ticks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("greatest", "expected"),
    [(0, [0, 0.2]), (0.44, [0, 0.1, 0.2, 0.3, 0.4, 0.5]), (1, [0, 0.2, 0.4, 0.6, 0.8, 1.0])],
)
def test_ticks_are_round_and_reach_the_greatest_value(
    greatest: float, expected: list[float]
) -> None:
    assert steps_to(greatest) == pytest.approx(expected)
    assert nice_step(0.0301, steps=1) == pytest.approx(0.05)


@pytest.mark.parametrize("times", [[0.0], [3.0], [0.02, 0.9], [0.5, 4.0], [0.4, 90_000.0]])
def test_a_logarithmic_axis_holds_every_time_and_has_few_ticks(times: list[float]) -> None:
    low, high, marks = decades(times)
    assert 0 < low < high
    assert low <= max(min(times), 0.001)
    assert max(times) <= high
    assert 1 <= len(marks) <= 8
    assert all(low <= mark <= high for mark in marks)
