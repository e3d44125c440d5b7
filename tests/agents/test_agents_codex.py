"""Codex itself, with the MCP server that `bearinmind hooks install --client codex` has added."""

from __future__ import annotations

import pytest

from agents.clis import Codex, Home
from agents.model_server import PLAIN, Call, ModelServer

BLADES = "The turbine in hall 4 has seven blades."
SPACE = "mcp__bearinmind"


@pytest.fixture
def codex(home: Home) -> Codex:
    home.bearinmind("hooks", "install", "--client", "codex", "--yes")
    return Codex(home)


def test_it_knows_the_server(codex: Codex) -> None:
    listed = codex("mcp", "list").well

    assert [line.split()[0] for line in listed.splitlines()] == ["Name", "bearinmind"]
    assert "enabled" in listed


def test_a_tool_is_called_and_what_changes_memories_is_asked_for(
    codex: Codex, model: ModelServer
) -> None:
    codex.home.bearinmind("store", BLADES)
    model.script = [
        Call(f"{SPACE}/memory_recall", {"query": "turbine blades"}),
        Call(f"{SPACE}/memory_delete", {"id": "abc"}),
        Call(f"{SPACE}/secret_get", {"id": "abc"}),
    ]

    happened = codex.ask("How many blades has the turbine?")

    _, recalled, deleted, revealed = (asked.last for asked in model.asked)
    said = [each["item"]["text"] for each in happened if "text" in each.get("item", ())]
    assert "memory_recall" in model.asked[0].tools
    assert BLADES in recalled
    assert "requires approval" in deleted
    assert "requires approval" in revealed
    assert said == [PLAIN]


def test_its_home_may_be_elsewhere(home: Home) -> None:
    elsewhere = home.home / "elsewhere"
    elsewhere.mkdir()
    home.settings["CODEX_HOME"] = str(elsewhere)

    home.bearinmind("hooks", "install", "--client", "codex", "--yes")

    assert "bearinmind" in Codex(home)("mcp", "list").well
