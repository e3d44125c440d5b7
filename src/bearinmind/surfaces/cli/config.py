"""The command that shows every setting."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from bearinmind.config import Origin
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.terminal import NOTICE, QUIET, STRONG, grid, styled
from bearinmind.text.store_name import StoreName

if TYPE_CHECKING:
    from rich.console import RenderableType


def config(run: Session) -> None:
    """Show every setting and where its value came from."""
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
                    "name": origin.name,
                    "value": _plain(origin.value),
                    "origin": origin.origin,
                    "description": origin.description,
                }
                for origin in origins
            ],
        },
        lambda: [_settings_table(origins), styled(f"Configuration file: {file}{state}", QUIET)],
    )


def _plain(value: object) -> object:
    """A value as JSON may have it: of a store its name, without a password."""
    return str(value) if isinstance(value, StoreName) else value


def _settings_table(origins: Iterable[Origin]) -> RenderableType:
    """Every setting with its value, where that came from, and what it means."""
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
