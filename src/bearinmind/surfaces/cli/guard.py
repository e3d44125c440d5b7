"""What reaches the user when a command fails: one message, a hint and an exit code."""

from __future__ import annotations

import functools
import inspect
import os
import sys
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, ParamSpec, TypeVar, get_type_hints

import typer

from bearinmind.errors import InvalidText, MindError
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.options import sign
from bearinmind.surfaces.cli.session import Globals, Session, write_json
from bearinmind.surfaces.failures import InternalError, meaning_of

INTERNAL = 70  # EX_SOFTWARE of sysexits.h
INTERRUPTED = 130  # 128 + SIGINT, as shells count
PIPE_CLOSED = 141  # 128 + SIGPIPE

Parameters = ParamSpec("Parameters")
Result = TypeVar("Result")


def as_command(command: Callable[..., None]) -> Callable[..., None]:
    """A command as Typer is to see it: its session is made from the context and `--json`."""
    parameters = inspect.signature(command).parameters
    if "run" not in parameters:
        return guarded(command)
    keeps_context = "ctx" in parameters

    @functools.wraps(command)
    def call(*, ctx: typer.Context, as_json: bool, **values: Any) -> None:  # noqa: ANN401  options
        context = {"ctx": ctx} if keeps_context else {}
        command(run=Session.of(ctx, as_json=as_json), **context, **values)

    hints = get_type_hints(command, include_extras=True)
    own = [
        parameter.replace(annotation=hints[name])
        for name, parameter in parameters.items()
        if name not in {"run", "ctx"}
    ]
    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    context = inspect.Parameter("ctx", kind, annotation=typer.Context)
    json = inspect.Parameter("as_json", kind, default=False, annotation=options.Json)
    sign(call, [context, *own, json])
    return guarded(call)


def guarded(command: Callable[Parameters, Result]) -> Callable[Parameters, Result]:
    """A command whose failures are printed as a message and a hint."""

    @functools.wraps(command)
    def run(*args: Parameters.args, **kwargs: Parameters.kwargs) -> Result:
        as_json = bool(kwargs.get("as_json"))
        try:
            _check_texts(kwargs.values())
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
            _silence()
            raise typer.Exit(PIPE_CLOSED) from exc
        except Exception as exc:
            error = InternalError(f"{type(exc).__name__}: {exc}")
            tell(error, as_json=as_json, kind="internal error")
            options = getattr(kwargs.get("ctx"), "obj", None)
            if isinstance(options, Globals) and options.debug:
                traceback.print_exc()
            raise typer.Exit(INTERNAL) from exc
        return result

    return run


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


def _silence() -> None:
    """Drop what is left of the output: its reader is gone."""
    with Path(os.devnull).open("w", encoding="utf-8") as nowhere:
        os.dup2(nowhere.fileno(), sys.stdout.fileno())
