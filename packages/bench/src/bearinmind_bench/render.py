"""The answers of `bearinmind bench` as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from rich.console import RenderableType
from rich.table import Table

from bearinmind.surfaces.cli import terminal
from bearinmind_bench.compare import Comparison
from bearinmind_bench.conditions import Checked, together
from bearinmind_bench.inference import Verdict
from bearinmind_bench.metrics import CURRENT_FIRST, HEADLINE, STALE_ABOVE, STALE_WITHOUT
from bearinmind_bench.results import Pairs, Result, Verdicts
from bearinmind_bench.summary import OVERALL
from bearinmind_bench.sweep import ArmResult
from bearinmind_bench.validation import Problem

_SHOWN_METRICS = ("recall@5", "recall@10", HEADLINE, "mrr", "answers@5")
_STYLES = {
    Verdict.BETTER: terminal.GOOD,
    Verdict.WORSE: terminal.BAD,
    Verdict.CANNOT_TELL: terminal.QUIET,
    Verdict.TOO_FEW: terminal.QUIET,
}


def share(value: float, digits: int = 3) -> str:
    """A number from 0 to 1 without its leading zero."""
    return f"{value:.{digits}f}".removeprefix("0")


def signed(value: float, digits: int = 3) -> str:
    """A difference of two such numbers."""
    return ("-" if value < 0 else "+") + share(abs(value), digits)


def _table(*columns: str) -> Table:
    """A narrow table; columns whose name ends in `>` are figures, the others give way to them."""
    table = Table.grid(padding=(0, 1))
    for column in columns:
        figures = column.endswith(">")
        table.add_column(no_wrap=figures, justify="right" if figures else "left")
    table.add_row(
        *(terminal.styled(column.removesuffix(">"), terminal.QUIET) for column in columns)
    )
    return table


def result(value: Result) -> Iterator[RenderableType]:
    """The figures of a run: overall and by stratum, the headline with its interval."""
    manifest = value.manifest
    yield terminal.styled(
        f"{manifest.retriever} on {manifest.data}, split {manifest.split} "
        f"({manifest.fingerprint[:12]})",
        terminal.STRONG,
    )
    shown = [name for name in _SHOWN_METRICS if name in value.overall]
    table = _table("stratum", "queries>", *(f"{name}>" for name in shown), "95%>")
    for stratum, means in ((OVERALL, value.overall), *value.strata.items()):
        low, high = value.intervals[stratum].get(HEADLINE, (0.0, 0.0))
        table.add_row(
            terminal.styled(stratum),
            f"{means['queries']:,.0f}",
            *(share(means.get(name, 0.0)) for name in shown),
            f"{share(low)} - {share(high)}",
        )
    yield table
    yield terminal.styled(
        f"recall p50 {value.latency.p50:.1f} ms, p95 {value.latency.p95:.1f} ms; "
        f"{value.ingest.memories_per_second:,.0f} memories a second taken in",
        terminal.QUIET,
    )
    yield from _about_now(value)
    yield from _pairs(value.pairs)
    yield from _abstention(value)
    yield from _verdicts(value.verdicts)


def _about_now(result: Result) -> Iterator[RenderableType]:
    """How often what holds now stands before what held earlier."""
    overall = result.overall
    if CURRENT_FIRST in overall:
        yield terminal.styled(
            f"about now: current first {overall[CURRENT_FIRST]:.1%}, "
            f"stale above current {overall[STALE_ABOVE]:.1%}, "
            f"stale without current in the first five {overall[STALE_WITHOUT]:.1%}"
        )


def _pairs(pairs: Pairs | None) -> Iterator[RenderableType]:
    """Which labelled pairs are taken for a change."""
    if pairs is None:
        return
    wrong, right = pairs.wrongly_outdated, pairs.changes_found
    yield terminal.styled(
        f"pairs: {wrong.share:.1%} of {wrong.pairs} in which both hold are wrongly outdated; "
        f"{right.share:.1%} of {right.pairs} changes are found "
        f"(announced {pairs.announced.share:.1%}, silent {pairs.silent.share:.1%})"
    )


def _abstention(result: Result) -> Iterator[RenderableType]:
    abstention = result.unanswerable
    if abstention is None:
        return
    separation = (
        "no confidence is given"
        if abstention.area is None
        else f"told apart {abstention.area:.3f} (0.5: chance)"
    )
    yield terminal.styled(
        f"unanswerable: {abstention.queries} queries, "
        f"{abstention.answered_now:.0%} get an answer; {separation}",
        terminal.QUIET,
    )


def _verdicts(verdicts: Verdicts | None) -> Iterator[RenderableType]:
    """Whether the verdicts are right: `nothing` where nothing answers, and what is kept."""
    if verdicts is None:
        return
    nothing = [f"{name} {share:.1%}" for name, share in verdicts.nothing.items()]
    kept = verdicts.kept.get(OVERALL)
    shown = [
        f"nothing for {', '.join(nothing)} of what has no answer" if nothing else "",
        "" if kept is None else f"kept {kept:.1%} of what is among the first ten",
        f"calibration error {verdicts.calibration_error:.3f}",
    ]
    yield terminal.styled(f"verdict: {'; '.join(filter(None, shown))}", terminal.QUIET)


def remarks(result: Result) -> list[str]:
    """What a reader of the figures has to know."""
    return [
        *(f"note: {text}" for text in result.manifest.adaptations),
        *(f"warning: {text}" for text in result.warnings),
        *(f"FAULT: {text}" for text in result.faults),
    ]


def comparison(compared: Comparison) -> Iterator[RenderableType]:
    """The verdict, then every metric and stratum."""
    head = compared.headline
    yield terminal.styled(
        f"{head.verdict}: {head.metric} {head.difference.mean:+.4f} "
        f"({head.difference.low:+.4f} to {head.difference.high:+.4f}), "
        f"p = {head.corrected_p:.4f} over {head.difference.queries:,} queries",
        _STYLES[head.verdict]
        if head.verdict in (Verdict.BETTER, Verdict.WORSE)
        else terminal.STRONG,
    )
    table = _table("stratum", "metric", "n>", "A>", "B>", "B - A>", "95%>", "p>", "verdict")
    for row in compared.rows:
        gap = row.difference
        table.add_row(
            terminal.styled(row.stratum),
            row.metric,
            f"{gap.queries:,}",
            share(gap.before),
            share(gap.after),
            signed(gap.mean),
            f"{signed(gap.low)} {signed(gap.high)}",
            "" if row.verdict is Verdict.TOO_FEW else share(row.corrected_p),
            terminal.styled(row.verdict, _STYLES[row.verdict]),
        )
    yield table


def sweep(swept: Mapping[str, Sequence[ArmResult]], metric: str) -> Iterator[RenderableType]:
    """A row for each arm, a column for each set."""
    yield terminal.styled(f"{metric}, and how far from what is shipped", terminal.STRONG)
    table = _table("arm", *(f"{name}>" for name in swept), "mean>", "verdicts")
    for rows in zip(*swept.values(), strict=True):
        values = [row.result.overall[metric] for row in rows]
        verdicts = [row.compared.verdict for row in rows if row.compared]
        counts = [f"{verdicts.count(v)} {v}" for v in dict.fromkeys(verdicts)]
        table.add_row(
            terminal.styled(rows[0].arm.name),
            *(_arm_cell(row, metric) for row in rows),
            share(sum(values) / len(values), 4),
            ", ".join(counts),
        )
    yield table


def _arm_cell(row: ArmResult, metric: str) -> RenderableType:
    value = share(row.result.overall[metric], 4)
    if row.compared is None:
        return terminal.styled(value)
    gained = signed(row.compared.difference.mean, 4)
    return terminal.styled(f"{value} {gained}", _STYLES[row.compared.verdict])


def checked(rows: Sequence[Checked]) -> Iterator[RenderableType]:
    """A row for each condition, then what differs."""
    table = _table("condition", "queries>", f"{HEADLINE}>", "95%>", "compared", "check")
    for row in rows:
        overall = row.result.overall if row.result else {}
        intervals = row.result.intervals[OVERALL] if row.result else {}
        low, high = intervals.get(HEADLINE, (0.0, 0.0))
        good = not row.differences
        compared = row.compared
        verdict = f"{signed(compared.difference.mean)} {compared.verdict}" if compared else ""
        table.add_row(
            terminal.styled(row.condition.name),
            f"{overall.get('queries', 0):,.0f}",
            share(overall.get(HEADLINE, 0.0), 4),
            f"{share(low)} - {share(high)}",
            terminal.styled(verdict),
            terminal.styled(
                "as published" if good else "differs", terminal.GOOD if good else terminal.BAD
            ),
        )
    yield table
    for name, total in together(rows).items():
        gap = total.difference
        yield terminal.styled(
            f"against {name}, {gap.queries:,} queries of all sets: {total.verdict}, "
            f"{signed(gap.mean)} ({signed(gap.low)} to {signed(gap.high)})"
        )
    for row in rows:
        for difference in row.differences:
            yield terminal.styled(f"{row.condition.name}: {difference}", terminal.BAD)


def problems(listed: Sequence[Problem]) -> Iterator[RenderableType]:
    """Each problem on a line."""
    if not listed:
        yield terminal.styled("nothing is wrong", terminal.GOOD)
    for problem in listed:
        kind = "wrong" if problem.fatal else "doubtful"
        yield terminal.styled(f"{kind}: {problem.text}", terminal.BAD if problem.fatal else "")


def statistics(counted: Mapping[str, object]) -> Iterator[RenderableType]:
    """A line for each count."""
    table = terminal.grid("-", "")
    for name, value in counted.items():
        shown = (
            ", ".join(f"{key} {count:,}" for key, count in value.items())
            if isinstance(value, dict)
            else str(value)
        )
        table.add_row(
            terminal.styled(name.replace("_", " "), terminal.QUIET), terminal.styled(shown)
        )
    yield table


def download(facts: Mapping[str, object]) -> Iterator[RenderableType]:
    """What was fetched, or what can be."""
    table = terminal.grid("-", "")
    for name, value in facts.items():
        shown = ", ".join(map(str, value.values())) if isinstance(value, dict) else str(value)
        table.add_row(terminal.styled(name, terminal.QUIET), terminal.styled(shown))
    yield table
