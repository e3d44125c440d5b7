"""A Postgres server killed at any moment loses nothing that was acknowledged, and clients go on.

BEARINMIND_CRASH_ROUNDS and BEARINMIND_CRASH_STORES make it longer.
"""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from functools import partial

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import StoreFailure
from bearinmind.store.factory import open_database
from bearinmind.store.postgres.connection_pool import UNCHANGED, UNKNOWN
from bearinmind.store.postgres.embedded import EmbeddedServer
from bearinmind.store.postgres.pool import Pool
from bearinmind.types import Memory
from support.processes import alive, children, wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

STORES = int(os.environ.get("BEARINMIND_CRASH_STORES", "120"))
KILLS = max(2, int(os.environ.get("BEARINMIND_CRASH_ROUNDS", "0")) // 10)
THREADS = 3

#: Stores one memory after another, and says what became of each.
WRITER = """
import sys
from bearinmind.app import Mind
from bearinmind.errors import StoreFailure

memory = Mind.open(sys.argv[1], user="ben")
for n in range(1_000_000):
    content = f"the process keeps item p{n}z"
    try:
        memory.store(content)
    except StoreFailure as exc:
        print("failed", content, exc.message, sep="\\t", flush=True)
    else:
        print("stored", content, "", sep="\\t", flush=True)
"""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[EmbeddedServer]:
    """A server that nobody else uses, with all that makes it durable."""
    made = EmbeddedServer(tmp_path_factory.mktemp("killed") / "pg")
    yield made
    made.stop()


class Told:
    """What the writers were told about each content, whichever they are."""

    def __init__(self) -> None:
        self.acknowledged: list[str] = []
        self.failed: list[tuple[str, str]] = []

    def note(self, outcome: str, content: str, message: str) -> None:
        if outcome == "stored":
            self.acknowledged.append(content)
        else:
            self.failed.append((content, message))

    def wait_for(self, acknowledged: int) -> None:
        wait_until(lambda: len(self.acknowledged) >= acknowledged)


def _store_on(memory: Mind, told: Told, number: int, ended: threading.Event) -> None:
    """Store one memory after another on a thread."""
    n = 0
    while not ended.is_set():
        content, n = f"thread {number} keeps item t{number}x{n}z", n + 1
        try:
            memory.store(content)
        except StoreFailure as exc:
            told.note("failed", content, exc.message)
        else:
            told.note("stored", content, "")


def _work_on(memory: Mind, ended: threading.Event) -> None:
    """Do the background work, and stand what happens to it."""
    while not ended.is_set():
        try:
            memory.work.wait(timeout=0.5)
        except StoreFailure:
            time.sleep(0.05)


@contextmanager
def _going_on(*steps: Callable[[threading.Event], None]) -> Iterator[None]:
    """Things are done on threads until they are told to end."""
    ended = threading.Event()
    threads = [threading.Thread(target=step, args=(ended,)) for step in steps]
    for thread in threads:
        thread.start()
    try:
        yield
    finally:
        ended.set()
        for thread in threads:
            thread.join()


@contextmanager
def _another_process(url: str, told: Told) -> Iterator[None]:
    """A process of its own stores as well."""
    child = subprocess.Popen(
        [sys.executable, "-c", WRITER, url],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert child.stdout is not None
    lines = child.stdout

    def listen() -> None:
        for line in lines:
            if line.endswith("\n"):
                outcome, content, message = line[:-1].split("\t")
                told.note(outcome, content, message)

    listener = threading.Thread(target=listen)
    listener.start()
    try:
        wait_until(lambda: any("process" in each for each in told.acknowledged))  # it is at work
        yield
        assert child.poll() is None, "it has not given up"
    finally:
        child.kill()
        listener.join()
        assert child.stderr is not None
        assert child.stderr.read() == ""
        child.wait()
        child.stdout.close()
        child.stderr.close()


def _kill(server: EmbeddedServer, chance: random.Random, *, whole: bool) -> None:
    """Kill the whole server, or one of its processes: then it takes down the others itself."""
    postmaster = server.status().pid
    assert postmaster is not None
    time.sleep(chance.uniform(0, 0.004))  # somewhere inside one of the next writes
    others = children(postmaster)
    killed = [postmaster, *others] if whole else [chance.choice(others)]
    for pid in killed:
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not any(map(alive, killed)))


def _now() -> datetime:
    return datetime.now(UTC)


def _memory(url: str, user: str, clock: Callable[[], datetime] = _now) -> Mind:
    settings = Settings.model_validate({"store": url, "user": user, "embedder": "hash"})
    return Mind(open_database(url), settings, clock=clock)


def _everything(memory: Mind) -> list[Memory]:
    found: list[Memory] = []
    while page := memory.list(limit=1_000, after=found[-1].id if found else None):
        found.extend(page)
    return found


def test_what_was_acknowledged_survives_a_kill_of_the_server(server: EmbeddedServer) -> None:
    chance = random.Random(20_260_301)
    url, told = server.ensure(), Told()
    with _memory(url, "ana") as ana, _memory(url, "ben") as ben:
        writers = [partial(_store_on, ana, told, number) for number in range(THREADS)]
        with _going_on(*writers, partial(_work_on, ben)), _another_process(url, told):
            for kill in range(KILLS):
                told.wait_for(STORES * (kill + 1) // (KILLS + 1))
                _kill(server, chance, whole=kill % 2 == 0)
                server.ensure()
            # by themselves, on what they have open
            told.wait_for(max(STORES, len(told.acknowledged) + 20))
        _assert_nothing_lost([ana, ben], told)
    _finish_the_work(url)


def _assert_nothing_lost(memories: list[Mind], told: Told) -> None:
    """All that was acknowledged is there, once, and all is sound."""
    kept = [each.content for memory in memories for each in _everything(memory)]
    assert len(kept) == len({*kept}), "nothing is there twice"
    assert {*told.acknowledged} <= {*kept}
    for content, message in told.failed:
        assert UNCHANGED in message or UNKNOWN in message
        if UNCHANGED in message:
            assert content not in kept
    # Those that were under way at a kill, and the process's last one that nobody was told of.
    assert len(told.failed) <= KILLS * (THREADS + 1), told.failed
    assert len({*kept} - {*told.acknowledged} - {content for content, _ in told.failed}) <= 1
    for memory in memories:
        findings = memory.check()
        assert all(finding.good for finding in findings), findings


def _finish_the_work(url: str) -> None:
    """What was claimed when the server died comes back, and all of it is done."""
    with _memory(url, "ana", clock=lambda: _now() + timedelta(minutes=10)) as memory:
        status = memory.work.wait()
        assert (status.waiting, status.dead) == (0, 0)
        assert status.active is not None
        [[kept]] = Pool(url).alone("SELECT count(*) FROM memories")
        assert status.active.embedded == kept


def test_whoever_asks_while_the_server_is_down_is_answered_when_it_is_back(
    server: EmbeddedServer,
) -> None:
    chance = random.Random(7)
    url = server.ensure()
    with _memory(url, "eve") as memory:
        memory.store("a walrus was here")
        _kill(server, chance, whole=True)
        answers: list[object] = []
        asking = [
            threading.Thread(target=lambda: answers.append(memory.recall("walrus").hits)),
            threading.Thread(target=lambda: answers.append(memory.store("an otter was here"))),
        ]
        for thread in asking:
            thread.start()
        time.sleep(0.3)
        assert answers == []
        server.ensure()
        for thread in asking:
            thread.join()
        assert len(answers) == 2
        assert all(answers)
        assert len(memory.list()) == 2


def test_an_acknowledgement_waits_for_the_disk_of_the_server(server: EmbeddedServer) -> None:
    """A kill cannot show a loss of power; that nothing turns off what guards against it can be."""
    with _memory(server.ensure(), "eve") as memory:
        pool = memory._parts.store._pool  # type: ignore[attr-defined]
        for setting in ("fsync", "synchronous_commit", "full_page_writes"):
            assert pool.alone(f"SHOW {setting}") == [("on",)]
            with pool.connections.connection() as connection:
                assert connection.execute(f"SHOW {setting}").fetchall() == [("on",)]
