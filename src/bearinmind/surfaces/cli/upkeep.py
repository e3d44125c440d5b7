"""The commands about Bear in Mind itself."""

from __future__ import annotations

import importlib.metadata
from typing import Annotated

import typer

from bearinmind.store_name import StoreName
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.session import Session

_SOMETHING_BAD = 5  # the exit code of a failing store


def version() -> str:
    """The installed version."""
    return importlib.metadata.version("bearinmind")


def config(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show every setting and where its value came from."""
    run = Session.of(ctx, as_json=as_json)
    origins = run.configuration.origins
    file = run.config_file
    state = "" if file.exists() else " (not there)"
    for name in run.configuration.unknown:
        run.note(f"warning: there is no setting for the variable {name}")
    run.reply(
        {
            "file": {"path": file, "exists": file.exists()},
            "settings": [
                {
                    "name": origin.name,
                    "value": _plain(origin.value),
                    "origin": origin.origin,
                    "description": origin.description,
                }
                for origin in origins
            ],
        },
        lambda: [
            lazy.render.settings(origins),
            lazy.render.data(f"Configuration file: {file}{state}", lazy.render.QUIET),
        ],
    )


def _plain(value: object) -> object:
    """A value as JSON may have it: of a store its name, without a password."""
    return str(value) if isinstance(value, StoreName) else value


def doctor(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Look for problems, and say what to do about them."""
    run = Session.of(ctx, as_json=as_json)
    checks = lazy.examine.examine(lambda: run.configuration, version())
    good = all(check.good for check in checks)
    run.reply({"good": good, "checks": checks}, lambda: [lazy.render.checks(checks)])
    if not good:
        raise typer.Exit(_SOMETHING_BAD)


def demo(
    ctx: typer.Context,
    keep: Annotated[
        str | None, typer.Option("--keep", metavar="PATH", help="Keep the demo's store here.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show on an example what recalling is like."""
    run = Session.of(ctx, as_json=as_json)
    shown = lazy.demo.perform(keep)
    run.reply(shown.data, lambda: shown.lines)
