"""`bearinmind user erase` and its route remove everything of a user, and ask first."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind import Client, errors
from support.http_server import serving

Run = Callable[..., Any]
CANARY = "Zanzibar"  # in the content, the tags and the graph of whoever is erased


@pytest.fixture
def filled(run: Run) -> None:
    """Ada and Eve, who share with each other; Ada has a secret, an old version and keys."""
    for name in ("ada", "eve"):
        run("user", "add", name)
        run("key", "create", name)
    first = run(
        *("--user", "ada", "store", f"{CANARY} is where Kasimir lives.", "--tag", "zanzibar"),
        "--json",
    ).json["memory"]["id"]
    run("--user", "ada", "update", first, f"{CANARY} is where Kasimir works.")
    run("--user", "ada", "store", "the password is kelp9salt", "--sensitive")
    run("--user", "ada", "share", "memory", first, "eve")
    theirs = run("--user", "eve", "store", "Otters sleep.", "--json").json["memory"]["id"]
    run("--user", "eve", "share", "memory", theirs, "ada")
    run("work")


@pytest.mark.usefixtures("filled")
def test_nothing_of_an_erased_user_is_in_the_bytes_of_the_file(run: Run, place: Path) -> None:
    before = b"".join(file.read_bytes() for file in place.parent.glob(f"{place.name}*"))
    assert CANARY.encode() in before

    done = run("user", "erase", "ada", "--export", "ada.jsonl", "--yes", "--json").json

    after = b"".join(file.read_bytes() for file in place.parent.glob(f"{place.name}*"))
    for trace in (CANARY, "zanzibar", "Kasimir", "kasimir", "ada"):
        assert trace.encode() not in after, trace
    assert (done["erased"], done["held"]["memories"], done["held"]["keys"]) == (True, 2, 1)
    assert CANARY in Path("ada.jsonl").read_text()
    [entry] = run("audit", "--json").json["entries"]
    assert entry["action"] == "erase user"
    assert done["pseudonym"] in entry["detail"]
    assert CANARY not in entry["detail"]
    assert run("--user", "eve", "list", "--json").json["memories"]
    assert run("doctor").code == 0


@pytest.mark.usefixtures("filled")
def test_a_plan_changes_nothing_and_without_a_terminal_nothing_is_erased(run: Run) -> None:
    planned = run("user", "erase", "ada", "--dry-run")
    refused = run("user", "erase", "ada", "--json")

    assert "memories" in planned.out
    assert "shares received" in planned.out
    assert refused.code == 2
    assert "--yes" in refused.error["hint"]
    assert len(run("--user", "ada", "list", "--json").json["memories"]) == 3  # one is shared


def test_nobody_is_erased_twice_or_by_themselves(run: Run) -> None:
    run("user", "add", "ada")
    assert run("--user", "ada", "user", "erase", "ada", "--yes", "--json").error["code"] == (
        "not_allowed"
    )
    assert run("user", "erase", "ada", "--yes").code == 0
    assert run("user", "erase", "ada", "--yes", "--json").error["code"] == "user_not_found"


def test_an_administrator_erases_a_user_of_a_server(path: Path) -> None:
    with serving(path) as server:
        ada = Client(server.url, key=server.key("ada"))
        root = Client(server.url, key=server.key("root", "admin"))
        ada.store("Walruses sing.")

        with pytest.raises(errors.NotAllowed):
            ada.accounts.plan_erasure("root")
        plan = root.accounts.plan_erasure("ada")
        with pytest.raises(errors.UserChanged, match="1 memories by now, not 7"):
            root.accounts.erase_user("ada", memories=7)
        done = root.accounts.erase_user("ada", memories=plan.memories)

        assert done.erased
        assert done.held["memories"] == 1
        with pytest.raises(errors.NotAuthenticated):
            ada.recall("walrus")
        with pytest.raises(errors.UserNotFound):
            root.accounts.plan_erasure("ada")
        assert [user.name for user in root.accounts.users()] == ["root"]
        ada.close()
        root.close()
