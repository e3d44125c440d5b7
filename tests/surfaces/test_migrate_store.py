"""`bearinmind migrate-store` moves a store, says what it did, and refuses what it must."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bearinmind.config import store_name
from bearinmind.errors import StoreUnfinished
from bearinmind.store.factory import Access, open_source, open_store, open_target
from bearinmind.store.migrate_store import open_move

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("by_words")


@pytest.fixture
def other(tmp_path: Path) -> Path:
    """Where the memories are moved to."""
    return tmp_path / "other.db"


def listed(run: Run, store: Path | str) -> Any:
    return run("list", "--json", store=store).json["memories"]


def begin(source: Path | str, target: Path | str) -> None:
    """Begin a move and go no further."""
    access = Access()
    with (
        open_source(store_name(source), access) as one,
        open_target(store_name(target), access) as two,
        open_move(one, two),
    ):
        pass


def test_memories_are_where_they_were_moved_to(
    run: Run, remember: Run, place: Path, other: Path, postgres_url: str
) -> None:
    first = remember("The staging database is db-stage-3.")
    remember("The staging database is db-stage-4.", "--supersedes", first)
    before, bytes_ = listed(run, place), place.read_bytes()

    to_server = run("migrate-store", place, postgres_url, "--json").json
    back = run("migrate-store", postgres_url, other)

    assert listed(run, postgres_url) == listed(run, other) == before
    assert place.read_bytes() == bytes_
    counted = {each["table"]: each["rows"] for each in to_server["tables"]}
    assert (counted["memories"], counted["links"]) == (2, 1)
    assert all(len(each["digest"]) == 32 for each in to_server["tables"])
    assert not to_server["resumed"]
    assert not to_server["renumbered"]
    assert back.code == 0
    assert "counts and hashes are the same" in back.out
    assert back.out.split()[:2] == ["memories", "2"]


def test_no_password_is_shown(run: Run, remember: Run, place: Path, postgres_url: str) -> None:
    remember("The staging database is db-stage-3.")
    secret = f"{postgres_url}{'&' if '?' in postgres_url else '?'}password=kelp9salt"

    for arguments in ([], ["--json"], ["--dry-run"]):
        ran = run("migrate-store", place, secret, *arguments)
        assert "kelp9salt" not in ran.out + ran.err


def test_a_dry_run_changes_nothing(run: Run, remember: Run, place: Path, other: Path) -> None:
    remember("The staging database is db-stage-3.")
    before = place.read_bytes()

    seen = run("migrate-store", place, other, "--dry-run", "--json").json

    assert seen["rows"]["memories"] == 1
    assert seen["moved"] is None
    assert "would be moved" in run("migrate-store", place, other, "--dry-run").out
    assert not other.exists()
    assert place.read_bytes() == before


def test_a_dry_run_tells_of_a_move_that_was_begun(
    run: Run, remember: Run, place: Path, other: Path
) -> None:
    remember("The staging database is db-stage-3.")
    begin(place, other)

    assert run("migrate-store", place, other, "--dry-run", "--json").json["moved"] == 0


@pytest.mark.parametrize("arguments", [[], ["--dry-run"]])
def test_a_store_that_holds_something_is_left_alone(
    run: Run, remember: Run, place: Path, other: Path, arguments: list[str]
) -> None:
    remember("The staging database is db-stage-3.")
    remember("Tea is at four.", store=other)
    before = listed(run, other)

    ran = run("migrate-store", place, other, *arguments, "--restart", "--json")

    assert ran.code == 4
    assert ran.error["code"] == "store_not_empty"
    assert listed(run, other) == before


def test_where_there_is_no_store_nothing_is_made(run: Run, place: Path, other: Path) -> None:
    ran = run("migrate-store", place, other, "--json")

    assert ran.code == 3
    assert ran.error["code"] == "file_missing"
    assert not place.exists()
    assert not other.exists()


@pytest.mark.parametrize("kind", ["file", "server"])
def test_an_unfinished_move_goes_on_or_begins_anew(
    run: Run,
    remember: Run,
    place: Path,
    other: Path,
    request: pytest.FixtureRequest,
    kind: str,
) -> None:
    target = other if kind == "file" else request.getfixturevalue("postgres_url")
    remember("The staging database is db-stage-3.")
    begin(place, target)

    refused = run("list", "--json", store=target)
    assert refused.code == 5
    assert refused.error["code"] == "store_unfinished"
    with pytest.raises(StoreUnfinished):
        open_store(store_name(target))

    remember("Tea is at four.")
    changed = run("migrate-store", place, target, "--json")
    assert changed.code == 4
    assert changed.error["code"] == "store_changed"
    assert "memories" in changed.error["message"]

    assert run("migrate-store", place, target, "--restart", "--json").json["resumed"] is False
    assert listed(run, target) == listed(run, place)


def test_a_resumed_move_says_so(run: Run, remember: Run, place: Path, other: Path) -> None:
    remember("The staging database is db-stage-3.")
    begin(place, other)

    ran = run("migrate-store", place, other)

    assert ran.code == 0
    assert "going on with an unfinished move" in ran.err
    assert listed(run, other) == listed(run, place)


@pytest.fixture
def old(place: Path) -> Path:
    """A file as the first release has left it: of two users, without relations."""
    stores = Path(__file__).parents[1] / "migration" / "stores"
    place.write_bytes(gzip.decompress((stores / "0001.sqlite.gz").read_bytes()))
    return place


@pytest.mark.parametrize("arguments", [[], ["--dry-run"]])
def test_a_file_of_an_earlier_release_is_only_read(
    run: Run, old: Path, other: Path, arguments: list[str]
) -> None:
    before = old.read_bytes()

    ran = run("migrate-store", old, other, *arguments)

    assert ran.code == 0
    assert old.read_bytes() == before
    assert "Relations" not in ran.out
    assert arguments or run("--user", "ada", "stats", "--json", store=other).json["live"] == 3


def test_a_move_from_an_earlier_release_can_go_on(run: Run, old: Path, other: Path) -> None:
    begin(old, other)

    assert run("migrate-store", old, other, "--json").json["resumed"] is True
