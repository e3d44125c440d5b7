"""What `doctor` says about the hooks of agents."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from bearinmind.surfaces.checks import Check
from bearinmind.surfaces.hooks.standalone.place import Place
from bearinmind.surfaces.hooks.status import Runs, read_log, summed_up

_NAME = "hooks"
_TOO_MANY = 0.2  # of the latest runs; now and then a server is restarted
_REMEDY = "`bearinmind hooks status` says whether the server answers, and what went wrong."


def hooks(folder: Path) -> Iterator[Check]:
    """Whether the hooks do their work; nothing when none are installed."""
    config = folder / "config.json"
    if not config.is_file():
        return
    runs = summed_up(read_log(folder))
    if not runs:
        detail = f"installed, for {Place(str(config)).url}; none has run yet"
        yield Check(name=_NAME, good=True, detail=detail)
    for each in runs:
        good = each.failed <= _TOO_MANY * each.runs
        yield Check(name=_NAME, good=good, detail=_detail(each), remedy="" if good else _REMEDY)


def _detail(runs: Runs) -> str:
    failed = f", {runs.failed} failed, last: {runs.last_failure}" if runs.failed else ""
    return f"{runs.event}: {runs.runs} runs, median {runs.median_ms:g} ms{failed}"
