"""The commands of the concept graph: what memories mention, and what connects them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Literal

import typer

from bearinmind.app import Mind
from bearinmind.app.requests import FilterFields
from bearinmind.errors import ConceptNotFound, FileMissing
from bearinmind.recall.parse import LARGEST_LIMIT, LARGEST_POOL
from bearinmind.surfaces.cli import graph_build, graph_change, lazy, options
from bearinmind.surfaces.cli.filtering import with_filters
from bearinmind.surfaces.cli.guard import guarded
from bearinmind.surfaces.cli.session import Session

app = typer.Typer(
    no_args_is_help=True, help="Go from memory to memory by the concepts that they mention."
)

Limit = Annotated[
    int, typer.Option("--limit", min=1, max=LARGEST_POOL, help="Most concepts to show.")
]


def neighbours(
    ctx: typer.Context,
    concept: graph_change.ConceptText,
    meant: FilterFields,
    limit: Limit = 20,
    as_json: options.Json = False,
) -> None:
    """Show what a concept is joined to.

    Relations come first, then what is mentioned with it.

    Example: bearinmind graph neighbours "orders cache"
    """
    run = Session.of(ctx, as_json=as_json)
    with existing(run) as memories:
        found = memories.graph.neighbours(concept, limit=limit, **meant)
    run.reply(lazy.machine_graph.neighbours(found), lambda: [lazy.render_graph.neighbours(found)])


def path(
    ctx: typer.Context,
    start: Annotated[str, typer.Argument(metavar="FROM", help="A concept, by its name.")],
    goal: Annotated[str, typer.Argument(metavar="TO", help="Another concept.")],
    meant: FilterFields,
    longest: Annotated[
        int, typer.Option("--longest", min=1, max=8, help="Most steps to take.")
    ] = 4,
    as_json: options.Json = False,
) -> None:
    """Show the shortest way between two concepts.

    It goes over relations that hold, and over memories that mention both.

    Example: bearinmind graph path "Dana Okafor" Valkey
    """
    run = Session.of(ctx, as_json=as_json)
    with existing(run) as memories:
        found = memories.graph.path(start, goal, longest=longest, **meant)
        ids = {id_ for step in found.steps for id_ in step.memories[:1]}
        said = memories.graph.memories(ids, meant.get("as_of"))
        labels = memories.graph.labels({step.target for step in found.steps})
    run.reply(lazy.machine_graph.path(found), lambda: [lazy.render_graph.path(found, said, labels)])


def subgraph(
    ctx: typer.Context,
    concept: graph_change.ConceptText,
    meant: FilterFields,
    hops: Annotated[int, typer.Option("--hops", min=1, max=4, help="Most steps from it.")] = 1,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=LARGEST_LIMIT, help="Most concepts to show.")
    ] = 30,
    as_json: options.Json = False,
) -> None:
    """Show the concepts around one, and what joins them.

    Example: bearinmind graph subgraph orders --hops 2 --limit 50
    """
    run = Session.of(ctx, as_json=as_json)
    with existing(run) as memories:
        found = memories.graph.subgraph(concept, hops=hops, limit=limit, **meant)
    run.reply(lazy.machine_graph.subgraph(found), lambda: [lazy.render_graph.subgraph(found)])


def hubs(
    ctx: typer.Context,
    meant: FilterFields,
    containing: Annotated[
        str | None, typer.Option("--containing", help="Only with this text in their name.")
    ] = None,
    limit: Limit = 20,
    as_json: options.Json = False,
) -> None:
    """Show the concepts that most memories mention.

    Example: bearinmind graph hubs --containing cache
    """
    run = Session.of(ctx, as_json=as_json)
    app_or_none = run.find()
    if app_or_none is None:
        run.reply_empty({"concepts": []})
        return
    with app_or_none as memories:
        found = memories.graph.hubs(limit=limit, containing=containing, **meant)
    run.reply(
        {"concepts": [lazy.machine_graph.concept(each) for each in found]},
        lambda: [lazy.render_graph.hubs(found)],
    )


def show(
    ctx: typer.Context,
    concept: graph_change.ConceptText,
    meant: FilterFields,
    limit: options.ListLimit = 20,
    as_json: options.Json = False,
) -> None:
    """Show a concept with its relations and its memories.

    Example: bearinmind graph show "orders cache" --as-of 2026-03-01
    """
    run = Session.of(ctx, as_json=as_json)
    with existing(run) as memories:
        found = memories.graph.concept(concept, limit=limit, **meant)
        said = memories.graph.memories(found.mentions, meant.get("as_of"))
        labels = memories.graph.labels(graph_change.ends(found.relations))
    run.reply(
        lazy.machine_graph.concept_card(found, said),
        lambda: [lazy.render_graph.concept_card(found, said, labels)],
    )


def export_graph(
    ctx: typer.Context,
    meant: FilterFields,
    to: Annotated[
        Literal["graphml", "json"],
        typer.Option("--format", help="GraphML, or JSON with nodes and edges."),
    ] = "graphml",
    output: Annotated[
        str, typer.Option("--output", metavar="FILE", help="Where to; `.gz` compresses it.")
    ] = "-",
    no_memories: Annotated[
        bool, typer.Option("--no-memories", help="Only concepts and relations.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Write the graph for Gephi, yEd or networkx.

    Example: bearinmind graph export --format graphml --output graph.graphml
    """
    run = Session.of(ctx, as_json=as_json)
    memories = run.find()
    if memories is None:
        raise FileMissing(
            f"there is no store at {str(run.place)!r}", hint="Check --store; nothing was exported."
        )
    with memories, lazy.lines.created(output) as write:
        for piece in memories.graph.export(to, memories=not no_memories, **meant):
            write(piece)
        counts = memories.graph.counts()
    if output != lazy.lines.STANDARD:  # else it would mix with what was written
        run.say(
            {"file": output, "format": to, "concepts": counts.concepts},
            f"Exported the graph to {output}",
        )


def stats(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Count what the graph holds.

    Example: bearinmind graph stats --json
    """
    run = Session.of(ctx, as_json=as_json)
    app_or_none = run.find()
    if app_or_none is None:
        run.reply_empty(lazy.machine_graph.NO_COUNTS)
        return
    with app_or_none as memories:
        counts = memories.graph.counts()
    run.reply(counts._asdict(), lambda: [lazy.render_graph.counts(counts)])


def existing(run: Session) -> Mind:
    """The store, for a command that names one of its concepts.

    Raises:
        ConceptNotFound: there is no store.
    """
    found = run.find()
    if found is None:
        raise ConceptNotFound(
            f"nothing is stored yet in {str(run.place)!r}",
            hint="`bearinmind store TEXT` keeps the first memory.",
        )
    return found


COMMANDS: dict[str, Callable[..., None]] = {
    "build": graph_build.build,
    "neighbours": with_filters(neighbours),
    "path": with_filters(path),
    "subgraph": with_filters(subgraph),
    "hubs": with_filters(hubs),
    "show": with_filters(show),
    "contradictions": graph_change.contradictions,
    "resolve": graph_change.resolve,
    "retract": graph_change.retract,
    "merge": graph_change.merge,
    "unmerge": graph_change.unmerge,
    "merges": graph_change.merges,
    "import": graph_change.import_triples,
    "export": with_filters(export_graph),
    "stats": stats,
}

for _name, _command in COMMANDS.items():
    app.command(_name)(guarded(_command))
