"""Every metric over all queries, with its interval, for each run."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from bearinmind.bench.inference import LEVEL, RESAMPLES
from bearinmind.bench.metrics import HEADLINE
from bearinmind.bench.report.elements import Child, Element, tag
from bearinmind.bench.report.figures import legend, line, section, table, text
from bearinmind.bench.report.runs import Material, Run, badge
from bearinmind.bench.report.scales import Linear, shares
from bearinmind.bench.report.wording import (
    count,
    metric_meaning,
    metric_name,
    share_tick,
    span,
    value,
)
from bearinmind.bench.summary import OVERALL

_WIDTHS = {1: 340, 2: 320, 3: 260, 4: 230}  # of the column of intervals, by the number of runs
_NARROW = 170
_PAD = 8
_BEYOND = 16  # so far grid lines reach into the padding of the cell
_PITCH = 11  # between the intervals of two runs


def overall_section(material: Material) -> Element:
    """The table of all metrics."""
    if not material.metrics:
        return section(
            "overall", "Overall", "No answerable query was measured: there are no ranked metrics."
        )
    head: list[Child] = ["metric", *(badge(run) for run in material.runs), _axis(material.runs)]
    return section(
        "overall",
        "Overall",
        f"The mean over all answerable queries with its {LEVEL:.0%} interval, from "
        f"{count(RESAMPLES)} resamples of the queries. Unanswerable queries are kept apart.",
        legend(material.runs),
        table(
            head,
            (_row(material, metric) for metric in material.metrics),
            "All metrics",
            heard_only=True,
        ),
    )


def _row(material: Material, metric: str) -> Element:
    return tag(
        "tr",
        tag(
            "th",
            metric_name(metric),
            tag("small", metric_meaning(metric)),
            scope="row",
        ),
        *(_cell(run, metric) for run in material.runs),
        tag("td", _forest(material.runs, metric), class_="forest"),
        class_="headline-row" if metric == HEADLINE else None,
    )


def _cell(run: Run, metric: str) -> Element:
    return tag(
        "td",
        tag("span", value(run.result.overall.get(metric)), class_="value"),
        tag("small", span(run.interval(OVERALL, metric))),
    )


def _width(runs: Sequence[Run]) -> int:
    return _WIDTHS.get(len(runs), _NARROW)


def _scale(runs: Sequence[Run]) -> Linear:
    return Linear(0, 1, _PAD, _width(runs) - _PAD)


def _axis(runs: Sequence[Run]) -> Element:
    """The ticks above the column of intervals."""
    scale = _scale(runs)
    ticks = (text(scale(tick), 12, share_tick(tick), class_="tick middle") for tick in shares())
    return _drawing(ticks, _width(runs), 16)


def _forest(runs: Sequence[Run], metric: str) -> Element:
    """The intervals of all runs on one axis."""
    scale = _scale(runs)
    height = _PITCH * len(runs) + 9
    radius = 3 if len(runs) in (1, 2) else 2.2
    grid = (line(scale(tick), -_BEYOND, scale(tick), height + _BEYOND, "grid") for tick in shares())
    marks = (
        mark for place, run in enumerate(runs) for mark in _mark(run, metric, scale, place, radius)
    )
    return _drawing((*grid, *marks), _width(runs), height)


def _drawing(children: Iterable[Element], width: int, height: int) -> Element:
    """A drawing of what the cells beside it say in numbers."""
    box = f"0 0 {width} {height}"
    return tag("svg", *children, viewBox=box, width=width, height=height, aria_hidden="true")


def _mark(run: Run, metric: str, scale: Linear, place: int, radius: float) -> Iterator[Element]:
    figure = run.result.overall.get(metric)
    y = _PITCH * (place + 0.5) + 4.5
    interval = run.interval(OVERALL, metric)
    if interval:
        yield line(scale(interval[0]), y, scale(interval[1]), y, f"interval {run.style}")
    if figure is not None:
        yield tag(
            "circle",
            tag("title", f"{run.name}: {value(figure)}, {span(interval)}"),
            cx=scale(figure),
            cy=y,
            r=radius,
            class_=f"dot {run.style}",
        )
