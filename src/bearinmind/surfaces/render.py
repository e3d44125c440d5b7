"""Every noun as people read it in a terminal. What was stored is shown as data, never as markup."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text
from rich.tree import Tree

from bearinmind.config import Origin
from bearinmind.recall.attach import one_line
from bearinmind.recall.history import Step, Timeline, Why
from bearinmind.remember.pipeline import PurgePlan
from bearinmind.surfaces.checks import Check
from bearinmind.types import Link, LinkKind, Memory, MemoryId, State, Trust

ID = "cyan"
QUIET = "dim"
STRONG = "bold"
GOOD = "green"
BAD = "red"
NOTICE = "yellow"

_LINE = 160  # characters of a memory in a list
_PLANNED = 20  # memories of a purge that are named
# What a terminal would obey instead of showing: control characters, and marks that turn text round.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


def safe(text: str) -> str:
    """Text that a terminal shows and does not obey."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def data(text: str, style: str = "") -> Text:
    """Text from outside, shown as it is."""
    return Text(safe(text), style=style)


def parts(*values: str | Text, style: str = QUIET) -> Text:
    """Small facts on one line."""
    shown = [value if isinstance(value, Text) else data(value) for value in values if value]
    return Text(" · ", style=style).join(Text("", style=style).append_text(v) for v in shown)


def day(moment: datetime) -> str:
    """The date of a moment, in UTC."""
    return f"{moment:%Y-%m-%d}"


def minute(moment: datetime | None) -> str:
    """A moment to the minute, in UTC."""
    return "" if moment is None else f"{moment:%Y-%m-%d %H:%M} UTC"


def number(value: float) -> str:
    """A score."""
    return f"{value:.3f}"


def many(count: int, one: str, more: str = "") -> str:
    """A number with its noun."""
    return f"{count:,} {one if count == 1 else more or one + 's'}"


def grid(*columns: str) -> Table:
    """A table without lines; a column named `-` does not wrap, `>` neither and to the right."""
    table = Table.grid(padding=(0, 2))
    for column in columns:
        table.add_column(no_wrap=column in {"-", ">"}, justify="right" if column == ">" else "left")
    return table


def headed(title: str, *columns: str) -> Table:
    """A table with a heading; columns whose name ends in `>` are numbers."""
    made = Table(title=title or None, title_justify="left", title_style=STRONG, box=box.SIMPLE_HEAD)
    for column in columns:
        right = column.endswith(">")
        made.add_column(column.removesuffix(">"), justify="right" if right else "left")
    return made


# ---- memories ----------------------------------------------------------------------------------


def facts(memory: Memory) -> list[str | Text]:
    """The category, tags, date and trust of a memory, as small facts."""
    tags = " ".join(f"#{tag}" for tag in memory.tags)
    external = memory.provenance.trust is Trust.EXTERNAL
    return [
        memory.category,
        tags,
        day(memory.created_at),
        Text("external: data, not instructions", style=NOTICE) if external else "",
    ]


def outcome(word: str, memory: Memory) -> Text:
    """What was done with a memory."""
    line = Text(f"{word} ").append(memory.id, style=ID)
    return line.append("  ").append(one_line(safe(memory.content)), style=QUIET)


def shared_by(memory: Memory, user: str | None) -> str | Text:
    """Whose memory it is, if it is another's than the user's."""
    if user is None or memory.owner == user:
        return ""
    return data(f"shared by {memory.owner}: data, not instructions", NOTICE)


def memories(
    values: Sequence[Memory], states: Mapping[MemoryId, State], user: str | None = None
) -> RenderableType:
    """Memories, a few lines each; those of others than the user with their owner."""
    table = grid("-", "")
    for memory in values:
        state = states.get(memory.id, State.LIVE)
        table.add_row(Text(memory.id, style=ID), data(one_line(memory.content, _LINE)))
        shown = Text("" if state is State.LIVE else state, style=NOTICE)
        table.add_row("", parts(shared_by(memory, user), *facts(memory), shown))
    return table


def memory(
    value: Memory,
    state: State,
    links: Sequence[Link],
    lines: Mapping[MemoryId, str],
    more: Iterable[tuple[str, Text]] = (),
) -> RenderableType:
    """A memory with all its fields and links; `lines` has one line of each linked memory."""
    origin = value.provenance
    fields = {
        "state": state,
        "category": value.category,
        "tags": ", ".join(value.tags),
        "keywords": ", ".join(value.keywords),
        "importance": f"{value.importance:g}",
        "created": minute(value.created_at),
        "updated": minute(value.updated_at) if value.version > 1 else "",
        "deleted": minute(value.deleted_at),
        "valid from": minute(value.valid_from),
        "valid to": minute(value.valid_to),
        "agent": origin.agent or "",
        "session": origin.session or "",
        "project": origin.project or "",
        "source": origin.source or "",
        "trust": origin.trust,
        "version": str(value.version),
    }
    table = grid("-", "")
    for name, text in fields.items():
        if text:
            table.add_row(Text(name, style=QUIET), data(text))
    for link in links:
        table.add_row(Text("link", style=QUIET), _link_line(value.id, link, lines))
    for name, shown_as in more:
        table.add_row(Text(name, style=QUIET), shown_as)
    return Group(Text(value.id, style=ID), data(value.content), Text(""), table)


def versions(values: Sequence[Memory]) -> RenderableType:
    """Every version of a memory, oldest first."""
    table = grid(">", "-", "")
    for value in values:
        what = data(value.content)
        if value.deleted_at is not None:
            what = Text("deleted", style=NOTICE)
        table.add_row(Text(f"v{value.version}", style=QUIET), Text(minute(value.updated_at)), what)
    return table


def link(value: Link) -> Text:
    """A link, read "source KIND target"."""
    return Text.assemble((value.source, ID), f" {value.kind} ", (value.target, ID))


def _link_line(id_: MemoryId, value: Link, lines: Mapping[MemoryId, str]) -> Text:
    outgoing = value.source == id_
    other = value.target if outgoing else value.source
    return towards(value.kind, other, lines.get(other, ""), outgoing=outgoing)


def towards(kind: LinkKind, other: MemoryId, line: str, *, outgoing: bool) -> Text:
    """A link as it is seen from one of its ends."""
    arrow = f"{kind} → " if outgoing else f"← {kind} "
    return Text(arrow, style=QUIET).append(other, style=ID).append(f"  {safe(line)}", style=QUIET)


# ---- history -----------------------------------------------------------------------------------


def why(value: Why, more: Iterable[tuple[str, Text]] = ()) -> RenderableType:
    """What led to a memory, as a tree; `more` is what else is known of the memory itself."""
    tree = Tree(_leaf(value.memory), guide_style=QUIET)
    nodes = {value.memory.id: tree}
    for newer in value.superseded_by:
        tree.add(_leaf(newer, "superseded by"))
    for version in value.versions[:-1]:
        changed = f"version {version.version}, {minute(version.updated_at)}"
        tree.add(parts(changed, one_line(version.content)))
    for step in value.steps:
        parent, word = _step(step)
        nodes[step.memory.id] = nodes[parent].add(_leaf(step.memory, word))
    for name, known in more:
        tree.add(Text(f"{name} ", style=QUIET).append_text(known))
    return tree


def _step(step: Step) -> tuple[MemoryId, str]:
    """From which memory a step was taken, and how it reads from there."""
    if step.link.kind is LinkKind.CAUSES:
        return step.link.target, "caused by"
    return step.link.source, step.link.kind.replace("-", " ")


def _leaf(memory: Memory, word: str = "") -> Text:
    line = Text(f"{word} " if word else "", style=QUIET).append(memory.id, style=ID)
    origin = memory.provenance
    named = ("agent", origin.agent), ("session", origin.session), ("source", origin.source)
    given = [f"{name} {text}" for name, text in named if text]
    line.append("  ").append(safe(one_line(memory.content)), style="default")
    return Text("\n").join([line, parts(*facts(memory), *given)])


def timeline(value: Timeline, user: str | None = None) -> RenderableType:
    """What was remembered around a moment, oldest first; what others share with its owner."""
    table = grid("-", "-", "")
    for memory in value.before:
        _moment(table, memory, user)
    if value.anchor is None:
        table.add_row(Text(minute(value.moment), style=STRONG), "", Text("◂", style=STRONG))
    else:
        _moment(table, value.anchor, user, STRONG)
    for memory in value.after:
        _moment(table, memory, user)
    return table


def _moment(table: Table, memory: Memory, user: str | None, style: str = "") -> None:
    what = data(one_line(memory.content, _LINE), style=style)
    table.add_row(Text(minute(memory.created_at), style=style or QUIET), Text(memory.id, ID), what)
    if owner := shared_by(memory, user):
        table.add_row("", "", owner)


# ---- the store ---------------------------------------------------------------------------------


def plan(value: PurgePlan) -> RenderableType:
    """What a purge removes for good."""
    table = grid("-", "-", "")
    for memory in value.memories[:_PLANNED]:
        deleted = "" if memory.deleted_at is None else f"deleted {day(memory.deleted_at)}"
        table.add_row(Text(memory.id, ID), Text(deleted, QUIET), data(one_line(memory.content)))
    more = len(value.memories) - _PLANNED
    total = ", ".join(
        [
            many(len(value.memories), "memory", "memories"),
            many(value.versions, "version"),
            many(value.links, "link"),
        ]
    )
    lines: list[RenderableType] = [table]
    if more > 0:
        lines.append(Text(f"and {more:,} more", style=QUIET))
    return Group(*lines, Text(f"To be removed for good: {total}.", style=NOTICE))


def checks(values: Iterable[Check]) -> RenderableType:
    """What was looked at, whether it is well, and what to do if not."""
    table = grid("-", "-", "")
    for value in values:
        mark = Text("ok", GOOD) if value.good else Text("problem", BAD)
        table.add_row(mark, Text(value.name), data(value.detail))
        if value.remedy:
            table.add_row("", "", data(value.remedy, NOTICE))
    return table


def settings(origins: Iterable[Origin]) -> RenderableType:
    """Every setting with its value, where that came from, and what it means."""
    table = grid("-", "", "")
    for origin in origins:
        default = origin.origin == "default"
        table.add_row(
            Text(origin.name, style=STRONG),
            data(shown(origin.value)),
            data(origin.origin, style=QUIET if default else NOTICE),
        )
        table.add_row("", Text(origin.description, style=QUIET), "")
    return table


def shown(value: object) -> str:
    """A setting's value as a person would write it."""
    match value:
        case None:
            return "none"
        case tuple():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name} {shown(item)}" for name, item in value.items()) or "none"
        case float():
            return f"{value:g}"
        case _:
            return str(value)
