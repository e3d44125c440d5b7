"""How far a long command has come, told on standard error."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

_EVERY = 10_000  # records between two lines where no bar can be drawn


@contextmanager
def counting(
    what: str, total: int | None = None, unit: str = "records"
) -> Iterator[Callable[[int], None]]:
    """A bar on a terminal, a line now and then elsewhere; call it with how many more are done."""
    console = Console(file=sys.stderr, markup=False, highlight=False)
    if not console.is_terminal:
        yield _Lines(what, unit)
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda more: bar.advance(task, more)


class _Lines:
    """Says every now and then how many are done."""

    def __init__(self, what: str, unit: str) -> None:
        self._what = what
        self._unit = unit
        self._done = 0

    def __call__(self, more: int) -> None:
        before, self._done = self._done, self._done + more
        if before // _EVERY < self._done // _EVERY:
            sys.stderr.write(f"{self._what}: {self._done:,} {self._unit}\n")
