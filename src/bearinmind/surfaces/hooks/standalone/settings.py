"""The settings of the hooks, the log of their runs, and the project that a folder belongs to.

This is the one module besides `bearinmind.config` that reads the environment: the hooks run without
the package.
"""

from __future__ import annotations

import json
import os
import sys
import time

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

#: The defaults.
URL = "http://127.0.0.1:8377"
DEADLINE_MS = 300  #: for everything between the prompt and the model
MOST = 5  #: memories
BYTES = 8_000  #: of output
BRIEF_BYTES = 4_000
FOUND = 0.45  #: the probability from which on a memory is found: `recall.verdict.FOUND`

LOG = "hooks.log"
OLD_LOG = "hooks.log.1"
_NAME = "bearinmind"
# Only the plugin was installed: the store of the user, on the usual port.
_PLUGIN_ONLY: dict[str, Any] = {"serve": [_NAME, "serve", "--idle-exit", "3600"]}
_SECONDS = (0.05, 10.0)  # the shortest and the longest deadline
OUT_OF_TIME = "out of time"  #: the note of a run that took too long
_LONGEST_LINE = 1_000  # bytes of a run in the log
_MOST_LOGGED = 200_000  # bytes; then a new log begins, and the one before is kept


class HookSettings:
    """The folder of the hooks, and the values of the configuration file in it.

    A value that is missing or not valid is replaced by its default: a hook cannot report it.
    """

    def __init__(self, file: str) -> None:
        self.folder = os.path.dirname(file)
        values = _read(file) if os.path.exists(file) else _PLUGIN_ONLY
        self.url = _text(values, "url") or URL
        self.key_file = _text(values, "key_file")
        seconds = _number(values, "deadline_ms", DEADLINE_MS) / 1_000
        self.deadline = min(max(seconds, _SECONDS[0]), _SECONDS[1])
        self.most = int(_number(values, "most", MOST))
        self.bytes = int(_number(values, "bytes", BYTES))
        self.brief_bytes = int(_number(values, "brief_bytes", BRIEF_BYTES))
        self.least_probability = 0.0 if _text(values, "give") == "perhaps" else FOUND
        self.learns = values.get("learn", True) is not False
        #: Beside what this machine keeps its files about the store; empty for a server elsewhere.
        self.store = _text(values, "store")
        serve = values.get("serve")
        #: The command that starts the server; empty when the hooks must not start one.
        self.serve = [x for x in serve if isinstance(x, str)] if isinstance(serve, list) else []

    def key(self) -> str:
        """The key for the server; empty when there is none."""
        if not self.key_file:
            return ""
        with open(self.key_file, encoding="ascii") as file:
            return file.read(1_000).strip()


def default_file() -> str:
    """The usual place of the configuration: in the state folder of Bear in Mind."""
    home = os.path.expanduser("~")
    if sys.platform == "darwin":
        state = os.path.join(home, "Library", "Application Support")
    elif sys.platform == "win32":
        state = os.environ.get("LOCALAPPDATA") or os.path.join(home, "AppData", "Local")
    else:
        state = os.environ.get("XDG_STATE_HOME") or os.path.join(home, ".local", "state")
    return os.path.join(state, _NAME, "hooks", "config.json")


def project_of(folder: str) -> str:
    """The name of the project that a folder belongs to: that of its repository, or its own."""
    above = folder
    while above:
        if os.path.exists(os.path.join(above, ".git")):
            return os.path.basename(above)
        parent = os.path.dirname(above)
        above = parent if parent != above else ""
    return os.path.basename(folder)


def _read(file: str) -> dict[str, Any]:
    try:
        with open(file, encoding="utf-8") as opened:
            values = json.load(opened)
    except (OSError, ValueError):
        return {}
    return values if isinstance(values, dict) else {}


def _text(values: dict[str, Any], name: str) -> str:
    value = values.get(name)
    return value if isinstance(value, str) else ""


def _number(values: dict[str, Any], name: str, default: float) -> float:
    value = values.get(name)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return default
    return value if 0 <= value < float("inf") else default


def write_log(folder: str, event: str, began: float, note: str, *, good: bool) -> None:
    """Add the result of a run to the log, if it can be written."""
    line = {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "event": event,
        "good": good,
        "ms": round((time.monotonic() - began) * 1_000),
        "note": note,
    }
    path = os.path.join(folder, LOG)
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        if os.path.exists(path) and os.path.getsize(path) > _MOST_LOGGED:
            os.replace(path, os.path.join(folder, OLD_LOG))
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        try:
            os.write(file, json.dumps(line).encode() + b"\n")
        finally:
            os.close(file)
    except OSError:
        pass


def last_run(folder: str) -> str:
    """The event and the outcome of the last run in the log, for the server; empty without one."""
    try:
        with open(os.path.join(folder, LOG), "rb") as file:
            file.seek(max(0, file.seek(0, os.SEEK_END) - _LONGEST_LINE))
            run = json.loads(file.read().splitlines()[-1])
        outcome = "good" if run["good"] else "late" if run["note"] == OUT_OF_TIME else "failed"
        return f"{run['event'].partition(' ')[0]} {outcome}"
    except (OSError, ValueError, LookupError, AttributeError, TypeError):
        return ""
