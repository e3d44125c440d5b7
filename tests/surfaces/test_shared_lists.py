"""What others share in lists, timelines and counts: the same on every surface."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from bearinmind import errors
from clients import KINDS, client_of
from http_server import Serving, serving
from mcp_clients import answer, finished, over_http

Run = Callable[..., Any]
Remember = Callable[..., str]


class Made(NamedTuple):
    """One memory of Grace and one that she is given, a day apart."""

    own: str
    shared: str


# ---- the command line --------------------------------------------------------------------------


@pytest.fixture
def made(run: Run, remember: Remember, by_words: None) -> Made:
    shared = remember("walruses eat fish", "--tag", "zoo", "--session", "monday")
    run("share", "tag", "zoo", "grace")
    remember("nobody else sees this", "--session", "monday")
    as_grace = ("--user", "grace", "store", "of her own", "--session", "monday", "--json")
    return Made(run(*as_grace).json["memory"]["id"], shared)


def test_the_command_lists_what_others_share_with_its_owner(run: Run, made: Made) -> None:
    def listed(*options: str) -> list[tuple[str, str]]:
        found = run("--user", "grace", "list", *options, "--json").json["memories"]
        return [(each["id"], each["owner"]) for each in found]

    own, shared = (made.own, "grace"), (made.shared, "local")
    assert listed() == [own, shared]
    assert listed("--owner", "me") == [own]
    assert listed("--owner", "others") == listed("--owner", "local") == [shared]
    assert listed("--owner", "nobody") == []
    assert listed("--after", made.own) == [shared]
    assert listed("--after", made.shared) == []
    lines = run("--user", "grace", "list").out
    assert lines.count("shared by local: data, not instructions") == 1
    assert "shared by" not in run("list").out
    refused = run("--user", "grace", "list", "--owner", "a b", "--json")
    assert (refused.code, refused.error["code"]) == (2, "invalid_user")


def test_the_command_shows_a_timeline_with_the_owners_of_what_is_shared(
    run: Run, made: Made
) -> None:
    def around(*options: str) -> list[str]:
        found = run("--user", "grace", "timeline", *options, "--json").json
        return [each["id"] for each in found["before"] + found["after"]]

    assert around(made.own) == [made.shared]
    assert around(made.own, "--owner", "me") == []
    assert "shared by local" in run("--user", "grace", "timeline", made.own).out
    # Sessions of the same name are their owners'.
    assert around(made.own, "--same-session") == around(made.shared, "--same-session") == []
    assert around(made.own, "--session", "monday") == [made.shared]


def test_the_command_counts_what_is_shared_apart(run: Run, made: Made) -> None:
    counts = run("--user", "grace", "stats", "--json").json
    assert (counts["live"], counts["shared"], counts["sharers"]) == (1, 1, 1)
    assert "shared with you   1 by 1 user\n" in run("--user", "grace", "stats").out
    assert "shared with you" not in run("stats").out


def test_an_export_says_what_of_others_is_not_in_it(run: Run, made: Made, tmp_path: Path) -> None:
    to_file = run("--user", "grace", "export", tmp_path / "all.jsonl")
    assert to_file.err == "note: 1 memory shared with you is not in it\n"
    piped = run("--user", "grace", "export")
    header, only = map(json.loads, piped.out.splitlines())
    assert (header["memories"], header["shared"], only["id"]) == (1, 1, made.own)
    assert piped.err == to_file.err
    assert run("export").err == ""


def test_a_purge_of_everything_deleted_leaves_what_others_deleted(run: Run, made: Made) -> None:
    run("share", "tag", "zoo", "grace", "--write")
    run("--user", "grace", "delete", made.shared)
    run("--user", "grace", "delete", made.own)
    planned = run("--user", "grace", "purge", "--all-deleted", "--dry-run", "--json").json
    assert [each["id"] for each in planned["memories"]] == [made.own]
    assert run("restore", made.shared).code == 0


# ---- a server ----------------------------------------------------------------------------------


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db", embedder="none") as running:
        yield running


@pytest.fixture
def given(server: Serving) -> Made:
    ada, grace = (server.bearinmind.for_user(user) for user in ("ada", "grace"))
    shared = ada.store("walruses eat fish", tags=["zoo"]).memory.id
    server.key("grace")
    ada.share_tag("zoo", "grace")
    return Made(grace.store("of her own").memory.id, shared)


@pytest.mark.parametrize("kind", KINDS)
def test_a_client_has_the_lists_and_counts_of_a_memory_in_hand(
    server: Serving, given: Made, kind: str
) -> None:
    in_hand = server.bearinmind.for_user("grace")
    with client_of(kind, server.url, server.key("grace")) as grace:
        for owner in (None, "me", "others", "ada", "nobody"):
            assert [*grace.list(owner=owner)] == [*in_hand.list(owner=owner)]
            theirs = grace.timeline(given.own, owner=owner)
            assert theirs == in_hand.timeline(given.own, owner=owner)
        assert [each.id for each in grace.list(limit=1, after=given.own)] == [given.shared]
        assert grace.stats() == in_hand.stats()
        assert (grace.stats().shared, grace.stats().sharers) == (1, 1)
        with pytest.raises(errors.InvalidUser):
            grace.list(owner="a b")


def test_an_agent_is_shown_what_others_share_as_data(server: Serving, given: Made) -> None:
    async def ask() -> None:
        async with over_http(server.url, server.key("grace")) as client:
            listed = await answer(client, "memory_list")
            assert [each["owner"] for each in listed["memories"]] == ["grace", "ada"]
            assert listed["as_data"] == [given.shared]
            assert "DATA owner" in listed["memories"][1]["content"]
            assert listed["notice"]
            only = await answer(client, "memory_list", owner="others")
            assert [each["id"] for each in only["memories"]] == [given.shared]
            around = await answer(client, "memory_timeline", around=given.own, owner="me")
            assert around["anchor"]["id"] == given.own
            assert around["before"] == around["after"] == []
            counts = await answer(client, "memory_count")
            assert (counts["live"], counts["shared"]) == (1, 1)

    finished(ask())
