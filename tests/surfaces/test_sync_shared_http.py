"""What others share, as a machine gets it over HTTP: all of it, nothing else, and with the key."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import InvalidChange, InvalidUser, NotAuthenticated
from bearinmind.models.embedders import Embedders
from bearinmind.store.sqlite import SqliteStore
from bearinmind.sync.wire import HttpSyncServer
from bearinmind.types import MemoryId, Right, UserId
from support.embedders import WordEmbedder
from support.faulty_server import faulty
from support.http_server import Serving, serving

ADA, BOB = UserId("ada"), UserId("bob")
PATH = "/api/v1/sync/shared"
NOON = "2026-02-01T12:00:00Z"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    """One for all: each test has users of its own."""
    with serving(tmp_path_factory.mktemp("served") / "served.db") as running:
        running.key("ada")
        running.key("bob")
        yield running


@pytest.fixture
def ada(server: Serving) -> Iterator[HttpSyncServer]:
    with HttpSyncServer(server.url, server.key("ada"), ADA, timeout=20) as found:
        yield found


def test_a_page_and_its_memories_are_told_as_they_are(server: Serving, ada: HttpSyncServer) -> None:
    bob = server.bearinmind.for_user("bob")
    kept = bob.store("the walrus eats clams", tags=["zoo"]).memory
    hidden = bob.store("the narwhal is Bob's").memory
    bob.share(kept.id, "ada", "write")
    page = ada.shared("", "")
    assert page is not None
    assert [(x.owner, x.id, x.version, x.updated_at, x.right) for x in page.seen] == [
        (BOB, kept.id, 1, kept.updated_at, Right.WRITE)
    ]
    told = ada.shared_memories(BOB, [hidden.id, kept.id])
    assert (told.memories, told.settled, told.vectors) == ((kept,), 2, ())


def test_only_the_user_of_the_key_is_told_anything(server: Serving) -> None:
    with (
        HttpSyncServer(server.url, server.key("bob"), ADA, timeout=20) as other,
        pytest.raises(InvalidUser, match="'bob'"),
    ):
        other.shared("", "")
    with (
        HttpSyncServer(server.url, None, ADA, timeout=20) as nobody,
        pytest.raises(NotAuthenticated),
    ):
        nobody.shared_memories(BOB, [MemoryId("0" * 12)])


@pytest.mark.parametrize("owner", ["", "..", "bob/ada", "bob smith", "b" * 65])
def test_a_name_that_nobody_can_have_is_not_taken(owner: str) -> None:
    seen = {
        "owner": owner,
        "memory": "0" * 12,
        "version": 1,
        "updated_at": NOON,
        "right": "read",
    }
    with faulty() as told, HttpSyncServer(told.url, None, ADA, timeout=20) as mallory:
        told.answers["GET", PATH] = {
            "user": "ada",
            "unchanged": False,
            "seen": [seen],
            "cursor": "",
        }
        with pytest.raises(InvalidChange):
            mallory.shared("", "")


def test_a_machine_gets_what_is_shared_and_finds_it(server: Serving, tmp_path: Path) -> None:
    carl = server.bearinmind.for_user("carl")
    kept = carl.store("the penguin eats krill").memory
    server.key("dora")
    carl.share(kept.id, "dora")
    settings = Settings.model_validate({"user": "dora", "embedder": "none"})
    embedders = Embedders.among(WordEmbedder())
    with (
        Mind(SqliteStore(tmp_path / "laptop.db"), settings, embedders=embedders) as laptop,
        HttpSyncServer(server.url, server.key("dora"), UserId("dora"), timeout=20) as reached,
    ):
        laptop.sync.connect(reached.url, "dora")
        report = laptop.sync.run(reached)
        assert (report.error, report.copied) == (None, 1)
        [hit] = laptop.recall("what does the penguin eat").hits
        assert (hit.memory, hit.memory.owner) == (kept, "carl")
        status = laptop.sync.status()
        assert status.copied == {"carl": 1}
        assert status.peer.shared_at is not None
        assert status.peer.shared_at <= datetime.now(UTC)
