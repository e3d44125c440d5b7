"""Schedules by their seeds."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from support.simulator.ledger import Broken
from support.simulator.stores import InFiles, Keeping
from support.simulator.world import World

Server = Callable[[int], Keeping]  #: where the memories of a schedule are kept


def plainly(seed: int) -> Keeping:
    """On what a schedule is run when nobody says otherwise."""
    del seed
    return InFiles()


@contextmanager
def world(seed: int, server: Server = plainly) -> Iterator[World]:
    """The schedule of a seed."""
    keeping = server(seed)
    try:
        yield World(seed, keeping)
    finally:
        keeping.close()


def replay(seed: int, server: Server) -> str:
    """How to see a schedule again."""
    chosen = "" if server is plainly else " --server postgres"
    return f"python benchmarks/sync/simulate.py --seed {seed}{chosen} --trace"


def run(seed: int, server: Server = plainly) -> Counter[str]:
    """Run the schedule of a seed; what happened in it.

    Raises:
        Broken: something does not hold; the message says how to replay it.
    """
    with world(seed, server) as each:
        try:
            each.run()
        except Exception as error:
            raise Broken(f"seed {seed}: {error!r}\nReplay it: {replay(seed, server)}") from error
        return each.totals
