"""Gemini CLI itself, with the MCP server that `bearinmind hooks install --client gemini` adds."""

from __future__ import annotations

import pytest

from agents.clis import Gemini
from agents.model_server import PLAIN, Call, ModelServer

BLADES = "The turbine in hall 4 has seven blades."


@pytest.fixture
def connected(gemini: Gemini) -> Gemini:
    gemini.home.bearinmind("hooks", "install", "--client", "gemini", "--yes")
    return gemini


def test_it_knows_the_server(connected: Gemini) -> None:
    # Whether it is connected as well is said after five seconds, in which a busy machine may
    # not have started anything.
    ran = connected("mcp", "list")

    assert "bearinmind: " in ran.well + ran.err
    assert "disabled" not in (ran.out + ran.err).lower()


def test_a_tool_is_called(connected: Gemini, model: ModelServer) -> None:
    connected.home.bearinmind("store", BLADES)
    model.script = [Call("mcp_bearinmind_memory_recall", {"query": "turbine blades"})]

    said = connected.ask("How many blades has the turbine?")

    asked, recalled = model.asked
    assert "mcp_bearinmind_memory_recall" in asked.tools
    assert BLADES in recalled.last
    assert said == PLAIN
