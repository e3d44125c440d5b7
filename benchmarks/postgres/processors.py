"""Who may run on which processors."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import psycopg

Processors = frozenset[int]
_ALL = sorted(os.sched_getaffinity(0))
_HALF = max(1, len(_ALL) // 2)


class Places(NamedTuple):
    """The processors of a server and of its clients."""

    server: Processors
    clients: Processors


TOGETHER = Places(frozenset(_ALL), frozenset(_ALL))
APART = Places(frozenset(_ALL[:_HALF]), frozenset(_ALL[_HALF:] or _ALL))


def server_of(url: str) -> int:
    """The process that starts all others of a server on this machine."""
    with psycopg.connect(url) as connection:
        [backend] = connection.execute("SELECT pg_backend_pid()").fetchone() or [0]
        status = Path(f"/proc/{backend}/status").read_text(encoding="ascii")
    return int(next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:")))


@contextmanager
def placed(process: int, processors: Processors) -> Iterator[None]:
    """Whatever the process starts meanwhile runs on these processors."""
    before = os.sched_getaffinity(process)
    os.sched_setaffinity(process, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(process, before)
