"""The `bearinmind` command: its options, the table of all its commands, and how they fail.

A command's module is loaded when the command is named; `--help` is printed from the table.
"""

from __future__ import annotations

import errno
import functools
import gc
import importlib
import inspect
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from difflib import get_close_matches
from importlib.metadata import entry_points
from importlib.metadata import version as version_of
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, ParamSpec, TypeVar

import typer.core
import typer.main

if TYPE_CHECKING:
    from typer._click import Command, Context, HelpFormatter

    from bearinmind.errors import MindError

INTERNAL = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED = 141  # 128 + SIGPIPE
_REFUSED = {errno.EACCES, errno.EPERM, errno.EROFS, errno.ENOSPC, errno.EDQUOT}  # by the system

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


class Row(NamedTuple):
    """One command, or one group of commands."""

    name: str
    place: str  #: `module.name` below this package; empty where an extra brings the command
    help: str
    aliases: str = ""  #: other names, between spaces


#: By heading of `bearinmind --help`.
TABLE: dict[str, tuple[Row, ...]] = {
    "Everyday": (
        Row("store", "change.store", "Remember something.", "add remember"),
        Row("recall", "recall.recall", "Find the memories that matter for a question.", "search"),
        Row("list", "read.list_memories", "Show memories, the newest first.", "ls"),
        Row("get", "read.get", "Show a memory with all its fields, links and versions."),
        Row("update", "change.update", "Change a memory; the version before stays readable."),
        Row(
            "delete", "change.delete", "Hide memories from recall; they can be restored.", "forget"
        ),
        Row("restore", "change.restore", "Bring deleted memories back."),
        Row("link", "change.link", 'Link two memories, read "SOURCE KIND TARGET".'),
        Row("resolve", "change.resolve", "Decide which of two memories holds now."),
        Row("history", "read.history", "Show how something changed: its states in order."),
        Row("why", "read.why", "Show what led to a memory."),
        Row("timeline", "read.timeline", "Show what was remembered around a memory or a moment."),
        Row("graph", "graph.app", "Go from memory to memory by the concepts that they mention."),
        Row("secret", "secret.app", "Read sensitive memories, and look after their key."),
        Row("stats", "read.stats", "Count what is stored, and what others share."),
        Row("demo", "demo.demo", "Show on an example what recalling is like."),
    ),
    "Agents": (
        Row("hooks", "hooks.app", "Add Bear in Mind to agents, so that it is simply there."),
        Row("mcp", "serve.mcp", "Serve one agent over standard input and output (MCP)."),
        Row("learn", "learn.learn", "Learn from what was said in a session."),
        Row("brief", "learn.brief", "Show what a session should begin with."),
    ),
    "Server": (
        Row("serve", "serve.serve", "Serve the memories of a store over HTTP and MCP."),
        Row("sync", "sync.app", "Keep this machine in step with a server; alone: `sync now`."),
        Row("user", "accounts.user_app", "Look after the users of a server."),
        Row("key", "accounts.key_app", "Look after the keys that let users into a server."),
        Row("share", "accounts.share_app", "Let other users see memories, or change them."),
        Row("audit", "accounts.audit", "Show who read secrets, shared, or changed users and keys."),
        Row("traffic", "accounts.traffic", "Show how often a server was asked, over time."),
        Row("db", "db.app", "Look after the database of a store on Postgres."),
    ),
    "Upkeep": (
        Row("doctor", "doctor.doctor", "Look for problems, and say what to do about them."),
        Row("config", "config.app", "Show every setting, or set one in the file."),
        Row("curate", "curate.app", "Find duplicates, contradictions and what is out of date."),
        Row("backup", "backup.backup", "Back up the whole store, of every user, while it is used."),
        Row("restore-store", "backup.restore_store", "Restore a backup into an empty place."),
        Row(
            "export", "move.export_memories", "Write every memory, version and link as JSON Lines."
        ),
        Row(
            "import",
            "move.import_memories",
            "Add memories from other programs, notes and exports.",
        ),
        Row(
            "migrate-store",
            "move.migrate_store",
            "Move a whole store, of every user, into an empty one.",
        ),
        Row("purge", "change.purge", "Remove deleted memories for good."),
        Row("work", "work.work", "Embed, read for the graph and compare what waits for it."),
        Row("reembed", "work.reembed", "Embed every memory again, with the configured embedder."),
    ),
    "Measuring": (Row("bench", "", "Measure recall, and tell what is better from chance."),),
}
#: Installed packages add commands by this group of entry points: its name is the command's, its
#: value a Typer app.
ENTRY_POINTS = "bearinmind.commands"

_ROWS = {
    name: row
    for rows in TABLE.values()
    for row in rows
    for name in (row.name, *row.aliases.split())
}


class Root(typer.core.TyperGroup):
    """All that `bearinmind` can do."""

    def __init__(self, **given: Any) -> None:  # noqa: ANN401  Typer's own, passed on
        super().__init__(**given)
        self.commands = _Commands()

    def list_commands(self, ctx: object) -> list[str]:  # noqa: ARG002  names need no context
        """The names in their order, without aliases."""
        return [row.name for rows in TABLE.values() for row in rows]

    def get_command(self, ctx: Context, cmd_name: str) -> Command | None:  # noqa: ARG002  as above
        """The command of a name or an alias; its module is loaded now."""
        try:
            return self.commands[cmd_name]
        except KeyError:
            return None

    def resolve_command(
        self, ctx: Context, args: list[str]
    ) -> tuple[str | None, Command | None, list[str]]:
        """The command that was typed; a guess when there is none of that name."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            guesses = ", ".join(repr(name) for name in get_close_matches(args[0], _ROWS))
            mean = f" Did you mean {guesses}?" if guesses else " `bearinmind --help` lists them."
            ctx.fail(f"No such command {args[0]!r}.{mean}")
        name, command, rest = super().resolve_command(ctx, args)
        return _ROWS[name].name if name in _ROWS else name, command, rest

    def invoke(self, ctx: Context) -> Any:  # noqa: ANN401  what the command returns
        """Run the command that was typed; a wrong value is told in our words, not Pydantic's."""
        try:
            return super().invoke(ctx)
        except typer.BadParameter as exc:
            from pydantic import ValidationError  # noqa: PLC0415  rarely needed

            from bearinmind.errors.flaws import shortened, wrong  # noqa: PLC0415  likewise

            if isinstance(exc.__cause__, ValidationError):
                [flaw, *_] = exc.__cause__.errors(include_url=False)
                exc.message = wrong(flaw, shortened(flaw["input"]))
            raise

    def format_commands(self, ctx: Context, formatter: HelpFormatter) -> None:
        """The commands by what they are for, each with the other names that it has."""
        width = max(map(len, self.list_commands(ctx)))
        for section, rows in TABLE.items():
            with formatter.section(section):
                formatter.write_dl([(row.name.ljust(width), _described(row)) for row in rows])


class _Commands(dict[str, "Command"]):
    """The commands that were used so far; another is made when it is looked up."""

    def __missing__(self, name: str) -> Command:
        row = _ROWS.get(name)
        part = _part(row) if row and row.place else _plugin(name)
        if part is not None:
            self[name] = _made(row.name if row else name, part, row.help if row else None)
        elif row is not None:
            self[name] = _not_installed(name)
        else:
            raise KeyError(name)
        return self[name]


def _described(row: Row) -> str:
    return f"{row.help} Also: {', '.join(row.aliases.split())}." if row.aliases else row.help


def _part(row: Row) -> object:
    """The function or the Typer app of a command."""
    module, _, name = row.place.partition(".")
    return getattr(importlib.import_module(f"bearinmind.surfaces.cli.{module}"), name)


def _plugin(name: str) -> object | None:
    """The Typer app that another package has for a command; None when none is installed whole."""
    for entry in entry_points(group=ENTRY_POINTS, name=name):
        with suppress(ModuleNotFoundError):
            return entry.load()  # type: ignore[no-any-return]
    return None


def _made(
    name: str,
    part: Any,  # noqa: ANN401
    help_: str | None = None,
    settings: dict[str, Any] | None = None,
) -> Command:
    """A command as Typer makes it of a function or an app; its failures become messages."""
    alone = typer.Typer(rich_markup_mode=None)
    if isinstance(part, typer.Typer):
        _guard(part)
        alone.add_typer(part, name=name, help=help_ or part.info.help)
    else:
        alone.command(name, context_settings=settings)(part)
        _guard(alone)
    return typer.main.get_group(alone).commands[name]


def _not_installed(name: str) -> Command:
    """A command that says how to install it, whatever follows it."""

    def missing() -> None:
        from bearinmind.errors import MissingExtra  # noqa: PLC0415  rarely needed

        raise MissingExtra(f"`bearinmind {name}` is not installed", extra=name)

    missing.__doc__ = f"Not installed: pip install 'bearinmind[{name}]'."
    anything = {"ignore_unknown_options": True, "allow_extra_args": True}
    return _made(name, missing, settings=anything)


def _guard(group: typer.Typer) -> None:
    """Turn the failures of every command of a group into messages."""
    for command in (*group.registered_commands, group.registered_callback):
        if command and command.callback:
            command.callback = as_command(command.callback)
    for below in group.registered_groups:
        if below.typer_instance is not None:
            _guard(below.typer_instance)


# ---- what reaches the user when a command fails --------------------------------------------------

# `--help` needs none of what is imported below.


def as_command(command: Callable[..., None]) -> Callable[..., None]:
    """A command as Typer is to see it: its session is made from the context and `--json`."""
    from bearinmind.surfaces.cli.options import Json, parameters_of, sign  # noqa: PLC0415
    from bearinmind.surfaces.cli.terminal import Session  # noqa: PLC0415

    parameters = inspect.signature(command).parameters
    if "run" not in parameters:
        return guarded(command)
    keeps_context = "ctx" in parameters

    @functools.wraps(command)
    def call(*, ctx: typer.Context, as_json: bool | None, **values: Any) -> None:  # noqa: ANN401  options
        context = {"ctx": ctx} if keeps_context else {}
        command(run=Session.of(ctx, as_json=bool(as_json)), **context, **values)

    declared = parameters_of(command, {"run": [], "ctx": []})
    for name, type_ in {"ctx": typer.Context, "as_json": Json}.items():
        more = inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None)
        declared.append(more.replace(annotation=type_))
    sign(call, declared)
    return guarded(call)


def guarded(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A command whose failures are printed as a message and a hint."""
    from bearinmind.errors import MindError  # noqa: PLC0415
    from bearinmind.surfaces.failures import InternalError, meaning_of  # noqa: PLC0415

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
            if getattr(getattr(kwargs.get("ctx"), "obj", None), "debug", False):
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
        from bearinmind.surfaces.lines import translated  # noqa: PLC0415

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
        from bearinmind.surfaces.cli.terminal import write_json  # noqa: PLC0415

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
    from bearinmind.errors import InvalidText  # noqa: PLC0415

    for value in values:
        for text in value if isinstance(value, list) else [value]:
            if isinstance(text, str):
                try:
                    text.encode()
                except UnicodeEncodeError:
                    raise InvalidText(f"{text!r} is not valid UTF-8") from None


app = typer.Typer(
    name="bearinmind",
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"bearinmind {version_of('bearinmind')}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="PATH|URL",
            help="The file that holds the memories, the URL of a Postgres server, or `postgres`.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Whose memories are meant.")] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="The configuration file; also BEARINMIND_CONFIG."),
    ] = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an internal error happened.")
    ] = False,
    version: Annotated[  # noqa: ARG001  answered by its callback
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version."),
    ] = False,
) -> None:
    """A persistent memory for AI agents that explains what it recalls."""
    from bearinmind.surfaces.cli.terminal import Globals  # noqa: PLC0415  `--help` needs none of it

    # The library's log stays off the terminal: what matters of it is in the answer.
    logging.getLogger("bearinmind").addHandler(logging.NullHandler())
    ctx.obj = Globals(store=store, user=user, config=config, debug=debug)


def main() -> None:
    """Run the command line."""
    gc.set_threshold(20_000)  # a command makes many objects at its start, and hardly any garbage
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that cannot show a character gets a stand-in for it, not an error.
        sys.stdout.reconfigure(errors="replace")
    elif sys.stdout is None:  # it was closed: nobody wants what is printed
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115  until the end
    try:
        guarded(app)()
    except typer.Exit as end:  # what is printed before a command begins failed, such as `--help`
        sys.exit(end.exit_code)
