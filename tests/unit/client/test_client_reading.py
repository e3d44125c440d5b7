"""What clients make of the answers of a real server of HTTP."""

from __future__ import annotations

import json
from typing import Any
from urllib.parse import parse_qs

import pytest

from bearinmind import errors
from bearinmind.types import Link, LinkKind, Memory, Share, Trust
from support.clients import ID, MEMORIES, MEMORY, NOON, SHARE, WHOLE, page
from support.faulty_server import FaultyServer, says


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
        says(json.dumps(page([MEMORY | {"id": name} for name in named], following)))
        for named, following in pages
    ]

    assert [memory.id for memory in client.every(tags=["home"])] == names
    queries = [parse_qs(seen.path.partition("?")[2]) for seen in server.seen]
    assert [query.get("after") for query in queries] == [None, ["one"], ["two"]]
    assert all(query["tags"] == ["home"] for query in queries)


def test_a_long_list_is_fetched_in_pieces(server: FaultyServer, client: Any) -> None:
    def said(count: int, following: str | None) -> Any:
        return says(json.dumps(page([MEMORY] * count, following)))

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
