"""The inbox of a real server, by both clients: what a turn taught is looked at and decided."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from bearinmind import Client, errors
from bearinmind.learn.model import Message, Role
from bearinmind.proposals import ProposalState
from support.clients import KINDS, client_of
from support.http_server import Serving, serving

SAID = [Message(role=Role.USER, text="From now on use pnpm instead of npm in this repository.")]


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db", learn="inbox") as running:
        yield running


@pytest.fixture(params=KINDS)
def ada(request: pytest.FixtureRequest, server: Serving) -> Iterator[Any]:
    with client_of(request.param, server.url, server.key("ada")) as client:
        yield client


def contents(client: Any) -> list[str]:
    return [hit.memory.content for hit in client.recall("npm or pnpm?").hits]


def test_what_was_learned_waits_is_applied_and_taken_back(server: Serving, ada: Any) -> None:
    [taken] = ada.learn(SAID).proposed
    [waiting] = ada.curation.proposals()

    assert (waiting.id, waiting.state, waiting.origin) == (taken.id, "open", "learning")
    assert waiting == server.bearinmind.for_user("ada").curation.proposal(waiting.id)
    assert contents(ada) == []

    assert ada.curation.apply(waiting.id[:6]).state is ProposalState.APPLIED
    [found] = contents(ada)
    assert "pnpm" in found

    assert ada.curation.undo(waiting.id).state is ProposalState.UNDONE
    assert contents(ada) == []
    assert [each.state for each in ada.curation.proposals([*ProposalState])] == ["undone"]


def test_what_was_dismissed_is_not_proposed_again_nor_applied(ada: Any) -> None:
    [taken] = ada.learn(SAID).proposed

    assert ada.curation.dismiss(taken.id).state is ProposalState.DISMISSED
    assert ada.learn(SAID).proposed == ()
    assert list(ada.curation.proposals()) == []
    with pytest.raises(errors.ProposalDecided):
        ada.curation.apply(taken.id)
    # Whoever dismissed it by mistake takes that back, and decides again.
    assert ada.curation.undo(taken.id).state is ProposalState.UNDONE
    with pytest.raises(errors.CannotUndo):
        ada.curation.undo(taken.id)
    assert ada.learn(SAID).proposed == ()
    assert ada.curation.apply(taken.id).state is ProposalState.APPLIED
    assert len(contents(ada)) == 1


def test_which_of_two_memories_holds_is_decided_in_a_word(server: Serving, ada: Any) -> None:
    older = ada.store("The port is 5432 for staging").memory.id
    newer = ada.store("The port is 5433 for staging").memory.id
    mind = server.bearinmind.for_user("ada")
    [found] = mind.curation.review(propose=True).proposals

    with pytest.raises(errors.InvalidInput, match="newer, older, both, merge"):
        ada.curation.apply(found.id, "sideways")
    assert ada.curation.apply(found.id, "older").state is ProposalState.APPLIED
    assert [(link.source, link.target) for link in mind.links(newer)] == [(older, newer)]
    assert ada.curation.undo(found.id).state is ProposalState.UNDONE
    assert mind.links(newer) == []


def test_over_http_the_memories_come_with_the_proposals_and_no_body_is_needed(
    server: Serving,
) -> None:
    mind = server.bearinmind.for_user("ada")
    older = mind.store("The port is 5432 for staging", trust="external").memory
    newer = mind.store("The port is 5433 for staging").memory
    mind.curation.review(propose=True)
    headers = {"Authorization": f"Bearer {server.key('ada')}"}
    with httpx.Client(base_url=f"{server.url}/api/v1", headers=headers) as http:
        listed = http.get("/proposals").json()
        [waiting] = listed["proposals"]
        assert {each["id"]: each["content"] for each in listed["memories"]} == {
            newer.id: newer.content,
            older.id: older.content,
        }
        assert listed["as_data"] == [older.id]
        assert http.post(f"/proposals/{waiting['id']}/apply").json()["state"] == "applied"
    [link] = mind.links(newer.id)
    assert (link.source, link.target) == (newer.id, older.id)


def test_the_inbox_of_another_user_is_not_there(server: Serving, ada: Any) -> None:
    [taken] = ada.learn(SAID).proposed

    with Client(server.url, server.key("bob")) as bob:
        assert list(bob.curation.proposals()) == []
        inbox = bob.curation
        for decide in (inbox.proposal, inbox.apply, inbox.dismiss, inbox.undo):
            with pytest.raises(errors.ProposalNotFound):
                decide(taken.id)
    assert ada.curation.proposal(taken.id).state is ProposalState.OPEN


def test_a_reading_key_looks_and_does_not_decide(server: Serving, ada: Any) -> None:
    [taken] = ada.learn(SAID).proposed

    with Client(server.url, server.key("ada", access="read")) as reader:
        assert reader.curation.proposal(taken.id).id == taken.id
        with pytest.raises(errors.NotAllowed):
            reader.curation.apply(taken.id)


def test_a_limit_out_of_its_range_is_refused_by_name(ada: Any) -> None:
    with pytest.raises(errors.InvalidInput, match="limit"):
        ada.curation.proposals(limit=0)
