"""Many workers share one queue: no job is done twice while a claim holds, and none is lost.

BEARINMIND_CRASH_STORES makes it longer.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial
from pathlib import Path

import numpy as np
import pytest

from bearinmind.config import store_name
from bearinmind.errors import VersionConflict
from bearinmind.protocols import History, Job, Store
from bearinmind.store.factory import open_store
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.store.rows import from_time
from bearinmind.types import Memory, MemoryId, Scope, Space, UserId
from support.extractors import after, extraction_of
from support.processes import wait_until

JOBS = max(500, 2 * int(os.environ.get("BEARINMIND_CRASH_STORES", "0")))
ACTS = 40 + int(os.environ.get("BEARINMIND_CRASH_STORES", "0")) // 4  # of each of eight threads
SPACE = Space(model="compass", revision="1", dimensions=2)
MINUTE = timedelta(minutes=1)
Make = Callable[..., Memory]
#: How many sessions wait for a lock.
WAITING = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND wait_event_type = 'Lock'
"""

#: Does jobs until there are none to take, notes which, and may be killed with some in its hands.
WORKER = """
import os, sys
from datetime import datetime, timedelta
from pathlib import Path
import numpy as np
from bearinmind.store.factory import open_store
from bearinmind.config import store_name

store = open_store(store_name(sys.argv[1]))
now, notes, lives = datetime.fromisoformat(sys.argv[2]), Path(sys.argv[3]), int(sys.argv[4])
[known] = store.spaces()
print("ready", flush=True)
sys.stdin.readline()
while jobs := store.claim(["embed"], 25, now, now + timedelta(minutes=10)):
    lives -= 1
    if lives == 0:
        os.kill(os.getpid(), 9)
    store.finish_embedding(known.space, jobs, np.ones((len(jobs), 2), np.float32))
    with notes.open("a") as noted:
        noted.writelines(f"{job.owner} {job.memory.id}\\n" for job in jobs)
store.close()
"""


def _scope(number: int) -> Scope:
    return Scope(user=UserId(f"user {number % 7}"))


def _fill(store: Store, make: Make, count: int) -> Counter[str]:
    """Memories of several users, each with a job; how often each job is to be done."""
    memories = [make(f"memory {n}") for n in range(count)]
    for user in range(7):
        histories = [History(versions=(memory,)) for memory in memories[user::7]]
        store.put_many(_scope(user), histories)
    return Counter(f"user {n % 7} {memory.id}" for n, memory in enumerate(memories))


def _work(place: str, now: datetime, notes: Path, lives: list[int]) -> list[int]:
    """Let workers work side by side, each for so many claims; how they ended."""
    workers = [
        subprocess.Popen(
            [sys.executable, "-c", WORKER, place, now.isoformat(), notes / str(n), str(claims)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n, claims in enumerate(lives)
    ]
    for worker in workers:
        assert worker.stdout is not None
        assert worker.stdout.readline() == "ready\n"
    for worker, claims in zip(workers, lives, strict=True):
        assert worker.stdin is not None
        worker.stdin.write("go\n")
        worker.stdin.flush()
        if claims:  # on a busy machine the others might leave it nothing to die of
            worker.wait(90)
    assert [worker.communicate(timeout=90)[1] for worker in workers] == [""] * len(workers)
    return [worker.returncode for worker in workers]


@pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")
def test_four_processes_do_every_job_once_though_one_of_them_is_killed(
    place: str, make: Make, noon: datetime, tmp_path: Path
) -> None:
    store = open_store(store_name(place))
    store.use_space(SPACE)
    expected = _fill(store, make, JOBS)
    notes = tmp_path / "notes"
    notes.mkdir()
    assert _work(place, noon, notes, [1, 0, 0, 0]) == [-9, 0, 0, 0]
    shares = [each.read_text().splitlines() for each in notes.iterdir()]
    assert sum(map(len, shares)) == JOBS - 25, "what the dead one had claimed is left"
    assert store.claim(["embed"], 1, noon + 9 * MINUTE, noon) == []
    assert _work(place, noon + 10 * MINUTE, notes, [0]) == [0]
    done = [line for each in notes.iterdir() for line in each.read_text().splitlines()]
    assert Counter(done) == expected
    assert store.spaces()[0].embedded == JOBS
    findings = store.check()
    assert all(finding.good for finding in findings), findings
    store.close()


# ---- on Postgres, where workers do not wait for each other --------------------------------------


@pytest.fixture
def store(migrated_database: Callable[[], str]) -> Iterator[PostgresStore]:
    made = PostgresStore(migrated_database(), busy_timeout=20, connections=8)
    made.use_space(SPACE)
    made.use_extractor("plain")
    yield made
    made.close()


def test_whoever_claims_does_not_wait_for_another_who_is_claiming(
    store: PostgresStore, make: Make, noon: datetime
) -> None:
    _fill(store, make, 14)
    asked = {"kinds": ["embed"], "now": from_time(noon), "until": from_time(noon), "limit": 5}
    with store._pool.writing() as transaction:
        first = {row[1] for row in transaction.rows("claim", asked)}
        second = {job.number for job in store.claim(["embed"], 99, noon, noon + MINUTE)}
        assert len(first) == 5
        assert len(second) == 9
        assert not first & second


@pytest.mark.parametrize("verb", ["give_back", "revive"])
def test_whoever_changes_jobs_waits_before_it_holds_any(
    store: PostgresStore, make: Make, noon: datetime, verb: str
) -> None:
    """Else one who does them in another order would wait for it, and it for him."""
    _fill(store, make, 2 * 7)
    jobs = [job for job in store.claim(["embed"], 99, noon, noon + MINUTE) if job.owner == "user 0"]
    if verb == "revive":
        store.give_back(jobs, "no answer", noon, dead=True)
    finished = [
        {"owner": job.owner, "number": job.number, "key": SPACE.key} for job in reversed(jobs)
    ]
    with ThreadPoolExecutor(1) as thread:
        with store._pool.writing(jobs[0].owner) as transaction:
            transaction.change("finish_job", finished[0])
            asked = (
                partial(store.give_back, jobs, "no answer", noon)
                if verb == "give_back"
                else (partial(store.revive, "embed"))
            )
            waiting = thread.submit(asked)
            wait_until(lambda: store._pool.alone(WAITING) == [(1,)])
            transaction.change("finish_job", finished[1])
        waiting.result()


class Hammering:
    """Does to a store, on several threads at once, whatever locks jobs and turns."""

    def __init__(self, store: PostgresStore, make: Make, noon: datetime) -> None:
        self.store, self.make, self.noon = store, make, noon
        self.memories: list[tuple[Scope, MemoryId]] = []
        self.spaces = [replace(SPACE, revision=str(number)) for number in range(3)]

    def __call__(self, seed: int) -> None:
        chance = random.Random(seed)
        acts = (
            [self.put] * 4
            + [self.change] * 2
            + [self.embed] * 4
            + [self.read] * 4
            + [self.give_back] * 3
            + [self.purge, self.revive, self.use_space]
        )
        for _ in range(ACTS):
            chance.choice(acts)(chance)

    def put(self, chance: random.Random) -> None:
        scope = _scope(chance.randrange(7))
        memory = self.make("Gannet | Heron | Gannet > runs on > Heron", id=_id(chance))
        memory = replace(memory, content=f"{memory.content} {memory.id}")
        self.store.put(scope, memory)
        self.memories.append((scope, memory.id))

    def _chosen(self, chance: random.Random) -> tuple[Scope, MemoryId] | None:
        return chance.choice(self.memories) if self.memories else None

    def change(self, chance: random.Random) -> None:
        if chosen := self._chosen(chance):
            scope, id_ = chosen
            memory = self.store.get(scope, id_)
            if memory is not None:
                with suppress(VersionConflict):
                    self.store.replace(scope, after(memory, content=f"Dunlin | {_id(chance)}"))

    def purge(self, chance: random.Random) -> None:
        if chosen := self._chosen(chance):
            self.store.purge(chosen[0], [chosen[1]])

    def _claimed(self, chance: random.Random, kind: str) -> list[Job]:
        """Some jobs, in no order; claims run out at once, so others may have them as well."""
        jobs = self.store.claim([kind], 12, self.noon + MINUTE, self.noon)
        chance.shuffle(jobs)
        return jobs

    def embed(self, chance: random.Random) -> None:
        by_key = {space.key: space for space in self.spaces}
        jobs = self._claimed(chance, "embed")
        for key, space in by_key.items():
            own = [job for job in jobs if job.target == key]
            if own:
                self.store.finish_embedding(space, own, np.ones((len(own), 2), np.float32))

    def read(self, chance: random.Random) -> None:
        jobs = self._claimed(chance, "extract")
        found = [extraction_of(job.memory) for job in jobs]
        self.store.finish_extraction(jobs, found, self.noon)

    def give_back(self, chance: random.Random) -> None:
        jobs = self._claimed(chance, chance.choice(["embed", "extract"]))
        self.store.give_back(jobs, "no answer", self.noon, dead=chance.random() < 0.5)

    def revive(self, chance: random.Random) -> None:
        self.store.revive(chance.choice(["embed", "extract"]))

    def use_space(self, chance: random.Random) -> None:
        self.store.use_space(chance.choice(self.spaces))
        self.store.activate_filled()


def _id(chance: random.Random) -> str:
    return f"m{chance.randrange(10**12):012}"


def test_whatever_workers_and_writers_do_at_once_none_waits_for_another_in_a_circle(
    store: PostgresStore, make: Make, noon: datetime
) -> None:
    hammering = Hammering(store, make, noon)
    with ThreadPoolExecutor(8) as threads:
        [*threads.map(hammering, range(8))]  # a deadlock would be a StoreBusy here
    store.revive("embed")
    store.revive("extract")
    findings = store.check()
    assert all(finding.good for finding in findings), findings
