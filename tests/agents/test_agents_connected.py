"""What `docs/howto/connect-an-agent.md` tells users to type, typed into the agents themselves."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from agents.clis import Claude, Codex, Gemini, Home
from agents.model_server import Call, ModelServer
from support.http_server import Serving

PAGE = Path(__file__).parents[2] / "docs/howto/connect-an-agent.md"
BLADES = "The turbine in hall 4 has seven blades."
URL = "http://127.0.0.1:8377"
WAYS = [pytest.param(0, id="on this machine"), pytest.param(1, id="over HTTP")]


def _told(agent: str) -> list[str]:
    """The commands for an agent: on this machine, and over HTTP."""
    return re.findall(rf"^{agent} mcp add .*$", PAGE.read_text(), re.MULTILINE)


def _command(agent: str, way: int, server: Serving) -> list[str]:
    """One of them, with what it says in place of an address and a key."""
    said = _told(agent)[way].replace(URL, server.url).replace("KEY", server.key("ada"))
    return shlex.split(said)[1:]


@pytest.mark.parametrize("way", WAYS)
def test_claude_code_reaches_the_tools_by_the_command_of_the_page(
    home: Home, server: Serving, way: int
) -> None:
    claude = Claude(home)

    added = claude(*_command("claude", way, server))

    assert added.code == 0, added.err
    assert "✔ Connected" in claude("mcp", "list").well


@pytest.mark.parametrize("way", WAYS)
def test_gemini_cli_reaches_the_tools_by_the_command_of_the_page(
    gemini: Gemini, server: Serving, model: ModelServer, way: int
) -> None:
    added = gemini(*_command("gemini", way, server))
    gemini.ask("How many blades has the turbine?")

    assert added.code == 0, added.err
    assert "mcp_bearinmind_memory_recall" in model.asked[0].tools


def test_codex_reaches_the_tools_by_the_command_of_the_page(home: Home, model: ModelServer) -> None:
    (command,) = _told("codex")
    codex = Codex(home)
    home.bearinmind("store", BLADES)
    # What Codex starts knows nothing of the environment that it was started in.
    command = command.replace("bearinmind mcp", f"bearinmind --store {home.store} mcp")
    model.script = [Call("mcp__bearinmind/memory_recall", {"query": "turbine blades"})]

    added = codex(*shlex.split(command)[1:])
    codex.ask("How many blades has the turbine?")

    assert added.code == 0, added.err
    assert BLADES in model.asked[1].last


def test_codex_reaches_a_server_as_the_page_says(
    home: Home, server: Serving, model: ModelServer
) -> None:
    (told,) = re.findall(r"```toml\n(.*?)```", PAGE.read_text(), re.DOTALL)
    (home.home / ".codex").mkdir()
    (home.home / ".codex" / "config.toml").write_text(told.replace(URL, server.url))
    home.settings["BEARINMIND_SERVER_KEY"] = server.key("ada")
    server.client("ada").post("/api/v1/memories", json={"content": BLADES}).raise_for_status()
    model.script = [Call("mcp__bearinmind/memory_recall", {"query": "turbine blades"})]

    Codex(home).ask("How many blades has the turbine?")

    assert BLADES in model.asked[1].last
