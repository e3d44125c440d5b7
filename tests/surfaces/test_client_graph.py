"""The concept graph, a review and a bulk store of a real server, by both clients."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app.requests import NotStored
from support.clients import KINDS, client_of
from support.http_server import Serving, serving

TEXTS = ("Dana Okafor owns Redis.", "Redis was replaced by Valkey.", "Postgres runs the shop.")


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db") as running:
        yield running


@pytest.fixture(params=KINDS)
def ada(request: pytest.FixtureRequest, server: Serving) -> Iterator[Any]:
    with client_of(request.param, server.url, server.key("ada")) as client:
        for text in TEXTS:
            client.store(text)
        server.bearinmind.work.run()
        yield client


def test_a_client_walks_the_graph_as_a_memory_in_hand_does(server: Serving, ada: Any) -> None:
    mine = server.bearinmind.for_user("ada").graph

    assert ada.graph.neighbours("Redis", limit=3) == mine.neighbours("Redis", limit=3)
    assert ada.graph.path("dana okafor", "Valkey").steps == mine.path("dana okafor", "Valkey").steps
    assert list(ada.graph.hubs(containing="a")) == list(mine.hubs(containing="a"))
    with pytest.raises(errors.ConceptNotFound, match="Oracle"):
        ada.graph.neighbours("Oracle")


def test_a_client_has_all_memories_reviewed(ada: Any) -> None:
    ada.store("Dana Okafor owns Redis!")

    assert ada.curation.review().memories == 4
    assert list(ada.curation.proposals()) == []
    proposed = ada.curation.review(propose=True).proposals
    assert "supersede" in {each.kind for each in proposed}
    assert {each.id for each in ada.curation.proposals()} == {each.id for each in proposed}


def test_a_bulk_store_is_stored_once_however_often_it_is_sent(ada: Any) -> None:
    drafts = [{"content": "Ben is on call.", "tags": ["ops"]}, {"content": " "}]

    first = ada.store_many(drafts, idempotency_key="one")
    again = ada.store_many(drafts, idempotency_key="one")

    assert first[0].memory == again[0].memory
    assert first[0].memory.tags == ("ops",)
    assert isinstance(first[1], NotStored)
    assert first[1].code == "empty_content"
    with pytest.raises(errors.InvalidRequest, match="drafts"):
        ada.store_many([])
