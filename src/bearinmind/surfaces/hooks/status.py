"""How the hooks are doing: their settings, their last runs, and whether the server answers."""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bearinmind.surfaces.hooks.agent_files import Record
from bearinmind.surfaces.hooks.standalone.server_call import NoAnswer, Server
from bearinmind.surfaces.hooks.standalone.settings import LOG, OLD_LOG, HookSettings

_RECENT = 200  # runs that are looked at
_PATIENCE = 2.0  # seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Runs:
    """The results of the latest runs of one hook."""

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
    settings = HookSettings(str(config))
    return Status(
        config=config,
        installed=config.is_file(),
        url=settings.url,
        answers=_answers(settings) if config.is_file() else None,
        starts_server=bool(settings.serve),
        files=Record(folder).files(),
        runs=summaries(read_log(folder)),
    )


def read_log(folder: Path) -> list[dict[str, Any]]:
    """The latest runs, oldest first."""
    lines: list[str] = []
    for name in (OLD_LOG, LOG):
        try:
            lines += (folder / name).read_text("utf-8", "replace").splitlines()
        except OSError:
            continue
    return [*filter(None, map(_run, lines[-_RECENT:]))]


def summaries(runs: Iterable[dict[str, Any]]) -> list[Runs]:
    """The results of runs, hook by hook."""
    by_event: dict[str, list[dict[str, Any]]] = {}
    for run in runs:
        by_event.setdefault(run["event"], []).append(run)
    failures = {event: [x for x in each if not x["good"]] for event, each in by_event.items()}
    return [
        Runs(
            event=event,
            runs=len(each),
            failed=len(failures[event]),
            median_ms=statistics.median(run["ms"] for run in each),
            last=each[-1]["at"],
            last_note=each[-1]["note"],
            last_failure=failures[event][-1]["note"] if failures[event] else None,
        )
        for event, each in sorted(by_event.items())
    ]


def _run(line: str) -> dict[str, Any] | None:
    """A line of the log; None when it cannot be read."""
    kinds = {"at": str, "event": str, "good": bool, "ms": int, "note": str}
    try:
        run = json.loads(line)
    except ValueError:
        return None
    is_run = isinstance(run, dict) and all(isinstance(run.get(x), kinds[x]) for x in kinds)
    return run if is_run else None


def _answers(settings: HookSettings) -> bool:
    try:
        Server(settings, time.monotonic() + _PATIENCE).get("/healthz")
    except (OSError, NoAnswer):
        return False
    return True
