"""Background workers of a store, as a test finds them. Linux alone has /proc."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from pathlib import Path


def workers(place: Path | str) -> list[int]:
    """The processes that work on a store in the background; of a server, the URL as it is shown."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            line = (folder / "cmdline").read_bytes()
            dead = "\nState:\tZ" in (folder / "status").read_text()
        except OSError:
            continue
        if b"bearinmind.surfaces.background" in line and str(place).encode() in line and not dead:
            found.append(int(folder.name))
    return found


def end_workers(place: Path | str) -> None:
    """Kill them, and wait until they are gone."""
    for worker in workers(place):
        os.kill(worker, signal.SIGKILL)
    wait_until(lambda: not workers(place))
