"""`bearinmind backup` and `bearinmind restore-store` say what they did, and what is needed."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Run = Callable[..., Any]
pytestmark = pytest.mark.usefixtures("by_words")


def test_a_store_comes_back_from_its_backup(
    run: Run, remember: Run, place: Path, tmp_path: Path
) -> None:
    remember("The staging database is db-stage-3.")
    run("user", "add", "ada")
    before = run("list", "--json").json

    made = run("backup", "store.backup")
    whole = run("backup", "--verify", "store.backup")
    for file in place.parent.glob(f"{place.name}*"):
        file.unlink()
    back = run("restore-store", "store.backup")

    assert "1 version of memories, 1 registered user" in made.out
    assert "is whole" in whole.out
    assert "Restored 1 version of memories" in back.out
    assert run("list", "--json").json == before
    assert [user["name"] for user in run("user", "list", "--json").json["users"]] == ["ada"]


def test_a_folder_of_backups_keeps_so_many(run: Run, remember: Run, tmp_path: Path) -> None:
    for text in ("one walrus", "two walruses", "three walruses"):
        remember(text)
        done = run("backup", "backups/", "--keep", "2", "--json").json

    assert done["removed"] == 1
    assert done["facts"]["rows"]["memories"] == 3
    assert len([*(tmp_path / "backups").glob("*.manifest")]) == 2
    refused = run("backup", "new.backup", "--keep", "2", "--json")
    assert refused.code == 2
    assert not Path("new.backup").exists()


def test_the_key_that_secrets_need_is_named_and_never_in_a_backup(
    run: Run, remember: Run, at_home: Path, place: Path, tmp_path: Path
) -> None:
    secret = remember("the password of the vault is kelp9salt", "--sensitive")
    [key_file] = at_home.rglob("vault.keys")
    key = key_file.read_bytes()

    made = run("backup", "store.backup")
    [key_id] = run("backup", "--verify", "store.backup", "--json").json["facts"]["sealing_keys"]
    unpacked = run("restore-store", "store.backup", store=tmp_path / "with-key.db")
    key_file.unlink()
    without = run("restore-store", "store.backup", store=tmp_path / "new.db")

    assert f"need the key {key_id}" in made.out
    assert key_id not in unpacked.err
    assert key_id in without.err
    assert str(key_file) in without.err
    for line in key.split():
        if len(line) > 20:
            assert line not in (tmp_path / "with-key.db").read_bytes()
    key_file.write_bytes(key)
    key_file.chmod(0o600)
    shown = run("secret", "get", secret, store=tmp_path / "new.db")
    assert "kelp9salt" in shown.out


def test_where_there_is_no_store_nothing_is_backed_up(run: Run) -> None:
    ran = run("backup", "store.backup", "--json")

    assert ran.error["code"] == "file_missing"
    assert not Path("store.backup").exists()


def test_a_store_in_the_way_is_named(run: Run, remember: Run, place: Path) -> None:
    remember("one walrus")
    run("backup", "store.backup")

    ran = run("restore-store", "store.backup", "--json")

    assert ran.error["code"] == "store_not_empty"
    assert str(place) in ran.error["message"]


@pytest.mark.skipif(sys.platform == "win32", reason="the embedded server does not run there")
def test_the_embedded_server_is_backed_up_and_restored_by_its_name(
    run: Run, remember: Run, tmp_path: Path
) -> None:
    folder = tmp_path / "pg"
    name = f"postgres:{folder}"
    try:
        remember("The staging database is db-stage-3.", store=name)
        run("user", "add", "ada", store=name)
        before = run("list", "--json", store=name).json

        run("backup", "store.backup", store=name)
        run("db", "stop", store=name)
        shutil.rmtree(folder)
        back = run("restore-store", "store.backup", store=name)

        assert "Restored 1 version of memories" in back.out
        assert run("list", "--json", store=name).json == before
        assert [user["name"] for user in run("user", "list", "--json", store=name).json["users"]]
    finally:
        run("db", "stop", store=name)
