"""The agents that can be connected: which files they read, and what those are to say."""

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


@dataclass(frozen=True, slots=True, kw_only=True)
class Commands:
    """What agents run."""

    config: Path  #: the configuration of the hooks
    options: tuple[str, ...] = ()  #: before the command: which store is meant, and whose memories
    server: str | None = None  #: the server to ask, when it is not for us to start
    key_file: Path | None = None

    def hook(self, event: str) -> str:
        """What runs on an event. It goes through a shell."""
        # Neither the environment of the agent nor installed packages have a say, or take time.
        words = [sys.executable, "-I", "-S", str(HOOK), event, str(self.config)]
        return shlex.join(words)

    @property
    def mcp(self) -> dict[str, Any]:
        """The MCP server of this machine, as most agents want it said."""
        said = ["-m", "bearinmind", *self.options, "mcp"]
        if self.server is not None:
            said += ["--server", self.server]
            said += ["--key-file", str(self.key_file)] if self.key_file else []
        return {"command": sys.executable, "args": said}

    def serve(self, port: int) -> list[str]:
        """What starts a server of this machine's memories, for as long as it is used."""
        said = ["serve", "--port", str(port), "--idle-exit", str(IDLE_SECONDS)]
        return [sys.executable, "-m", "bearinmind", *self.options, *said]


NAME = "bearinmind"  #: of the MCP server
#: The tools of our server, as Claude Code names them: added by hand, or by the plugin.
TOOLS = "mcp__(plugin_bearinmind_)?bearinmind__.*"


class Event(StrEnum):
    """What an agent tells its hooks."""

    SESSION_START = "SessionStart"
    USER_PROMPT_SUBMIT = "UserPromptSubmit"
    PRE_TOOL_USE = "PreToolUse"
    PRE_COMPACT = "PreCompact"
    STOP = "Stop"


#: What runs on which event: the tools that are meant, and the seconds after which it is ended.
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
    """Something that a file is to say: a member of an object, or an item of a list."""

    path: tuple[str, ...]
    value: dict[str, Any]
    name: str | None = None  #: of the member; None for an item


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentFile:
    """A file of an agent, and what it is to say."""

    path: Path
    entries: tuple[Entry, ...]

    @property
    def is_toml(self) -> bool:
        """Whether it is TOML; all others are JSON."""
        return self.path.suffix == ".toml"


def files(client: Client, scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    """The files of an agent for a user, or for the project in a folder."""
    return _FILES[client](scope, folder, commands)


def is_hook(value: object) -> bool:
    """Whether something is one of our hooks, whichever version has added it."""
    return isinstance(value, dict) and SCRIPT in str(value.get("command", ""))


def _claude(scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    """The hooks; in a project also the server. That of the user is for `claude mcp add` to add."""
    home = agent_folder("CLAUDE_CONFIG_DIR", ".claude")
    # What is only for this machine does not belong into the repository.
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


def _cursor(scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    above = Path.home() if scope is Scope.USER else folder
    return [_serving(above / ".cursor" / "mcp.json", "mcpServers", commands.mcp)]


def _codex(scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    home = agent_folder("CODEX_HOME", ".codex") if scope is Scope.USER else folder / ".codex"
    return [_serving(home / "config.toml", "mcp_servers", commands.mcp)]


def _gemini(scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    above = Path.home() if scope is Scope.USER else folder
    return [_serving(above / ".gemini" / "settings.json", "mcpServers", commands.mcp)]


def _vscode(scope: Scope, folder: Path, commands: Commands) -> Sequence[AgentFile]:
    above = _vscode_user() if scope is Scope.USER else folder / ".vscode"
    return [_serving(above / "mcp.json", "servers", {"type": "stdio", **commands.mcp})]


def _vscode_user() -> Path:
    """Where VS Code keeps what is a user's."""
    home = Path.home()
    places = {
        "darwin": home / "Library" / "Application Support",
        "win32": home / "AppData" / "Roaming",
    }
    return places.get(sys.platform, home / ".config") / "Code" / "User"


def _serving(path: Path, key: str, server: dict[str, Any]) -> AgentFile:
    """A file that is to name our MCP server."""
    return AgentFile(path=path, entries=(Entry(path=(key,), name=NAME, value=server),))


_FILES: dict[Client, Callable[[Scope, Path, Commands], Sequence[AgentFile]]] = {
    Client.CLAUDE: _claude,
    Client.CURSOR: _cursor,
    Client.CODEX: _codex,
    Client.VSCODE: _vscode,
    Client.GEMINI: _gemini,
}


def same(one: object, other: object) -> bool:
    """Whether two values say the same."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
