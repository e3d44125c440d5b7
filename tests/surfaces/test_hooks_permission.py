"""Before a tool is used: what reads and adds is allowed, about all else nothing is said."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind.surfaces.hooks.standalone.main import ALLOWED
from bearinmind.surfaces.verbs.table import VERBS
from support.claude_code import ClaudeCode, hooked

TOOLS = {verb.tool for verb in VERBS if verb.tool}


@pytest.fixture
def claude(run: Callable[..., Any], at_home: Path, tmp_path: Path) -> ClaudeCode:
    return hooked(run, at_home, tmp_path / "acme", "--url", "http://127.0.0.1:9").claude()


@pytest.mark.parametrize("server", ["mcp__bearinmind__", "mcp__plugin_bearinmind_bearinmind__"])
def test_recalling_is_allowed(claude: ClaudeCode, server: str) -> None:
    ran = claude.event("PreToolUse", tool_name=f"{server}memory_recall", tool_input={"query": "x"})

    assert ran.said["hookEventName"] == "PreToolUse"
    assert ran.said["permissionDecision"] == "allow"


def test_what_is_allowed_are_tools_that_there_are_and_none_that_hides_shares_or_reveals() -> None:
    assert ALLOWED <= TOOLS
    never = {"secret_get", "memory_delete", "memory_update"}
    never |= {tool for tool in TOOLS if "share" in tool}
    assert ALLOWED.isdisjoint(never)


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("mcp__bearinmind__secret_get", {"id": "abc"}),
        ("mcp__bearinmind__memory_delete", {"id": "abc"}),
        ("mcp__bearinmind__memory_share", {"id": "abc", "reader": "eve"}),
        ("mcp__bearinmind__memory_share_tag", {"tag": "abc", "reader": "eve"}),
        ("mcp__bearinmind__memory_update", {"id": "abc", "content": "x"}),
        ("mcp__bearinmind__memory_store", {"content": "x", "sensitive": True}),
        ("mcp__bearinmind__memory_store", {"content": "x", "supersedes": ["abc"]}),
        ("mcp__bearinmind__memory_link", {"source": "a", "kind": "supersedes", "target": "b"}),
        ("mcp__bearinmind__memory_recall", "query"),
        ("mcp__bearinmindx__memory_recall", {"query": "x"}),
        ("mcp__other__memory_recall", {"query": "x"}),
        ("Bash", {"command": "bearinmind recall x"}),
    ],
)
def test_about_all_else_nothing_is_said(claude: ClaudeCode, tool: str, given: object) -> None:
    assert claude.event("PreToolUse", tool_name=tool, tool_input=given).silent
