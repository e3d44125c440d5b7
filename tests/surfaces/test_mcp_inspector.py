"""The official inspector, a client in another language, against real servers."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from bearinmind.config import Settings
from bearinmind.surfaces.mcp import tools
from bearinmind.surfaces.mcp.tools import BY_TOOL
from support.http_server import serving
from support.mcp import environment

PLACE = Path(__file__).parents[2] / ".cache/inspector/node_modules"

pytestmark = pytest.mark.skipif(
    not (PLACE.parent / "made-from").exists(),
    reason="scripts/need-inspector could not reach the npm registry",
)

DEFAULT = [tool.name for tool in tools.all_described().tools]
_PATIENCE = 120.0  # seconds; a busy machine takes its time
_COUNT = """
const { Tiktoken } = require("js-tiktoken/lite");
const ranks = require("js-tiktoken/ranks/o200k_base");
const text = require("fs").readFileSync(0, "utf8");
console.log(new Tiktoken(ranks.default ?? ranks).encode(text).length);
"""


def node(*arguments: object, said: str = "") -> subprocess.CompletedProcess[str]:
    program = PLACE / ".bin/node"
    assert program.exists(), "run scripts/need-inspector first"
    return subprocess.run(
        [program, *map(str, arguments)],
        cwd=PLACE.parent,
        input=said,
        capture_output=True,
        text=True,
        timeout=_PATIENCE,
        check=False,
    )


def ask(target: list[object], method: str, *options: object) -> subprocess.CompletedProcess[str]:
    package = PLACE / "@modelcontextprotocol/inspector"
    program = json.loads((package / "package.json").read_text())["bin"]["mcp-inspector"]
    return node(package / program, "--cli", "--method", method, *options, *target)


def inspect(target: list[object], method: str, *options: object) -> Any:
    """What the inspector gets from a server."""
    done = ask(target, method, *options)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def over_http(url: str, *more: object) -> list[object]:
    return ["--server-url", f"{url}/mcp", "--transport", "http", *more]


def over_stdio(store: Path) -> list[object]:
    settings = {**environment(), "HOME": os.environ["HOME"]}
    given = [part for name, value in settings.items() for part in ("-e", f"{name}={value}")]
    return [*given, "--", sys.executable, "-m", "bearinmind", "--store", store, "mcp"]


def test_the_inspector_finds_nothing_wrong_with_the_tools(path: Path) -> None:
    found = inspect(over_stdio(path), "tools/list", "--strict")

    assert [tool["name"] for tool in found["tools"]] == DEFAULT


def test_the_inspector_calls_a_tool_over_stdio(path: Path) -> None:
    words = ("--tool-name", "memory_store", "--tool-arg", "content=Ana is on call.")

    stored = inspect(over_stdio(path), "tools/call", *words)

    assert stored["structuredContent"]["kind"] == "stored"


def test_the_inspector_calls_the_tools_of_memories_over_http(path: Path) -> None:
    with serving(path, mcp_tools="all") as server:
        server.key("ben")
        header = f"Authorization: Bearer {server.key('ana')}"
        target = over_http(server.url, "--header", header)
        called = []

        def call(tool: str, **arguments: object) -> Any:
            called.append(tool)
            pairs = [f"{name}={value}" for name, value in arguments.items()]
            words = ["--tool-arg", *pairs] if pairs else []
            found = inspect(target, "tools/call", "--tool-name", tool, *words)
            assert not found.get("isError"), found
            return found["structuredContent"]

        one = call("memory_store", content="Ana is on call.", tags='["ops"]')["memory"]["id"]
        secret = server.bearinmind.for_user("ana").store("The code is 4711.", sensitive=True)
        other = server.bearinmind.for_user("ana").store("Ben is on holiday.").memory.id
        assert call("memory_recall", query="who is on call")["hits"][0]["memory"]["id"] == one
        assert len(call("memory_list", limit=2)["memories"]) == 2
        assert call("memory_get", id=one)["memory"]["content"] == "Ana is on call."
        assert call("memory_update", id=one, importance=0.9)["version"] == 2
        assert call("memory_link", source=one, kind="see-also", target=other)["source"] == one
        assert call("memory_why", id=one)["memory"]["id"] == one
        assert call("memory_timeline", around=one)["anchor"]
        assert call("memory_resolve", id=one, resolution="both", other=f'["{other}"]')["links"]
        [[state]] = call("memory_history", thing="who is on call")["chains"]
        assert state["memory"]["id"] == one
        assert call("secret_get", id=secret.memory.id)["content"] == "The code is 4711."
        assert call("memory_share", id=one, reader="ben", right="read")["right"] == "read"
        assert call("memory_share_tag", tag="ops", reader="ben")["tag"] == "ops"
        assert len(call("memory_my_shares")["shares"]) == 2
        assert call("memory_shared_with_me")["shares"] == []
        assert call("memory_unshare", id=one, reader="ben")["memory"] == one
        assert call("memory_unshare_tag", tag="ops", reader="ben")["tag"] == "ops"
        assert call("memory_delete", id=one)["version"] == 3
        assert call("memory_count")["deleted"] == 1
        assert {*called} < {*BY_TOOL}


def test_the_inspector_reads_resources_and_prompts(path: Path) -> None:
    with serving(path) as server:
        target = over_http(server.url)
        read = inspect(target, "resources/read", "--uri", "bearinmind://brief")
        offered = inspect(target, "prompts/list")

    assert read["contents"][0]["text"] == "Nothing is stored yet."
    assert [prompt["name"] for prompt in offered["prompts"]] == ["remember", "recall"]


def test_the_published_count_of_tokens_is_not_too_low() -> None:
    text = tools.wire_text(tools.all_described(Settings().categories))

    counted = node("-e", _COUNT, said=text)

    assert counted.returncode == 0, counted.stderr
    assert int(counted.stdout) <= tools.tokens(text) <= tools.MOST_TOKENS


@pytest.mark.parametrize("tool", ["memory_get", "memory_store"])
def test_the_inspector_shows_why_a_tool_could_not(path: Path, tool: str) -> None:
    arguments = {"memory_get": "id=zzzzzzzzzzzz", "memory_store": "content=" + "x" * 2_000}
    with serving(path) as server:
        words = ["--tool-name", tool, "--tool-arg", arguments[tool]]
        done = ask(over_http(server.url), "tools/call", *words)

    assert json.loads(done.stdout)["structuredContent"]["error"]["hint"]
