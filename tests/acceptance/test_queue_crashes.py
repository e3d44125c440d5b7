"""A worker killed at any moment leaves a queue from which the next one finishes, each job once.

BEARINMIND_CRASH_ROUNDS makes it longer.
"""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import datetime, timedelta

import numpy as np
import pytest

from bearinmind.config import store_name
from bearinmind.protocols import History, WorkCount, WorkState
from bearinmind.store.factory import open_store
from bearinmind.types import Filter, Memory, Scope, Space, UserId

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="kill -9 is a POSIX signal")

ROUNDS = int(os.environ.get("BEARINMIND_CRASH_ROUNDS", "5"))
MEMORIES = 150
ADA = Scope(user=UserId("ada"))
SPACE = Space(model="made-up", revision="1", dimensions=32)

#: Claims a few jobs at a time and finishes them, as a worker does; says so after each step.
WORKER = """
import sys
from datetime import datetime, timedelta
import numpy as np
from bearinmind.store.factory import open_store
from bearinmind.config import store_name

def vector(memory):
    return np.random.default_rng(int(memory.content.split()[1])).standard_normal(32)

store = open_store(store_name(sys.argv[1]))
now = datetime.fromisoformat(sys.argv[2])
[known] = store.spaces()
while jobs := store.claim(["embed"], 4, now, now + timedelta(minutes=1)):
    print("claimed", flush=True)
    vectors = np.array([vector(job.memory) for job in jobs], np.float32)
    store.finish_embedding(known.space, jobs, vectors)
    print("finished", flush=True)
"""


def _work_and_die(place: str, now: datetime, chance: random.Random) -> None:
    """Let a worker begin, and kill it at a random moment."""
    child = subprocess.Popen(
        [sys.executable, "-c", WORKER, place, now.isoformat()],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    assert child.stderr is not None
    for _ in range(chance.randint(1, 12)):
        child.stdout.readline()
    time.sleep(chance.uniform(0, 0.004))  # somewhere inside the next step
    child.kill()
    assert child.stderr.read() == ""
    child.wait()
    child.stdout.close()
    child.stderr.close()


def _vector(memory: Memory) -> np.ndarray:
    return np.random.default_rng(int(memory.content.split()[1])).standard_normal(32)


def test_every_memory_is_embedded_exactly_once_whenever_workers_die(
    place: str, make: Callable[..., Memory], noon: datetime
) -> None:
    chance = random.Random(20_260_301)
    store = open_store(store_name(place))
    store.use_space(SPACE)
    memories = [make(f"memory {n}") for n in range(MEMORIES)]
    store.put_many(ADA, [History(versions=(memory,)) for memory in memories])
    now = noon
    for _ in range(ROUNDS):
        _work_and_die(place, now, chance)
        findings = store.check()
        assert all(finding.good for finding in findings), findings
        [known] = store.spaces()
        assert known.embedded + known.waiting == MEMORIES, "no job is lost, none is done by half"
        now += timedelta(minutes=1)  # the claims of the dead one run out
    while jobs := store.claim(["embed"], 99, now, now):
        vectors = np.array([_vector(job.memory) for job in jobs], np.float32)
        assert store.finish_embedding(SPACE, jobs, vectors) == len(jobs)
        assert store.finish_embedding(SPACE, jobs, vectors) == 0
    assert store.spaces()[0].embedded == MEMORIES
    assert all(finding.good for finding in store.check()), "there are as many as are counted"
    for memory in memories:
        asked = _vector(memory).astype(np.float32)
        [nearest] = store.nearest(Filter(scope=ADA, now=now), SPACE, asked, 1).nearest
        assert nearest.id == memory.id
        assert nearest.cosine == pytest.approx(1.0, abs=1e-3)
    store.close()


def test_the_jobs_of_a_killed_worker_come_back_when_its_claim_has_run_out(
    place: str, make: Callable[..., Memory], noon: datetime
) -> None:
    store = open_store(store_name(place))
    store.use_space(SPACE)
    store.put(ADA, make("memory 1"))
    claiming = WORKER.replace('print("claimed", flush=True)', "import os; os.kill(os.getpid(), 9)")
    dead = subprocess.run(
        [sys.executable, "-c", claiming, place, noon.isoformat()], check=False, capture_output=True
    )
    assert dead.returncode == -9
    assert store.work_counts(noon) == [
        WorkCount("compare", "", WorkState.WAITING, 1, None),
        WorkCount("embed", SPACE.key, WorkState.RUNNING, 1, None),
    ]
    assert store.claim(["embed"], 9, noon, noon + timedelta(minutes=1)) == []
    later = noon + timedelta(minutes=1)
    [job] = store.claim(["embed"], 9, later, later + timedelta(minutes=1))
    assert (job.memory.content, job.attempts) == ("memory 1", 1)
    store.close()
