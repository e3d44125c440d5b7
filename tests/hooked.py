"""A home in which the hooks are installed, and what they leave there."""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearinmind.config import state_folder
from claude_code import PATIENCE, ClaudeCode


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
        """What a run wrote down that goes on behind; waits for it."""
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
