"""What clients send and what they make of the answers, against a real server of HTTP."""

from __future__ import annotations

import inspect
import json
import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from typing import Any
from urllib.parse import parse_qs, parse_qsl

import pytest

from clients import KINDS, client_of
from faulty_server import (
    FaultyServer,
    breaks_off,
    drips,
    faulty,
    hangs_up,
    loses_answer,
    refuses,
    says,
    sleeps,
)
from recollect import AsyncClient, Client, Recollect, connect, errors
from recollect.accounts.keys import Bearer
from recollect.interfaces.verbs import requests as r
from recollect.interfaces.verbs.admin_table import EVERY_VERB
from recollect.interfaces.verbs.table import BY_NAME
from recollect.types import AlreadyKnown, Link, LinkKind, Memory, Right, Share, Stored, Trust

KEY = "rk-very-secret-123"
ID = "k7f29qmxt4hd"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MEMORIES = "/api/v1/memories"
MEMORY: dict[str, Any] = {
    "id": ID,
    "owner": "ada",
    "content": "The key is under the mat.",
    "category": "facts",
    "tags": ["home"],
    "keywords": [],
    "importance": 0.5,
    "sensitive": False,
    "created_at": "2026-03-01T12:00:00Z",
    "updated_at": "2026-03-01T12:00:00Z",
    "deleted_at": None,
    "valid_from": None,
    "valid_to": None,
    "agent": None,
    "session": "monday",
    "project": None,
    "source": None,
    "trust": "user",
    "version": 1,
    "state": "live",
    "is_data": False,
}
SHARE: dict[str, Any] = {
    "owner": "ada",
    "reader": "bob",
    "right": "read",
    "memory": ID,
    "tag": None,
    "created_at": "2026-03-01T12:00:00Z",
    "ended_at": None,
}
LINK: dict[str, Any] = {
    "source": ID,
    "target": "k2",
    "kind": "causes",
    "created_at": "2026-03-01T12:00:00Z",
    "removed_at": None,
}
WHOLE = MEMORY | {"earlier": [], "links": [LINK]}
NOWHERE = "http://127.0.0.1:9"  # the port of `discard`: nobody listens


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty() as server:
        yield server


@pytest.fixture(params=KINDS)
def client(request: pytest.FixtureRequest, server: FaultyServer) -> Iterator[Any]:
    with client_of(request.param, server.url, KEY, timeout=5, retries=3) as client:
        yield client


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes clients that are closed in the end."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(
            client_of(request.param, *args, **options)
        )


# ---- what is sent ------------------------------------------------------------------------------


def test_a_store_sends_what_was_said_with_its_own_key(server: FaultyServer, client: Any) -> None:
    server.answers["POST", MEMORIES] = {"outcome": "stored", "memory": MEMORY}

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
    server.answers["POST", MEMORIES] = {"outcome": "stored", "memory": MEMORY}
    server.script = [loses_answer]

    assert client.ask(BY_NAME["store"], r.StoreRequest(content="x")).outcome == "stored"
    first, second = server.seen
    assert first.headers["Idempotency-Key"] == second.headers["Idempotency-Key"]
    assert first.json == {"content": "x"}


def test_an_idempotency_key_of_the_callers_own_is_sent(server: FaultyServer, client: Any) -> None:
    server.answers["POST", MEMORIES] = {"outcome": "already_known", "memory": MEMORY}

    assert isinstance(client.store("x", idempotency_key="mine"), AlreadyKnown)
    assert server.seen[0].headers["Idempotency-Key"] == "mine"


def test_a_question_in_a_get_has_its_fields_in_the_query(server: FaultyServer, client: Any) -> None:
    server.answers["GET", MEMORIES] = {"memories": [MEMORY], "next": None}

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
    for verb in (client.get, client.delete, client.restore, client.why, client.secret_get):
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


# ---- what becomes of the answers ---------------------------------------------------------------


def test_a_memory_is_the_same_noun(server: FaultyServer, client: Any) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE

    memory = client.get(ID)
    assert isinstance(memory, Memory)
    assert (memory.tags, memory.created_at) == (("home",), NOON)
    assert memory.provenance.trust is Trust.USER
    assert client.versions(ID) == (memory,)
    assert client.links(ID) == (
        Link(source=ID, target="k2", kind=LinkKind.CAUSES, created_at=NOON),  # type: ignore[arg-type]
    )


def test_what_a_newer_server_says_besides_is_passed_over(server: FaultyServer, client: Any) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE | {"mood": "calm"}

    assert client.get(ID).id == ID


def test_all_pages_of_a_list_are_fetched_one_after_the_other(
    server: FaultyServer, client: Any
) -> None:
    names = [f"{n:012}" for n in range(5)]
    pages = [(names[:2], "one"), (names[2:4], "two"), (names[4:], None)]
    server.script = [
        says(json.dumps({"memories": [MEMORY | {"id": name} for name in page], "next": following}))
        for page, following in pages
    ]

    assert [memory.id for memory in client.every(tags=["home"])] == names
    queries = [parse_qs(seen.path.partition("?")[2]) for seen in server.seen]
    assert [query.get("after") for query in queries] == [None, ["one"], ["two"]]
    assert all(query["tags"] == ["home"] for query in queries)


def test_a_long_list_is_fetched_in_pieces(server: FaultyServer, client: Any) -> None:
    def said(count: int, following: str | None) -> Any:
        return says(json.dumps({"memories": [MEMORY] * count, "next": following}))

    server.script = [said(1_000, "one"), said(1_000, "two"), said(500, "three")]

    assert len(client.list(limit=2_500)) == 2_500
    limits = [parse_qs(seen.path.partition("?")[2])["limit"] for seen in server.seen]
    assert limits == [["1000"], ["1000"], ["500"]]
    for wrong in (0, 10_001):
        with pytest.raises(errors.InvalidQuery):
            client.list(limit=wrong)


def test_shares_are_listed_both_ways(server: FaultyServer, client: Any) -> None:
    server.answers["GET", "/api/v1/shares"] = {"shares": [SHARE]}
    server.answers["GET", "/api/v1/shares/with-me"] = {"shares": []}

    [share] = client.my_shares()
    assert isinstance(share, Share)
    assert (share.reader, share.memory, share.tag) == ("bob", ID, None)
    assert client.shared_with_me() == ()


@pytest.mark.parametrize("body", ["", "nonsense", "[]", '{"id": 3}', '{"memories": 1}', "\ufffd"])
def test_an_answer_that_is_none_is_told_as_such(
    server: FaultyServer, client: Any, body: str
) -> None:
    server.always = says(body)

    for verb, asked in (("get", [ID]), ("recall", ["x"]), ("list", [])):
        with pytest.raises(errors.InvalidAnswer, match=r"the server at http://127\.0\.0\.1") as got:
            getattr(client, verb)(*asked)
        assert "same version" in got.value.hint


def test_a_redirect_is_not_followed(server: FaultyServer, client: Any) -> None:
    server.script = [says("", 307, Location="http://elsewhere.example/")]

    with pytest.raises(errors.InvalidAnswer, match="not followed"):
        client.get(ID)
    assert len(server.seen) == 1


# ---- what goes wrong on the way ----------------------------------------------------------------


@pytest.mark.parametrize("trouble", [hangs_up, loses_answer, breaks_off, says("", 502)])
def test_a_question_survives_lost_answers(server: FaultyServer, client: Any, trouble: Any) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE
    server.script = [trouble, trouble]

    assert client.get(ID).id == ID
    assert len(server.seen) == 3


def test_a_store_is_sent_again_under_the_same_key(server: FaultyServer, client: Any) -> None:
    server.answers["POST", MEMORIES] = {"outcome": "stored", "memory": MEMORY}
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
    assert "recollect serve" in caught.value.hint


@pytest.mark.parametrize("trouble", [sleeps(0.5), drips])
def test_a_server_that_does_not_come_to_an_end_is_left(
    server: FaultyServer, make: Callable[..., Any], trouble: Any
) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE
    server.always = trouble

    with pytest.raises(errors.ServerUnreachable, match="does not answer in time"):
        make(server.url, timeout=0.1, retries=1).get(ID)
    assert len(server.seen) == 2


# ---- what was done, though its answer was lost -------------------------------------------------


def test_a_delete_that_was_done_before_its_answer_was_lost_is_done(
    server: FaultyServer, client: Any
) -> None:
    place = f"{MEMORIES}/{ID}"
    server.answers["DELETE", place] = MEMORY
    server.answers["GET", place] = WHOLE | {"version": 2, "deleted_at": "2026-03-01T13:00:00Z"}
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
    server.answers["GET", place] = WHOLE | {"version": 4, "tags": ["new"]}
    server.script = [loses_answer, refuses(412, "version_conflict")]

    assert client.update(ID, tags=["new"], expected_version=3).version == 4


@pytest.mark.parametrize("found", [{"version": 4, "tags": ["theirs"]}, {"version": 5}])
def test_a_change_that_somebody_else_made_is_a_conflict(
    server: FaultyServer, client: Any, found: dict[str, Any]
) -> None:
    place = f"{MEMORIES}/{ID}"
    server.answers["PATCH", place] = MEMORY
    server.answers["GET", place] = WHOLE | found
    server.script = [loses_answer, refuses(412, "version_conflict")]

    with pytest.raises(errors.VersionConflict):
        client.update(ID, tags=["mine"], expected_version=3)


def test_the_secret_of_a_key_is_never_in_a_path(server: FaultyServer, client: Any) -> None:
    bearer = Bearer.new()
    server.always = refuses(404, "key_not_found")

    for verb in (client.revoke_key, client.renew_key):
        with pytest.raises(errors.KeyNotFound):
            verb(bearer.text)
    assert [seen.path for seen in server.seen] == [
        f"/api/v1/keys/{bearer.id}",
        f"/api/v1/keys/{bearer.id}/renew",
    ]


# ---- secrets, addresses ------------------------------------------------------------------------


def test_the_key_is_in_no_repr_no_log_and_no_error(
    server: FaultyServer, client: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    server.always = says(f"you sent {KEY}", 403)

    with pytest.raises(errors.NotAllowed) as caught:
        client.get(ID)
    told = f"{client!r} {caught.value!r} {caught.value.hint} {caplog.text}"
    assert KEY not in told
    assert server.url in repr(client)
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"


@pytest.mark.parametrize(
    "url",
    [
        "",
        "localhost:8377",
        "ftp://localhost",
        "http://",
        "http://local host",
        "http://localhost:port",
        "http://ada:hunter2@localhost",
        "http://localhost?key=hunter2",
    ],
)
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_an_address_that_is_none_is_refused_without_its_password(kind: Any, url: str) -> None:
    with pytest.raises(errors.InvalidSetting) as caught:
        kind(url)
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


@pytest.mark.parametrize(
    "options",
    [{"key": "clé"}, {"key": "a\nb"}, {"timeout": 0}, {"retries": -1}, {"patience": float("nan")}],
)
def test_what_a_client_cannot_use_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(errors.InvalidSetting):
        Client("http://localhost", **options)


def test_a_client_of_the_server_that_the_settings_name(
    server: FaultyServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    server.answers["GET", f"{MEMORIES}/{ID}"] = WHOLE
    with pytest.raises(errors.InvalidSetting, match="no server is named"):
        connect()
    monkeypatch.setenv("RECOLLECT_SERVER", server.url)
    monkeypatch.setenv("RECOLLECT_SERVER_KEY", KEY)

    with connect(retries=0) as client:
        client.get(ID)
    assert server.seen[0].headers["Authorization"] == f"Bearer {KEY}"


# ---- one description ---------------------------------------------------------------------------

#: By verb: arguments that a memory in this process takes, and a server does not.
ONLY_HERE = {
    "secret_get": {"agent"},  # whoever asks a server is known by the key
    "audit_log": {"everybody"},  # a key with admin access is for everybody's
}
#: By verb: the other way round.
ONLY_THERE: dict[str, set[str]] = {}


@pytest.mark.parametrize("verb", [verb.name for verb in EVERY_VERB])
@pytest.mark.parametrize("kind", [Client, AsyncClient])
def test_every_verb_takes_the_arguments_of_a_memory_in_this_process(kind: Any, verb: str) -> None:
    here = inspect.signature(getattr(Recollect, verb)).parameters
    there = inspect.signature(getattr(kind, verb)).parameters

    assert {*here} - {*there} == ONLY_HERE.get(verb, set())
    assert {*there} - {*here} == ONLY_THERE.get(verb, set())
    for name in {*here} & {*there} - {"self"}:
        assert here[name].default == there[name].default, name
        assert here[name].kind == there[name].kind, name


def test_both_clients_have_the_same_verbs() -> None:
    plain = {name for name in vars(Client) if name[0] != "_"} - {"close"}
    awaited = {name for name in vars(AsyncClient) if name[0] != "_"} - {"aclose"}

    assert plain == awaited
