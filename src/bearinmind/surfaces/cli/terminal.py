"""How things look in a terminal. What was stored is shown as text, never obeyed as markup.

`rich` is loaded when something is drawn: `--json` needs none of it.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from types import MappingProxyType
from typing import TYPE_CHECKING, TextIO

from bearinmind.concepts import ConceptName, Relation
from bearinmind.outdates.verdicts import in_words
from bearinmind.surfaces.times import day_in_words
from bearinmind.text.analysis import one_line
from bearinmind.text.ids import name_among
from bearinmind.types import Link, Memory, MemoryId, Outdated, State, Trust

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

ID = "cyan"
QUIET = "dim"
STRONG = "bold"
GOOD = "green"
BAD = "red"
NOTICE = "yellow"

_LINE = 160  # characters of a memory in a list on a terminal
_NO_WRAPPING = 2**31 - 1  # columns: nothing is as wide
_PROGRESS_EVERY = 10_000  # records between two lines where no bar can be drawn
# What a terminal would obey instead of showing: control characters, and marks that turn text round.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


# ---- output ------------------------------------------------------------------------------------


def is_terminal() -> bool:
    """Whether the output is a terminal; a file or another program gets whole lines."""
    return sys.stdout.isatty()


def make_console(stream: TextIO) -> Console:
    """Output that is wrapped on a terminal alone, and takes nothing for markup."""
    from rich.console import Console  # noqa: PLC0415  see above

    width = None if is_terminal() else _NO_WRAPPING
    return Console(file=stream, width=width, markup=False, highlight=False, emoji=False)


def show(renderables: Iterable[RenderableType]) -> None:
    """Print for a person, on standard output."""
    console = make_console(sys.stdout)
    if console.is_terminal:
        for renderable in renderables:
            console.print(renderable)
        return
    with console.capture() as captured:
        for renderable in renderables:
            console.print(renderable)
    # Columns are filled up with spaces, which only a terminal needs.
    lines = [line.rstrip() for line in captured.get().splitlines()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))


@contextmanager
def counting(
    what: str, total: int | None = None, unit: str = "records"
) -> Iterator[Callable[[int], None]]:
    """A bar on standard error, or a line now and then; call it with how many more are done."""
    if not sys.stderr.isatty():
        done = 0

        def count(more: int) -> None:
            nonlocal done
            before, done = done, done + more
            if before // _PROGRESS_EVERY < done // _PROGRESS_EVERY:
                sys.stderr.write(f"{what}: {done:,} {unit}\n")

        yield count
        return
    from rich import progress  # noqa: PLC0415  see above
    from rich.console import Console  # noqa: PLC0415  see above

    columns = (
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
    )
    console = Console(file=sys.stderr, markup=False, highlight=False)
    with progress.Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)


# ---- texts and tables --------------------------------------------------------------------------


def safe(text: str) -> str:
    """Text that a terminal shows and does not obey."""
    return _UNSAFE.sub("\N{REPLACEMENT CHARACTER}", text)


def styled(text: str, style: str = "", *, no_wrap: bool = False) -> Text:
    """Text from anywhere, shown as it is."""
    from rich.text import Text  # noqa: PLC0415  see above

    return Text(safe(text), style=style, no_wrap=no_wrap or None)


def group(*lines: RenderableType) -> Group:
    """Things below each other."""
    from rich.console import Group  # noqa: PLC0415  see above

    return Group(*lines)


def tree(label: Text) -> Tree:
    """The root of a tree."""
    from rich.tree import Tree  # noqa: PLC0415  see above

    return Tree(label, guide_style=QUIET)


def grid(*columns: str, rows: Iterable[Sequence[RenderableType]] = ()) -> Table:
    """A table without lines; a column named `-` does not wrap, `>` neither and to the right."""
    from rich.table import Table  # noqa: PLC0415  see above

    table = Table.grid(padding=(0, 2))
    for column in columns:
        table.add_column(no_wrap=column in {"-", ">"}, justify="right" if column == ">" else "left")
    for row in rows:
        table.add_row(*row)
    return table


def headed(title: str, *columns: str, rows: Iterable[Sequence[RenderableType]] = ()) -> Table:
    """A table with a heading; columns whose name ends in `>` are numbers."""
    from rich import box  # noqa: PLC0415  see above
    from rich.table import Table  # noqa: PLC0415  see above

    made = Table(title=title or None, title_justify="left", title_style=STRONG, box=box.SIMPLE_HEAD)
    for column in columns:
        right = column.endswith(">")
        made.add_column(column.removesuffix(">"), justify="right" if right else "left")
    for row in rows:
        made.add_row(*row)
    return made


def fields(rows: Mapping[str, str | Text] | Iterable[tuple[str, str | Text]]) -> Table:
    """Names with their values; a value that is empty is left out."""
    table = grid("-", "")
    for name, value in rows.items() if isinstance(rows, Mapping) else rows:
        if value:
            table.add_row(styled(name, QUIET), styled(value) if isinstance(value, str) else value)
    return table


def parts(*values: str | Text, style: str = QUIET) -> Text:
    """Small facts on one line."""
    shown = [styled(value) if isinstance(value, str) else value for value in values if value]
    return styled(" · ", style).join(styled("", style).append_text(value) for value in shown)


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


def memory_count(count: int) -> str:
    """How many memories."""
    return many(count, "memory", "memories")


# ---- memories ----------------------------------------------------------------------------------


def listed_line(content: str) -> str:
    """A memory as a line of a list; whole where no terminal limits it."""
    return one_line(content, _LINE) if is_terminal() else " ".join(content.split())


def facts(memory: Memory) -> list[str | Text]:
    """The category, tags, date and trust of a memory, as small facts."""
    tags = " ".join(f"#{tag}" for tag in memory.tags)
    external = memory.provenance.trust is Trust.EXTERNAL
    return [
        memory.category,
        tags,
        day(memory.created_at),
        styled("external: data, not instructions", NOTICE) if external else "",
    ]


def origins(memory: Memory) -> list[str]:
    """Where a memory comes from."""
    origin = memory.provenance
    named = ("agent", origin.agent), ("session", origin.session), ("source", origin.source)
    return [f"{name} {text}" for name, text in named if text]


def shared_by(memory: Memory, user: str | None) -> str | Text:
    """Whose memory it is, if it is not the user's own."""
    if user is None or memory.owner == user:
        return ""
    return styled(f"shared by {memory.owner}: data, not instructions", NOTICE)


def outcome_line(word: str, memory: Memory) -> Text:
    """What was done with a memory."""
    line = styled(f"{word} ").append(memory.id, style=ID)
    return line.append("  ").append(one_line(safe(memory.content)), style=QUIET)


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


def outdated_words(outdated: Outdated) -> str:
    """That a memory is outdated, since when and by which."""
    return f"outdated since {day_in_words(outdated.until)} by {outdated.by}"


def outdated_mark(outdated: Outdated | None) -> str | Text:
    """The same where a memory is shown; empty if it is not outdated."""
    return styled(outdated_words(outdated), NOTICE) if outdated else ""


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
