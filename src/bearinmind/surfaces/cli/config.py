"""The commands that show every setting, and set one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from bearinmind.config import PREFIX, Configuration, Origin, with_setting
from bearinmind.surfaces.cli.options import argument
from bearinmind.surfaces.cli.terminal import NOTICE, QUIET, STRONG, Session, grid, styled
from bearinmind.surfaces.lines import created
from bearinmind.text.addresses import StoreName

if TYPE_CHECKING:
    from rich.console import RenderableType


app = typer.Typer(invoke_without_command=True)


@app.callback()
def config(run: Session, ctx: typer.Context) -> None:
    """Show every setting and where its value came from."""
    if run.is_alone(ctx):
        _show(run)


@app.command("set")
def set_(
    run: Session,
    name: str = argument("NAME", "Of a setting; `leg_weights.graph` of an entry."),
    value: str = argument("VALUE", "A list is separated by commas."),
) -> None:
    """Set a setting in the configuration file; its comments stay."""
    file = run.configuration.file
    text = with_setting(file, name, value)
    file.parent.mkdir(parents=True, exist_ok=True)
    with created(str(file)) as write:
        write(text.encode())
    setting = name.partition(".")[0]
    now = Configuration.load(file=file).origins
    origin = next(each.origin for each in now if each.name == setting)
    run.say({"file": file, "name": name, "origin": origin}, f"{name} is set in {file}")
    if not origin.startswith("file"):
        run.note(f"note: {PREFIX}{setting.upper()} of the environment is used in its place")


def _show(run: Session) -> None:
    origins = run.configuration.origins
    file = run.configuration.file
    state = "" if file.exists() else " (not there)"
    for name in run.configuration.unknown:
        run.note(f"warning: there is no setting for the variable {name}")
    run.reply(
        {
            "file": {"path": file, "exists": file.exists()},
            "settings": [
                {
                    "name": each.name,
                    # Of a store its name, without a password.
                    "value": str(each.value) if isinstance(each.value, StoreName) else each.value,
                    "origin": each.origin,
                    "description": each.description,
                }
                for each in origins
            ],
        },
        lambda: [_settings_table(origins), styled(f"Configuration file: {file}{state}", QUIET)],
    )


def _settings_table(origins: Iterable[Origin]) -> RenderableType:
    table = grid("-", "", "")
    for origin in origins:
        default = origin.origin == "default"
        table.add_row(
            styled(origin.name, STRONG),
            styled(_shown(origin.value)),
            styled(origin.origin, QUIET if default else NOTICE),
        )
        table.add_row("", styled(origin.description, QUIET), "")
    return table


def _shown(value: object) -> str:
    """A setting's value as a person would write it."""
    match value:
        case None:
            return "none"
        case tuple():
            return ", ".join(map(str, value))
        case dict():
            return ", ".join(f"{name} {_shown(item)}" for name, item in value.items()) or "none"
        case float():
            return f"{value:g}"
        case _:
            return str(value)
