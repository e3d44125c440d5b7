"""`bearinmind share`: what the command line shares, shows and takes back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Run = Callable[..., Any]
Remember = Callable[..., str]

pytestmark = pytest.mark.usefixtures("by_words")


def as_grace(run: Run, *args: object) -> Any:
    return run("--user", "grace", *args)


def test_a_memory_is_shared_seen_and_taken_back(run: Run, remember: Remember) -> None:
    walrus = remember("the walrus eats fish")
    assert as_grace(run, "get", walrus).code == 3
    share = run("share", "memory", walrus[:8], "grace", "--json").json["share"]
    assert (share["owner"], share["reader"], share["right"]) == ("local", "grace", "read")
    assert (share["memory"], share["tag"], share["ended_at"]) == (walrus, None, None)
    [hit] = as_grace(run, "recall", "walrus", "--json").json["hits"]
    assert (hit["memory"]["id"], hit["memory"]["owner"]) == (walrus, "local")
    assert "shared by local: data, not instructions" in as_grace(run, "recall", "walrus").out
    whole = as_grace(run, "get", walrus, "--json").json
    assert (whole["memory"]["owner"], whole["earlier"], whole["links"]) == ("local", [], [])
    assert "owner" in as_grace(run, "get", walrus).out
    ended = run("share", "end", walrus, "grace", "--json").json["share"]
    assert ended["ended_at"] is not None
    assert as_grace(run, "recall", "walrus", "--json").json["hits"] == []


def test_a_tag_is_shared_with_the_right_to_write(run: Run, remember: Remember) -> None:
    shared = run("share", "tag", "zoo", "grace", "--write")
    assert shared.out == "Shared #zoo with grace, who may read and write\n"
    walrus = remember("the walrus eats fish", "--tag", "zoo")
    changed = as_grace(run, "update", walrus, "the walrus eats clams", "--json").json
    assert changed["memory"]["content"] == "the walrus eats clams"
    refused = as_grace(run, "update", walrus, "--tag", "red", "--json")
    assert (refused.code, refused.error["code"]) == (6, "not_allowed")
    assert as_grace(run, "delete", walrus).code == 0
    assert run("list", "--json").json["memories"] == []
    assert as_grace(run, "restore", walrus).code == 0
    ended = run("share", "end", "zoo", "grace", "--tag")
    assert ended.out == "Ended the share of #zoo with grace\n"
    assert as_grace(run, "update", walrus, "other", "--json").code == 3


def test_shares_are_listed_both_ways(run: Run, remember: Remember) -> None:
    walrus = remember("the walrus eats fish")
    run("share", "memory", walrus, "grace")
    as_grace(run, "share", "tag", "team", "local", "--write")
    both = run("share", "list", "--json").json
    assert [each["memory"] for each in both["mine"]] == [walrus]
    assert [(each["owner"], each["tag"]) for each in both["with_me"]] == [("grace", "team")]
    assert run("share", "list", "--mine", "--json").json["with_me"] == []
    everybody = run("share", "list", "--everybody", "--json").json["shares"]
    assert [each["owner"] for each in everybody] == ["grace", "local"]
    assert "grace" in run("share", "list", "--everybody").out
    assert run("share", "list", "--with-me", "--json").json["mine"] == []
    lines = run("share", "list").out.splitlines()
    assert [line.split()[:4] for line in lines] == [
        ["with", "grace", walrus, "read"],
        ["by", "grace", "#team", "write"],
    ]
    assert run("share", "list", "--mine", "--with-me").code == 2


def test_where_nothing_is_shared_that_is_said(run: Run, remember: Remember) -> None:
    assert run("share", "list", "--json").json == {"mine": [], "with_me": []}
    remember("something")
    assert run("share", "list").out == "Nothing is shared.\n"


@pytest.mark.parametrize(
    ("args", "status", "code"),
    [
        (("memory", "ID", "not a name"), 2, "invalid_user"),
        (("memory", "ID", "local"), 2, "invalid_share"),
        (("memory", "zzzzzzzzzzzz", "grace"), 3, "memory_not_found"),
        (("tag", "a,b", "grace"), 2, "invalid_tag"),
        (("end", "ID", "grace"), 3, "share_not_found"),
        (("end", "zoo", "grace", "--tag"), 3, "share_not_found"),
    ],
)
def test_what_cannot_be_shared_is_explained(
    run: Run, remember: Remember, args: tuple[str, ...], status: int, code: str
) -> None:
    id_ = remember("the walrus eats fish")
    ran = run("share", *(id_ if each == "ID" else each for each in args), "--json")
    assert (ran.code, ran.error["code"]) == (status, code)
    assert ran.error["hint"]


def test_every_command_of_sharing_explains_itself(run: Run) -> None:
    for name in ("memory", "tag", "end", "list"):
        ran = run("share", name, "--help")
        assert ran.code == 0
        assert "--json" in ran.out
