"""What clients send, to a real server of HTTP."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

import pytest

from bearinmind import errors
from bearinmind.accounts.keys import Bearer
from bearinmind.surfaces.verbs import requests as r
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.types import AlreadyKnown, Right, Stored
from support.clients import ID, KEY, KNOWN, MEMORIES, MEMORY, NOON, SHARE, STORED, WHOLE, page
from support.faulty_server import FaultyServer, loses_answer, refuses


def test_a_store_sends_what_was_said_with_its_own_key(server: FaultyServer, client: Any) -> None:
    server.answers["POST", MEMORIES] = STORED

    for _ in range(2):
        outcome = client.store(
            "The key is under the mat.", tags=("home",), trust="user", created_at=NOON, agent=None
        )

    assert isinstance(outcome, Stored)
    first, second = server.seen
    assert first.asked == (
        "POST",
        MEMORIES,
        {
            "content": "The key is under the mat.",
            "tags": ["home"],
            "trust": "user",
            "created_at": "2026-03-01T12:00:00Z",
            "supersedes": [],
            "wait": False,
        },
    )
    assert first.headers["Authorization"] == f"Bearer {KEY}"
    assert first.headers["Idempotency-Key"] != second.headers["Idempotency-Key"]


def test_a_store_that_is_asked_as_it_travels_has_a_key_too(
    server: FaultyServer, client: Any
) -> None:
    server.answers["POST", MEMORIES] = STORED
    server.script = [loses_answer]

    assert isinstance(client.ask(BY_NAME["store"], r.StoreRequest(content="x")), Stored)
    first, second = server.seen
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.json == {"content": "x"}


def test_an_idempotency_key_of_the_callers_own_is_sent(server: FaultyServer, client: Any) -> None:
    server.answers["POST", MEMORIES] = KNOWN

    assert isinstance(client.store("x", idempotency_key="mine"), AlreadyKnown)
    assert server.seen[0].headers["Idempotency-Key"] == "mine"


def test_a_question_in_a_get_has_its_fields_in_the_query(server: FaultyServer, client: Any) -> None:
    server.answers["GET", MEMORIES] = page([MEMORY])

    found = client.list(limit=3, tags=["a b", "ü"], created_from=NOON, newest_first=False)

    assert [memory.id for memory in found] == [ID]
    [seen] = server.seen
    assert parse_qsl(seen.path.partition("?")[2]) == [
        ("tags", "a b"),
        ("tags", "ü"),
        ("created_from", "2026-03-01T12:00:00Z"),
        ("limit", "3"),
        ("newest_first", "false"),
    ]
    assert "Content-Type" not in seen.headers


def test_what_a_change_expects_is_sent_as_a_condition(server: FaultyServer, client: Any) -> None:
    server.answers["PATCH", f"{MEMORIES}/{ID}"] = MEMORY | {"version": 4}

    assert client.update(ID, importance=0.9, expected_version=3).version == 4
    assert server.seen[0].headers["If-Match"] == '"3"'
    assert server.asked == [("PATCH", f"{MEMORIES}/{ID}", {"importance": 0.9})]


@pytest.mark.parametrize("id_", ["", "..", ".", "a/b", "%2e%2e", "../shares", "k7?x=1", "k7#", "é"])
def test_no_id_leads_to_another_path(server: FaultyServer, client: Any, id_: str) -> None:
    for verb in (client.get, client.delete, client.restore, client.why, client.secrets.reveal):
        with pytest.raises(errors.InvalidId):
            verb(id_)
    assert server.seen == []


@pytest.mark.parametrize(
    ("tag", "path"),
    [("..", "%2E%2E"), (".", "%2E"), ("a/b", "a%2Fb"), ("a?b", "a%3Fb"), ("a.b", "a.b")],
)
def test_no_tag_leads_to_another_path(
    server: FaultyServer, client: Any, tag: str, path: str
) -> None:
    place = f"/api/v1/tags/{path}/shares/bob"
    server.answers["PUT", place] = SHARE | {"memory": None, "tag": tag, "right": "write"}

    share = client.share_tag(tag, "bob", "write")

    assert (share.tag, share.right) == (tag, Right.WRITE)
    assert server.asked == [("PUT", place, {"right": "write"})]


def test_the_secret_of_a_key_is_never_in_a_path(server: FaultyServer, client: Any) -> None:
    bearer = Bearer.new()
    server.always = refuses(404, "key_not_found")

    for verb in (client.accounts.revoke_key, client.accounts.renew_key):
        with pytest.raises(errors.KeyNotFound):
            verb(bearer.text)
    assert [seen.path for seen in server.seen] == [
        f"/api/v1/keys/{bearer.id}",
        f"/api/v1/keys/{bearer.id}/renew",
    ]


def test_a_server_may_be_below_a_path(server: FaultyServer, make: Callable[..., Any]) -> None:
    server.answers["GET", f"/memory{MEMORIES}/{ID}"] = WHOLE

    assert make(f"{server.url}/memory/").get(ID).id == ID


def test_without_a_key_none_is_sent(server: FaultyServer, make: Callable[..., Any]) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE

    make(server.url).get(ID)
    assert "Authorization" not in server.seen[0].headers


@pytest.mark.parametrize(
    ("ask", "error"),
    [
        (lambda c: c.store("x", trust="blind"), errors.InvalidProvenance),
        (lambda c: c.recall("x", sort_by="colour"), errors.InvalidQuery),
        (lambda c: c.list(states=["gone"]), errors.InvalidQuery),
        (lambda c: c.link(ID, "hates", "k2"), errors.InvalidLink),
        (lambda c: c.share(ID, "bob", "sell"), errors.InvalidShare),
        (lambda c: c.store("x", importance=float("nan")), errors.InvalidRequest),
        (lambda c: c.store("x", colour="red"), errors.InvalidRequest),
        (lambda c: c.recall("x", limit=0), errors.InvalidRequest),
        (lambda c: c.timeline("no id!"), errors.InvalidId),
    ],
)
def test_what_cannot_be_asked_is_refused_before_anything_is_sent(
    server: FaultyServer, client: Any, ask: Callable[[Any], object], error: type[Exception]
) -> None:
    with pytest.raises(error):
        ask(client)
    assert server.seen == []


def test_a_refusal_quotes_no_content(server: FaultyServer, client: Any) -> None:
    with pytest.raises(errors.InvalidRequest) as caught:
        client.store("hunter2" * 20_000)
    assert "content" in caught.value.message
    assert "hunter2" not in caught.value.message
