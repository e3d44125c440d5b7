from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]


def test_an_update_changes_what_is_named_and_nothing_else(run: Run, remember: Run) -> None:
    id_ = remember("Port 80.", "--tag", "a", "--agent", "coder", "--project", "web")

    answer = run(
        *("update", id_, "Port 81.", "--category", "decisions", "--keyword", "http"),
        *("--importance", 1, "--valid-to", "2040-01-01", "--project", "api", "--json"),
    ).json

    memory = answer["memory"]
    assert answer["outcome"] == "updated"
    assert (memory["content"], memory["category"], memory["version"]) == (
        "Port 81.",
        "decisions",
        2,
    )
    assert (memory["tags"], memory["keywords"], memory["importance"]) == (["a"], ["http"], 1.0)
    assert (memory["provenance"]["agent"], memory["provenance"]["project"]) == ("coder", "api")
    assert memory["valid_to"] == "2040-01-01T00:00:00Z"


def test_an_update_can_take_things_away(run: Run, remember: Run) -> None:
    id_ = remember(
        "Port 80.", "--tag", "a", "--keyword", "b", "--agent", "c", "--valid-to", "2040-01-01"
    )

    memory = run(
        *("update", id_, "--no-tags", "--no-keywords", "--always-valid", "--agent", "", "--json")
    ).json["memory"]

    assert (memory["tags"], memory["keywords"]) == ([], [])
    assert (memory["valid_to"], memory["provenance"]["agent"]) == (None, None)


@pytest.mark.parametrize("args", [["-"], ["--file", "new.txt"]])
def test_new_content_may_be_piped_in_or_come_from_a_file(
    run: Run, remember: Run, tmp_path: Path, args: list[str]
) -> None:
    (tmp_path / "new.txt").write_text("Port 81.\n")
    id_ = remember("Port 80.")

    ran = run("update", id_, *args, stdin="Port 81.\n")

    assert ran.out.startswith(f"Updated {id_}")
    assert run("get", id_, "--json").json["memory"]["content"] == "Port 81."


def test_an_update_that_changes_nothing_says_so(run: Run, remember: Run) -> None:
    id_ = remember("Port 80.")

    assert run("update", id_, "Port 80.").out.startswith(f"Unchanged {id_}")


def test_an_update_of_another_version_is_refused(run: Run, remember: Run) -> None:
    id_ = remember("Port 80.")

    assert run("update", id_, "Port 81.", "--expected-version", 1).code == 0
    ran = run("update", id_, "Port 82.", "--expected-version", 1, "--json")

    assert ran.code == 4
    assert ran.error["code"] == "version_conflict"


def test_an_update_needs_a_change(run: Run, remember: Run) -> None:
    ran = run("update", remember("Port 80."))

    assert ran.code == 2
    assert "no change was given" in ran.err


def test_what_is_deleted_is_hidden_until_it_is_restored(run: Run, remember: Run) -> None:
    first, second = remember("Port 80."), remember("Port 81.")

    deleted = run("delete", first, second[:7], first)
    hidden = run("recall", "port", "--json").json["hits"]
    restored = run("restore", first, "--json").json["memories"]

    assert [line.split()[:2] for line in deleted.out.splitlines()] == [
        ["Deleted", first],
        ["Deleted", second],
    ]
    assert hidden == []
    assert [memory["id"] for memory in restored] == [first]
    assert len(run("recall", "port", "--json").json["hits"]) == 1


def test_nothing_is_deleted_when_one_of_the_ids_is_unknown(run: Run, remember: Run) -> None:
    id_ = remember("Port 80.")

    ran = run("delete", id_, "zzzzzzzzzzzz")

    assert ran.code == 3
    assert run("get", id_, "--json").json["state"] == "live"


def test_what_can_be_deleted_is_deleted_beside_what_cannot(run: Run, remember: Run) -> None:
    gone, there = remember("Port 80."), remember("Port 81.")
    run("delete", gone)

    ran = run("delete", gone, there)

    assert ran.code == 4
    assert f"Deleted {there}" in ran.out
    assert f"memory {gone} is deleted already" in ran.err


def test_a_purge_shows_its_plan_first(run: Run, remember: Run) -> None:
    first, second = remember("Port 80."), remember("Port 81.")
    run("link", first, "see-also", second)
    run("delete", first)

    human = run("purge", first, "--dry-run")
    machine = run("purge", "--all-deleted", "--dry-run", "--json").json

    assert "To be removed for good: 1 memory, 2 versions, 1 link." in human.out
    assert machine["purged"] is False
    assert [memory["id"] for memory in machine["memories"]] == [first]
    assert run("get", first).code == 0


def test_a_purge_refuses_when_nobody_can_be_asked(run: Run, remember: Run) -> None:
    id_ = remember("Port 80.")
    run("delete", id_)

    ran = run("purge", id_)

    assert ran.code == 2
    assert "--yes" in ran.err
    assert run("get", id_).code == 0


def test_a_purge_removes_for_good(run: Run, remember: Run) -> None:
    first, second = remember("Port 80."), remember("Port 81.")
    run("delete", first, second)

    human = run("purge", first, "--yes")
    machine = run("purge", "--all-deleted", "--yes", "--json").json

    assert human.out == "Purged 1 memory.\n"
    assert (machine["purged"], len(machine["memories"])) == (True, 1)
    assert run("get", first).code == run("get", second).code == 3
    assert run("purge", "--all-deleted", "--yes").out.startswith("Nothing is deleted")


@pytest.mark.parametrize("args", [[], ["k7f2", "--all-deleted"]])
def test_a_purge_wants_ids_or_all(run: Run, remember: Run, args: list[str]) -> None:
    remember("Port 80.")

    assert run("purge", *args, "--yes").code == 2


def test_a_live_memory_needs_no_restoring(run: Run, remember: Run) -> None:
    ran = run("restore", remember("Port 80."), "--json")

    assert ran.code == 4
    assert ran.error["code"] == "not_deleted"
    assert ran.error["message"].endswith("is not deleted: there is nothing to restore")
    assert ran.error["hint"].startswith("Nothing needs to be done")


def test_a_live_memory_is_not_purged(run: Run, remember: Run) -> None:
    ran = run("purge", remember("Port 80."), "--yes", "--json")

    assert ran.code == 4
    assert ran.error["code"] == "not_deleted"


def test_a_link_is_made_and_ended(run: Run, remember: Run) -> None:
    first, second = remember("Port 80."), remember("Port 81.")

    made = run("link", first, "see-also", second)
    ended = run("link", first, "see-also", second, "--remove", "--json").json

    assert made.out == f"Linked {first} see-also {second}\n"
    assert ended["outcome"] == "unlinked"
    assert ended["link"]["removed_at"]
    assert run("get", first, "--json").json["links"] == []


def test_links_that_cannot_be_are_refused(run: Run, remember: Run) -> None:
    first, second = remember("Port 80."), remember("Port 81.")
    run("link", first, "supersedes", second)

    for args, code, name in (
        ([first, "see-also", first], 4, "self_link"),
        ([second, "supersedes", first], 4, "supersede_cycle"),
        ([first, "supersedes", second], 4, "duplicate_link"),
        ([first, "part-of", second, "--remove"], 3, "link_not_found"),
    ):
        ran = run("link", *args, "--json")
        assert ran.code == code
        assert ran.error["code"] == name
    assert run("link", first, "likes", second).code == 2
