"""What becomes of a client's request when something goes wrong on the way."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.types import LinkKind, Stored
from support.clients import ID, KEY, LINK, MEMORIES, MEMORY, NOWHERE, STORED, WHOLE, whole
from support.faulty_server import (
    FaultyServer,
    breaks_off,
    drips,
    hangs_up,
    loses_answer,
    refuses,
    says,
    sleeps,
)
from support.http_server import wait_until


@pytest.mark.parametrize("trouble", [hangs_up, loses_answer, breaks_off, says("", 502)])
def test_a_question_survives_lost_answers(server: FaultyServer, client: Any, trouble: Any) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE
    server.script = [trouble, trouble]

    assert client.get(ID).id == ID
    assert len(server.seen) == 3


def test_a_store_is_sent_again_under_the_same_key(server: FaultyServer, client: Any) -> None:
    server.answers["POST", MEMORIES] = STORED
    server.script = [loses_answer, breaks_off]

    assert isinstance(client.store("x"), Stored)
    assert len(server.seen) == 3
    assert len({seen.headers["Idempotency-Key"] for seen in server.seen}) == 1


def test_a_link_whose_answer_is_lost_is_not_made_again(server: FaultyServer, client: Any) -> None:
    server.answers["POST", "/api/v1/links"] = LINK
    server.script = [loses_answer]

    with pytest.raises(errors.ServerUnreachable, match="whether it was done is not known"):
        client.link(ID, "causes", "k2")
    assert len(server.seen) == 1


def test_a_busy_server_is_asked_again_whatever_was_asked(server: FaultyServer, client: Any) -> None:
    server.answers["POST", "/api/v1/links"] = LINK
    server.script = [
        refuses(503, "server_overloaded", Retry_After="0.01"),
        refuses(429, "too_many_requests", Retry_After="0.01"),
    ]

    assert client.link(ID, "causes", "k2").kind is LinkKind.CAUSES
    assert len(server.seen) == 3


def test_a_server_that_is_not_there_is_named_with_the_remedy(make: Callable[..., Any]) -> None:
    client = make(NOWHERE, KEY, retries=1)

    with pytest.raises(errors.ServerUnreachable) as caught:
        client.store("x")
    assert f"{NOWHERE} cannot be reached" in caught.value.message
    assert "2 tries" in caught.value.message
    assert "bearinmind serve" in caught.value.hint


@pytest.mark.parametrize("trouble", [sleeps(0.5), drips])
def test_a_server_that_does_not_come_to_an_end_is_left(
    server: FaultyServer, make: Callable[..., Any], trouble: Any
) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE
    server.always = trouble

    with pytest.raises(errors.ServerUnreachable, match="does not answer in time"):
        make(server.url, timeout=0.1, retries=1).get(ID)
    wait_until(lambda: len(server.seen) >= 2)  # it may be busier than the client has patience
    assert len(server.seen) == 2


def test_a_delete_that_was_done_before_its_answer_was_lost_is_done(
    server: FaultyServer, client: Any
) -> None:
    place = f"{MEMORIES}/{ID}"
    server.answers["DELETE", place] = MEMORY
    server.answers["GET", place] = whole(version=2, deleted_at="2026-03-01T13:00:00Z")
    server.script = [loses_answer, refuses(409, "already_deleted")]

    assert client.delete(ID).version == 2
    assert [method for method, *_ in server.asked] == ["DELETE", "DELETE", "GET"]


def test_a_memory_that_was_deleted_before_is_told_as_such(
    server: FaultyServer, client: Any
) -> None:
    server.script = [refuses(409, "already_deleted")]

    with pytest.raises(errors.AlreadyDeleted):
        client.delete(ID)


def test_a_change_that_was_made_before_its_answer_was_lost_is_made(
    server: FaultyServer, client: Any
) -> None:
    place = f"{MEMORIES}/{ID}"
    server.answers["PATCH", place] = MEMORY
    server.answers["GET", place] = whole(version=4, tags=["new"])
    server.script = [loses_answer, refuses(412, "version_conflict")]

    assert client.update(ID, tags=["new"], expected_version=3).version == 4


@pytest.mark.parametrize("found", [{"version": 4, "tags": ["theirs"]}, {"version": 5}])
def test_a_change_that_somebody_else_made_is_a_conflict(
    server: FaultyServer, client: Any, found: dict[str, Any]
) -> None:
    place = f"{MEMORIES}/{ID}"
    server.answers["PATCH", place] = MEMORY
    server.answers["GET", place] = whole(**found)
    server.script = [loses_answer, refuses(412, "version_conflict")]

    with pytest.raises(errors.VersionConflict):
        client.update(ID, tags=["mine"], expected_version=3)
