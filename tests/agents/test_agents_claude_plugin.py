"""Claude Code itself, with the plugin that `bearinmind hooks plugin` has written."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from agents.clis import Claude, Home
from agents.model_server import Call, ModelServer
from support.http_server import Serving

BLADES = "The turbine in hall 4 has seven blades."
QUESTION = "How many blades has the turbine in hall 4?"
TOOL = "mcp__plugin_bearinmind_bearinmind__"


@pytest.fixture
def plugin(home: Home, tmp_path: Path) -> Path:
    home.bearinmind("hooks", "plugin", tmp_path / "plugin")
    return tmp_path / "plugin"


@pytest.fixture
def with_plugin(home: Home, plugin: Path, server: Serving) -> Claude:
    """Claude Code with the plugin alone; its hooks are told which server to ask."""
    home.hooks.folder.mkdir(parents=True)
    told = {"url": server.url, "deadline_ms": 4_500}
    (home.hooks.folder / "config.json").write_text(json.dumps(told))
    return Claude(home, ("--plugin-dir", plugin))


def test_claude_code_accepts_it(home: Home, plugin: Path) -> None:
    strictly = Claude(home)("plugin", "validate", "--strict", plugin)
    for_the_catalogue = Claude(home)("plugin", "validate", "--profile", "directory", plugin)

    assert strictly.code == 0, strictly.out
    assert for_the_catalogue.code == 0, for_the_catalogue.out


def test_it_brings_memories_and_tools(
    with_plugin: Claude, server: Serving, model: ModelServer
) -> None:
    session = with_plugin.ask("Rename the loop variable, please").session
    stored = server.bearinmind.store(BLADES).memory
    model.script = [Call(f"{TOOL}memory_recall", {"query": "turbine blades"})]

    with_plugin.ask(QUESTION, session)

    before, asked, recalled = model.asked
    assert BLADES not in before.text
    assert f"<<<DATA id={stored.id} " in asked.text
    assert asked.text.count(f"| {BLADES}\n<<<END OF DATA>>>") == 1
    assert {f"{TOOL}memory_recall", f"{TOOL}memory_store"} <= asked.tools  # not only by name
    assert f"{TOOL}memory_list" not in asked.tools
    assert str(stored.id) in recalled.last  # allowed without a question
    assert "requested permissions" not in recalled.last


def test_it_learns_from_a_turn(with_plugin: Claude, server: Serving) -> None:
    with_plugin.ask("We decided to use pnpm instead of npm in this repository.")

    with_plugin.home.hooks.logged("Stop behind")
    (proposal,) = server.bearinmind.curation.proposals()
    assert "pnpm" in str(proposal)


@pytest.mark.parametrize(
    ("command", "expanded"),
    [
        ("remember", "Store in Bear in Mind what will matter in later sessions: the red turbine"),
        ("recall", "Recall from Bear in Mind what is known about: the red turbine"),
    ],
)
def test_its_commands_are_there(
    with_plugin: Claude, model: ModelServer, command: str, expanded: str
) -> None:
    with_plugin.ask(f"/bearinmind:{command} the red turbine")

    (asked,) = model.asked
    assert expanded in asked.text


def test_it_can_be_installed_from_its_folder(with_plugin: Claude, plugin: Path) -> None:
    claude = Claude(with_plugin.home)

    added = claude("plugin", "marketplace", "add", plugin)
    installed = claude("plugin", "install", "bearinmind@bearinmind")

    assert (added.code, installed.code) == (0, 0), added.out + installed.out
    assert "✔ enabled" in claude("plugin", "list").well
    assert (
        "plugin:bearinmind:bearinmind: bearinmind mcp - ✔ Connected" in claude("mcp", "list").well
    )


def test_beside_installed_hooks_nothing_is_given_twice(
    claude: Claude, plugin: Path, server: Serving, model: ModelServer
) -> None:
    both = Claude(claude.home, ("--plugin-dir", plugin))
    server.bearinmind.store("acme: releases leave on Mondays.", project="acme")
    session = both.ask("Rename the loop variable, please").session
    server.bearinmind.store(BLADES)

    both.ask(QUESTION, session)

    assert model.asked[1].text.count("acme: releases leave on Mondays.") == 1
    assert model.asked[1].text.count(BLADES) == 1
