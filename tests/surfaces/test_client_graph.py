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
    assert ada.graph.path("dana okafor", "Valkey") == mine.path("dana okafor", "Valkey")
    assert ada.graph.concept("Valkey") == mine.concept("Valkey")
    assert ada.graph.subgraph("Redis", hops=2) == mine.subgraph("Redis", hops=2)
    assert list(ada.graph.hubs(containing="a")) == list(mine.hubs(containing="a"))
    assert ada.graph.counts() == mine.counts()
    assert list(ada.graph.contradictions()) == list(mine.contradictions())
    with pytest.raises(errors.ConceptNotFound, match="Oracle"):
        ada.graph.neighbours("Oracle")


def test_a_client_merges_concepts_and_takes_relations_back(server: Serving, ada: Any) -> None:
    mine = server.bearinmind.for_user("ada").graph

    merge = ada.graph.merge("Postgres", "Valkey", reason="a test")
    assert list(ada.graph.merges()) == [merge] == list(mine.merges())
    assert ada.graph.unmerge("Postgres") == "postgres"
    assert list(ada.graph.merges()) == []
    assert [each.reason for each in ada.graph.merges(undone=True)] == ["a test"]
    assert list(ada.graph.likely_merges(limit=10)) == list(mine.likely_merges(limit=10))
    relation = mine.concept("Valkey").relations[0]
    assert ada.graph.retract(relation.number) is None
    assert relation not in mine.concept("Valkey").relations
    for call in (ada.graph.retract, ada.graph.resolve):
        with pytest.raises(errors.RelationNotFound):
            call(relation.number)


def test_a_client_has_all_memories_reviewed(ada: Any) -> None:
    ada.store("Dana Okafor owns Redis!")

    assert ada.curation.review().memories == 4
    assert list(ada.curation.proposals()) == []
    proposed = ada.curation.review(propose=True).proposals
    assert "supersede" in {each.kind for each in proposed}
    assert {each.id for each in ada.curation.proposals()} == {each.id for each in proposed}
    assert ada.curation.hygiene().memories == 4


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
