"""Claude's memory tool: the same commands to ours and to the one of the Anthropic SDK."""

from __future__ import annotations

import random
import re
from pathlib import Path
from typing import Any

import pytest
from anthropic.lib.tools import ToolError
from anthropic.tools import BetaLocalFilesystemMemoryTool

from bearinmind import Client, Mind
from bearinmind_adapters.anthropic_memory import beta_memory_tool

SCRIPT: list[dict[str, Any]] = [
    {"command": "view", "path": "/memories"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "one\ntwo\nthree\n"},
    {"command": "create", "path": "/memories/notes.md", "file_text": "again"},
    {"command": "create", "path": "/memories/people/ana.md", "file_text": "Ana is on call."},
    {"command": "create", "path": "/memories/people/old/ben.md", "file_text": ""},
    {"command": "create", "path": "/memories/.hidden", "file_text": "x"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/people"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "view", "path": "/memories/notes.md", "view_range": [2, 3]},
    {"command": "view", "path": "/memories/notes.md", "view_range": [2, -1]},
    {"command": "view", "path": "/memories/people/old/ben.md"},
    {"command": "view", "path": "/memories/nothing"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "two", "new_str": "2\n2b"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "four", "new_str": "4"},
    {"command": "str_replace", "path": "/memories/notes.md", "old_str": "2", "new_str": "3"},
    {"command": "str_replace", "path": "/memories/people", "old_str": "a", "new_str": "b"},
    {"command": "str_replace", "path": "/memories/nothing", "old_str": "a", "new_str": "b"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 0, "insert_text": "zero"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 5, "insert_text": "end\n"},
    {"command": "insert", "path": "/memories/notes.md", "insert_line": 99, "insert_text": "x"},
    {"command": "insert", "path": "/memories/nothing", "insert_line": 0, "insert_text": "x"},
    {"command": "insert", "path": "/memories/people", "insert_line": 0, "insert_text": "x"},
    {"command": "view", "path": "/memories/notes.md"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/people/ana.md"},
    {"command": "rename", "old_path": "/memories/notes.md", "new_path": "/memories/old/notes.md"},
    {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/team"},
    {"command": "rename", "old_path": "/memories/people", "new_path": "/memories/crew"},
    {"command": "rename", "old_path": "/memories", "new_path": "/memories/crew"},
    {"command": "view", "path": "/memories"},
    {"command": "view", "path": "/memories/old/notes.md"},
    {"command": "delete", "path": "/memories/old/notes.md"},
    {"command": "delete", "path": "/memories/old/notes.md"},
    {"command": "delete", "path": "/memories/team"},
    {"command": "delete", "path": "/memories"},
    {"command": "view", "path": "/etc/passwd"},
    {"command": "view", "path": "/memories/../secrets.txt"},
    {"command": "create", "path": "/memories/a/../../x", "file_text": "x"},
]


def answer(tool: Any, command: dict[str, Any]) -> str:
    try:
        return str(tool.call(command))
    except ToolError as exc:
        return f"error: {exc}"


def without_sizes_of_folders(text: str) -> str:
    """A folder of a disk has a size of its own; ours is as large as its files."""
    folder = re.compile(r"^\S+\t(?=/memories(?:/people|/old|/team)?/?$|\S+/$)", re.MULTILINE)
    return folder.sub("", text)


def test_every_command_answers_as_the_tool_of_the_sdk_does(mind: Mind, tmp_path: Path) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path / "files"))
    ours = beta_memory_tool(mind)

    assert ours.to_dict() == theirs.to_dict()
    for command in SCRIPT:
        expected = without_sizes_of_folders(answer(theirs, command))
        said = without_sizes_of_folders(answer(ours, command))
        # A folder that was emptied is still there on a disk; a virtual one is not.
        if command != {"command": "view", "path": "/memories"}:
            assert said == expected, command
        else:
            assert {*said.splitlines()} <= {*expected.splitlines()}, command


@pytest.mark.parametrize("seed", range(10))
def test_random_edits_leave_the_same_files(mind: Mind, tmp_path: Path, seed: int) -> None:
    theirs = BetaLocalFilesystemMemoryTool(str(tmp_path / "files"))
    ours = beta_memory_tool(mind)
    random_ = random.Random(seed)
    lines = ["# Title", "", "  indented", "naïve", "nai\u0308ve", "a\r", "tab\there", "x" * 3_000]
    paths = [f"/memories/{name}" for name in ("a.md", "b/c.md", "b/d e.md", "ü.md")]
    for _ in range(25):
        path, text = random_.choice(paths), "\n".join(random_.choices(lines, k=5))
        command: dict[str, Any] = random_.choice(
            [
                {"command": "create", "path": path, "file_text": text},
                {"command": "insert", "path": path, "insert_line": 1, "insert_text": text},
                {"command": "str_replace", "path": path, "old_str": "# Title", "new_str": text},
                {"command": "delete", "path": path},
                {"command": "rename", "old_path": path, "new_path": random_.choice(paths)},
            ]
        )
        assert answer(ours, command) == answer(theirs, command), command
        view = {"command": "view", "path": path}
        assert answer(ours, view) == answer(theirs, view)


def test_a_client_of_a_server_keeps_files_as_well(client: Client) -> None:
    tool = beta_memory_tool(client)
    path = "/memories/notes.md"

    tool.call({"command": "create", "path": path, "file_text": "The port is 5432.\n" * 200})
    tool.call({"command": "insert", "path": path, "insert_line": 0, "insert_text": "Ports"})

    said = tool.call({"command": "view", "path": path, "view_range": [1, 2]})
    assert said.splitlines()[1:] == ["     1\tPorts", "     2\tThe port is 5432."]
    assert tool.clear_all_memory() == "All memory cleared"
    assert len(client.list(states=["deleted"])) > 1
