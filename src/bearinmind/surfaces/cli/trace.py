"""How a recall came to its answer, as tables."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from bearinmind.recall import graph_paths
from bearinmind.recall.graph_paths import Labels
from bearinmind.surfaces.cli.terminal import (
    BAD,
    ID,
    NOTICE,
    QUIET,
    STRONG,
    grid,
    group,
    headed,
    many,
    number,
    parts,
    styled,
)
from bearinmind.trace import (
    Answer,
    BelowLimit,
    Dropped,
    Judged,
    LegPosition,
    LegReport,
    RerankReport,
    Superseded,
    Trace,
    WhyNot,
)
from bearinmind.types import MemoryId, Placing, Step

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text

_CANDIDATES = 20  # rows of the table; `--json` has all of them
_DROPPED = 20
_TIMES = "\N{MULTIPLICATION SIGN}"
_MILLISECONDS = "_ms"  # how the name of a time ends
_PLACING = "rank score sure evid"  # what is said of a place in a leg
_PLACING_BY_GRAPH = "rank evid"  # its score is its evidence
_LEGS_WITH_ROOM = 2  # so many leave room between columns
_SHOWS = 0.005  # less evidence is shown as none
_LISTED = 3  # names or ids of a list that a leg says of its own work


def trace_tables(value: Answer, labels: Labels) -> RenderableType:
    """The trace of an answer: the legs, the candidates and what was left out."""
    ranks = {hit.memory.id: hit.rank for hit in value.hits}
    trace = value.trace
    lines: list[RenderableType] = [_legs(trace.legs)]
    if trace.judged:
        lines.append(_candidates(trace.judged, ranks, [leg.leg for leg in trace.legs]))
    ways = {**trace.paths, **{hit.memory.id: hit.path for hit in value.hits}}
    led = [item.id for item in trace.judged[:_CANDIDATES] if _is_led_to(item) and item.id in ways]
    if led:
        lines.append(_paths({id_: ways[id_] for id_ in led}, labels))
    if trace.rerank:
        lines.append(_rerank(trace.rerank, trace.judged))
    if trace.dropped:
        lines.append(_dropped(trace.dropped))
    return group(*lines, _recipes(trace))


def trace_line(value: Answer) -> Text:
    """The trace of an answer in one line."""
    legs = [f"{leg.leg} leg {leg.found} in {leg.milliseconds:.1f} ms" for leg in value.trace.legs]
    rerank = value.trace.rerank
    # The dense leg finds nearly everything, so what is ordinary is counted, not named.
    kinds = Counter(type(item.reason) for item in value.trace.dropped)
    below, superseded = kinds[BelowLimit], kinds[Superseded]
    reasons = [
        f"{item.id} {item.reason}"
        for item in value.trace.dropped
        if not isinstance(item.reason, BelowLimit | Superseded)
    ]
    return parts(
        *legs,
        f"{rerank.sent} reranked in {rerank.milliseconds:.1f} ms" if rerank else "",
        f"{len(value.hits)} given",
        f"{below} below the limit" if below else "",
        f"{superseded} superseded" if superseded else "",
        *reasons,
    )


def why_not_table(value: WhyNot) -> RenderableType:
    """Why a memory was not recalled, and what would have let it in."""
    table = grid("-", "")
    table.add_row(styled("memory", QUIET), styled(value.id, ID))
    table.add_row(styled("reason", QUIET), styled(value.reason, STRONG))
    for position in value.positions:
        table.add_row(styled(f"{position.leg} leg", QUIET), parts(*_position(position), style=""))
    if value.remedy:
        table.add_row(styled("remedy", QUIET), styled(value.remedy))
    return table


def _position(value: LegPosition) -> list[str]:
    if value.rank is None:
        return [f"not found among {value.searched:,}" if value.searched else "", value.note]
    shown = [f"rank {value.rank:,} of {value.searched:,} found"]
    if value.confidence is not None and value.evidence is not None:
        shown.append(f"match {round(100 * value.confidence)} %")
        shown.append(f"evidence {value.evidence:.2f}")
    return [*shown, value.note]


def _legs(legs: Iterable[LegReport]) -> Table:
    table = headed("Legs", "leg", "found>", "ms>", "detail")
    for leg in legs:
        details = styled(", ").join(_details(leg))
        table.add_row(styled(leg.leg), f"{leg.found:,}", f"{leg.milliseconds:.1f}", details)
    return table


def _details(leg: LegReport) -> Iterator[Text]:
    """What a leg says of its own work."""
    if leg.error:
        yield styled(leg.error, BAD)
    if leg.partial:
        yield styled(leg.partial, NOTICE)
    for name, item in leg.detail.items():
        if item in ([], ""):
            continue
        if name.endswith(_MILLISECONDS):
            yield styled(f"{name.removesuffix(_MILLISECONDS)} {item:.1f} ms")
        else:
            yield styled(f"{name.replace('_', ' ')} {_plain(item)}")


def _plain(value: object) -> str:
    if isinstance(value, float):
        return f"{value:.3g}"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return f"{value:,}"
    if isinstance(value, Mapping):
        return "(" + ", ".join(f"{name} {_plain(item)}" for name, item in value.items()) + ")"
    if isinstance(value, list | tuple):
        return _listed([*map(str, value)])
    return str(value)


def _listed(values: Sequence[str]) -> str:
    """The first of some names, each of which may have several words."""
    shown = " ".join(f'"{value}"' if " " in value else value for value in values[:_LISTED])
    more = len(values) - _LISTED
    return f"{shown} and {more:,} more" if more > 0 else shown


def _candidates(
    judged: Sequence[Judged], ranks: Mapping[MemoryId, int], legs: Sequence[str]
) -> RenderableType:
    """A row for each candidate; a leg that found none of them has no column."""
    shown = judged[:_CANDIDATES]
    placed = [leg for leg in legs if any(leg in item.placings for item in shown)]
    headings = [f"{leg}\n{_PLACING_BY_GRAPH if leg == 'graph' else _PLACING}" for leg in placed]
    table = headed("Candidates", "hit>", "id", *headings, "fused>", "factors", "final>")
    # All legs shall fit into a hundred columns.
    table.padding = (0, 1 if len(placed) <= _LEGS_WITH_ROOM else 0, 0, 0)
    for item in shown:
        rank = ranks.get(item.id)
        factors = [f"{name} {_TIMES}{value:.3g}" for name, value in item.factors.items()]
        table.add_row(
            styled(str(rank) if rank else "", STRONG),
            styled(item.id, ID, no_wrap=True),
            *(_placing(leg, item.placings.get(leg)) for leg in placed),
            number(item.fused),
            styled("\n".join(factors)),
            number(item.score),
        )
    return _with_rest(table, len(judged) - _CANDIDATES)


def _placing(leg: str, value: Placing | None) -> Text:
    """Below the words of `_PLACING`."""
    if value is None:
        return styled("")
    if leg == "graph":
        return styled(f"{value.rank:>4} {value.evidence:4.2f}", no_wrap=True)
    score = f"{value.score:.3f}"[:5]
    line = f"{value.rank:>4} {score:>5} {value.confidence:>4.0%} {value.evidence:4.2f}"
    return styled(line, no_wrap=True)


def _rerank(report: RerankReport, judged: Sequence[Judged]) -> RenderableType:
    table = headed("Rerank", "place>", "before>", "id", "score>", "blend>")
    places = [(item.id, item.reranked) for item in judged if item.reranked]
    for id_, place in places[:_CANDIDATES]:
        numbers = number(place.score), number(place.blend)
        table.add_row(str(place.after), str(place.before), styled(id_, ID, no_wrap=True), *numbers)
    line = parts(
        report.model,
        f"{report.sent} sent",
        f"{report.withheld} withheld as sensitive" if report.withheld else "",
        f"{report.milliseconds:.1f} ms",
        styled(report.error, BAD) if report.error else "",
    )
    shown = styled("  ").append_text(line)
    return group(table, shown) if places else group(styled("Rerank", STRONG), shown)


def _dropped(dropped: Sequence[Dropped]) -> RenderableType:
    table = headed("Left out", "id", "reason")
    for item in dropped[:_DROPPED]:
        table.add_row(styled(item.id, ID), styled(str(item.reason)))
    return _with_rest(table, len(dropped) - _DROPPED)


def _is_led_to(item: Judged) -> bool:
    """Whether the graph gave a candidate anything that shows."""
    placing = item.placings.get("graph")
    return placing is not None and placing.evidence >= _SHOWS


def _paths(ways: Mapping[MemoryId, Iterable[Step]], labels: Labels) -> Table:
    """How the graph led to each candidate that it found."""
    table = headed("Paths", "id", "how the graph led there")
    for id_, path in ways.items():
        table.add_row(
            styled(id_, ID, no_wrap=True), styled(graph_paths.in_words(path, id_, labels))
        )
    return table


def _with_rest(table: Table, rest: int) -> RenderableType:
    if rest <= 0:
        return table
    return group(table, styled(f"  and {many(rest, 'more', 'more')}; --json has all", QUIET))


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
            table.add_row(styled(name, QUIET), styled(recipe, QUIET))
    return table
