"""How the hooks are doing: what they were told, what they did, and whether the server answers."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearinmind.surfaces.hooks.agent_files import Record
from bearinmind.surfaces.hooks.standalone import settings
from bearinmind.surfaces.hooks.standalone.server_call import Server, Unanswered
from bearinmind.surfaces.hooks.standalone.settings import HookSettings

_RECENT = 200  # runs that are looked at
_PATIENCE = 2.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """What became of the latest runs of one hook."""

    event: str
    runs: int
    failed: int
    median_ms: float
    last: str  #: when
    last_note: str
    last_failure: str | None  #: why


@dataclass(frozen=True, slots=True, kw_only=True)
class Status:
    """How the hooks are doing."""

    config: Path
    installed: bool
    url: str
    answers: bool | None  #: whether the server does; None when nothing is installed
    starts_server: bool
    files: list[Path]
    runs: list[Runs]


def status(folder: Path) -> Status:
    """How the hooks of a folder are doing."""
    config = folder / "config.json"
    place = HookSettings(str(config))
    return Status(
        config=config,
        installed=config.is_file(),
        url=place.url,
        answers=_answers(place) if config.is_file() else None,
        starts_server=bool(place.serve),
        files=Record(folder).files(),
        runs=summed_up(read_log(folder)),
    )


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The latest runs, oldest first."""
    lines: list[str] = []
    for name in (settings.OLD, settings.NAME):
        try:
            lines += (folder / name).read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
    return [*filter(None, map(_run, lines[-_RECENT:]))]


def summed_up(runs: Iterable[dict[str, Any]]) -> list[Runs]:
    """What became of runs, hook by hook."""
    by_event: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        by_event.setdefault(run["event"], []).append(run)
    return [_summed_up(event, found) for event, found in sorted(by_event.items())]


def _summed_up(event: str, runs: list[dict[str, Any]]) -> Runs:
    bad = [run for run in runs if not run["good"]]
    return Runs(
        event=event,
        runs=len(runs),
        failed=len(bad),
        median_ms=statistics.median(run["ms"] for run in runs),
        last=runs[-1]["at"],
        last_note=runs[-1]["note"],
        last_failure=bad[-1]["note"] if bad else None,
    )


def _run(line: str) -> dict[str, Any] | None:
    """A line of the log; None when it is none."""
    kinds = {"at": str, "event": str, "good": bool, "ms": int, "note": str}
    try:
        found = json.loads(line)
    except ValueError:
        return None
    good = isinstance(found, dict) and all(
        isinstance(found.get(name), kind) for name, kind in kinds.items()
    )
    return found if good else None


def _answers(place: HookSettings) -> bool:
    try:
        Server(place, time.monotonic() + _PATIENCE).get("/healthz")
    except (OSError, Unanswered):
        return False
    return True
