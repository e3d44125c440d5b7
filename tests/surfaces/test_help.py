from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer.main

from recollect.interfaces.cli import app
from recollect.interfaces.cli.main import COMMANDS

Run = Callable[..., Any]
GROUP: Any = typer.main.get_command(app)

EXPECTED = [
    "store",
    "recall",
    "list",
    "get",
    "update",
    "delete",
    "restore",
    "purge",
    "link",
    "why",
    "timeline",
    "stats",
    "learn",
    "brief",
    "import",
    "export",
    "migrate-store",
    "work",
    "reembed",
    "audit",
    "serve",
    "mcp",
    "doctor",
    "config",
    "demo",
]


def test_the_commands_are_those_that_were_promised() -> None:
    assert list(COMMANDS) == EXPECTED


@pytest.mark.parametrize("name", EXPECTED)
def test_every_command_explains_itself_and_each_of_its_options(run: Run, name: str) -> None:
    command = GROUP.commands[name]

    assert command.help
    assert [param.name for param in command.params if not param.help] == []
    assert any("--json" in param.opts for param in command.params)
    ran = run(name, "--help")
    assert ran.code == 0
    assert command.help.splitlines()[0] in ran.out


def test_the_help_lists_every_command_with_its_whole_sentence(run: Run) -> None:
    out = run("--help").out

    for name in EXPECTED:
        assert f"  {name} " in out
    assert "..." not in out.partition("Commands:")[2]
    for option in ("--store", "--user", "--config", "--version", "--install-completion"):
        assert option in out


def test_without_arguments_the_help_is_shown(run: Run) -> None:
    ran = run(store=None)

    assert "Usage: " in ran.out + ran.err


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out.startswith("recollect 0.")
