from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
import typer
import typer.main

from bearinmind.surfaces.cli import app
from bearinmind.surfaces.cli.main import TABLE

Run = Callable[..., Any]
main: Any = sys.modules["bearinmind.surfaces.cli.main"]
ROWS = [row for rows in TABLE.values() for row in rows]
GROUP: Any = typer.main.get_command(app)

EXPECTED = {
    "Everyday": (
        "store recall list get update delete restore link resolve history why timeline graph "
        "secret stats demo"
    ),
    "Agents": "hooks mcp learn brief",
    "Server": "serve sync user key share audit traffic db",
    "Upkeep": (
        "doctor config curate backup restore-store export import migrate-store purge work reembed"
    ),
    "Measuring": "bench",
}
NAMES = [name for names in EXPECTED.values() for name in names.split()]
ALIASES = {
    "add": "store",
    "remember": "store",
    "search": "recall",
    "ls": "list",
    "forget": "delete",
}
#: The group is another package's: its commands are tested there.
OWN = [name for name in NAMES if name != "bench"]
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
    found = {section: " ".join(row.name for row in rows) for section, rows in TABLE.items()}

    assert found == EXPECTED
    assert GROUP.list_commands(None) == NAMES


@pytest.mark.parametrize(
    "name", [row.name for row in ROWS if row.place and not row.place.endswith("app")]
)
def test_every_command_explains_itself_and_each_of_its_options(run: Run, name: str) -> None:
    command = GROUP.commands[name]

    assert command.help
    assert [param.name for param in command.params if not param.help] == []
    assert any("--json" in param.opts for param in command.params)
    ran = run(name, "--help")
    assert ran.code == 0
    assert command.help.splitlines()[0] in ran.out


def test_the_help_lists_every_command_in_its_section_with_its_whole_sentence(run: Run) -> None:
    out = run("--help").out
    sections = {
        part.partition(":")[0]: part.partition("\n")[2] for part in out.split("\n\n") if ":" in part
    }

    for section, names in EXPECTED.items():
        lines = sections[section].splitlines()
        assert [line.split()[0] for line in lines] == names.split()
        for line in lines:
            name, sentence = line.split(maxsplit=1)
            [row] = [row for row in ROWS if row.name == name]
            also = f" Also: {', '.join(row.aliases.split())}." if row.aliases else ""
            assert sentence == row.help + also
    for option in ("--store", "--user", "--config", "--version", "--install-completion"):
        assert option in out


@pytest.mark.parametrize("name", OWN)
def test_the_table_says_of_a_command_what_the_command_says_of_itself(name: str) -> None:
    [row] = [row for row in ROWS if row.name == name]

    assert row.help == GROUP.commands[name].get_short_help_str(200)


def test_the_help_loads_no_command() -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, "--help"], capture_output=True, check=True, timeout=60
    )

    loaded = {name for name in json.loads(ran.stderr) if ".surfaces.cli." in name}
    assert loaded == {"bearinmind.surfaces.cli.main"}


def test_without_arguments_the_help_is_shown(run: Run) -> None:
    ran = run(store=None)

    assert "Usage: " in ran.out + ran.err


def test_the_version_is_told(run: Run) -> None:
    assert run("--version").out.startswith("bearinmind 0.")


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        (["recal"], "recall"),
        (["bensh"], "bench"),
        (["serch"], "search"),
        (["graph", "shwo"], "show"),
    ],
)
def test_a_command_that_is_mistyped_is_told_what_was_meant(
    run: Run, typed: list[str], meant: str
) -> None:
    ran = run(*typed)

    assert ran.code == 2
    assert f"No such command {typed[-1]!r}. Did you mean {meant!r}" in ran.err


def test_a_command_that_resembles_none_is_told_where_all_are_listed(run: Run) -> None:
    ran = run("xyzzy")

    assert ran.code == 2
    assert "No such command 'xyzzy'. `bearinmind --help` lists them." in ran.err


def test_an_option_that_is_mistyped_is_told_what_was_meant(run: Run) -> None:
    ran = run("recall", "x", "--limt", 3)

    assert ran.code == 2
    assert "--limt" in ran.err
    assert "--limit" in ran.err


@pytest.mark.parametrize(("alias", "name"), ALIASES.items())
def test_the_names_that_people_type_are_those_of_their_commands(
    run: Run, alias: str, name: str
) -> None:
    assert GROUP.commands[alias].callback is not None
    assert run(alias, "--help").out.splitlines()[2:] == run(name, "--help").out.splitlines()[2:]


@pytest.mark.usefixtures("by_words")
def test_aliases_do_what_their_commands_do(run: Run) -> None:
    id_ = run("remember", "Seals bark.", "--json").json["memory"]["id"]

    assert run("add", "Seals bark.", "--json").json["outcome"] == "already_known"
    assert [hit["memory"]["id"] for hit in run("search", "seals", "--json").json["hits"]] == [id_]
    assert [memory["id"] for memory in run("ls", "--json").json["memories"]] == [id_]
    assert [memory["id"] for memory in run("forget", id_, "--json").json["memories"]] == [id_]


def test_shells_complete_the_names_of_commands_and_groups() -> None:
    def complete(words: str) -> list[str]:
        asking = {"_BEARINMIND_COMPLETE": "complete_bash", "COMP_WORDS": words}
        asking["COMP_CWORD"] = str(words.count(" "))
        script = str(Path(sys.executable).with_name("bearinmind"))
        env = os.environ | asking
        ran = subprocess.run([script], env=env, capture_output=True, check=True, timeout=60)
        return ran.stdout.decode().split()

    assert complete("bearinmind ") == NAMES
    assert complete("bearinmind s") == ["store", "secret", "stats", "serve", "sync", "share"]


def test_a_command_waits_for_no_other_to_be_loaded(place: Path) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", LOADED, "--store", str(place), "list", "--json"],
        capture_output=True,
        check=True,
        timeout=60,
    )

    loaded = {name.rpartition(".")[2] for name in json.loads(ran.stderr) if ".cli." in name}
    assert loaded & {row.place.partition(".")[0] for row in ROWS} == {"read"}


# ---- commands of other packages ----------------------------------------------------------------


def _plugged_in(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    """Have an entry point for `bench`, and no command of that name made before."""
    point = EntryPoint(name="bench", value=value, group=main.ENTRY_POINTS)
    monkeypatch.setattr(
        main, "entry_points", lambda **wanted: [point] if wanted["name"] == point.name else []
    )
    monkeypatch.setattr(GROUP, "commands", main._Commands())
    monkeypatch.setattr("typer.testing._get_command", lambda _: GROUP)


plugin = typer.Typer()


@plugin.callback()
def _of_the_plugin() -> None:
    """Measure things."""


@plugin.command("run")
def _run_it() -> None:
    typer.echo("measured")


def test_an_installed_package_adds_a_command(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    _plugged_in(monkeypatch, f"{__name__}:plugin")

    assert run("bench", "run").out == "measured\n"


@pytest.mark.parametrize("args", [["bench"], ["bench", "run", "--data", "x"]])
@pytest.mark.parametrize("value", ["no_such_module_at_all:app", None])
def test_a_command_that_is_not_installed_says_how_to_get_it(
    run: Run, monkeypatch: pytest.MonkeyPatch, args: list[str], value: str | None
) -> None:
    _plugged_in(monkeypatch, value or "x:y")
    if value is None:
        monkeypatch.setattr(main, "entry_points", lambda **_: [])
    ran = run(*args)

    assert ran.code == 2
    assert "`bearinmind bench` is not installed" in ran.err
    assert "pip install 'bearinmind[bench]'" in ran.err
