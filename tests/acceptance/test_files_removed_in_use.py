"""A store whose files are taken away under a running process refuses to go on."""

from __future__ import annotations

import stat
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import StoreReplaced
from bearinmind.store.sqlite import SqliteStore

PLAIN = Settings.model_validate({"user": "ada", "embedder": "none", "extractor": "none"})


def opened(path: Path) -> Mind:
    return Mind(SqliteStore(path), PLAIN)


@pytest.mark.parametrize("ending", ["-shm", "-wal", ""])
@pytest.mark.parametrize("replaced", [False, True], ids=["removed", "replaced"])
def test_nothing_is_acknowledged_that_others_cannot_find(
    tmp_path: Path, ending: str, *, replaced: bool
) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as mind:
        mind.store("the walrus eats fish")
        file = path.with_name(path.name + ending)
        copy = file.read_bytes()
        file.unlink()
        if replaced:
            file.write_bytes(copy)
        acknowledged = []
        with pytest.raises(StoreReplaced) as caught:
            acknowledged.append(mind.store("the seal sleeps"))
        assert "start again" in caught.value.hint
        assert acknowledged == []
        with pytest.raises(StoreReplaced):
            mind.store("and again")


def test_two_processes_that_lost_their_index_do_not_write_two_stores(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    with opened(path) as first:
        first.store("the walrus eats fish")
        path.with_name("memory.db-shm").unlink()
        with opened(path) as second:  # makes an index of its own
            second.store("the seal sleeps")
        with pytest.raises(StoreReplaced):
            first.store("the crab walks")
    with opened(path) as again:
        assert {"the walrus eats fish", "the seal sleeps"} == {x.content for x in again.list()}


def test_a_store_that_nobody_had_open_is_opened_again(tmp_path: Path) -> None:
    """SQLite removes the log and its index by itself when the last connection ends."""
    path = tmp_path / "memory.db"
    store = SqliteStore(path)
    with Mind(store, PLAIN) as mind:
        mind.store("the walrus eats fish")
        store.close()
        assert mind.list()[0].content == "the walrus eats fish"
        mind.store("the seal sleeps")


def test_files_are_private_wherever_they_lie(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    path = tmp_path / "new" / "memory.db"
    with opened(path) as mind:
        mind.store("the walrus eats fish")
        for file in path.parent.iterdir():
            assert stat.S_IMODE(file.stat().st_mode) == 0o600, file.name
