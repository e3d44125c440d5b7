"""The commands that read the concept graph: what memories mention, and what connects them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import typer

from bearinmind import codec
from bearinmind.app.requests import FilterFields
from bearinmind.concepts import Concept, ConceptName, Relation, Role
from bearinmind.errors import ConceptNotFound
from bearinmind.graph.lookup import ConceptCard
from bearinmind.graph.walk import Edge, Neighbours, Path, Subgraph
from bearinmind.protocols import GraphCounts
from bearinmind.recall.pipeline import LARGEST_LIMIT
from bearinmind.surfaces.cli import graph_change, options
from bearinmind.surfaces.cli.memories import Labels, relation_facts, statement
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    ID,
    NOTICE,
    QUIET,
    STRONG,
    Session,
    grid,
    group,
    many,
    memory_count,
    parts,
    styled,
)
from bearinmind.surfaces.lines import STANDARD
from bearinmind.text.analysis import one_line
from bearinmind.types import Memory, MemoryId

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

app = typer.Typer(no_args_is_help=True)
_filtered = options.taking(filters=options.filters)


def neighbours(
    run: Session,
    *,
    concept: graph_change.ConceptText,
    limit: int = options.most("concepts"),
    filters: FilterFields,
) -> None:
    """Show what a concept is joined to.

    Relations come first, then what is mentioned with it.

    Example: bearinmind graph neighbours "orders cache"
    """
    with run.existing(ConceptNotFound) as mind:
        answer = mind.graph.neighbours(concept, limit=limit, **filters)
    run.reply(answer, lambda: [_neighbour_lines(answer)])


def path(
    run: Session,
    *,
    start: str = argument("FROM", "A concept, by its name."),
    goal: str = argument("TO", "Another concept."),
    longest: int = option("--longest", "Most steps to take.", 4, min=1, max=8),
    filters: FilterFields,
) -> None:
    """Show the shortest way between two concepts.

    It goes over relations that hold, and over memories that mention both.

    Example: bearinmind graph path "Dana Okafor" Valkey
    """
    with run.existing(ConceptNotFound) as mind:
        answer = mind.graph.path(start, goal, longest=longest, **filters)
        ids = {id_ for step in answer.steps for id_ in step.memories[:1]}
        memories = mind.graph.memories(ids, filters.get("as_of"))
        labels = mind.graph.labels({step.target for step in answer.steps})
    run.reply(
        {**codec.to_data(answer), "found": answer.is_found},
        lambda: [_path_lines(answer, memories, labels)],
    )


def subgraph(
    run: Session,
    *,
    concept: graph_change.ConceptText,
    hops: int = option("--hops", "Most steps from it.", 1, min=1, max=4),
    limit: int = options.most("concepts", 30, LARGEST_LIMIT),
    filters: FilterFields,
) -> None:
    """Show the concepts around one, and what joins them.

    Example: bearinmind graph subgraph orders --hops 2 --limit 50
    """
    with run.existing(ConceptNotFound) as mind:
        answer = mind.graph.subgraph(concept, hops=hops, limit=limit, **filters)
    run.reply(answer, lambda: [_subgraph_lines(answer)])


def hubs(
    run: Session,
    *,
    containing: str | None = option("--containing", "Only with this text in their name."),
    limit: int = options.most("concepts"),
    filters: FilterFields,
) -> None:
    """Show the concepts that most memories mention.

    Example: bearinmind graph hubs --containing cache
    """
    with run.reading({"concepts": []}) as mind:
        concepts = mind.graph.hubs(limit=limit, containing=containing, **filters)
    run.reply({"concepts": concepts}, lambda: [_concept_table(concepts)])


def show(
    run: Session,
    *,
    concept: graph_change.ConceptText,
    limit: int = options.most("memories"),
    filters: FilterFields,
) -> None:
    """Show a concept with its relations and its memories.

    Example: bearinmind graph show "orders cache" --as-of 2026-03-01
    """
    with run.existing(ConceptNotFound) as mind:
        card = mind.graph.concept(concept, limit=limit, **filters)
        memories = mind.graph.memories(card.mentions, filters.get("as_of"))
        labels = mind.graph.labels(graph_change.ends(card.relations))
    run.reply(_card_data(card, memories), lambda: [_concept_card(card, memories, labels)])


def export_graph(
    run: Session,
    *,
    to: Literal["graphml", "json"] = option(
        "--format", "GraphML, or JSON with nodes and edges.", "graphml"
    ),
    output: str = option("--output", "Where to; `.gz` compresses it.", "-", metavar="FILE"),
    no_memories: bool = flag("--no-memories", "Only concepts and relations."),
    filters: FilterFields,
) -> None:
    """Write the graph for Gephi, yEd or networkx.

    Example: bearinmind graph export --format graphml --output graph.graphml
    """
    with run.existing_store("nothing was exported.") as mind, run.new_file(output) as write:
        for piece in mind.graph.export(to, memories=not no_memories, **filters):
            write(piece)
        counts = mind.graph.counts()
    if output != STANDARD:  # else it would mix with what was written
        run.say(
            {"file": output, "format": to, "concepts": counts.concepts},
            f"Exported the graph to {output}",
        )


def stats(run: Session) -> None:
    """Count what the graph holds.

    Example: bearinmind graph stats --json
    """
    with run.reading(dict.fromkeys(GraphCounts._fields, 0)) as mind:
        counts = mind.graph.counts()
    held = ((styled(name, QUIET), f"{count:,}") for name, count in counts._asdict().items())
    run.reply(counts, lambda: [grid("-", ">", rows=held)])


COMMANDS: dict[str, Callable[..., None]] = {
    "build": graph_change.build,
    "neighbours": _filtered(neighbours),
    "path": _filtered(path),
    "subgraph": _filtered(subgraph),
    "hubs": _filtered(hubs),
    "show": _filtered(show),
    "contradictions": graph_change.contradictions,
    "resolve": graph_change.resolve,
    "retract": graph_change.retract,
    "merge": graph_change.merge,
    "unmerge": graph_change.unmerge,
    "merges": graph_change.merges,
    "import": graph_change.import_triples,
    "export": _filtered(export_graph),
    "stats": stats,
}
for _name, _command in COMMANDS.items():
    app.command(_name)(_command)
_NAMED = 5  # hubs that are named where there may be many
_LINE = 100  # characters of a memory beside a concept


# ---- concepts ----------------------------------------------------------------------------------
def _concept_table(values: Sequence[Concept]) -> RenderableType:
    if not values:
        return styled("No memory that is meant here mentions a concept.")
    table = grid(">", "-", "")
    for value in values:
        about = f"{value.subjects:,} about it" if value.subjects else ""
        known = parts(value.kind, about, ", ".join(value.aliases))
        table.add_row(styled(f"{value.memories:,}", QUIET), styled(value.label), known)
    return table


def _concept_card(
    value: ConceptCard, memories: Mapping[MemoryId, Memory], labels: Labels
) -> RenderableType:
    lines: list[RenderableType] = [_heading(value.concept)]
    if value.concept.aliases:
        lines.append(parts("also", ", ".join(value.concept.aliases)))
    if value.relations:
        lines += [styled(""), _relation_table(value.relations, value.concept.name, labels)]
    table = grid("-", "-", "")
    for id_, roles in value.mentions.items():
        if id_ in memories:
            role = next((word for role, word in _ROLES.items() if role in roles), "")
            what = styled(one_line(memories[id_].content, _LINE))
            table.add_row(styled(id_, ID), styled(role, QUIET), what)
    if table.row_count:
        lines += [styled(""), table]
    return group(*lines)


# ---- walks -------------------------------------------------------------------------------------
def _neighbour_lines(value: Neighbours) -> RenderableType:
    table = grid("-", "-", "")
    for each in value.found:
        shared = f"{memory_count(len(each.memories))} with it"
        about = parts(each.concept.kind, shared if each.memories else "", _numbers(each.relations))
        table.add_row(_joint(each.relations, value.concept.name), styled(each.concept.label), about)
    lines: list[RenderableType] = [_heading(value.concept), table]
    if value.left_out:
        lines.append(
            styled(f"and {many(value.left_out, 'more concept')}; --limit shows more", QUIET)
        )
    if value.partly:
        lines.append(styled("It is a hub: only its newest memories were looked at.", QUIET))
    if not value.found:
        lines[1] = styled("Nothing is joined to it.")
    return group(*lines)


def _path_lines(value: Path, memories: Mapping[MemoryId, Memory], labels: Labels) -> RenderableType:
    lines: list[RenderableType] = [_heading(value.start)]
    if value.steps:
        table = grid("-", "-", "")
        for step in value.steps:
            target = labels.get(step.target, step.target)
            joint = styled("  ").append_text(_joint(step.relations, step.source))
            table.add_row(joint, styled(target), _ground(step, memories))
        lines.append(table)
    elif value.is_found:
        lines.append(styled("The two names mean the same concept."))
    else:
        steps = many(value.longest, "step")
        lines.append(styled(f"No way to {value.goal.label} within {steps}.", NOTICE))
    return group(*lines, *_given_up(value))


def _subgraph_lines(value: Subgraph) -> RenderableType:
    labels = {each.name: each.label for each in value.concepts}
    lines: list[RenderableType] = [_heading(value.centre), _concept_table(value.concepts[1:])]
    if value.relations:
        stated = ((styled(str(x.number), QUIET), statement(x, labels)) for x in value.relations)
        lines += [styled(""), grid(">", "", rows=stated)]
    if value.together:
        table = grid(">", "")
        for pair in sorted(value.together, key=lambda pair: -len(pair.memories)):
            ends = f"{labels.get(pair.one, pair.one)} and {labels.get(pair.other, pair.other)}"
            table.add_row(styled(f"{len(pair.memories):,}", QUIET), styled(ends))
        lines += [styled("\nmemories that mention both", QUIET), table]
    if value.left_out:
        lines.append(
            styled(f"{many(value.left_out, 'more concept')} had no room; see --limit", QUIET)
        )
    return group(*lines)


def _joint(relations: Sequence[Relation], centre: ConceptName) -> Text:
    """How a concept is joined to the next one: by a relation, or by being mentioned with it."""
    if not relations:
        return styled("with", QUIET)
    relation = relations[0]
    return styled(f"{relation.type} →" if relation.source == centre else f"← {relation.type}")


def _ground(step: Edge, memories: Mapping[MemoryId, Memory]) -> Text:
    """The memory that a step is taken by, or the relation where none is at hand."""
    for id_ in step.memories[:1]:
        if id_ in memories:
            line = one_line(memories[id_].content, _LINE)
            return styled(id_, ID).append(f"  {styled(line).plain}", QUIET)
    return parts(_numbers(step.relations))


def _given_up(value: Path) -> Iterable[Text]:
    """What the walk did not look at: another way may lead over it."""
    if value.partly:
        yield styled(f"Looked at the newest memories alone of: {_named(value.partly)}.", QUIET)
    if value.passed_over:
        yield styled(f"Not gone on from, too often mentioned: {_named(value.passed_over)}.", QUIET)


def _named(names: Sequence[ConceptName]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


def _relation_table(
    values: Sequence[Relation], centre: ConceptName, labels: Labels
) -> RenderableType:
    table = grid(">", "-", "")
    for value in values:
        outgoing = value.source == centre
        other = value.target if outgoing else value.source
        label = labels.get(other, other)
        arrow = f"{value.type} → {label}" if outgoing else f"← {value.type} {label}"
        table.add_row(styled(str(value.number), QUIET), styled(arrow), relation_facts(value))
    return table


# ---- small parts -------------------------------------------------------------------------------
def _heading(value: Concept) -> Text:
    counted = memory_count(value.memories)
    return styled(value.label, STRONG).append("  ").append_text(parts(value.kind, counted))


def _numbers(values: Sequence[Relation]) -> str:
    if not values:
        return ""
    word = "relation" if len(values) == 1 else "relations"
    return f"{word} {', '.join(str(value.number) for value in values)}"


#: What a memory does with a concept, in a word.
_ROLES = {
    Role.SUBJECT: "about it",
    Role.NAME: "names it",
    Role.TAG: "tagged",
    Role.KEYWORD: "keyword",
}


def _card_data(value: ConceptCard, memories: Mapping[MemoryId, Memory]) -> dict[str, Any]:
    return {
        "concept": value.concept,
        "relations": value.relations,
        "memories": [
            {"id": id_, "roles": roles, "line": one_line(memories[id_].content)}
            for id_, roles in value.mentions.items()
            if id_ in memories
        ],
    }
