"""The plugin for Claude Code: as its documentation wants it, and it runs from where it lies."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

from bearinmind.surfaces.hooks.agents import EVENTS
from bearinmind.surfaces.hooks.standalone.main import PREFIXES
from bearinmind.surfaces.verbs.table import VERBS
from support.http_server import serving

# What the reference of Claude Code says a manifest may have.
MANIFEST = {
    "name", "version", "description", "author", "homepage", "repository", "license", "keywords",
    "commands", "agents", "skills", "hooks", "mcpServers",
}  # fmt: skip
KEBAB = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@pytest.fixture
def plugin(run: Callable[..., Any], tmp_path: Path) -> Path:
    ran = run("hooks", "plugin", tmp_path / "plugin")
    assert ran.code == 0
    return tmp_path / "plugin"


def _json(path: Path) -> Any:
    return json.loads(path.read_text())


def _front_matter(path: Path) -> dict[str, str]:
    head = path.read_text().split("---\n")[1]
    return dict(line.split(": ", 1) for line in head.splitlines())


def test_its_manifest_is_as_documented(plugin: Path) -> None:
    manifest = _json(plugin / ".claude-plugin" / "plugin.json")

    assert KEBAB.fullmatch(manifest["name"])
    assert manifest.keys() <= MANIFEST
    assert manifest["version"] == version("bearinmind")
    assert manifest["author"]["name"]
    assert {path.name for path in plugin.iterdir()} == {
        ".claude-plugin", ".mcp.json", "README.md", "commands", "hooks", "skills",
    }  # fmt: skip


def test_it_can_be_installed_from_its_folder(plugin: Path) -> None:
    market = _json(plugin / ".claude-plugin" / "marketplace.json")

    assert KEBAB.fullmatch(market["name"])
    assert market["owner"]["name"]
    assert [(each["name"], each["source"]) for each in market["plugins"]] == [("bearinmind", "./")]


def test_its_hooks_are_as_documented(plugin: Path) -> None:
    hooks = _json(plugin / "hooks" / "hooks.json")["hooks"]

    assert hooks.keys() == EVENTS.keys()
    for groups in hooks.values():
        (group,) = groups
        assert group.keys() <= {"matcher", "hooks"}
        (hook,) = group["hooks"]
        assert hook.keys() == {"type", "command", "timeout"}
        assert hook["type"] == "command"
    assert all(
        re.fullmatch(hooks["PreToolUse"][0]["matcher"], f"{prefix}memory_recall")
        for prefix in PREFIXES
    )


def test_its_commands_name_tools_that_there_are(plugin: Path) -> None:
    tools = {f"{PREFIXES[1]}{verb.tool}" for verb in VERBS}
    commands = sorted((plugin / "commands").iterdir())

    assert [path.name for path in commands] == ["recall.md", "remember.md"]
    for path in commands:
        head = _front_matter(path)
        assert head["description"]
        assert {*head["allowed-tools"].split(", ")} <= tools
        assert "$ARGUMENTS" in path.read_text()


def test_its_skill_is_as_documented(plugin: Path) -> None:
    head = _front_matter(plugin / "skills" / "bearinmind" / "SKILL.md")

    assert head["name"] == "bearinmind"
    assert 0 < len(head["description"]) <= 1_024


def test_its_server_speaks_mcp(plugin: Path) -> None:
    server = _json(plugin / ".mcp.json")["mcpServers"]["bearinmind"]

    assert server == {"command": "bearinmind", "args": ["mcp"]}


def test_its_hooks_run_from_where_it_lies(
    plugin: Path, place: Path, tmp_path: Path, at_home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(at_home / "state"))
    command = _json(plugin / "hooks" / "hooks.json")["hooks"]["UserPromptSubmit"][0]["hooks"][0]
    said = {
        "session_id": "s",
        "cwd": str(tmp_path),
        "prompt": "How many blades has the turbine in hall 4?",
    }
    config = at_home / "state" / "bearinmind" / "hooks" / "config.json"
    config.parent.mkdir(parents=True)
    with serving(place) as server:
        server.bearinmind.store("The turbine in hall 4 has seven blades.")
        config.write_text(json.dumps({"url": server.url, "deadline_ms": 10_000}))
        monkeypatch.setenv("CLAUDE_PLUGIN_ROOT", str(plugin))
        monkeypatch.setenv("PATH", f"{Path(sys.executable).parent}:/usr/bin:/bin")
        done = subprocess.run(
            ["/bin/sh", "-c", command["command"]],
            input=json.dumps(said).encode(),
            capture_output=True,
            check=True,
            cwd=tmp_path,
        )

    assert "seven blades" in json.loads(done.stdout)["hookSpecificOutput"]["additionalContext"]
    assert done.stderr == b""


def test_nothing_is_written_over(run: Callable[..., Any], plugin: Path) -> None:
    ran = run("hooks", "plugin", plugin)

    assert ran.code == 2
    assert "there is already a folder" in ran.err
