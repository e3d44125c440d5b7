"""What another run changes, query by query, and what may be said about it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bearinmind.bench.compare import Compared, Comparison
from bearinmind.bench.inference import Verdict
from bearinmind.bench.report.elements import Child, Element, tag
from bearinmind.bench.report.figures import chooser, folded, section, table
from bearinmind.bench.report.intervals import difference_interval, widest
from bearinmind.bench.report.runs import Material, Run, badge, chip, same_queries
from bearinmind.bench.report.waterfall import QueryDifference, balance, waterfall
from bearinmind.bench.report.wording import (
    NONE,
    count,
    metric_name,
    p_value,
    shorten,
    signed,
    signed_span,
    slug,
    value,
    verdict_class,
)
from bearinmind.bench.summary import OVERALL

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
    pair = Pair(
        reference=reference,
        run=run,
        comparison=material.comparisons.get(run.index),
    )
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


def _matrix_cell(found: Compared | None) -> Element:
    if found is None:
        return tag("td")
    said = f"{found.verdict.value}: {signed(found.difference.mean)}"
    return tag(
        "td",
        tag("span", _GLYPHS[found.verdict], aria_hidden="true"),
        tag("span", said, class_="unseen"),
        title=f"{found.stratum}, {metric_name(found.metric)}: {said}",
        class_=verdict_class(found.verdict),
    )


def _panel(pair: Pair, metric: str) -> Element:
    found = pair.differences(metric)
    return tag(
        "div",
        balance(pair.reference, pair.run, found),
        waterfall(f"waterfall-{pair.name}-{slug(metric)}", pair.reference, pair.run, metric, found),
        _verdict_table(pair, metric),
        _most_changed(pair, metric, found),
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
    found = row.difference
    too_few = row.verdict is Verdict.TOO_FEW
    return tag(
        "tr",
        tag("th", shorten(row.stratum, 32), scope="row", title=row.stratum),
        tag("td", count(found.queries)),
        tag("td", value(found.before)),
        tag("td", value(found.after)),
        tag(
            "td",
            tag("span", signed(found.mean), class_="value"),
            tag("small", signed_span(found.low, found.high)),
        ),
        tag("td", difference_interval(found, reach), class_="forest"),
        tag("td", f"{count(found.wins)} / {count(found.losses)}"),
        tag("td", NONE if too_few else p_value(row.corrected_p)),
        tag(
            "td",
            tag("span", _GLYPHS[row.verdict], aria_hidden="true"),
            f" {row.verdict.value}",
            class_=f"said {verdict_class(row.verdict)}",
        ),
        class_="overall" if row.stratum == OVERALL else None,
    )


def _most_changed(pair: Pair, metric: str, found: Sequence[QueryDifference]) -> Element | None:
    gains = [item for item in found[:_MOST_CHANGED] if item.change > 0]
    losses = [item for item in found[::-1][:_MOST_CHANGED] if item.change < 0]
    if not gains and not losses:
        return None
    return folded(
        "The queries that changed most",
        tag("div", *_changed(pair, metric, gains, losses), class_="pair"),
    )


def _changed(
    pair: Pair,
    metric: str,
    gains: Sequence[QueryDifference],
    losses: Sequence[QueryDifference],
) -> Iterator[Element]:
    name = metric_name(metric)
    for title, items in ((f"Most gained in {name}", gains), (f"Most lost in {name}", losses)):
        head: list[Child] = [
            "query",
            tag("span", "stratum", class_="left"),
            badge(pair.reference),
            badge(pair.run),
            "difference",
        ]
        if items:
            yield table(head, map(_changed_row, items), title)


def _changed_row(item: QueryDifference) -> Element:
    return tag(
        "tr",
        tag("th", tag("bdi", shorten(item.query_id, 28)), scope="row", title=item.query_id),
        tag("td", shorten(item.stratum, 24), title=item.stratum, class_="fact"),
        tag("td", value(item.before)),
        tag("td", value(item.after)),
        tag("td", signed(item.change), class_="value"),
    )
