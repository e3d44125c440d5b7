"""Killed at any moment, nothing that was acknowledged is lost and nothing half-written is seen.

BEARINMIND_CRASH_ROUNDS and BEARINMIND_CRASH_STORES make it longer.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import Memory, MemoryId

ROUNDS = int(os.environ.get("BEARINMIND_CRASH_ROUNDS", "5"))
STORES = int(os.environ.get("BEARINMIND_CRASH_STORES", "60"))

#: Stores one memory after another and says so as soon as each is acknowledged.
CHILD = """
import sys
from bearinmind.app import Mind

place, round_, stores = sys.argv[1], sys.argv[2], int(sys.argv[3])
memory = Mind.open(place)
for n in range(stores):
    stored = memory.store(
        f"in round r{round_}q the item i{round_}x{n}z was kept",
        tags=["crash"], keywords=[f"k{round_}x{n}z"],
    )
    print(stored.memory.id, flush=True)
    if n % 7 == 3:
        memory.update(stored.memory.id, importance=0.9)
    if n % 11 == 5:
        memory.delete(stored.memory.id)
"""


def _live_and_die(place: str, number: int, chance: random.Random) -> list[MemoryId]:
    """What a child acknowledged before it was killed at a random moment."""
    child = subprocess.Popen(
        [sys.executable, "-c", CHILD, place, str(number), str(STORES)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    told = [child.stdout.readline() for _ in range(chance.randint(1, STORES))]
    time.sleep(chance.uniform(0, 0.004))  # somewhere inside one of the next writes
    child.kill()
    told.extend(child.stdout.read().splitlines(keepends=True))
    assert child.stderr.read() == ""
    child.wait()
    child.stdout.close()
    child.stderr.close()
    return [MemoryId(line.strip()) for line in told if line.endswith("\n")]


def _everything(memory: Mind) -> list[Memory]:
    """Every memory of the store, live or deleted."""
    found: list[Memory] = []
    while page := memory.list(
        limit=5_000, after=found[-1].id if found else None, states=["live", "deleted"]
    ):
        found.extend(page)
    return found


def _assert_whole(memory: Mind, kept: Memory) -> None:
    """Every version is there, in order, and the memory is found by its own words."""
    versions = memory.versions(kept.id)
    assert [version.version for version in versions] == [*range(1, len(versions) + 1)]
    assert kept.tags == ("crash",)
    if kept.deleted_at is None:
        for word in (kept.content.split()[5], kept.keywords[0]):
            found = memory.recall(word, limit=3).hits
            assert kept.id in {hit.memory.id for hit in found}, word


def test_an_acknowledgement_waits_for_the_disk(path: Path) -> None:
    """A kill cannot show a loss of power; that every commit is synced is what guards against it."""
    store = SqliteStore(path)
    assert store._connections.get().execute("PRAGMA synchronous").fetchone() == (2,)
    store.close()


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_what_was_acknowledged_survives_a_kill_at_any_moment(place: str) -> None:
    chance = random.Random(20_260_301)
    acknowledged: set[MemoryId] = set()
    for number in range(ROUNDS):
        told = _live_and_die(place, number, chance)
        assert told
        acknowledged |= {*told}
        with Mind.open(place) as memory:
            findings = memory.check()
            assert all(finding.good for finding in findings), findings
            everything = _everything(memory)
            assert acknowledged <= {kept.id for kept in everything}
            ours = [kept for kept in everything if f"r{number}q" in kept.content]
            assert len(told) <= len(ours) <= len(told) + 1  # the last may not have been told
            for kept in ours:
                _assert_whole(memory, kept)
            stats = memory.stats()
            assert stats.live + stats.deleted == len(everything)
