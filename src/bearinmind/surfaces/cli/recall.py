"""The command that recalls, and its answer as people read it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Annotated, cast

import typer

from bearinmind.app import Mind
from bearinmind.app.requests import FilterFields, QueryFields
from bearinmind.concepts import ConceptName
from bearinmind.errors import StoreFailure
from bearinmind.recall import graph_paths
from bearinmind.recall.graph_paths import Labels
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.terminal import (
    ID,
    QUIET,
    STRONG,
    facts,
    grid,
    number,
    parts,
    safe,
    shared_by,
    styled,
    towards,
)
from bearinmind.surfaces.cli.trace import trace_tables, why_not_table
from bearinmind.surfaces.lines import STANDARD, read_text
from bearinmind.surfaces.verbs.answers import RecallAnswer
from bearinmind.trace import Answer
from bearinmind.types import Hit

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text


@options.with_filters
def recall(
    run: Session,
    query: Annotated[
        list[str], typer.Argument(metavar="QUERY", help="The question; `-` reads standard input.")
    ],
    meant: FilterFields,
    limit: Annotated[int | None, typer.Option("--limit", help="Most memories to recall.")] = None,
    pool: Annotated[int | None, typer.Option("--pool", help="How deep each leg looks.")] = None,
    state: options.InStates = None,
    sort_by: options.Sorting = None,
    focus: Annotated[
        list[str] | None,
        typer.Option("--focus", help="A tag or category that matters more just now; repeatable."),
    ] = None,
    expand: Annotated[
        list[str] | None,
        typer.Option("--expand", help="Another word for what is asked; repeatable."),
    ] = None,
    budget: Annotated[
        int | None, typer.Option("--budget", help="Most bytes of memories to give back.")
    ] = None,
    trace: Annotated[bool, typer.Option("--trace", help="Show how the answer was found.")] = False,
    why_not: Annotated[
        str | None,
        typer.Option("--why-not", metavar="ID", help="Say why this memory is not in the answer."),
    ] = None,
) -> None:
    """Find the memories that matter for a question."""
    text = _query_text(query)
    asking = {
        "states": state or None,
        "limit": limit,
        "pool": pool,
        "sort_by": sort_by,
        "focus": options.words(focus),
        "expanded": options.words(expand),
        "budget_bytes": budget,
    }
    fields = cast("QueryFields", {**meant, **options.given(asking)})
    if why_not is not None:
        with run.existing() as mind:
            _reply_why_not(run, mind, text, why_not, fields)
        return
    nothing = RecallAnswer(query=text, hits=(), degraded=(), as_data=())
    with run.reading(nothing) as mind:
        answer = mind.recall(text, **fields)
        labels = {} if run.as_json else mind.graph.labels(_concepts(answer, with_trace=trace))
    _reply_answer(run, answer, labels, with_trace=trace)


_NOTHING_RECALLED = "No memory matches the query."


def _query_text(query: list[str]) -> str:
    if query == [STANDARD]:
        return read_text(STANDARD)
    return " ".join(query)


def _concepts(answer: Answer, *, with_trace: bool) -> set[ConceptName]:
    """The concepts that are shown with an answer."""
    ways = answer.trace.paths.values() if with_trace else [hit.path for hit in answer.hits]
    return graph_paths.concepts(ways)


def _reply_answer(run: Session, answer: Answer, labels: Labels, *, with_trace: bool) -> None:
    for missing in answer.trace.failed:
        run.note(f"degraded: {missing}")
    for missing in answer.trace.partial:
        run.note(f"note: {missing}; words find everything already")
    if answer.trace.failed and not answer.trace.answered:
        raise StoreFailure(
            "no leg of the recall could answer",
            hint="`bearinmind doctor` looks for what is wrong with the store.",
        )

    def human() -> Iterable[RenderableType]:
        user = answer.query.filter.scope.user
        found = answer.hits
        yield hits_table(found, labels, user) if found else styled(_NOTHING_RECALLED)
        if with_trace:
            yield trace_tables(answer, labels)

    run.reply(RecallAnswer.of(answer, with_trace=with_trace), human)


def _reply_why_not(run: Session, mind: Mind, text: str, id_: str, fields: QueryFields) -> None:
    answer = mind.why_not(text, id_, **fields)
    run.reply(answer, lambda: [why_not_table(answer)])


def hits_table(values: Sequence[Hit], labels: Labels, user: str | None = None) -> RenderableType:
    """Recalled memories, best first; those of other users with their owner."""
    table = grid(">", "")
    for value in values:
        if value.rank > 1:
            table.add_row("", "")
        table.add_row(styled(str(value.rank), STRONG), styled(value.memory.content))
        table.add_row("", _facts_of(value, labels, user))
        for line in _extras(value):
            table.add_row("", line)
    return table


def _facts_of(value: Hit, labels: Labels, user: str | None) -> Text:
    moved = value.reranked
    return parts(
        styled(value.memory.id, ID),
        shared_by(value.memory, user),
        *facts(value.memory),
        f"score {number(value.score)}",
        _match(value),
        f"via {graph_paths.over(value.path, labels)}" if _is_owed_to_graph(value) else "",
        f"reranked from {moved.before} to {moved.after}"
        if moved and moved.before != moved.after
        else "",
    )


def _is_owed_to_graph(value: Hit) -> bool:
    """Whether the graph alone found it, or has more evidence for it than all other legs."""
    evidence = {leg: placing.evidence for leg, placing in value.placings.items()}
    by_graph = evidence.pop("graph", None)
    return by_graph is not None and by_graph > sum(evidence.values())


def _match(value: Hit) -> str:
    """How sure the surest leg is that this is what was asked for."""
    return f"match {round(100 * value.confidence)} %" if value.confidence else ""


def _extras(value: Hit) -> list[Text]:
    lines = []
    if value.replaces:
        lines.append(styled("replaces ", QUIET).append(", ".join(value.replaces), style=ID))
    for memory in value.attached:
        line = styled("").append("resolved by ", QUIET).append(memory.id, ID)
        lines.append(line.append(f"  {safe(memory.content)}"))
    return lines + [
        towards(each.kind, each.id, each.line, outgoing=each.outgoing) for each in value.pointers
    ]
