"""The agents that can be connected: which files they read, and what is added to those."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import Any

from bearinmind.config import agent_folder

SCRIPT = "bearinmind_hook.py"  #: by this a hook is known as one of ours
HOOK = Path(__file__).parent / SCRIPT
IDLE_SECONDS = 3_600  #: after which a server that a hook has started ends
NAME = "bearinmind"  #: of the MCP server
#: The tools of our server, as Claude Code names them: added by hand, or by the plugin.
TOOLS = "mcp__(plugin_bearinmind_)?bearinmind__.*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What agents run."""

    config: Path  #: the configuration of the hooks
    options: tuple[str, ...] = ()  #: before the command: which store, and whose memories
    server: str | None = None  #: the address of a server that we do not start
    key_file: Path | None = None

    def hook(self, event: str) -> str:
        """The shell command that runs on an event."""
        # -I -S: neither the environment of the agent nor installed packages change it or take time.
        return shlex.join([sys.executable, "-I", "-S", str(HOOK), event, str(self.config)])

    @property
    def mcp(self) -> dict[str, Any]:
        """The entry of the MCP server, as most agents write it."""
        arguments = ["-m", "bearinmind", *self.options, "mcp"]
        if self.server is not None:
            arguments += ["--server", self.server]
            arguments += ["--key-file", str(self.key_file)] if self.key_file else []
        return {"command": sys.executable, "args": arguments}

    def serve(self, port: int) -> list[str]:
        """The command that starts a server; it ends when it is idle."""
        serve = ["serve", "--port", str(port), "--idle-exit", str(IDLE_SECONDS)]
        return [sys.executable, "-m", "bearinmind", *self.options, *serve]


class Event(StrEnum):
    """An event on which an agent runs its hooks."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    PRE_COMPACT = "PreCompact"
    STOP = "Stop"


#: By event: which tools the hook is for, and the seconds after which the agent ends it.
EVENTS: dict[Event, tuple[str | None, int]] = {
    Event.SESSION_START: (None, 5),
    Event.USER_PROMPT_SUBMIT: (None, 5),
    Event.PRE_TOOL_USE: (TOOLS, 5),
    Event.PRE_COMPACT: (None, 5),
    Event.STOP: (None, 5),
}


class Client(StrEnum):
    """An agent."""

    CLAUDE = "claude"
    CURSOR = "cursor"
    CODEX = "codex"
    VSCODE = "vscode"
    GEMINI = "gemini"


class Scope(StrEnum):
    """For which of a user's work something is added."""

    USER = "user"
    PROJECT = "project"


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """Something that is added to a file: a member of an object, or an item of a list."""

    path: tuple[str, ...]
    value: dict[str, Any]
    name: str | None = None  #: of the member; None for an item


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """A file of an agent, and what is added to it."""

    path: Path
    entries: tuple[Entry, ...]


def files(client: Client, scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    """The files of an agent for a user, or for the project in a folder."""
    if client is Client.CLAUDE:
        return _claude(scope, folder, commands)
    above = Path.home() if scope is Scope.USER else folder
    mcp, key = commands.mcp, "mcpServers"
    match client:
        case Client.CURSOR:
            path = above / ".cursor" / "mcp.json"
        case Client.GEMINI:
            path = above / ".gemini" / "settings.json"
        case Client.CODEX:
            is_user = scope is Scope.USER
            above = agent_folder("CODEX_HOME", ".codex") if is_user else folder / ".codex"
            path, key = above / "config.toml", "mcp_servers"
        case Client.VSCODE:
            above = _vscode_user() if scope is Scope.USER else folder / ".vscode"
            path, key, mcp = above / "mcp.json", "servers", {"type": "stdio", **mcp}
    return [AgentFile(path=path, entries=(Entry(path=(key,), name=NAME, value=mcp),))]


def is_hook(value: object) -> bool:
    """Whether something is one of our hooks, of any version."""
    return isinstance(value, dict) and SCRIPT in str(value.get("command", ""))


def _claude(scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    """The hooks; in a project also the server. `claude mcp add` adds the server for a user."""
    home = agent_folder("CLAUDE_CONFIG_DIR", ".claude")
    # What is for this machine only does not belong in the repository.
    settings = folder / ".claude" / "settings.local.json"
    hooks = tuple(
        Entry(path=("hooks", event.value), value=_group(event, commands.hook(event)))
        for event in EVENTS
    )
    if scope is Scope.USER:
        return [AgentFile(path=home / "settings.json", entries=hooks)]
    server = Entry(path=("mcpServers",), name=NAME, value=commands.mcp)
    return [
        AgentFile(path=settings, entries=hooks),
        AgentFile(path=folder / ".mcp.json", entries=(server,)),
    ]


def _group(event: Event, command: str) -> dict[str, Any]:
    """A hook as the settings of Claude Code have it."""
    matcher, seconds = EVENTS[event]
    hook = {"type": "command", "command": command, "timeout": seconds}
    return ({"matcher": matcher} if matcher else {}) | {"hooks": [hook]}


def hook_settings(commands: Callable[[str], str]) -> dict[str, Any]:
    """All hooks, as a plugin has them."""
    return {"hooks": {event.value: [_group(event, commands(event))] for event in EVENTS}}


def _vscode_user() -> Path:
    """Where VS Code keeps the settings of a user."""
    home = Path.home()
    folders = {
        "darwin": home / "Library" / "Application Support",
        "win32": home / "AppData" / "Roaming",
    }
    return folders.get(sys.platform, home / ".config") / "Code" / "User"


def same(one: object, other: object) -> bool:
    """Whether two values are the same in JSON."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
