"""The leader of a cluster is killed: nothing that was acknowledged is lost, and work goes on."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime, timedelta
from itertools import count

import psycopg
import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import StoreFailure
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import MemoryId
from support.patroni import Cluster, Node, cluster
from support.processes import wait_until

PACE = 0.02  # seconds between two memories: the background work keeps up


class Writer:
    """Stores one memory after another, and keeps what was acknowledged."""

    def __init__(self, memory: Mind) -> None:
        self.acknowledged: list[MemoryId] = []
        self.unknown: list[str] = []
        self._memory = memory
        self._stopped = threading.Event()

    def _store(self, number: int) -> None:
        try:
            stored = self._memory.store(f"the item i{number}z was kept")
        except StoreFailure as exc:  # it was under way: nobody can say what became of it
            self.unknown.append(str(exc))
        else:
            self.acknowledged.append(stored.memory.id)

    def go_on(self) -> None:
        """Until it is stopped."""
        for number in count():
            self._store(number)
            if self._stopped.wait(PACE):
                return

    def stop(self) -> None:
        self._stopped.set()


def _now() -> datetime:
    return datetime.now(UTC)


def _memory(url: str, user: str, clock: Callable[[], datetime] = _now) -> Mind:
    settings = Settings.model_validate({"user": user, "embedder": "hash"})
    return Mind(PostgresStore(url), settings, clock=clock)


@contextmanager
def _running(go_on: Callable[[], object], stop: Callable[[], None]) -> Iterator[None]:
    """Something goes on, on a thread, until it is stopped."""
    thread = threading.Thread(target=go_on)
    thread.start()
    try:
        yield
    finally:
        stop()
        thread.join()


def _kept(memory: Mind) -> set[MemoryId]:
    kept: list[MemoryId] = []
    while page := memory.list(limit=1_000, after=kept[-1] if kept else None):
        kept.extend(each.id for each in page)
    return {*kept}


def _let_each_store(writers: Iterable[Writer], more: int) -> None:
    """Wait until so many more of each are acknowledged."""
    goals = {writer: len(writer.acknowledged) + more for writer in writers}
    wait_until(lambda: all(len(one.acknowledged) >= goal for one, goal in goals.items()))


def _versions(database: Cluster, node: Node) -> int | None:
    """How many versions of memories a node has; None while Patroni restarts it."""
    try:
        with psycopg.connect(database.url(node, wanted="any")) as connection:
            [[count]] = connection.execute("SELECT count(*) FROM memories").fetchall()
    except psycopg.OperationalError:
        return None
    return int(count)


def _agree(database: Cluster) -> bool:
    """Whether every node answers, and all with the same number of versions."""
    counts = {_versions(database, node) for node in database.nodes}
    return len(counts) == 1 and None not in counts


def _finish_the_work(url: str) -> int:
    """How many memories are embedded once everything is; claims that nobody keeps have run out."""
    with _memory(url, "work", clock=lambda: _now() + timedelta(minutes=10)) as memory:
        status = memory.work.wait(timeout=60)
        assert (status.waiting, status.dead) == (0, 0)
        assert status.active
        return status.active.embedded


@pytest.mark.long(seconds=60)
def test_what_was_acknowledged_survives_the_death_of_the_leader() -> None:
    with cluster(3) as database, ExitStack() as opened:
        ana, ben, working = (
            opened.enter_context(_memory(database.url(), user)) for user in ("ana", "ben", "work")
        )
        writers = {Writer(memory): memory for memory in (ana, ben)}
        worker = working.work.worker()
        with ExitStack() as running:
            running.enter_context(_running(worker.watch, worker.stop))
            for writer in writers:
                running.enter_context(_running(writer.go_on, writer.stop))
            _let_each_store(writers, 20)
            dead = database.kill_leader()
            _let_each_store(writers, 20)  # by itself, on what it has open
            database.start_node(dead)
            database.wait_until_whole()  # the former leader follows the new one
            _let_each_store(writers, 20)
        leader = database.leader()
        assert leader is not dead
        for writer, memory in writers.items():
            assert {*writer.acknowledged} <= _kept(memory)
            # Those that were under way while the server died, on as many connections.
            assert len(writer.unknown) <= 3, writer.unknown
            assert all(finding.good for finding in memory.check())
        assert _finish_the_work(database.url()) == len(_kept(ana)) + len(_kept(ben))
        wait_until(lambda: _agree(database))
