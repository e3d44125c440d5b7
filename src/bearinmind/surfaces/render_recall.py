"""Recalled memories as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import RenderableType
from rich.text import Text

from bearinmind.recall import paths
from bearinmind.recall.paths import Labels
from bearinmind.surfaces.render import (
    ID,
    QUIET,
    STRONG,
    data,
    facts,
    grid,
    number,
    parts,
    safe,
    shared_by,
    towards,
)
from bearinmind.types import Hit, Pointer


def hits(values: Sequence[Hit], labels: Labels, user: str | None = None) -> RenderableType:
    """Recalled memories, best first; those of others than the user with their owner."""
    table = grid(">", "")
    for value in values:
        if value.rank > 1:
            table.add_row("", "")
        table.add_row(Text(str(value.rank), style=STRONG), data(value.memory.content))
        table.add_row("", _standing(value, labels, user))
        for line in _extras(value):
            table.add_row("", line)
    return table


def _standing(value: Hit, labels: Labels, user: str | None) -> Text:
    moved = value.reranked
    return parts(
        Text(value.memory.id, style=ID),
        shared_by(value.memory, user),
        *facts(value.memory),
        f"score {number(value.score)}",
        _sureness(value),
        f"via {paths.over(value.path, labels)}" if _is_owed_to_graph(value) else "",
        f"reranked from {moved.before} to {moved.after}"
        if moved and moved.before != moved.after
        else "",
    )


def _is_owed_to_graph(value: Hit) -> bool:
    """Whether the graph alone found it, or has more evidence for it than all other legs."""
    evidence = {leg: placing.evidence for leg, placing in value.placings.items()}
    by_graph = evidence.pop("graph", None)
    return by_graph is not None and by_graph > sum(evidence.values())


def _sureness(value: Hit) -> str:
    """How sure each leg is that this is what was asked for."""
    words, meaning = value.placings.get("lexical"), value.placings.get("dense")
    covers = f"covers {words.confidence:.0%}" if words else ""
    if meaning is None:
        return f"{covers} of the query" if covers else ""
    return f"{covers}{', ' if covers else ''}stands out {meaning.confidence:.0%}"


def _extras(value: Hit) -> list[Text]:
    lines = []
    if value.replaces:
        lines.append(Text("replaces ", style=QUIET).append(", ".join(value.replaces), style=ID))
    for memory in value.attached:
        found = ("resolved by ", QUIET), (memory.id, ID), f"  {safe(memory.content)}"
        lines.append(Text.assemble(*found))
    return lines + [_pointer(pointer) for pointer in value.pointers]


def _pointer(value: Pointer) -> Text:
    return towards(value.kind, value.id, value.line, outgoing=value.outgoing)
