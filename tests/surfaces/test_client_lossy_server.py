"""Both clients against a real server of which much is lost on the way."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bearinmind import Client, errors
from bearinmind.types import Stored
from support.clients import KINDS, client_of
from support.faulty_server import (
    Handler,
    Seen,
    behaves,
    breaks_off,
    faulty,
    hangs_up,
    loses_answer,
    refuses,
)
from support.http_server import Serving, serving

OFTEN = 40  # stores through a server that loses a third of what it is asked


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db") as server:
        yield server


@contextmanager
def unreliable(server: Serving, seed: int) -> Iterator[str]:
    """The address of a server that loses what it is asked, or what it answers, at random."""
    chance = random.Random(seed)
    busy = refuses(503, "server_overloaded", Retry_After="0.01")
    troubles = [hangs_up, loses_answer, breaks_off, busy]
    with faulty(server.url) as between:

        def misbehave(handler: Handler, seen: Seen) -> None:
            chance.choice([*troubles, *[behaves] * 8])(handler, seen)

        between.always = misbehave
        yield between.url


@pytest.mark.parametrize("kind", KINDS)
def test_so_many_stores_give_so_many_memories_whatever_is_lost(kind: str, server: Serving) -> None:
    store_through_losses(kind, server)


def test_so_they_do_on_postgres(migrated_database: Callable[[], str]) -> None:
    with serving(migrated_database()) as server:
        store_through_losses("Client", server)


def store_through_losses(kind: str, server: Serving) -> None:
    key = server.key("ada")

    with unreliable(server, seed=7) as url, client_of(kind, url, key, retries=20) as client:
        stored = [client.store(f"Number {n}.", tags=["counted"]) for n in range(OFTEN)]

    assert all(isinstance(outcome, Stored) for outcome in stored)
    kept = server.bearinmind.for_user("ada").list(limit=1_000, newest_first=False)
    assert [memory.content for memory in kept] == [f"Number {n}." for n in range(OFTEN)]
    assert [memory.id for memory in kept] == [outcome.memory.id for outcome in stored]


@pytest.mark.parametrize("kind", KINDS)
def test_changes_are_made_once_whatever_is_lost(kind: str, server: Serving) -> None:
    key = server.key("ada")

    with unreliable(server, seed=11) as url, client_of(kind, url, key, retries=20) as client:
        memory = client.store("The count is 0.").memory
        for n in range(1, 11):
            content = f"The count is {n}."
            memory = client.update(memory.id, content=content, expected_version=memory.version)
        gone = client.delete(memory.id)

    versions = server.bearinmind.for_user("ada").versions(memory.id)
    assert [version.version for version in versions] == [*range(1, 13)]
    assert (gone.version, gone.deleted_at) == (versions[-1].version, versions[-1].deleted_at)


def test_threads_share_a_client(server: Serving) -> None:
    with Client(server.url, server.key("ada")) as client:
        threads = [
            threading.Thread(target=lambda n=n: [client.store(f"{n} {m}") for m in range(5)])
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert client.stats().live == 40


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_outlives_a_restart_of_its_server(kind: str, tmp_path: Path) -> None:
    path = tmp_path / "served.db"
    with serving(path) as first:
        url, key = first.url, first.key("ada")
        manager = client_of(kind, url, key, retries=1, patience=30)
        client = manager.__enter__()
        id_ = client.store("It stays.").memory.id
    with pytest.raises(errors.ServerUnreachable):
        client.get(id_)
    with serving(path, server_port=int(url.rpartition(":")[2])):
        assert client.get(id_).content == "It stays."
        manager.__exit__(None, None, None)
