"""The command lines that agents are given: of the hooks, of the MCP server, of a local server."""

from __future__ import annotations

import shlex
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

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
