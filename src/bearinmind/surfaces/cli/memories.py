"""Lists of memories, links and relations as people read them in a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING

from bearinmind.concepts import ConceptName, Relation
from bearinmind.outdates.verdicts import in_words
from bearinmind.surfaces.cli.terminal import (
    ID,
    NOTICE,
    QUIET,
    day,
    facts,
    grid,
    is_terminal,
    minute,
    outdated_mark,
    parts,
    safe,
    shared_by,
    styled,
)
from bearinmind.text.analysis import one_line
from bearinmind.text.ids import name_among
from bearinmind.types import Link, Memory, MemoryId, Outdated, State

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

_LINE = 160  # characters of a memory in a list on a terminal


def listed_line(content: str) -> str:
    """A memory as a line of a list; whole where no terminal limits it."""
    return one_line(content, _LINE) if is_terminal() else " ".join(content.split())


def origins(memory: Memory) -> list[str]:
    """Where a memory comes from."""
    origin = memory.provenance
    named = ("agent", origin.agent), ("session", origin.session), ("source", origin.source)
    return [f"{name} {text}" for name, text in named if text]


def memory_list(
    values: Sequence[Memory],
    states: Mapping[MemoryId, State],
    user: str | None = None,
    outdated: Mapping[MemoryId, Outdated] = MappingProxyType({}),
) -> RenderableType:
    """Memories, two lines each; those of other users with their owner, outdated ones marked."""
    table = grid("-", "")
    for memory in values:
        name = name_among(states, memory.owner, memory.id)
        state = states.get(name, State.LIVE)
        table.add_row(styled(memory.id, ID), styled(listed_line(memory.content)))
        shown = styled("" if state is State.LIVE else state_words(memory, state), NOTICE)
        mark = outdated_mark(outdated.get(name))
        table.add_row("", parts(shared_by(memory, user), *facts(memory), shown, mark))
    return table


def state_words(memory: Memory, state: State) -> str:
    """The state of a memory; of one outside its span, whether that is yet to begin."""
    begins = memory.valid_from
    is_early = state is State.EXPIRED and begins is not None and begins > datetime.now(UTC)
    return "not yet valid" if is_early else state


def link_text(value: Link) -> Text:
    """A link, read "source KIND target"."""
    read = f" {in_words(value)} "
    return styled("").append(value.source, ID).append(read).append(value.target, ID)


def towards(kind: str, other: MemoryId, line: str, *, outgoing: bool) -> Text:
    """A link as it is seen from one of its ends."""
    arrow = f"{kind} → " if outgoing else f"← {kind} "
    return styled(arrow, QUIET).append(other, style=ID).append(f"  {safe(line)}", style=QUIET)


# ---- relations of the concept graph --------------------------------------------------------------

Labels = Mapping[ConceptName, str]  #: how concepts are written


def statement(value: Relation, labels: Labels) -> Text:
    """A relation in words, with its times."""
    return styled(f"{relation_words(value, labels)}  ").append_text(relation_facts(value))


def relation_words(value: Relation, labels: Labels) -> str:
    """A relation in words."""
    source, target = (labels.get(end, end) for end in (value.source, value.target))
    return f"{source} {value.type} {target}"


def relation_facts(value: Relation) -> Text:
    """When it held, since when that is known, and by which memories."""
    return parts(
        f"from {minute(value.valid_from)}" if value.valid_from else "",
        f"until {minute(value.valid_to)}" if value.valid_to else "",
        f"known since {day(value.recorded_at)}",
        styled(" ".join(value.evidence), ID),
    )
