"""The log of the hooks: a line for each run, never with what was said in it."""

from __future__ import annotations

import json
import os
import time

NAME = "hooks.log"
OLD = "hooks.log.1"
_MOST = 200_000  # bytes; then it begins anew, and the one before stays


def write(folder: str, event: str, began: float, note: str, *, good: bool) -> None:
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
