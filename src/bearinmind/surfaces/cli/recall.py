"""The command that recalls; its answer and its trace as people read them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, cast

from bearinmind.app.requests import FilterFields, QueryFields
from bearinmind.errors import StoreFailure
from bearinmind.recall import graph_leg
from bearinmind.recall.graph_leg import Labels
from bearinmind.recall.groups import CURRENT, EARLIER
from bearinmind.recall.second_look import ANSWERS
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.memories import towards
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    BAD,
    ID,
    NOTICE,
    QUIET,
    STRONG,
    Session,
    facts,
    fields,
    grid,
    group,
    headed,
    many,
    number,
    outdated_mark,
    parts,
    safe,
    shared_by,
    styled,
)
from bearinmind.surfaces.lines import STANDARD, read_text
from bearinmind.surfaces.times import earlier_states
from bearinmind.surfaces.verbs.verb import RecallAnswer, why_attached
from bearinmind.text.analysis import one_line
from bearinmind.trace import (
    Answer,
    Asks,
    BelowLimit,
    Judged,
    LegPosition,
    LegReport,
    QuestionTime,
    RerankReport,
    Superseded,
    Trace,
    Unlikely,
    WhyNot,
)
from bearinmind.types import Group, Hit, MemoryId, Placing, SortBy, State, Verdict

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.table import Table
    from rich.text import Text


@options.taking(filters=options.filters)
def recall(
    run: Session,
    *,
    query: list[str] = argument("QUERY", "The question; `-` reads standard input."),
    limit: int | None = option("--limit", "Most memories to recall."),
    pool: int | None = option("--pool", "How deep each leg looks."),
    state: list[State] | None = options.IN_STATES,
    sort_by: SortBy | None = option("--sort-by", "The order in which the answer is shown."),
    focus: list[str] | None = option(
        "--focus", "A tag or category that matters more just now; repeatable."
    ),
    expand: list[str] | None = option("--expand", "Another word for what is asked; repeatable."),
    group_by: Group | None = option(
        "--group", "`off` shows every state of a thing as a hit of its own."
    ),
    budget: int | None = option("--budget", "Most bytes of memories to give back."),
    min_probability: float | None = option(
        "--min-probability", "Only hits that are at least this probable: 0 to 1."
    ),
    every: bool = flag("--all", "Show weak guesses too, as hits like the others."),
    leg_weights: list[str] | None = option(
        "--leg-weight", "Just now, such as graph=0: off; repeatable.", metavar="LEG=WEIGHT"
    ),
    decay: list[str] | None = option(
        "--decay",
        "After so many days a score has faded to 1/e; repeatable.",
        metavar="CATEGORY=DAYS",
    ),
    trace: bool = flag("--trace", "Show how the answer was found."),
    why_not: str | None = option(
        "--why-not", "Say why this memory is not in the answer.", metavar="ID"
    ),
    filters: FilterFields,
) -> None:
    """Find the memories that matter for a question."""
    text = read_text(STANDARD) if query == [STANDARD] else " ".join(query)
    query_options = {
        "states": state or None,
        "limit": limit,
        "pool": pool,
        "sort_by": sort_by,
        "focus": options.words(focus),
        "expanded": options.words(expand),
        "budget_bytes": budget,
        "group": group_by,
        "min_probability": min_probability,
        "all": every or None,
        "leg_weights": options.numbers("--leg-weight", leg_weights, "graph=0.5"),
        "decay_days": options.numbers("--decay", decay, "facts=365"),
    }
    fields = cast("QueryFields", {**filters, **options.without_none(query_options)})
    if why_not is not None:
        with run.existing() as mind:
            reason = mind.why_not(text, why_not, **fields)
        run.reply(reason, lambda: [why_not_table(reason)])
        return
    nothing = RecallAnswer(query=text, verdict=Verdict.NOTHING, hits=(), degraded=(), as_data=())
    with run.reading(nothing) as mind:
        answer = mind.recall(text, **fields)
        ways = answer.trace.paths.values() if trace else [hit.path for hit in answer.hits]
        shown = set() if run.as_json else graph_leg.concepts(ways)
        labels = mind.graph.labels(shown) if shown else {}
    _reply_answer(run, answer, labels, with_trace=trace)


_NOTHING_RECALLED = "Nothing relevant is stored."


def _reply_answer(run: Session, answer: Answer, labels: Labels, *, with_trace: bool) -> None:
    for missing in answer.trace.failed:
        run.note(f"degraded: {missing}")
    for warning in answer.trace.locked_out:
        run.note(f"note: {warning}")
    for missing in answer.trace.partial:
        run.note(f"note: {missing}; words find everything already")
    if answer.trace.failed and not answer.trace.answered:
        raise StoreFailure(
            "no leg of the recall could answer",
            hint="`bearinmind doctor` looks for what is wrong with the store.",
        )

    def human() -> Iterable[RenderableType]:
        yield answer_table(answer, labels, answer.query.filter.scope.user)
        if with_trace:
            yield trace_tables(answer, labels)

    run.reply(RecallAnswer.recalled(answer, with_trace=with_trace) if run.as_json else None, human)


def answer_table(value: Answer, labels: Labels, user: str | None = None) -> RenderableType:
    """Recalled memories; of weak guesses how many there are, or what if there is nothing else."""
    if value.hits:
        guesses = many(len(value.weak), "weak guess", "weak guesses")
        more = [styled(f"+ {guesses} (--all)", QUIET)] if value.weak else []
        asks_when = value.trace.time.asks is Asks.WHEN
        return group(hits_table(value.hits, labels, user, with_begin=asks_when), *more)
    nothing, over = _NOTHING_RECALLED, value.over_budget
    if over:
        nothing = f"Nothing relevant fits: the best match, {over.id}, {over.reason}."
    if not value.weak:
        return styled(nothing)
    lines = [
        parts(styled(hit.memory.id, ID), _percent(hit), one_line(safe(hit.memory.content)))
        for hit in value.weak
    ]
    head, floor = f"{nothing} Weak guesses:", value.query.min_probability
    if floor is not None and value.verdict is not Verdict.NOTHING and not over:
        head = f"Nothing is as probable as {100 * floor:g} %. The best:"
    return group(styled(head), *lines)


def hits_table(
    values: Sequence[Hit], labels: Labels, user: str | None = None, *, with_begin: bool = False
) -> RenderableType:
    """Recalled memories, best first; those of other users with their owner."""
    table = grid(">", "")
    for value in values:
        if value.rank > 1:
            table.add_row("", "")
        table.add_row(styled(str(value.rank), STRONG), styled(value.memory.content))
        table.add_row("", _facts_of(value, labels, user))
        for line in _extras(value, with_begin=with_begin):
            table.add_row("", line)
    return table


def _facts_of(value: Hit, labels: Labels, user: str | None) -> Text:
    moved = value.reranked
    evidence = {leg: placing.evidence for leg, placing in value.placings.items()}
    # Whether the graph alone found it, or has more evidence for it than all other legs.
    by_graph = evidence.pop("graph", None)
    is_by_graph = by_graph is not None and by_graph > sum(evidence.values())
    return parts(
        styled(value.memory.id, ID),
        shared_by(value.memory, user),
        *facts(value.memory),
        f"score {number(value.score)}",
        styled(_percent(value), STRONG),
        f"via {graph_leg.over(value.path, labels)}" if is_by_graph else "",
        f"reranked from {moved.before} to {moved.after}"
        if moved and moved.before != moved.after
        else "",
        outdated_mark(value.outdated),
    )


def _percent(value: Hit) -> str:
    """How probable it is that a hit answers: `72 %`."""
    return f"{100 * value.probability:.0f} %"


def _extras(value: Hit, *, with_begin: bool) -> list[Text]:
    lines = []
    states = earlier_states(value, with_begin=with_begin) if value.earlier else ()
    for words, memory in states:
        line = styled(f"{words}: ", QUIET)
        lines.append(line.append(f"{safe(memory.content)}  ").append(memory.id, ID))
    if value.replaces:
        lines.append(styled("replaces ", QUIET).append(", ".join(value.replaces), style=ID))
    for memory in value.attached:
        line = styled("").append(f"{why_attached(value, memory)} by ", QUIET).append(memory.id, ID)
        lines.append(line.append(f"  {safe(memory.content)}"))
    return lines + [
        towards(each.kind, each.id, each.line, outgoing=each.outgoing) for each in value.pointers
    ]


# ---- the trace -----------------------------------------------------------------------------------

_CANDIDATES = 20  # rows of the table; `--json` has all of them
_DROPPED = 20
_LIFTS = {  # the factors by which a candidate comes before one that scored higher
    CURRENT: "it may outdate another memory, and was put before it",
    EARLIER: "the past was asked for: it was put before another state of the same thing",
    ANSWERS: "it was read with the question and answers it better than one that scored higher",
}
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
    legs = [
        (styled(x.leg), f"{x.found:,}", f"{x.milliseconds:.1f}", styled(", ").join(_details(x)))
        for x in trace.legs
    ]
    lines: list[RenderableType] = [headed("Legs", "leg", "found>", "ms>", "detail", rows=legs)]
    names = [leg.leg for leg in trace.legs]
    lines += [_candidates(trace.judged, ranks, names)] if trace.judged else []
    ways = {**trace.paths, **{hit.memory.id: hit.path for hit in value.hits}}
    led = [
        (styled(x.id, ID, no_wrap=True), styled(graph_leg.in_words(ways[x.id], x.id, labels)))
        for x in trace.judged[:_CANDIDATES]
        if x.id in ways and "graph" in x.placings and x.placings["graph"].evidence >= _SHOWS
    ]
    lines += [headed("Paths", "id", "how the graph led there", rows=led)] if led else []
    lifted = [
        (styled(item.id, ID, no_wrap=True), styled(reason))
        for item in trace.judged
        for factor, reason in _LIFTS.items()
        if item.factors.get(factor, 1.0) > 1
    ]
    lines += [headed("Lifted", "id", "why it comes first", rows=lifted)] if lifted else []
    lines += [_rerank(trace.rerank, trace.judged)] if trace.rerank else []
    if trace.dropped:
        left_out = [(styled(x.id, ID), styled(str(x.reason))) for x in trace.dropped[:_DROPPED]]
        table = headed("Left out", "id", "reason", rows=left_out)
        lines.append(_with_rest(table, len(trace.dropped) - _DROPPED))
    return group(*lines, _recipes(trace))


def trace_line(value: Answer) -> Text:
    """The trace of an answer in one line."""
    legs = [f"{leg.leg} leg {leg.found} in {leg.milliseconds:.1f} ms" for leg in value.trace.legs]
    rerank, read = value.trace.rerank, value.trace.read
    # The dense leg finds nearly everything, so what is ordinary is counted, not named.
    kinds = Counter(type(item.reason) for item in value.trace.dropped)
    below, superseded = kinds[BelowLimit], kinds[Superseded]
    reasons = [
        f"{item.id} {item.reason}"
        for item in value.trace.dropped
        if not isinstance(item.reason, BelowLimit | Superseded | Unlikely)
    ]
    return parts(
        *legs,
        f"{rerank.sent} reranked in {rerank.milliseconds:.1f} ms" if rerank else "",
        f"{many(read.pairs, 'pair')} read in {read.milliseconds:.1f} ms" if read else "",
        f"{len(value.hits)} given",
        f"{many(len(value.weak), 'weak guess', 'weak guesses')}" if value.weak else "",
        f"{below} below the limit" if below else "",
        f"{superseded} superseded" if superseded else "",
        *reasons,
    )


def why_not_table(value: WhyNot) -> RenderableType:
    """Why a memory was not recalled, and what would have let it in."""
    return fields(
        [
            ("memory", styled(value.id, ID)),
            ("reason", styled(value.reason, STRONG)),
            *((f"{x.leg} leg", parts(*_position(x), style="")) for x in value.positions),
            ("remedy", value.remedy),
        ]
    )


def _position(value: LegPosition) -> list[str]:
    if value.rank is None:
        return [f"not found among {value.searched:,}" if value.searched else "", value.note]
    shown = [f"rank {value.rank:,} of {value.searched:,} found"]
    if value.confidence is not None and value.evidence is not None:
        shown.append(f"sure {round(100 * value.confidence)} %")
        shown.append(f"evidence {value.evidence:.2f}")
    return [*shown, value.note]


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
        names = [f'"{each}"' if " " in str(each) else str(each) for each in value[:_LISTED]]
        more = len(value) - _LISTED
        return " ".join(names) + (f" and {more:,} more" if more > 0 else "")
    return str(value)


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


def _with_rest(table: Table, rest: int) -> RenderableType:
    if rest <= 0:
        return table
    return group(table, styled(f"  and {many(rest, 'more', 'more')}; --json has all", QUIET))


def _asked_time(time: QuestionTime) -> str:
    """What the question says about time: `then until 2025-06-01 ("before June 2025")`."""
    asks = "" if time.asks is Asks.NONE else time.asks
    start = f"from {time.span.start:%Y-%m-%d}" if time.span and time.span.start else ""
    end = f"until {time.span.end:%Y-%m-%d}" if time.span else ""
    quoted = ", ".join(f'"{words}"' for words in time.words)
    return " ".join(part for part in (asks, start, end, f"({quoted})" if quoted else "") if part)


def _recipes(trace: Trace) -> RenderableType:
    stages = ", ".join(f"{stage} {ms:.1f} ms" for stage, ms in trace.milliseconds.items())
    recipes = {
        "fusion": trace.fusion,
        "adjustments": trace.adjustments,
        "rerank": trace.rerank.recipe if trace.rerank else "",
        "selection": trace.selection,
        "asked time": _asked_time(trace.time),
        "time": stages,
    }
    return fields({name: styled(recipe, QUIET) for name, recipe in recipes.items()})
