"""Syncing under trouble: seeded schedules of work, crashes and lost messages, and what must hold.

    python benchmarks/sync/simulate.py [--schedules 20000] [--first 0] [--processes 2]
    python benchmarks/sync/simulate.py --seed 1234 --trace

Every schedule drives two to four replicas and a server, kills them at any write, loses, repeats and
delays messages, cuts connections, revokes keys, sets clocks wrong, and restores the server from a
backup. Then there is peace, and all must hold the same: nothing lost, nothing twice, no secret in
clear. Exit status 1 when anything does not hold.
"""

from __future__ import annotations

import argparse
import multiprocessing
import sys
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "tests"))

from simulating.world import run, world

_CHUNK = 50  # schedules that a process does at a time


def main() -> int:
    """Run schedules; the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--schedules", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--processes", type=int, default=multiprocessing.cpu_count())
    parser.add_argument("--seed", type=int, help="run this one alone")
    parser.add_argument("--trace", action="store_true", help="show what happens in it")
    chosen = parser.parse_args()
    if chosen.seed is not None:
        return _one(chosen.seed, trace=chosen.trace)
    seeds = range(chosen.first, chosen.first + chosen.schedules)
    began = time.monotonic()
    with multiprocessing.Pool(chosen.processes) as pool:
        tried = [*pool.imap(_tried, seeds, _CHUNK)]
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


def _one(seed: int, *, trace: bool) -> int:
    with world(seed) as each:
        try:
            each.run()
        finally:
            if trace:
                print("\n".join(each.told))
    print(f"seed {seed}: all holds")
    return 0


def _tried(seed: int) -> Counter[str] | str:
    try:
        return run(seed)
    except AssertionError as error:
        return str(error)


if __name__ == "__main__":
    sys.exit(main())
