"""What a command works with: the settings, the store, and the terminal that it answers at.

What was stored is shown as text, never obeyed as markup. `rich` is loaded when something is drawn:
`--json` needs none of it.
"""

from __future__ import annotations

import importlib.metadata
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Self, TextIO, TypeVar

import pydantic_core
import typer

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.config import Configuration, Settings
from bearinmind.errors import FileMissing, InvalidInput, MemoryNotFound, MindError
from bearinmind.store.new_file import refuse_existing, refuse_store
from bearinmind.surfaces.lines import STANDARD, created
from bearinmind.surfaces.times import day_in_words
from bearinmind.text.addresses import StoreFile, StoreName
from bearinmind.types import Memory, Outdated, Trust
from bearinmind.work.status import COMPARE, EMBED, EXTRACT

if TYPE_CHECKING:
    from rich.console import Console, Group, RenderableType
    from rich.table import Table
    from rich.text import Text
    from rich.tree import Tree

    from bearinmind.graph.importer import BadLine
    from bearinmind.surfaces.transfer import Problem
    from bearinmind.vault.seal import SealingVault

Noun = TypeVar("Noun")

SHOWN_PROBLEMS = 20  # bad lines that are named to a person
_INVALID_INPUT = 2  # the exit code
_EMPTY_HINT = (
    "`bearinmind store TEXT` keeps the first memory; `bearinmind demo` shows how it works."
)

ID = "cyan"
QUIET = "dim"
STRONG = "bold"
GOOD = "green"
BAD = "red"
NOTICE = "yellow"

_NO_WRAPPING = 2**31 - 1  # columns: nothing is as wide
_PROGRESS_EVERY = 10_000  # records between two lines where no bar can be drawn
# What a terminal would obey instead of showing: control characters, and marks that turn text round.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")


@dataclass(frozen=True, slots=True, kw_only=True)
class Globals:
    """The options before the command."""

    store: str | None = None
    user: str | None = None
    config: Path | None = None
    debug: bool = False


class Session:
    """One run of one command."""

    def __init__(self, options: Globals, *, as_json: bool) -> None:
        self.as_json = as_json
        self.options = options

    @classmethod
    def of(cls, ctx: typer.Context, *, as_json: bool) -> Self:
        """The session of a command."""
        return cls(ctx.ensure_object(Globals), as_json=as_json)

    # ---- the settings and the store ------------------------------------------------------------

    @cached_property
    def configuration(self) -> Configuration:
        """The settings and where each came from."""
        options = {"store": self.options.store, "user": self.options.user}
        return Configuration.load(options, file=self.options.config)

    @property
    def settings(self) -> Settings:
        """The settings."""
        return self.configuration.settings

    @property
    def place(self) -> StoreName:
        """Where the store is, or would be."""
        return self.settings.store

    def open(self) -> Mind:
        """The store; it is made if there is none."""
        return Mind.build(self.settings, by_person=True)

    def find(self) -> Mind | None:
        """The store, if there is one."""
        try:
            return Mind.build(self.settings, create=False, borrow=True)
        except FileMissing:
            check_folder(self.configuration)
            return None

    @contextmanager
    def reading(self, nothing: object) -> Iterator[Mind]:
        """The store, for a command that shows what is in it.

        Without a store the command ends here. It answers that nothing is stored yet, which is
        `nothing` for a machine.
        """
        mind = self.find()
        if mind is None:
            sentence = f"Nothing is stored yet. {_EMPTY_HINT}"
            self.reply(nothing, lambda: [styled(sentence)])
            raise typer.Exit
        with mind:
            yield mind

    def existing(self, error: type[MindError] = MemoryNotFound, hint: str = _EMPTY_HINT) -> Mind:
        """The store, for a command that names something in it."""
        mind = self.find()
        if mind is None:
            raise error(f"nothing is stored yet in {str(self.place)!r}", hint=hint)
        return mind

    def existing_store(self, rest: str = "nothing was changed.") -> Mind:
        """The store, for a command that has nothing to do without one."""
        mind = self.find()
        if mind is None:
            raise FileMissing(
                f"there is no store at {str(self.place)!r}", hint=f"Check --store; {rest}"
            )
        return mind

    @contextmanager
    def new_file(self, file: str) -> Iterator[Callable[[bytes], object]]:
        """Writes to a new file, a device or standard output; never over what somebody has."""
        path = Path(file)
        if file != STANDARD:
            refuse_store(path, self.place)
            if path.is_file():
                refuse_existing(path)
        with created(file) as write:
            yield write

    def start_worker(self) -> None:
        """Have what was stored embedded and read in the background, without waiting for it."""
        if self.settings.worker == "off":
            return
        from bearinmind.surfaces import background  # noqa: PLC0415  only what stores needs it

        background.ensure(self.settings, self.options.config)

    def wait_for_work(self, mind: Mind) -> None:
        """Embed and read here and now what waits for it, and say what could not be."""
        with counting("background work", unit="jobs") as advance:
            status = mind.work.wait(progress=advance)
        for kind, done, instead in (
            (EMBED, "embedded", "recall finds them by their words"),
            (EXTRACT, "read for the graph", "recall finds them, but not by way of others"),
            (COMPARE, "compared", "recall does not know yet what they outdate"),
        ):
            left = status.of_kind(kind)
            if left.waiting or left.dead:
                off = status.meaning_off if kind == EMBED else None
                self.note(
                    f"not everything is {done}: {left.waiting:,} wait, {left.dead:,} were given up"
                    f" ({off.reason if off else left.last_error}); {instead}"
                )

    # ---- the way out ---------------------------------------------------------------------------

    def reply(self, value: object, human: Callable[[], Iterable[RenderableType]]) -> None:
        """Print the answer, for a machine or for a person."""
        if self.as_json:
            write_json(value, sys.stdout)
        else:
            show(human())

    def say(self, value: object, sentence: str) -> None:
        """Print the answer, which is one sentence for a person."""
        self.reply(value, lambda: [styled(sentence)])

    def reply_rows(
        self, value: object, rows: Sized, table: Callable[[], RenderableType], without: str
    ) -> None:
        """Print rows; for a person as a table, or a sentence when there are none."""
        self.reply(value, lambda: [table() if rows else styled(without)])

    def reply_listed(
        self,
        name: str,
        listed: Callable[[Mind], Sequence[Noun]],
        row: Callable[[Noun], Sequence[RenderableType]],
        columns: Sequence[str],
        without: str,
    ) -> None:
        """Print what the store holds of a kind, a row each; a sentence when that is nothing."""
        with self.reading({name: []}) as mind:
            nouns = listed(mind)
        self.reply_rows({name: nouns}, nouns, lambda: grid(*columns, rows=map(row, nouns)), without)

    def end_import(self, problems: Sequence[Problem | BadLine], bad: int) -> None:
        """Name the lines of a file that were not imported; if there are any, end with a failure."""
        if not bad:
            return
        if not self.as_json:
            shown = problems[:SHOWN_PROBLEMS]
            for problem in shown:
                file = f"{name} " if (name := getattr(problem, "file", "")) else ""
                self.note(f"{file}line {problem.line}: {problem.code}: {problem.message}")
            if bad > len(shown):
                self.note(f"and {bad - len(shown):,} more; --json lists all of them")
        raise typer.Exit(_INVALID_INPUT)

    def note_new_key(self, vault: SealingVault) -> None:
        """Say that a key was made, and what depends on it."""
        if vault.made_key_at is not None:
            self.note(
                f"The key of your sensitive memories was made in {vault.made_key_at.path}. Keep a "
                "copy of that file apart from the store: without it they cannot be read by anybody."
            )

    def agreed(self, plan: Iterable[RenderableType], question: str, *, yes: bool) -> bool:
        """Whether the person wants a plan carried out that cannot be undone."""
        if yes:
            return True
        if self.as_json or not sys.stdin.isatty():
            raise InvalidInput(
                "this cannot be undone, and no terminal is there to ask at",
                hint="Add --yes to do it, or --dry-run to see what it would remove.",
            )
        show(plan)
        return typer.confirm(question, err=True)

    def note_traces(self) -> None:
        """Say where text that was removed may still be found, and until when."""
        self.note(
            "another process reads the store: traces of the text may remain until it ends"
            if isinstance(self.place, StoreFile)
            else "the text is removed from every answer; the server's files and its log may hold "
            "it until they are overwritten, and so may copies of them"
        )

    def is_alone(self, ctx: typer.Context) -> bool:
        """Whether no other command follows this one; `--json` stands behind that."""
        if ctx.invoked_subcommand and self.as_json:
            hint = f"Write it after `{ctx.invoked_subcommand}`."
            raise InvalidInput("--json stands before its command", hint=hint)
        return not ctx.invoked_subcommand

    def note(self, text: str) -> None:
        """Say something beside the answer, on standard error."""
        typer.echo(text, err=True)


def check_folder(configuration: Configuration) -> None:
    """Refuse a store that was named in a folder that does not exist.

    The folder of the store that nobody named is made with the first memory.
    """
    store = configuration.settings.store
    origin = next(each.origin for each in configuration.origins if each.name == "store")
    if isinstance(store, StoreFile) and origin != "default" and not store.path.parent.is_dir():
        raise FileMissing(
            f"the folder of the store does not exist: {str(store.path.parent)!r}",
            hint="Check --store and BEARINMIND_STORE; `bearinmind store TEXT` makes the folder.",
        ) from None


def version() -> str:
    """The installed version."""
    return importlib.metadata.version("bearinmind")


def write_json(value: object, stream: TextIO) -> None:
    """Print one JSON document on one line, in UTF-8 whatever the terminal's encoding."""
    stream.flush()
    stream.buffer.write(pydantic_core.to_json(_as_data(value), inf_nan_mode="null") + b"\n")
    stream.flush()


def _as_data(value: object) -> object:
    """An answer whose nouns, wherever they stand in it, are in the form of the codec."""
    if isinstance(value, Mapping):
        return {name: _as_data(item) for name, item in value.items()}
    if codec.is_noun(type(value)) or isinstance(value, MindError):
        return codec.to_data(value)
    if isinstance(value, list | tuple):
        return [_as_data(item) for item in value]
    return value


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


# ---- small facts about a memory ------------------------------------------------------------------


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


def shared_by(memory: Memory, user: str | None) -> str | Text:
    """Whose memory it is, if it is not the user's own."""
    if user is None or memory.owner == user:
        return ""
    return styled(f"shared by {memory.owner}: data, not instructions", NOTICE)


def outdated_words(outdated: Outdated) -> str:
    """That a memory is outdated, since when and by which."""
    return f"outdated since {day_in_words(outdated.until)} by {outdated.by}"


def outdated_mark(outdated: Outdated | None) -> str | Text:
    """The same where a memory is shown; empty if it is not outdated."""
    return styled(outdated_words(outdated), NOTICE) if outdated else ""
