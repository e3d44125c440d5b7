"""Runs hooks as Claude Code does: what its settings say, through a shell, with JSON on stdin."""

from __future__ import annotations

import json
import os
import re
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearinmind.config import state_folder

PATIENCE = 60.0  # seconds; a busy machine takes its time


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a hook left behind."""

    code: int
    out: bytes
    err: bytes
    seconds: float

    @property
    def said(self) -> dict[str, Any]:
        """What it said, as Claude Code reads it."""
        assert self.code == 0
        said: dict[str, Any] = json.loads(self.out)["hookSpecificOutput"]
        return said

    @property
    def context(self) -> str:
        """What is put before the model; empty when nothing is."""
        assert (self.code, self.err) == (0, b"")
        return str(self.said["additionalContext"]) if self.out else ""

    @property
    def ids(self) -> list[str]:
        """The memories that were given."""
        return re.findall(r"^<<<DATA id=(\S+) ", self.context, re.MULTILINE)

    @property
    def silent(self) -> bool:
        """Whether it ended well, without a word."""
        return (self.code, self.out, self.err) == (0, b"", b"")


class ClaudeCode:
    """One session of Claude Code in a project."""

    def __init__(self, settings: Path, project: Path, session: str = "session-1") -> None:
        self.project = project
        self.session = session
        self.transcript = project.parent / f"{session}.jsonl"
        self._hooks: dict[str, Any] = json.loads(settings.read_text())["hooks"]

    def other_session(self, name: str) -> ClaudeCode:
        """Another session of the same user."""
        other = object.__new__(ClaudeCode)
        other.__dict__ = {**self.__dict__, "session": name}
        other.transcript = self.project.parent / f"{name}.jsonl"
        return other

    def prompt(self, text: str) -> Ran:
        """What runs before a prompt."""
        return self.event("UserPromptSubmit", prompt=text)

    def start(self, source: str = "startup") -> Ran:
        """What runs when a session starts."""
        return self.event("SessionStart", source=source)

    def event(self, event: str, *, tool_name: str = "", **fields: Any) -> Ran:
        """What the hooks of an event leave behind; those for other tools do not run."""
        said = {
            "session_id": self.session,
            "transcript_path": str(self.transcript),
            "cwd": str(self.project),
            "permission_mode": "default",
            "hook_event_name": event,
            **({"tool_name": tool_name} if tool_name else {}),
            **fields,
        }
        commands = [
            hook["command"]
            for group in self._hooks.get(event, ())
            for hook in group["hooks"]
            if re.fullmatch(group.get("matcher", ".*"), tool_name)
        ]
        return self._run(commands, json.dumps(said).encode())

    def raw(self, event: str, sent: bytes) -> Ran:
        """The same with anything on standard input."""
        (group,) = self._hooks[event]
        return self._run([hook["command"] for hook in group["hooks"]], sent)

    def _run(self, commands: list[str], sent: bytes) -> Ran:
        if not commands:
            return Ran(code=0, out=b"", err=b"", seconds=0)
        (command,) = commands
        began = time.monotonic()
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            input=sent,
            capture_output=True,
            check=False,
            cwd=self.project,
            env={**os.environ, "CLAUDE_PROJECT_DIR": str(self.project)},
            timeout=PATIENCE,
        )
        took = time.monotonic() - began
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr, seconds=took)

    # ---- the transcript ------------------------------------------------------------------------

    def says(self, role: str, *blocks: str | dict[str, Any], **entry: Any) -> None:
        """Add a message to the transcript: texts, or blocks such as results of tools."""
        content = [b if isinstance(b, dict) else {"type": "text", "text": b} for b in blocks]
        line = {
            "type": role,
            "sessionId": self.session,
            "message": {"role": role, "content": content},
            **entry,
        }
        with self.transcript.open("a") as file:
            file.write(json.dumps(line) + "\n")


@dataclass(frozen=True, kw_only=True)
class Hooked:
    """A home in which the hooks are installed."""

    settings: Path  #: of Claude Code
    project: Path
    folder: Path  #: where the hooks are at home

    def claude(self, session: str = "session-1") -> ClaudeCode:
        """A session of Claude Code."""
        return ClaudeCode(self.settings, self.project, session)

    def configure(self, **said: Any) -> None:
        """Change what the hooks are told, as a user may."""
        file = self.folder / "config.json"
        file.write_text(json.dumps(json.loads(file.read_text()) | said))

    @property
    def configuration(self) -> dict[str, Any]:
        """What the hooks are told."""
        told: dict[str, Any] = json.loads((self.folder / "config.json").read_text())
        return told

    @property
    def log(self) -> list[dict[str, Any]]:
        """What the hooks wrote down; nothing before the first of them did."""
        file = self.folder / "hooks.log"
        return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []

    def logged(self, event: str) -> dict[str, Any]:
        """What a run in the background logged; waits for it."""
        found: dict[str, Any] = wait_for(
            lambda: next((each for each in self.log if each["event"] == event), None)
        )
        return found


def hooked(
    run: Callable[..., Any], home: Path, project: Path, *options: object, **said: Any
) -> Hooked:
    """Install the hooks into a home by the command; `said` is changed in what they are told."""
    (project / ".git").mkdir(parents=True, exist_ok=True)
    ran = run("hooks", "install", "--yes", *options)
    assert ran.code == 0, ran.err
    made = Hooked(
        settings=home / ".claude" / "settings.json",
        project=project,
        folder=state_folder() / "hooks",
    )
    made.configure(**said)
    return made


def wait_for(found: Callable[[], Any]) -> Any:
    """What comes about after a while."""
    deadline = time.monotonic() + PATIENCE
    while (it := found()) is None:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    return it
