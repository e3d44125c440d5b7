"""The concept graph as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from rich.console import Group, RenderableType
from rich.text import Text

from bearinmind.concepts import Concept, ConceptName, Merge, Relation, Role
from bearinmind.graph.cards import ConceptCard, MemoryCard
from bearinmind.graph.contradictions import Contradiction
from bearinmind.graph.surroundings import Edge
from bearinmind.graph.walk import Neighbour, Neighbours, Path, Subgraph
from bearinmind.protocols import GraphCounts
from bearinmind.recall.attach import one_line
from bearinmind.surfaces.render import (
    ID,
    NOTICE,
    QUIET,
    STRONG,
    data,
    day,
    grid,
    many,
    minute,
    parts,
)
from bearinmind.types import Memory, MemoryId

Labels = Mapping[ConceptName, str]  #: how concepts are written

_NAMED = 5  # hubs that are named where there may be many
_LINE = 100  # characters of a memory beside a concept


# ---- concepts ----------------------------------------------------------------------------------


def hubs(values: Sequence[Concept]) -> RenderableType:
    """Concepts by how many memories mention them."""
    if not values:
        return data("No memory that is meant here mentions a concept.")
    table = grid(">", "-", "")
    for value in values:
        table.add_row(Text(f"{value.memories:,}", QUIET), data(value.label), _facts(value, QUIET))
    return table


def concept_card(
    value: ConceptCard, said: Mapping[MemoryId, Memory], labels: Labels
) -> RenderableType:
    """A concept with its relations and its memories."""
    lines: list[RenderableType] = [_heading(value.concept)]
    if value.concept.aliases:
        lines.append(parts("also", ", ".join(value.concept.aliases)))
    if value.relations:
        lines += [Text(""), _relations(value.relations, value.concept.name, labels)]
    table = grid("-", "-", "")
    for id_, roles in value.mentions.items():
        if id_ in said:
            what = data(one_line(said[id_].content, _LINE))
            table.add_row(Text(id_, ID), Text(_role(roles), QUIET), what)
    if table.row_count:
        lines += [Text(""), table]
    return Group(*lines)


def memory_rows(value: MemoryCard) -> list[tuple[str, Text]]:
    """What a memory mentions and states, as rows of its fields."""
    labels = {each.name: each.label for found in value.concepts.values() for each in found}
    rows = [("concepts", data(", ".join(labels.values())))] if labels else []
    return rows + [("relation", _statement(each, labels)) for each in value.relations]


# ---- walks -------------------------------------------------------------------------------------


def neighbours(value: Neighbours) -> RenderableType:
    """What is one step away from a concept."""
    table = grid("-", "-", "")
    for each in value.found:
        shared = f"{many(len(each.memories), 'memory', 'memories')} with it"
        found = parts(each.concept.kind, shared if each.memories else "", _numbers(each.relations))
        table.add_row(_joint(each, value.concept.name), data(each.concept.label), found)
    lines: list[RenderableType] = [_heading(value.concept), table]
    if value.left_out:
        lines.append(data(f"and {many(value.left_out, 'more concept')}; --limit shows more", QUIET))
    if value.partly:
        lines.append(data("It is a hub: only its newest memories were looked at.", QUIET))
    if not value.found:
        lines[1] = data("Nothing is joined to it.")
    return Group(*lines)


def path(value: Path, said: Mapping[MemoryId, Memory], labels: Labels) -> RenderableType:
    """The way between two concepts, a line for each step."""
    lines: list[RenderableType] = [_heading(value.start)]
    if value.steps:
        table = grid("-", "-", "")
        for step in value.steps:
            target = labels.get(step.target, step.target)
            table.add_row(_arrow(step), data(target), _ground(step, said))
        lines.append(table)
    elif value.is_found:
        lines.append(data("The two names mean the same concept."))
    else:
        steps = many(value.longest, "step")
        lines.append(data(f"No way to {value.goal.label} within {steps}.", NOTICE))
    return Group(*lines, *_given_up(value))


def subgraph(value: Subgraph) -> RenderableType:
    """The concepts around one, and what joins them."""
    labels = {each.name: each.label for each in value.concepts}
    lines: list[RenderableType] = [_heading(value.centre), hubs(value.concepts[1:])]
    if value.relations:
        table = grid(">", "")
        for each in value.relations:
            table.add_row(Text(str(each.number), QUIET), _statement(each, labels))
        lines += [Text(""), table]
    if value.together:
        table = grid(">", "")
        for pair in sorted(value.together, key=lambda pair: -len(pair.memories)):
            ends = f"{labels.get(pair.one, pair.one)} and {labels.get(pair.other, pair.other)}"
            table.add_row(Text(f"{len(pair.memories):,}", QUIET), data(ends))
        lines += [Text("\nmemories that mention both", QUIET), table]
    if value.left_out:
        lines.append(
            data(f"{many(value.left_out, 'more concept')} had no room; see --limit", QUIET)
        )
    return Group(*lines)


def _joint(value: Neighbour, centre: ConceptName) -> Text:
    if not value.relations:
        return Text("with", QUIET)
    relation = value.relations[0]
    outgoing = relation.source == centre
    return data(f"{relation.type} →" if outgoing else f"← {relation.type}")


def _arrow(step: Edge) -> Text:
    if not step.relations:
        return Text("  with", QUIET)
    relation = step.relations[0]
    return data(
        f"  {relation.type} →" if relation.source == step.source else f"  ← {relation.type}"
    )


def _ground(step: Edge, said: Mapping[MemoryId, Memory]) -> Text:
    """The memory that a step is taken by, or the relation where none is at hand."""
    for id_ in step.memories[:1]:
        if id_ in said:
            line = one_line(said[id_].content, _LINE)
            return Text(id_, ID).append(f"  {data(line).plain}", QUIET)
    return parts(_numbers(step.relations))


def _given_up(value: Path) -> Iterable[Text]:
    """What the walk did not look at: another way may lead over it."""
    if value.partly:
        named = _named(value.partly)
        yield data(f"Looked at the newest memories alone of: {named}.", QUIET)
    if value.passed_over:
        yield data(f"Not gone on from, too often mentioned: {_named(value.passed_over)}.", QUIET)


def _named(names: Sequence[ConceptName]) -> str:
    more = f" and {len(names) - _NAMED:,} more" if len(names) > _NAMED else ""
    return ", ".join(names[:_NAMED]) + more


# ---- relations and merges ----------------------------------------------------------------------


def contradictions(values: Sequence[Contradiction], labels: Labels) -> RenderableType:
    """Pairs of relations that cannot both hold."""
    if not values:
        return data("No two relations contradict each other.")
    table = grid(">", "")
    for value in values:
        for relation in (value.older, value.newer):
            table.add_row(Text(str(relation.number), STRONG), _statement(relation, labels))
        settle = f"{value.proposal}: bearinmind graph resolve {value.older.number}"
        table.add_row("", data(f"{value.older.number} is the older; {settle}", NOTICE))
    return table


def settled(value: Contradiction, labels: Labels) -> RenderableType:
    """What was done about a contradiction."""
    done = f"Done for relation {value.older.number}, {_said(value.older, labels)}"
    return data(f"{done}: {value.proposal}.")


def merges(values: Sequence[Merge], *, likely: bool = False) -> RenderableType:
    """Names that mean another concept, or may."""
    if not values:
        return data(
            "No two concepts look like one." if likely else "No concept is merged into another."
        )
    table = grid("-", "-", "")
    for value in values:
        undone = f"undone {day(value.undone_at)}" if value.undone_at else ""
        table.add_row(
            data(value.alias),
            data(f"→ {value.into}"),
            parts(
                "" if likely else day(value.merged_at), value.reason, f"{value.score:.2f}", undone
            ),
        )
    return table


def counts(value: GraphCounts) -> RenderableType:
    """What the graph holds."""
    table = grid("-", ">")
    for name, count in value._asdict().items():
        table.add_row(Text(name, QUIET), Text(f"{count:,}"))
    return table


def _relations(values: Sequence[Relation], centre: ConceptName, labels: Labels) -> RenderableType:
    table = grid(">", "-", "")
    for value in values:
        outgoing = value.source == centre
        other = value.target if outgoing else value.source
        label = labels.get(other, other)
        arrow = f"{value.type} → {label}" if outgoing else f"← {value.type} {label}"
        table.add_row(Text(str(value.number), QUIET), data(arrow), _times(value))
    return table


def _statement(value: Relation, labels: Labels) -> Text:
    return data(f"{_said(value, labels)}  ").append_text(_times(value))


def _said(value: Relation, labels: Labels) -> str:
    source, target = (labels.get(end, end) for end in (value.source, value.target))
    return f"{source} {value.type} {target}"


def _times(value: Relation) -> Text:
    """When it held, since when that is known, and by which memories."""
    return parts(
        f"from {minute(value.valid_from)}" if value.valid_from else "",
        f"until {minute(value.valid_to)}" if value.valid_to else "",
        f"known since {day(value.recorded_at)}",
        Text(" ".join(value.evidence), ID),
    )


# ---- small parts -------------------------------------------------------------------------------


def _heading(value: Concept) -> Text:
    counted = many(value.memories, "memory", "memories")
    return data(value.label, STRONG).append("  ").append_text(parts(value.kind, counted))


def _facts(value: Concept, style: str) -> Text:
    about = f"{value.subjects:,} about it" if value.subjects else ""
    return parts(value.kind, about, ", ".join(value.aliases), style=style)


def _numbers(values: Sequence[Relation]) -> str:
    if not values:
        return ""
    word = "relation" if len(values) == 1 else "relations"
    return f"{word} {', '.join(str(value.number) for value in values)}"


def _role(roles: Sequence[Role]) -> str:
    """What the memory does with the concept, in a word."""
    for role, word in _ROLES.items():
        if role in roles:
            return word
    return ""


_ROLES = {
    Role.SUBJECT: "about it",
    Role.NAME: "names it",
    Role.TAG: "tagged",
    Role.KEYWORD: "keyword",
}
