"""How good each stratum is: bars with their intervals, for every metric."""

from __future__ import annotations

from collections.abc import Iterator

from bearinmind_bench.inference import MINIMUM_QUERIES
from bearinmind_bench.report.charts import (
    WIDE,
    Child,
    Element,
    Frame,
    Linear,
    chart,
    chooser,
    folded,
    label,
    number,
    section,
    shares,
    table,
    tag,
    text,
    x_axis,
)
from bearinmind_bench.report.formats import (
    count,
    metric_meaning,
    metric_name,
    share_tick,
    slug,
    span,
    value,
)
from bearinmind_bench.report.runs import Material, Run, badge, legend
from bearinmind_bench.summary import OVERALL

_GAP = 14  # between strata
_THICK = {1: 18, 2: 13, 3: 11}  # of a bar, by the number of runs
_THIN = 10
_BETWEEN = 3  # bars of one stratum
_NAME_COLUMNS = 28


def strata_section(material: Material) -> Element | None:
    """The bars of every metric; nothing when nothing was measured."""
    if not material.metrics:
        return None
    panels = [(metric_name(metric), _panel(material, metric)) for metric in material.metrics]
    return section(
        "strata",
        "By stratum",
        "Each bar is the mean over the queries of a stratum; the whisker is its 95% interval. "
        f"Below {MINIMUM_QUERIES} queries a stratum is drawn hollow: it shows little.",
        legend(material.runs),
        chooser("strata-metric", "Metric of the bars", panels),
    )


def _panel(material: Material, metric: str) -> Element:
    name = metric_name(metric)
    return tag(
        "div",
        tag("p", tag("strong", name), ": ", metric_meaning(metric), class_="meaning")
        if metric_meaning(metric)
        else None,
        _bars(material, metric),
        folded("The same as a table", _table(material, metric)),
    )


def _rows_of(material: Material) -> tuple[str, ...]:
    return (OVERALL, *material.strata)


def _bars(material: Material, metric: str) -> Element:
    rows = _rows_of(material)
    pitch = _THICK.get(len(material.runs), _THIN) + _BETWEEN
    room = max(pitch * len(material.runs), 26) + _GAP
    frame = Frame(width=WIDE, height=len(rows) * room + 52, left=216, right=96, top=8, bottom=36)
    scale = Linear(0, 1, frame.left, frame.x_end)
    groups = [
        _group(material, metric, stratum, scale, frame.top + place * room + _GAP / 2)
        for place, stratum in enumerate(rows)
    ]
    name = metric_name(metric)
    return chart(
        f"strata-{slug(metric)}",
        frame,
        [x_axis(frame, scale, shares(), share_tick), *groups],
        title=f"{name} by stratum",
        description="; ".join(_described(material, metric, rows)),
    )


def _described(material: Material, metric: str, rows: tuple[str, ...]) -> Iterator[str]:
    for stratum in rows:
        values = (
            f"{run.letter} {value(run.figures(stratum).get(metric))}" for run in material.runs
        )
        yield f"{stratum}: {', '.join(values)}"


def _group(material: Material, metric: str, stratum: str, scale: Linear, top: float) -> Element:
    thick = _THICK.get(len(material.runs), _THIN)
    height = (thick + _BETWEEN) * len(material.runs) - _BETWEEN
    middle = top + max(height, 26) / 2
    begin = top + (max(height, 26) - height) / 2
    bars = [
        _bar(run, metric, stratum, scale, begin + place * (thick + _BETWEEN), thick)
        for place, run in enumerate(material.runs)
    ]
    return tag(
        "g",
        label(scale.begin - 14, middle - 2, stratum, _NAME_COLUMNS, class_="name end"),
        text(scale.begin - 14, middle + 12, _queries(material, stratum), class_="tick end"),
        *bars,
        class_="overall" if stratum == OVERALL else None,
    )


def _queries(material: Material, stratum: str) -> str:
    counts = [int(run.figures(stratum).get("queries", 0)) for run in material.runs]
    low, high = min(counts), max(counts)
    if low == high:
        return f"{count(low)} {'query' if low == 1 else 'queries'}"
    return f"{count(low)} to {count(high)} queries"


def _bar(run: Run, metric: str, stratum: str, scale: Linear, top: float, thick: float) -> Element:
    figures = run.figures(stratum)
    middle = top + thick / 2
    if metric not in figures or not figures.get("queries"):
        return text(scale.begin + 6, middle + 3.5, "no queries", class_="tick")
    figure = figures[metric]
    interval = run.interval(stratum, metric)
    few = figures["queries"] < MINIMUM_QUERIES
    end = scale(max(figure, interval[1] if interval else 0))
    tip = f"{run.name}, {stratum}: {metric_name(metric)} {value(figure)}, {span(interval)}"
    return tag(
        "g",
        tag("title", tip),
        tag(
            "rect",
            x=scale.begin,
            y=top,
            width=scale(figure) - scale.begin,
            height=thick,
            class_=f"bar {run.style}{' few' if few else ''}",
        ),
        *(_whisker(interval, scale, middle, thick) if interval else ()),
        text(end + 8, middle + 3.5, value(figure), class_="figure"),
    )


def _whisker(
    interval: tuple[float, float], scale: Linear, middle: float, thick: float
) -> Iterator[Child]:
    low, high = scale(interval[0]), scale(interval[1])
    half = min(thick / 3, 4)
    ends = (f"M{number(x)} {number(middle - half)}v{number(2 * half)}" for x in (low, high))
    strokes = f"M{number(low)} {number(middle)}H{number(high)}{''.join(ends)}"
    yield tag("path", d=strokes, class_="halo")
    yield tag("path", d=strokes, class_="whisker")


def _table(material: Material, metric: str) -> Element:
    rows = [
        tag(
            "tr",
            tag("th", stratum, scope="row"),
            *(_cell(run, stratum, metric) for run in material.runs),
        )
        for stratum in _rows_of(material)
    ]
    head: list[Child] = ["stratum", *(badge(run) for run in material.runs)]
    return table(head, rows, f"{metric_name(metric)} by stratum")


def _cell(run: Run, stratum: str, metric: str) -> Element:
    figures = run.figures(stratum)
    queries = figures.get("queries", 0)
    return tag(
        "td",
        value(figures.get(metric)),
        " ",
        tag("span", span(run.interval(stratum, metric)), class_="quiet"),
        title=f"{run.name}: {count(queries)} queries",
    )
