"""Where the hooks are at home, and what they are told there."""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False

if TYPE_CHECKING:
    from typing import Any


#: What a configuration need not say.
URL = "http://127.0.0.1:8377"
DEADLINE_MS = 300  #: for everything between the prompt and the model
MOST = 5  #: memories
BYTES = 8_000  #: of output
BRIEF_BYTES = 4_000
#: From where on enough speaks for a memory that nobody asked for: `recall.support.UNASKED`.
LEAST_SUPPORT = 0.5

_NAME = "bearinmind"
# Nothing was installed but the plugin: the store of the user, served where servers are.
_UNTOLD: dict[str, Any] = {"serve": [_NAME, "serve", "--idle-exit", "3600"]}
_SECONDS = (0.05, 10.0)


class HookSettings:
    """The folder of the hooks, and what its configuration says.

    Whatever is missing or no sense there takes its default: a hook has nobody to complain to.
    """

    def __init__(self, file: str) -> None:
        self.folder = os.path.dirname(file)
        told = _read(file) if os.path.exists(file) else _UNTOLD
        self.url = _text(told, "url") or URL
        self.key_file = _text(told, "key_file")
        self.deadline = min(
            max(_number(told, "deadline_ms", DEADLINE_MS) / 1_000, _SECONDS[0]), _SECONDS[1]
        )
        self.most = int(_number(told, "most", MOST))
        self.bytes = int(_number(told, "bytes", BYTES))
        self.brief_bytes = int(_number(told, "brief_bytes", BRIEF_BYTES))
        self.least_support = _number(told, "least_support", LEAST_SUPPORT)
        self.learns = told.get("learn", True) is not False
        #: How to start the server if it does not run; empty when that is not for the hooks to do.
        self.serve = _texts(told, "serve")

    def key(self) -> str:
        """The key for the server; empty when there is none."""
        if not self.key_file:
            return ""
        with open(self.key_file, encoding="ascii") as file:
            return file.read(1_000).strip()


def default_file() -> str:
    """Where the configuration is when nothing else is said: in the state folder of Bear in Mind."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        state = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        state = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        state = os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(state, _NAME, "hooks", "config.json")


def project_of(folder: str) -> str:
    """The name of the project that a folder belongs to: of its repository, or its own."""
    looked = folder
    while looked:
        if os.path.exists(os.path.join(looked, ".git")):
            return os.path.basename(looked)
        above = os.path.dirname(looked)
        looked = above if above != looked else ""
    return os.path.basename(folder)


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as opened:
            told = json.load(opened)
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def _text(told: dict[str, Any], name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""


def _texts(told: dict[str, Any], name: str) -> list[str]:
    value = told.get(name)
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def _number(told: dict[str, Any], name: str, default: float) -> float:
    value = told.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    return value if 0 <= value < float("inf") else default


NAME = "hooks.log"
OLD = "hooks.log.1"
_MOST = 200_000  # bytes; then it begins anew, and the one before stays


def write_log(folder: str, event: str, began: float, note: str, *, good: bool) -> None:
    """Add what became of a run. That this cannot be done is nobody's concern."""
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "event": event,
        "good": good,
        "ms": round((time.monotonic() - began) * 1_000),
        "note": note,
    }
    path = os.path.join(folder, NAME)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > _MOST:
            os.replace(path, os.path.join(folder, OLD))
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)
    except OSError:
        pass
