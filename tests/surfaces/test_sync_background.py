"""Memories that stay in step by themselves, and are as good without a server."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from bearinmind import Mind
from bearinmind.app.sync import LOCK, connection
from bearinmind.work.worker_lock import WorkerLock
from support.faulty_server import Handler, Seen, behaves, faulty, hangs_up
from support.http_server import Serving, serving, wait_until

OFTEN = 0.05  # seconds


@pytest.fixture(autouse=True)
def state(at_home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(at_home / "state"))


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db") as running:
        yield running


def machine(store: Path, server: Serving, **settings: Any) -> Mind:
    """A machine that is connected, as a program has it open."""
    return connected(store, server.url, server.key("ada"), **settings)


def connected(store: Path, url: str, key: str, **settings: Any) -> Mind:
    chosen = {"user": "ada", "embedder": "none", "worker": "auto", "sync_seconds": OFTEN}
    opened = Mind.open(store, **chosen | {"sync_key": key} | settings)
    connection(opened).connect(url, opened.settings.sync_key)
    return opened


def threads() -> set[threading.Thread]:
    return {each for each in threading.enumerate() if each.name == "bearinmind-sync"}


def test_what_one_machine_stores_the_other_one_has_soon(server: Serving, tmp_path: Path) -> None:
    with (
        machine(tmp_path / "laptop.db", server) as laptop,
        machine(tmp_path / "desktop.db", server) as desktop,
    ):
        laptop.store("the walrus eats fish")
        wait_until(lambda: desktop.stats().live == 1)
        [hit] = desktop.recall("walrus").hits
        desktop.update(hit.memory.id, content="the walrus eats squid")
        wait_until(lambda: laptop.get(hit.memory.id).version == 2)


def test_a_server_that_is_away_holds_nothing_up_and_gets_everything_later(
    server: Serving, tmp_path: Path
) -> None:
    with (
        faulty(server.url) as between,
        connected(tmp_path / "laptop.db", between.url, server.key("ada")) as laptop,
    ):
        between.always = hangs_up
        seen = len(between.seen)
        laptop.store("the walrus eats fish")
        wait_until(lambda: len(between.seen) > seen and laptop.sync.status().peer.pull_error)
        assert [hit.memory.content for hit in laptop.recall("walrus").hits] == [
            "the walrus eats fish"
        ]
        assert laptop.sync.status().waits == 1
        between.always = None
        wait_until(lambda: server.bearinmind.for_user("ada").stats().live == 1)
        wait_until(lambda: laptop.sync.status().peer.pull_error is None)


def test_one_process_syncs_at_a_time(server: Serving, tmp_path: Path) -> None:
    store = tmp_path / "laptop.db"
    with WorkerLock.of(store, LOCK).held() as taken:
        assert taken
        with machine(store, server) as laptop:
            laptop.store("the walrus eats fish")
            looks = laptop.sync.status()
            with pytest.raises(AssertionError):
                _wait_briefly(lambda: laptop.sync.status() != looks)
    with machine(store, server) as laptop:
        wait_until(lambda: laptop.sync.status().waits == 0)


def _wait_briefly(true: Any) -> None:
    stop = threading.Event()
    for _ in range(20):
        if true():
            return
        stop.wait(OFTEN)
    raise AssertionError


def test_a_memory_that_is_closed_leaves_no_thread_behind(server: Serving, tmp_path: Path) -> None:
    before = threads()
    with machine(tmp_path / "laptop.db", server):
        assert threads() - before
    assert threads() == before


def test_nothing_is_synced_by_itself_when_that_is_turned_off(
    server: Serving, tmp_path: Path
) -> None:
    before = threads()
    with machine(tmp_path / "laptop.db", server, sync_seconds=0) as laptop:
        assert threads() == before
        laptop.store("the walrus eats fish")
        assert laptop.sync.status().waits == 1


@contextmanager
def staying(store: Path, key: str, command: str) -> Iterator[subprocess.Popen[bytes]]:
    """A command that syncs until it is interrupted, in a process of its own."""
    environment = {
        "BEARINMIND_EMBEDDER": "none",
        "BEARINMIND_SYNC_SECONDS": str(OFTEN),
        "BEARINMIND_SYNC_KEY": key,
    }
    worker = subprocess.Popen(
        [sys.executable, "-m", "bearinmind", "--store", store, "--user", "ada", *command.split()],
        env={**os.environ, **environment},
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        yield worker
    finally:
        worker.kill()
        worker.wait()


@pytest.mark.parametrize("command", ["work --watch", "sync watch"])
def test_a_command_that_stays_keeps_its_store_in_step(
    server: Serving, tmp_path: Path, command: str
) -> None:
    store = tmp_path / "laptop.db"
    with machine(store, server, sync_seconds=0) as laptop:
        laptop.store("the walrus eats fish")
    with staying(store, server.key("ada"), command) as worker:
        wait_until(lambda: server.bearinmind.for_user("ada").stats().live == 1)
        worker.send_signal(signal.SIGINT)
        assert worker.wait(60) == 130  # interrupted, as it was told


def test_an_interrupt_in_the_middle_of_a_round_ends_it_after_the_round(
    server: Serving, tmp_path: Path
) -> None:
    store = tmp_path / "laptop.db"
    go_on = threading.Event()

    def waits(handler: Handler, seen: Seen) -> None:
        go_on.wait(60)
        behaves(handler, seen)

    with faulty(server.url) as between:
        with connected(store, between.url, server.key("ada"), sync_seconds=0) as laptop:
            laptop.store("the walrus eats fish")
        between.seen.clear()
        between.always = waits
        with staying(store, server.key("ada"), "sync watch") as worker:
            wait_until(lambda: bool(between.seen))
            worker.send_signal(signal.SIGINT)
            go_on.set()
            assert worker.wait(60) == 130
    assert server.bearinmind.for_user("ada").stats().live == 1


def test_a_replica_recalls_with_every_leg_while_its_server_is_down(tmp_path: Path) -> None:
    said = {"embedder": "hash", "extractor": "rules"}
    contents = (
        "Rita Okafor owns the billing service.",
        "The billing service runs on db-stage-3.",
        "The release is cut on Thursdays.",
    )
    with serving(tmp_path / "served.db", **said) as server:
        with machine(tmp_path / "laptop.db", server, sync_seconds=0, **said) as laptop:
            for content in contents:
                laptop.store(content, wait=True)
            _sync(laptop)
        with machine(tmp_path / "desktop.db", server, sync_seconds=0, **said) as desktop:
            _sync(desktop)
            key, url = server.key("ada"), server.url
    del server
    with Mind.open(
        tmp_path / "desktop.db", user="ada", worker="off", sync_key=key, **said
    ) as desktop:
        desktop.work.wait()
        assert "cannot be reached" in _failed(desktop, url)
        answer = desktop.recall("who owns the billing service?")

    assert {leg.leg for leg in answer.trace.legs} == {"lexical", "dense", "graph"}
    assert not answer.trace.degraded
    assert answer.hits[0].memory.content == contents[0]
    assert {*answer.hits[0].placings} >= {"lexical", "dense"}


def test_vectors_come_along_where_both_sides_make_the_same(tmp_path: Path) -> None:
    said = {"embedder": "hash", "extractor": "none", "sync_seconds": 0, "worker": "off"}
    with (
        serving(tmp_path / "served.db", embedder="hash", extractor="none") as server,
        machine(tmp_path / "laptop.db", server, **said) as laptop,
        machine(tmp_path / "desktop.db", server, **said) as desktop,
    ):
        walrus = laptop.store("the walrus eats fish").memory.id
        _sync(laptop)
        server.bearinmind.work.wait()
        desktop.store("the seal eats squid", wait=True)
        _sync(desktop)
        status = desktop.work.status()

        assert status.active is not None
        assert (status.active.embedded, status.to_embed) == (2, 0)  # nothing was embedded since
        [first, *_] = desktop.recall("the walrus eats fish").hits
        assert first.memory.id == walrus
        assert "dense" in first.placings


def _sync(app: Mind) -> None:
    with connection(app).server() as server:
        report = app.sync.run(server)
    assert report.error is None


def _failed(app: Mind, url: str) -> str:
    with connection(app).server() as server:
        assert server.url == url
        error = app.sync.run(server).pull_error
    assert error is not None
    return error.message
