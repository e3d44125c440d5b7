"""Real processes and threads that share one store."""

from __future__ import annotations

import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from bearinmind.app import Mind
from bearinmind.types import Stored

PROCESSES = 4
STORES = 50

#: Waits for the others, opens the store, stores, and recalls in between when it is told to.
WRITER = """
import sys, time
from pathlib import Path
from bearinmind.app import Mind

place, number, stores = sys.argv[1], sys.argv[2], int(sys.argv[3])
recalls = sys.argv[4] == "True"
print("ready", flush=True)
while not Path(sys.argv[5]).exists():
    time.sleep(0.001)
with Mind.open(place) as memory:
    for n in range(stores):
        stored = memory.store(f"writer{number} says number{n} to everybody")
        print(stored.memory.id, flush=True)
        if recalls:
            answer = memory.recall("says everybody", limit=5)
            assert answer.hits and not answer.trace.degraded, answer.trace
            assert all(hit.memory.content for hit in answer.hits)
"""


def test_four_processes_make_and_fill_a_new_store_at_once(new_place: str, tmp_path: Path) -> None:
    go = tmp_path / "go"
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, new_place, str(n), str(STORES), str(n == 0), go],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(PROCESSES)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == "ready\n"
    go.touch()
    told = [writer.communicate(timeout=90) for writer in writers]
    assert [
        (writer.returncode, errors) for writer, (_, errors) in zip(writers, told, strict=True)
    ] == [(0, "")] * PROCESSES
    acknowledged = [id_ for output, _ in told for id_ in output.split()]
    assert len({*acknowledged}) == PROCESSES * STORES
    with Mind.open(new_place) as memory:
        assert all(finding.good for finding in memory.check())
        kept = memory.list(limit=1_000)
        assert {each.id for each in kept} == {*acknowledged}
        assert {each.content for each in kept} == {
            f"writer{n} says number{m} to everybody"
            for n in range(PROCESSES)
            for m in range(STORES)
        }
        assert len(memory.recall("writer3 number49", limit=1).hits) == 1


def test_eight_threads_share_one_memory(place: str) -> None:
    threads, stores = 8, 20
    start = threading.Barrier(threads)
    with Mind.open(place) as memory, ThreadPoolExecutor(threads) as pool:

        def live(number: int) -> list[str]:
            start.wait()
            made: list[str] = []
            for n in range(stores):
                outcome = memory.store(f"thread{number} keeps item{n} and a shared word")
                assert isinstance(outcome, Stored)
                made.append(outcome.memory.id)
                answer = memory.recall(f"thread{number} item{n}", limit=3)
                assert not answer.trace.degraded
                assert outcome.memory.id in {hit.memory.id for hit in answer.hits}
            return made

        made = [id_ for ids in pool.map(live, range(threads)) for id_ in ids]
        assert len({*made}) == threads * stores
        assert {each.id for each in memory.list(limit=1_000)} == {*made}
        assert all(finding.good for finding in memory.check())


def test_the_same_content_from_many_threads_is_stored_once(place: str) -> None:
    threads = 8
    start = threading.Barrier(threads)
    with Mind.open(place) as memory, ThreadPoolExecutor(threads) as pool:

        def say(_: int) -> bool:
            start.wait()
            return isinstance(memory.store("we all say the same"), Stored)

        assert sum(pool.map(say, range(threads))) == 1
        assert len(memory.list()) == 1


def test_threads_that_end_leave_no_open_files_behind(place: str) -> None:
    descriptors = Path("/proc/self/fd")
    if not descriptors.exists():  # pragma: no cover
        return
    with Mind.open(place) as memory:
        memory.store("walrus")

        def once() -> None:
            thread = threading.Thread(target=memory.recall, args=("walrus",))
            thread.start()
            thread.join()

        once()
        before = len([*descriptors.iterdir()])
        for _ in range(40):
            once()
        assert len([*descriptors.iterdir()]) <= before + 6


#: A child made by fork has its own connection; the parent goes on undisturbed.
FORKER = """
import os, sys
from bearinmind.app import Mind

memory = Mind.open(sys.argv[1])
memory.store("before the fork")
child = os.fork()
if child == 0:
    memory.store("from the child")
    assert len(memory.recall("fork").hits) == 1
    memory.close()
    os._exit(0)
assert os.waitpid(child, 0)[1] == 0
memory.store("after the fork")
assert len(memory.list()) == 3, memory.list()
assert all(finding.good for finding in memory.check())
memory.close()
"""


def test_a_forked_child_may_use_the_memory_of_its_parent(place: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORKER, place],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    assert (done.returncode, done.stderr) == (0, "")
    with Mind.open(place) as memory:
        assert len(memory.list()) == 3
