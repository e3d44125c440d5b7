"""What a command works with: the settings, the store and the way out, also when it fails."""

from __future__ import annotations

import errno
import functools
import importlib.metadata
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, Self, TextIO, TypeVar

import pydantic_core
import typer

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.config import Configuration, Settings
from bearinmind.errors import FileMissing, InvalidInput, InvalidText, MemoryNotFound, MindError
from bearinmind.store.new_file import refuse_existing, refuse_store
from bearinmind.surfaces.cli import options, terminal
from bearinmind.surfaces.cli.options import sign
from bearinmind.surfaces.failures import InternalError, meaning_of
from bearinmind.surfaces.lines import STANDARD, created, translated
from bearinmind.text.addresses import StoreFile, StoreName
from bearinmind.work.status import COMPARE, EMBED, EXTRACT

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bearinmind.graph.importer import BadLine
    from bearinmind.surfaces.transfer import Problem
    from bearinmind.vault.seal import SealingVault

SHOWN_PROBLEMS = 20  # bad lines that are named to a person
_INVALID_INPUT = 2  # the exit code
_EMPTY_HINT = (
    "`bearinmind store TEXT` keeps the first memory; `bearinmind demo` shows how it works."
)


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
        return Mind.build(self.settings)

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
            self.reply(nothing, lambda: [terminal.styled(sentence)])
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
        with terminal.counting("background work", unit="jobs") as advance:
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
            terminal.show(human())

    def say(self, value: object, sentence: str) -> None:
        """Print the answer, which is one sentence for a person."""
        self.reply(value, lambda: [terminal.styled(sentence)])

    def reply_rows(
        self, value: object, rows: Sized, table: Callable[[], RenderableType], without: str
    ) -> None:
        """Print rows; for a person as a table, or a sentence when there are none."""
        self.reply(value, lambda: [table() if rows else terminal.styled(without)])

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
        terminal.show(plan)
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


# ---- what reaches the user when a command fails --------------------------------------------------


INTERNAL = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED = 141  # 128 + SIGPIPE
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}  # by the system

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def as_command(command: Callable[..., None]) -> Callable[..., None]:
    """A command as Typer is to see it: its session is made from the context and `--json`."""
    parameters = inspect.signature(command).parameters
    if "run" not in parameters:
        return guarded(command)
    keeps_context = "ctx" in parameters

    @functools.wraps(command)
    def call(*, ctx: typer.Context, as_json: bool | None, **values: Any) -> None:  # noqa: ANN401  options
        context = {"ctx": ctx} if keeps_context else {}
        command(run=Session.of(ctx, as_json=bool(as_json)), **context, **values)

    sign(call, command, {"run", "ctx"}, {"ctx": typer.Context, "as_json": options.Json})
    return guarded(call)


def guarded(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A command whose failures are printed as a message and a hint."""

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        as_json = bool(kwargs.get("as_json"))
        try:
            _check_texts(kwargs.values())
            with _refusals():
                result = command(*args, **kwargs)
                sys.stdout.flush()
        except (typer.Exit, typer.Abort):
            raise
        except MindError as exc:
            tell(exc, as_json=as_json)
            raise typer.Exit(meaning_of(exc).exit_code) from exc
        except KeyboardInterrupt as exc:
            raise typer.Exit(INTERRUPTED) from exc
        except BrokenPipeError as exc:
            _drop_output()
            raise typer.Exit(PIPE_CLOSED) from exc
        except Exception as exc:
            if _is_interrupted(exc):
                raise typer.Exit(INTERRUPTED) from exc
            error = InternalError(f"{type(exc).__name__}: {exc}")
            tell(error, as_json=as_json, kind="internal error")
            options = getattr(kwargs.get("ctx"), "obj", None)
            if isinstance(options, Globals) and options.debug:
                traceback.print_exc()
            raise typer.Exit(INTERNAL) from exc
        return result

    return run


@contextmanager
def _refusals() -> Iterator[None]:
    """A full disk or a folder that may not be written is told as such: it is no bug."""
    try:
        yield
    except OSError as exc:
        if exc.errno not in _REFUSED:
            raise
        if exc.filename is None:
            _drop_output()
        with translated(exc.filename or "standard output"):
            raise


def _drop_output() -> None:
    """What is still to be printed goes nowhere: nobody reads it, or there is no space for it."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())


def _is_interrupted(exc: BaseException | None) -> bool:
    """Whether something failed because an interrupt came in the middle of it."""
    while exc is not None and not isinstance(exc, KeyboardInterrupt):
        exc = exc.__context__
    return exc is not None


def tell(error: MindError, *, as_json: bool, kind: str = "error") -> None:
    """Print an error and its hint on standard error."""
    if as_json:
        write_json({"error": error}, sys.stderr)
        return
    typer.echo(f"{kind}: {_shown(error.message)}", err=True)
    if error.hint:
        typer.echo(f"hint: {_shown(error.hint)}", err=True)


def _shown(text: str) -> str:
    """One line that a terminal shows and does not obey."""
    return " ".join("".join(c if c.isprintable() else " " for c in text).split())


def _check_texts(values: Iterable[Any]) -> None:
    """Arguments that are not UTF-8 arrive with halves of characters, which cannot be kept."""
    for value in values:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise InvalidText(f"{text!r} is not valid UTF-8") from None
