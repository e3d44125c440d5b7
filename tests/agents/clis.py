"""The command lines of real agents: at home in a folder of a test, with a model of a script."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from agents.model_server import ModelServer
from support.claude_code import Hooked

INSTALLED = Path(__file__).parents[2] / ".cache/agents/node_modules/.bin"
PATIENCE = 180.0  # seconds; a busy machine takes its time
_PYTHON = Path(sys.executable).parent


@dataclass(frozen=True, kw_only=True)
class Ran:
    """What a command left behind."""

    code: int
    out: str
    err: str

    @property
    def well(self) -> str:
        """What it said; it ended well."""
        assert self.code == 0, self.out + self.err
        return self.out


@dataclass(frozen=True, kw_only=True)
class Home:
    """A home of its own, in which agents know nothing of whoever runs the tests."""

    home: Path
    project: Path
    store: Path
    model: ModelServer
    settings: dict[str, str] = field(default_factory=dict)  #: more of the environment

    def environment(self) -> dict[str, str]:
        """What everything runs with. Whatever is not on this machine cannot be reached."""
        node = shutil.which("node")
        assert node, "the tests with real agents need Node"
        places = [INSTALLED, _PYTHON, Path(node).parent, "/usr/bin", "/bin"]
        nowhere = "http://127.0.0.1:9"
        return {
            "HOME": str(self.home),
            "PATH": os.pathsep.join(map(str, places)),
            "TERM": "xterm-256color",
            "HTTP_PROXY": nowhere,
            "HTTPS_PROXY": nowhere,
            "NO_PROXY": "127.0.0.1,localhost",
            "BEARINMIND_STORE": str(self.store),
            "BEARINMIND_EMBEDDER": "none",
            "BEARINMIND_WORKER": "off",
            **self.settings,
        }

    def run(self, *command: object, **environment: str) -> Ran:
        """Run a command in the project."""
        assert (INSTALLED / "claude").exists(), "run scripts/need-agents first"
        done = subprocess.run(
            [*map(str, command)],
            cwd=self.project,
            env={**self.environment(), **environment},
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
            check=False,
        )
        return Ran(code=done.returncode, out=done.stdout, err=done.stderr)

    def bearinmind(self, *arguments: object) -> str:
        """Run a command of ours."""
        return self.run(sys.executable, "-m", "bearinmind", *arguments).well

    @property
    def hooks(self) -> Hooked:
        """The hooks that are installed here."""
        return Hooked(
            settings=self.home / ".claude" / "settings.json",
            project=self.project,
            folder=self.home / ".local" / "state" / "bearinmind" / "hooks",
        )


@dataclass(frozen=True, kw_only=True)
class Said:
    """What Claude Code said, and in which session."""

    text: str
    session: str


@dataclass(frozen=True)
class Claude:
    """Claude Code."""

    home: Home
    options: tuple[object, ...] = ()  #: of every session

    def __call__(self, *arguments: object) -> Ran:
        """Run a command of it."""
        return self.home.run(
            "claude",
            *arguments,
            ANTHROPIC_BASE_URL=self.home.model.url,
            ANTHROPIC_API_KEY="none",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_AUTOUPDATER="1",
            DISABLE_TELEMETRY="1",
            MCP_CONNECTION_NONBLOCKING="0",  # the first prompt waits for the tools
            MCP_TIMEOUT=str(int(PATIENCE * 1_000)),
        )

    def ask(self, prompt: str, session: str | None = None) -> Said:
        """A turn, in a new session or in one that goes on."""
        on = ("--resume", session) if session else ()
        ran = self(*self.options, *on, "--output-format", "json", "-p", prompt)
        assert ran.err == ""
        said = json.loads(ran.well)
        return Said(text=said["result"], session=said["session_id"])


@dataclass(frozen=True)
class Codex:
    """Codex. Its model is one that speaks the same protocol at an address of ours."""

    home: Home

    def __call__(self, *arguments: object) -> Ran:
        """Run a command of it."""
        return self.home.run("codex", *arguments, OPENAI_API_KEY="none")

    def ask(self, prompt: str) -> list[dict[str, Any]]:
        """A turn in a new session: what happened in it."""
        told = {
            "model_provider": "scripted",
            "model_providers.scripted.name": "scripted",
            "model_providers.scripted.base_url": f"{self.home.model.url}/v1",
            "model_providers.scripted.wire_api": "responses",
            "model_providers.scripted.env_key": "OPENAI_API_KEY",
        }
        options = [part for name, said in told.items() for part in ("-c", f'{name}="{said}"')]
        # Otherwise the first turn does not wait for the tools.
        options += ["-c", "mcp_servers.bearinmind.required=true"]
        options += ["-c", f"mcp_servers.bearinmind.startup_timeout_sec={PATIENCE:.0f}"]
        options += ["--skip-git-repo-check", "--model", "scripted", "--json"]
        ran = self("exec", *options, prompt)
        return [json.loads(line) for line in ran.well.splitlines()]


@dataclass(frozen=True)
class Gemini:
    """Gemini CLI, in a folder that its user trusts."""

    home: Home

    def __call__(self, *arguments: object) -> Ran:
        """Run a command of it."""
        return self.home.run(
            "gemini",
            *arguments,
            GEMINI_API_KEY="none",
            GEMINI_CLI_TRUST_WORKSPACE="true",
            GOOGLE_GEMINI_BASE_URL=self.home.model.url,
        )

    def ask(self, prompt: str) -> str:
        """A turn in a new session."""
        ran = self("--approval-mode", "yolo", "-m", "scripted", "-o", "json", "-p", prompt)
        return str(json.loads(ran.well)["response"])
