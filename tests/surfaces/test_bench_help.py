"""What `bearinmind bench` says about its own commands."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import typer.main

from bearinmind.surfaces.cli import app

Run = Callable[..., Any]

COMMANDS = ["run", "compare", "sweep", "report", "check", "data"]
DATA_COMMANDS = ["validate", "fingerprint", "stats", "download"]


def commands() -> dict[str, Any]:
    group: Any = typer.main.get_command(app)
    bench = group.commands["bench"]
    found = {f"bench {name}": command for name, command in bench.commands.items()}
    data = bench.commands["data"].commands
    return found | {f"bench data {name}": command for name, command in data.items()}


def test_the_commands_are_those_that_were_promised() -> None:
    expected = {f"bench {name}" for name in COMMANDS}
    assert expected | {f"bench data {name}" for name in DATA_COMMANDS} <= {*commands()}


@pytest.mark.parametrize("name", commands())
def test_every_command_explains_itself_and_each_of_its_options(run: Run, name: str) -> None:
    command = commands()[name]
    assert command.help
    assert [param.name for param in command.params if not param.help] == []
    ran = run(*name.split(), "--help")
    assert ran.code == 0
    assert command.help.splitlines()[0] in " ".join(ran.out.split())


@pytest.mark.parametrize("args", [["bench"], ["bench", "data"]])
def test_without_arguments_the_help_is_shown(run: Run, args: list[str]) -> None:
    ran = run(*args)
    assert "Usage: " in ran.out + ran.err


@pytest.mark.parametrize(
    "args",
    [
        ["run"],
        ["compare", "a.json"],
        ["compare", "a.json", "b.json", "--minimum", "1"],
        ["sweep"],
        ["check"],
        ["check", "rows.toml"],
        ["data", "validate"],
        ["data", "nonsense"],
        ["nonsense"],
    ],
)
def test_wrong_usage_exits_with_2_and_points_to_the_help(run: Run, args: list[str]) -> None:
    ran = run("bench", *args)
    assert ran.code == 2
    assert "Usage: " in ran.err
