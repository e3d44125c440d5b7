"""How a recall came to its answer, as tables."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from recollect.interfaces.render import (
    BAD,
    ID,
    QUIET,
    STRONG,
    data,
    grid,
    headed,
    many,
    number,
    parts,
)
from recollect.trace import (
    BelowLimit,
    Dropped,
    Judged,
    LegReport,
    Recollection,
    RerankReport,
    Trace,
    WhyNot,
)
from recollect.types import MemoryId, Placing

_CANDIDATES = 20  # rows of the table; `--json` has all of them
_DROPPED = 20
_TIMES = "\N{MULTIPLICATION SIGN}"


def recollection(value: Recollection) -> RenderableType:
    """The trace of an answer: the legs, the candidates and what was left out."""
    ranks = {hit.memory.id: hit.rank for hit in value.hits}
    trace = value.trace
    lines: list[RenderableType] = [_legs(trace.legs)]
    if trace.judged:
        lines.append(_candidates(trace.judged, ranks, [leg.leg for leg in trace.legs]))
    if trace.rerank:
        lines.append(_rerank(trace.rerank, trace.judged))
    if trace.dropped:
        lines.append(_dropped(trace.dropped))
    return Group(*lines, _recipes(trace))


def brief(value: Recollection) -> Text:
    """The trace of an answer in one line."""
    legs = [f"{leg.leg} leg {leg.found} in {leg.milliseconds:.1f} ms" for leg in value.trace.legs]
    rerank = value.trace.rerank
    dropped = [item for item in value.trace.dropped if not isinstance(item.reason, BelowLimit)]
    below = len(value.trace.dropped) - len(dropped)
    reasons = [f"{item.id} {item.reason}" for item in dropped]
    return parts(
        *legs,
        f"{rerank.sent} reranked in {rerank.milliseconds:.1f} ms" if rerank else "",
        f"{len(value.hits)} given",
        f"{below} below the limit" if below else "",
        *reasons,
    )


def why_not(value: WhyNot) -> RenderableType:
    """Why a memory was not recalled, and what would have let it in."""
    table = grid("-", "")
    table.add_row(Text("memory", QUIET), Text(value.id, ID))
    table.add_row(Text("reason", QUIET), data(value.reason, STRONG))
    for standing in value.standings:
        place = "not found" if standing.rank is None else f"rank {standing.rank}"
        where = f"{place} of {standing.searched:,} found"
        table.add_row(Text(f"{standing.leg} leg", QUIET), parts(where, standing.note, style=""))
    if value.remedy:
        table.add_row(Text("remedy", QUIET), data(value.remedy))
    return table


def _legs(legs: Iterable[LegReport]) -> Table:
    table = headed("Legs", "leg", "found>", "ms>", "detail")
    for leg in legs:
        details = [f"{name.replace('_', ' ')} {_plain(item)}" for name, item in leg.detail.items()]
        table.add_row(
            data(leg.leg),
            f"{leg.found:,}",
            f"{leg.milliseconds:.1f}",
            data(leg.error, BAD) if leg.error else data(", ".join(details)),
        )
    return table


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {_plain(item)}" for name, item in value.items()) + ")"
    if isinstance(value, list | tuple):
        return " ".join(map(str, value))
    return str(value)


def _candidates(
    judged: Sequence[Judged], ranks: Mapping[MemoryId, int], legs: Sequence[str]
) -> RenderableType:
    placed = [name for leg in legs for name in (f"{leg}>", "score>", "covers>")]
    table = headed("Candidates", "hit>", "id", *placed, "fused>", "factors", "final>")
    for item in judged[:_CANDIDATES]:
        rank = ranks.get(item.id)
        factors = ", ".join(f"{name} {_TIMES}{value:.3g}" for name, value in item.factors.items())
        table.add_row(
            Text(str(rank) if rank else "", STRONG),
            Text(item.id, ID, no_wrap=True),
            *_placings(item.placings, legs),
            number(item.fused),
            data(factors),
            number(item.score),
        )
    return _with_rest(table, len(judged) - _CANDIDATES)


def _placings(placings: Mapping[str, Placing], legs: Sequence[str]) -> list[str]:
    cells = []
    for leg in legs:
        placing = placings.get(leg)
        if placing is None:
            cells += ["", "", ""]
        else:
            cells += [str(placing.rank), number(placing.score), f"{placing.confidence:.0%}"]
    return cells


def _rerank(report: RerankReport, judged: Sequence[Judged]) -> RenderableType:
    table = headed("Rerank", "place>", "before>", "id", "score>", "blend>")
    places = [(item.id, item.reranked) for item in judged if item.reranked]
    for id_, place in places[:_CANDIDATES]:
        numbers = number(place.score), number(place.blend)
        table.add_row(str(place.after), str(place.before), Text(id_, ID, no_wrap=True), *numbers)
    line = parts(
        report.model,
        f"{report.sent} sent",
        f"{report.withheld} withheld as sensitive" if report.withheld else "",
        f"{report.milliseconds:.1f} ms",
        data(report.error, BAD) if report.error else "",
    )
    told = Text("  ").append_text(line)
    return Group(table, told) if places else Group(Text("Rerank", STRONG), told)


def _dropped(dropped: Sequence[Dropped]) -> RenderableType:
    table = headed("Left out", "id", "reason")
    for item in dropped[:_DROPPED]:
        table.add_row(Text(item.id, ID), data(str(item.reason)))
    return _with_rest(table, len(dropped) - _DROPPED)


def _with_rest(table: Table, rest: int) -> RenderableType:
    if rest <= 0:
        return table
    return Group(table, Text(f"  and {many(rest, 'more', 'more')}; --json has all", QUIET))


def _recipes(trace: Trace) -> RenderableType:
    table = grid("-", "")
    stages = ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in trace.milliseconds.items())
    recipes = {
        "fusion": trace.fusion,
        "adjustments": trace.adjustments,
        "rerank": trace.rerank.recipe if trace.rerank else "",
        "selection": trace.selection,
        "time": stages,
    }
    for name, recipe in recipes.items():
        if recipe:
            table.add_row(Text(name, QUIET), data(recipe, QUIET))
    return table
