"""Disks that cannot be written or are full, and what a purge leaves on them."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store.sqlite import SqliteStore
from support.other_user import run_as_ordinary_user

#: What an ordinary user can do with a file; root may write everything.
READER = """
import sys
from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings

settings = Settings(store=sys.argv[1])
try:
    with Mind.build(settings) as memory:
        print("recalled", len(memory.recall("walrus").hits), len(memory.list()))
        print("versions", len(memory.versions(memory.list()[0].id)))
        try:
            memory.store("another")
        except errors.MindError as error:
            print("store", error.code)
        try:
            memory.delete(memory.list()[0].id)
        except errors.MindError as error:
            print("delete", error.code)
except errors.MindError as error:
    print("open", error.code)
"""

#: The checks of a file by an ordinary user, and the exit code.
DOCTOR = """
import os, sys
from bearinmind.surfaces.cli.main import main

os.environ["BEARINMIND_EMBEDDER"] = "none"
sys.argv = ["bearinmind", "--store", sys.argv[1], "doctor"]
try:
    main()
except SystemExit as exit:
    print("exit", exit.code or 0)
"""


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that other users may enter, which pytest's own are not."""
    made = Path(tempfile.mkdtemp(prefix="bearinmind-"))
    made.chmod(0o755)
    yield made
    made.chmod(0o755)
    shutil.rmtree(made)


@pytest.mark.parametrize("mode", [0o555, 0o755])
def test_a_file_that_may_only_be_read_is_recalled_from_and_refuses_writes(
    folder: Path, mode: int
) -> None:
    if mode == 0o755 and os.geteuid() != 0:
        pytest.skip("the owner of a folder may write into it")
    path = folder / "memories.db"
    with Mind.open(path) as memory:
        memory.store("a walrus")
    before = path.read_bytes()
    path.chmod(0o444)
    folder.chmod(mode)
    told = run_as_ordinary_user(READER, path)
    assert told[:2] == ["recalled 1 1", "versions 1"]
    assert told[2] in {"store store_read_only", "store store_unavailable"}
    assert told[3] in {"delete store_read_only", "delete store_unavailable"}
    assert path.read_bytes() == before


def test_doctor_finds_a_file_that_may_only_be_read_sound(folder: Path) -> None:
    path = folder / "memories.db"
    with Mind.open(path) as memory:
        memory.store("a walrus")
    path.chmod(0o444)
    folder.chmod(0o555)
    *checks, code = run_as_ordinary_user(DOCTOR, path)
    [journal] = [line.split(maxsplit=2) for line in checks if " journal " in line]
    assert journal == ["ok", "journal", "not checked: the file is read-only"]
    assert code == "exit 0"


def test_a_new_file_in_a_folder_that_may_not_be_written_is_refused(folder: Path) -> None:
    folder.chmod(0o555)
    [told] = run_as_ordinary_user(READER, folder / "memories.db")
    assert told in {"open store_read_only", "open store_unavailable"}
    assert [*folder.iterdir()] == []


def test_a_file_that_may_not_be_read_is_refused(folder: Path) -> None:
    path = folder / "memories.db"
    with Mind.open(path) as memory:
        memory.store("a walrus")
    path.chmod(0o000)
    [told] = run_as_ordinary_user(READER, path)
    assert told in {"open store_read_only", "open store_unavailable"}


def fill(memory: Mind) -> int:
    """How many memories were stored until there was no room."""
    for count in range(100_000):
        try:
            memory.store(f"item{count} " + "filling words " * 60)
        except errors.StoreFull as error:
            assert error.hint  # noqa: PT017
            return count
    pytest.fail("there was always room")


def assert_intact(memory: Mind, count: int) -> None:
    """The earlier memories are all there and nothing of the last one is."""
    assert memory.stats().live == count
    for n in (0, count // 2, count - 1):
        [hit, *_] = memory.recall(f"item{n}", limit=1).hits
        assert hit.memory.content.startswith(f"item{n} ")
    words = {hit.memory.content.split()[0] for hit in memory.recall(f"item{count}", limit=99).hits}
    assert f"item{count}" not in words


def test_a_full_file_refuses_and_goes_on_when_there_is_room_again(path: Path) -> None:
    store = SqliteStore(path)
    with Mind(store, Settings(store=path)) as memory:
        connection = store._connections.get()
        [pages] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {pages + 60}").fetchone()
        count = fill(memory)
        assert count > 3
        assert_intact(memory, count)
        connection.execute("PRAGMA max_page_count = 1000000").fetchone()
        memory.store("there is room again")
        assert memory.stats().live == count + 1
        assert all(finding.good for finding in memory.check())


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A disk of one megabyte."""
    place = tmp_path / "disk"
    place.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", place], capture_output=True, check=False
    )
    if mounted.returncode:
        pytest.skip("a disk can be mounted by root only")
    yield place
    subprocess.run(["umount", place], check=True)


def test_a_full_disk_refuses_and_goes_on_when_there_is_room_again(small_disk: Path) -> None:
    filler = small_disk / "filler"
    filler.write_bytes(b"x" * 300_000)
    path = small_disk / "memories.db"
    with Mind.open(path) as memory:
        count = fill(memory)
        assert_intact(memory, count)
        with pytest.raises(errors.StoreFull):
            memory.store("still no room " * 90)
        filler.unlink()
        memory.store("there is room again")
        assert memory.stats().live == count + 1
        assert all(finding.good for finding in memory.check())
    with Mind.open(path) as memory:
        assert memory.stats().live == count + 1


def test_a_disk_without_room_for_a_new_file_is_refused(small_disk: Path) -> None:
    (small_disk / "filler").write_bytes(b"x" * (1 << 20))
    with pytest.raises(errors.StoreFailure) as caught:
        Mind.open(small_disk / "memories.db")
    assert isinstance(caught.value, errors.StoreFull)


SECRETS = ("zanzibarquux", "xylophonicwombat", "quokkafield", "narwhaltag")


def bytes_on_disk(path: Path) -> bytes:
    return b"".join(file.read_bytes() for file in sorted(path.parent.glob(path.name + "*")))


@pytest.mark.parametrize("earlier_purge", [False, True])
def test_a_purge_leaves_no_byte_of_the_text(path: Path, earlier_purge: bool) -> None:
    with Mind.open(path) as memory, Mind.open(path) as other:
        if earlier_purge:
            first = memory.store("nothing in particular").memory
            memory.delete(first.id)
            memory.purge(memory.plan_purge([first.id]))
        secret = memory.store(
            "the harbour of Zanzibarquux is old", keywords=["quokkafield"], tags=["narwhaltag"]
        ).memory
        for n in range(150):
            memory.store(f"item{n} of other things and word{n * 7919}")
        memory.update(secret.id, content="the harbour of Zanzibarquux is xylophonicwombat")
        for n in range(150):
            other.store(f"more{n} of other things and term{n * 7907}")
        assert other.recall("zanzibarquux").hits
        found = bytes_on_disk(path).lower()
        assert all(word.encode() in found for word in SECRETS)
        memory.delete(secret.id)
        memory.purge(memory.plan_purge([secret.id]))
        left = bytes_on_disk(path).lower()
        # Terms are kept as stems, in part: neither the words nor most of them may remain.
        assert [
            word for word in SECRETS if word[:8].encode() in left or word[4:].encode() in left
        ] == []
        assert memory.stats().live == 300
        assert all(finding.good for finding in memory.check())
        assert other.recall("item7").hits[0].memory.content.startswith("item7 ")
        assert other.recall("zanzibarquux").hits == ()
