"""Syncing under trouble: seeded schedules of work, crashes and lost messages, and what must hold.

    python benchmarks/sync/simulate.py [--schedules 20000] [--first 0] [--processes 2]
    python benchmarks/sync/simulate.py --server postgres --schedules 1000
    python benchmarks/sync/simulate.py --seed 1234 [--server postgres] --trace

Every schedule drives two to four replicas and a server, kills them at any write, loses, repeats and
delays messages, cuts connections, revokes keys, sets clocks wrong, and restores the server from a
backup. Then there is peace, and all must hold the same: nothing lost, nothing twice, no secret in
clear. Exit status 1 when anything does not hold.

With `--server postgres` the memories of the server are in an embedded Postgres, and it loses its
connection to that as well; the replicas are on SQLite files.
"""

from __future__ import annotations

import argparse
import logging
import multiprocessing
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from support.postgres_server import shared_databases
from support.simulator.postgres import postgres_server
from support.simulator.schedules import Server, plainly, run, world

_CHUNK = 50  # schedules that a process does at a time
_SERVERS = ("plain", "postgres")

Tried = list[Counter[str] | str]  #: of each schedule what happened in it, or what does not hold


def main() -> int:
    """Run schedules; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--server", choices=_SERVERS, default="plain", help="what the server is on")
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--trace", action="store_true", help="show what happens in it")
    chosen = parser.parse_args()
    logging.disable(logging.WARNING)  # a purge on Postgres says every time that it does not scrub
    # The server of the tests stays as long as somebody uses it: not started anew for every chunk.
    with shared_databases() if chosen.server == "postgres" else nullcontext():
        if chosen.seed is not None:
            return _one(chosen.seed, chosen.server, trace=chosen.trace)
        seeds = range(chosen.first, chosen.first + chosen.schedules)
        return _all(seeds, chosen.server, chosen.processes)


def _all(seeds: range, server: str, processes: int) -> int:
    began = time.monotonic()
    chunks = [seeds[start : start + _CHUNK] for start in range(0, len(seeds), _CHUNK)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        tried = [each for some in pool.imap(partial(_tried, server), chunks) for each in some]
    took = time.monotonic() - began
    failures = [each for each in tried if isinstance(each, str)]
    happened = sum((each for each in tried if isinstance(each, Counter)), Counter[str]())
    print("\n".join(failures))
    print(", ".join(f"{count:,} {name}" for name, count in happened.items()))
    print(
        f"{len(seeds):,} schedules, {len(failures):,} failed; {took:.0f} s, "
        f"{len(seeds) / took:.0f} a second"
    )
    return 1 if failures else 0


def _one(seed: int, server: str, *, trace: bool) -> int:
    with _on(server) as on, world(seed, on) as each:
        try:
            each.run()
        finally:
            if trace:
                print("\n".join(each.told))
    print(f"seed {seed}: all holds")
    return 0


def _tried(server: str, seeds: Sequence[int]) -> Tried:
    logging.disable(logging.WARNING)  # in the process of the pool, as above
    tried: Tried = []
    try:
        with _on(server) as on:
            for seed in seeds:
                try:
                    tried.append(run(seed, on))
                except AssertionError as error:
                    tried.append(str(error))
    except AssertionError as error:  # what all of them left in the database
        tried.append(f"seeds {seeds}: {error}")
    return tried


@contextmanager
def _on(server: str) -> Iterator[Server]:
    """Where the server of each schedule has its memories."""
    if server == "plain":
        yield plainly
        return
    with postgres_server() as on:
        yield on.world


if __name__ == "__main__":
    sys.exit(main())
