"""What another run changes, query by query, and what may be said about it."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from bearinmind_bench.compare import Compared, Comparison
from bearinmind_bench.inference import Difference, Verdict
from bearinmind_bench.report.charts import (
    WIDE,
    Child,
    Element,
    Frame,
    Linear,
    chart,
    chooser,
    folded,
    line,
    nice_step,
    number,
    section,
    table,
    tag,
    text,
    y_axis,
)
from bearinmind_bench.report.formats import (
    MINUS,
    NONE,
    count,
    metric_name,
    p_value,
    percent,
    plural,
    shorten,
    signed,
    signed_span,
    slug,
    value,
    verdict_class,
)
from bearinmind_bench.report.runs import Material, Run, badge, chip, same_queries
from bearinmind_bench.summary import OVERALL

_ROOM_FOR_WORDS = 120  # pixels; a narrower part is told in the line above


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDifference:
    """One query under two runs."""

    query_id: str
    stratum: str
    before: float
    after: float

    @property
    def change(self) -> float:
        """How much the second run is ahead."""
        return self.after - self.before


def balance(reference: Run, run: Run, changes: Sequence[QueryDifference]) -> Element:
    """Wins, losses and ties in words."""
    wins, losses = _wins_and_losses(changes)
    ties = len(changes) - wins - losses
    return tag(
        "p",
        badge(run),
        f" is ahead on {plural(wins, 'query', 'queries')}, ",
        badge(reference),
        f" on {count(losses)}; {count(ties)} are tied.",
        class_="meaning",
    )


def waterfall(
    name: str, reference: Run, run: Run, metric: str, changes: Sequence[QueryDifference]
) -> Element:
    """The sorted differences as a drawing; the area of a colour is what that run is ahead by."""
    frame = Frame(width=WIDE, height=250, left=60, right=8, top=12, bottom=26)
    ticks = _ticks([item.change for item in changes])
    down = Linear(ticks[-1], ticks[0], frame.top, frame.y_end)
    along = Linear(0, max(len(changes), 1), frame.left, frame.x_end)
    wins, losses = _wins_and_losses(changes)
    return chart(
        name,
        frame,
        [
            y_axis(frame, down, ticks, _tick),
            _area(changes[:wins], 0, along, down, f"area {run.style}"),
            _area(
                changes[len(changes) - losses :],
                len(changes) - losses,
                along,
                down,
                f"area {reference.style}",
            ),
            line(frame.left, down(0), frame.x_end, down(0), "zero"),
            *_words(run, reference, (wins, losses, len(changes)), along, frame),
        ],
        title=f"{metric_name(metric)}: differences of single queries, {run.letter} against "
        f"{reference.letter}",
        description=f"{run.letter} is ahead on {wins} of {len(changes)} queries and behind on "
        f"{losses}.",
    )


def _ticks(changes: Sequence[float]) -> list[float]:
    """Round steps that hold every change, and at least one on both sides of none."""
    step = nice_step(max(map(abs, changes), default=0), steps=4)
    below = max(1, math.ceil(-min(changes, default=0) / step - 1e-9))
    above = max(1, math.ceil(max(changes, default=0) / step - 1e-9))
    return [step * place for place in range(-below, above + 1)]


def _wins_and_losses(changes: Sequence[QueryDifference]) -> tuple[int, int]:
    return sum(item.change > 0 for item in changes), sum(item.change < 0 for item in changes)


def _tick(tick: float) -> str:
    return "0" if tick == 0 else f"{tick:+g}".replace("-", MINUS)


def _area(
    items: Sequence[QueryDifference], first: int, along: Linear, down: Linear, class_: str
) -> Element | None:
    """Steps from query to query; equal ones are one step, which keeps the page small."""
    if not items:
        return None
    steps = [f"M{number(along(first))} {number(down(0))}"]
    place = first
    for change, equal in groupby(item.change for item in items):
        place += len([*equal])
        steps.append(f"V{number(down(change))}H{number(along(place))}")
    return tag("path", d=f"{''.join(steps)}V{number(down(0))}Z", class_=class_)


def _words(
    run: Run, reference: Run, counts: tuple[int, int, int], along: Linear, frame: Frame
) -> Iterator[Child]:
    wins, losses, total = counts
    parts = (
        (0, wins, f"{run.letter} ahead"),
        (wins, total - losses, "tied"),
        (total - losses, total, f"{reference.letter} ahead"),
    )
    for begin, end, what in parts:
        left, right = along(begin), along(end)
        if right - left >= _ROOM_FOR_WORDS:
            label = f"{what}: {count(end - begin)} ({percent((end - begin) / total)})"
            yield text((left + right) / 2, frame.height - 8, label, class_="tick middle")


_WIDTH = 150
_HEIGHT = 18
_PAD = 6


def widest(rows: Iterable[Compared]) -> float:
    """How far the axis must reach on both sides to hold every interval."""
    edges = (abs(edge) for row in rows for edge in (row.difference.low, row.difference.high))
    return nice_step(max(edges), steps=1)


def difference_interval(gap: Difference, reach: float) -> Element:
    """A difference and its interval; a line where there is none."""
    scale = Linear(-reach, reach, _PAD, _WIDTH - _PAD)
    middle = _HEIGHT / 2
    return tag(
        "svg",
        line(scale(0), 0, scale(0), _HEIGHT, "zero"),
        line(scale(gap.low), middle, scale(gap.high), middle, "interval"),
        tag("circle", cx=scale(gap.mean), cy=middle, r=3, class_="dot"),
        viewBox=f"0 0 {_WIDTH} {_HEIGHT}",
        width=_WIDTH,
        height=_HEIGHT,
        aria_hidden="true",
    )


_MOST_CHANGED = 10  # gains and losses each
_GLYPHS = {
    Verdict.BETTER: "▲",
    Verdict.WORSE: "▼",
    Verdict.CANNOT_TELL: "·",
    Verdict.TOO_FEW: NONE,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """A run held against the reference."""

    reference: Run
    run: Run
    comparison: Comparison | None

    @property
    def name(self) -> str:
        """The pair as part of an id."""
        return f"{self.run.letter}-{self.reference.letter}"

    def differences(self, metric: str) -> list[QueryDifference]:
        """What changed in each query, the greatest gain first; equal ones by their id."""
        before, after = self.reference.answerable, self.run.answerable
        return sorted(
            (
                QueryDifference(
                    query_id=id_,
                    stratum=row.stratum,
                    before=row.metrics[metric],
                    after=after[id_].metrics[metric],
                )
                for id_, row in before.items()
                if id_ in after and metric in row.metrics and metric in after[id_].metrics
            ),
            key=lambda item: (-item.change, item.query_id),
        )

    def compared(self, metric: str) -> list[Compared]:
        """What may be said about a metric: overall, then in each stratum."""
        rows = self.comparison.rows if self.comparison else ()
        return [row for row in rows if row.metric == metric]


def differences_section(material: Material) -> Element | None:
    """Every run against the first; nothing when there is only one."""
    if len(material.runs) == 1 or not material.metrics:
        return None
    return section(
        "differences",
        "Query by query",
        "Both runs answered the same queries, so each query is compared with itself. A verdict "
        "needs the 95% interval and the permutation test, corrected for all comparisons made "
        "together, to agree.",
        *(_against(material, run) for run in material.runs[1:]),
    )


def _against(material: Material, run: Run) -> Element:
    reference = material.reference
    heading = tag("h3", chip(run), tag("span", " against ", class_="quiet"), chip(reference))
    if not same_queries(reference.result, run.result):
        return tag(
            "article",
            heading,
            tag("p", f"Not compared: {material.why_no_verdict(run)}.", class_="meaning"),
        )
    metrics = tuple(
        metric
        for metric in material.metrics
        if metric in reference.result.overall and metric in run.result.overall
    )
    pair = Pair(reference=reference, run=run, comparison=material.comparisons.get(run.index))
    panels = [(metric_name(metric), _panel(pair, metric)) for metric in metrics]
    return tag(
        "article",
        heading,
        _matrix(pair.comparison, metrics)
        if pair.comparison
        else tag("p", f"No verdicts: {material.why_no_verdict(run)}.", class_="meaning"),
        chooser(f"difference-{pair.name}", "Metric of the differences", panels),
    )


def _matrix(comparison: Comparison, metrics: Sequence[str]) -> Element:
    """All verdicts at a glance: strata by metrics."""
    by_place = {(row.stratum, row.metric): row for row in comparison.rows}
    strata = [*dict.fromkeys(stratum for stratum, _ in by_place)]
    compared = [metric for metric in metrics if (OVERALL, metric) in by_place]
    rows = [
        tag(
            "tr",
            tag("th", shorten(stratum, 24), scope="row", title=stratum),
            *(_matrix_cell(by_place.get((stratum, metric))) for metric in compared),
            class_="overall" if stratum == OVERALL else None,
        )
        for stratum in strata
    ]
    key = "   ".join(f"{glyph} {verdict}" for verdict, glyph in _GLYPHS.items())
    return tag(
        "div",
        table(["", *map(_narrow, compared)], rows, "All verdicts", heard_only=True),
        tag("p", key, class_="key"),
        class_="matrix",
    )


def _narrow(metric: str) -> Element:
    """The name of a metric that may go on in a second line."""
    name, at, depth = metric_name(metric).partition("@")
    return tag("span", name, tag("wbr"), at + depth)


def _matrix_cell(compared: Compared | None) -> Element:
    if compared is None:
        return tag("td")
    verdict = f"{compared.verdict.value}: {signed(compared.difference.mean)}"
    return tag(
        "td",
        tag("span", _GLYPHS[compared.verdict], aria_hidden="true"),
        tag("span", verdict, class_="unseen"),
        title=f"{compared.stratum}, {metric_name(compared.metric)}: {verdict}",
        class_=verdict_class(compared.verdict),
    )


def _panel(pair: Pair, metric: str) -> Element:
    changes = pair.differences(metric)
    return tag(
        "div",
        balance(pair.reference, pair.run, changes),
        waterfall(
            f"waterfall-{pair.name}-{slug(metric)}", pair.reference, pair.run, metric, changes
        ),
        _verdict_table(pair, metric),
        _most_changed(pair, metric, changes),
    )


def _verdict_table(pair: Pair, metric: str) -> Element | None:
    rows = pair.compared(metric)
    if not rows:
        return None
    reach = widest(rows)
    head: list[Child] = [
        "stratum",
        "queries",
        badge(pair.reference),
        badge(pair.run),
        "difference and 95% interval",
        "",
        "wins / losses",
        "corrected p",
        "verdict",
    ]
    return table(
        head, (_verdict_row(row, reach) for row in rows), f"Verdicts on {metric_name(metric)}"
    )


def _verdict_row(row: Compared, reach: float) -> Element:
    gap = row.difference
    too_few = row.verdict is Verdict.TOO_FEW
    return tag(
        "tr",
        tag("th", shorten(row.stratum, 32), scope="row", title=row.stratum),
        tag("td", count(gap.queries)),
        tag("td", value(gap.before)),
        tag("td", value(gap.after)),
        tag(
            "td",
            tag("span", signed(gap.mean), class_="value"),
            tag("small", signed_span(gap.low, gap.high)),
        ),
        tag("td", difference_interval(gap, reach), class_="forest"),
        tag("td", f"{count(gap.wins)} / {count(gap.losses)}"),
        tag("td", NONE if too_few else p_value(row.corrected_p)),
        tag(
            "td",
            tag("span", _GLYPHS[row.verdict], aria_hidden="true"),
            f" {row.verdict.value}",
            class_=f"said {verdict_class(row.verdict)}",
        ),
        class_="overall" if row.stratum == OVERALL else None,
    )


def _most_changed(pair: Pair, metric: str, changes: Sequence[QueryDifference]) -> Element | None:
    gains = [item for item in changes[:_MOST_CHANGED] if item.change > 0]
    losses = [item for item in changes[::-1][:_MOST_CHANGED] if item.change < 0]
    if not gains and not losses:
        return None
    name = metric_name(metric)
    tables = [
        table(_changed_head(pair), map(_changed_row, items), title)
        for title, items in ((f"Most gained in {name}", gains), (f"Most lost in {name}", losses))
        if items
    ]
    return folded("The queries that changed most", tag("div", *tables, class_="pair"))


def _changed_head(pair: Pair) -> list[Child]:
    stratum = tag("span", "stratum", class_="left")
    return ["query", stratum, badge(pair.reference), badge(pair.run), "difference"]


def _changed_row(item: QueryDifference) -> Element:
    return tag(
        "tr",
        tag("th", tag("bdi", shorten(item.query_id, 28)), scope="row", title=item.query_id),
        tag("td", shorten(item.stratum, 24), title=item.stratum, class_="fact"),
        tag("td", value(item.before)),
        tag("td", value(item.after)),
        tag("td", signed(item.change), class_="value"),
    )
