from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import typer.main

from bearinmind.surfaces.cli import app
from bearinmind.surfaces.cli.main import COMMANDS, GROUPS
from bearinmind.surfaces.cli.ondemand import MadeOnUse

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
EXPECTED_GROUPS = [
    "graph",
    "curate",
    "secret",
    "share",
    "sync",
    "user",
    "key",
    "db",
    "hooks",
    "bench",
]
#: Runs a command, and tells which parts of the command line were loaded for it.
LOADED = """
import json, sys
from bearinmind.surfaces.cli import app
try:
    app()
finally:
    print(json.dumps([*sys.modules]), file=sys.stderr)
"""


def test_the_commands_are_those_that_were_promised() -> None:
    assert list(COMMANDS) == EXPECTED
    assert list(GROUPS) == EXPECTED_GROUPS
    assert list(GROUP.commands) == EXPECTED + EXPECTED_GROUPS


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
    listed = out.partition("Commands:")[2]

    assert [line.split()[0] for line in listed.splitlines() if line.strip()] == [*GROUP.commands]
    for name, command in GROUP.commands.items():
        [line] = [line for line in listed.splitlines() if line.startswith(f"  {name} ")]
        assert line.split(maxsplit=1)[1] == command.get_short_help_str(200)
    assert "..." not in listed
    for option in ("--store", "--user", "--config", "--version", "--install-completion"):
        assert option in out


def test_without_arguments_the_help_is_shown(run: Run) -> None:
    ran = run(store=None)

    assert "Usage: " in ran.out + ran.err


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out.startswith("bearinmind 0.")


@pytest.mark.parametrize(
    ("typed", "meant"), [(["recal"], "recall"), (["bensh"], "bench"), (["graph", "shwo"], "show")]
)
def test_a_command_that_is_mistyped_is_told_what_was_meant(
    run: Run, typed: list[str], meant: str
) -> None:
    ran = run(*typed)

    assert ran.code == 2
    assert f"No such command {typed[-1]!r}. Did you mean {meant!r}" in ran.err


def test_shells_complete_the_names_of_commands_and_groups() -> None:
    def complete(words: str) -> list[str]:
        asking = {"_BEARINMIND_COMPLETE": "complete_bash", "COMP_WORDS": words}
        asking["COMP_CWORD"] = str(words.count(" "))
        script = str(Path(sys.executable).with_name("bearinmind"))
        env = os.environ | asking
        ran = subprocess.run([script], env=env, capture_output=True, check=True, timeout=60)
        return ran.stdout.decode().split()

    assert complete("bearinmind ") == EXPECTED + EXPECTED_GROUPS
    assert complete("bearinmind s") == ["store", "stats", "serve", "secret", "share", "sync"]


def test_a_command_waits_for_no_other_to_be_loaded(place: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, "--store", str(place), "list", "--json"],
        capture_output=True,
        check=True,
        timeout=60,
    )

    parts = {where.partition(".")[0] for where in (COMMANDS | GROUPS).values()}
    loaded = {name.rpartition(".")[2] for name in json.loads(ran.stderr) if ".cli." in name}
    assert loaded & parts == {"read"}


def test_a_value_is_made_once_and_when_it_is_asked_for() -> None:
    made: list[str] = []

    def make(name: str) -> str:
        made.append(name)
        return name.upper()

    values = MadeOnUse(["b", "a", "c"], make)

    assert ([*values], len(values), "a" in values, "x" in values) == (
        ["b", "a", "c"],
        3,
        True,
        False,
    )
    assert made == []
    assert (values["a"], values.get("a"), values.get("x")) == ("A", "A", None)
    assert made == ["a"]
    values["d"] = "given"
    del values["b"]
    assert dict(values) == {"a": "A", "c": "C", "d": "given"}
    assert made == ["a", "c"]
