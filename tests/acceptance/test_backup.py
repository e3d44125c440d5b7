"""A store is backed up while others write, and comes back after its disk is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from zipfile import ZipFile

import psycopg
import pyrage
import pytest
from psycopg import sql

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.config import Settings, store_name
from bearinmind.protocols import Store
from bearinmind.store import backup
from bearinmind.store.factory import Access, open_store
from bearinmind.text.addresses import StoreFile
from support.full_store import Life, everything, rows
from support.postgres_server import Databases

ACCESS = Access(connections=2)
Destroy = Callable[[str], None]


@pytest.fixture
def destroy(request: pytest.FixtureRequest) -> Destroy:
    """Loses everything that a store had, and leaves the place empty."""

    def lose(place: str) -> None:
        if isinstance(store_name(place), StoreFile):
            for file in Path(place).parent.glob(f"{Path(place).name}*"):
                file.unlink()
            return
        databases: Databases = request.getfixturevalue("postgres")
        databases.drop(place)
        with psycopg.connect(databases.url, autocommit=True) as connection:
            name = sql.Identifier(place.rpartition("/")[2].partition("?")[0])
            connection.execute(sql.SQL("CREATE DATABASE {} TEMPLATE template0").format(name))

    return lose


def opened(place: str | Path) -> Store:
    return open_store(store_name(place), ACCESS)


def filled(place: str, seed: int = 1) -> dict[str, object]:
    """Fill a store with whatever a store can hold; all that it answers."""
    store = opened(place)
    Life(store, seed)()
    answers = everything(store)
    store.close()
    return answers


def back_up(place: str, file: Path, *recipients: str) -> backup.BackedUp:
    return backup.back_up(store_name(place), file, ACCESS, recipients)


def restore(file: Path, place: str, identity: Path | None = None) -> None:
    backup.restore(file, store_name(place), ACCESS, identity)


# ---- after the disk is lost --------------------------------------------------------------------


def test_everything_is_back_after_the_disk_was_lost(
    place: str, destroy: Destroy, tmp_path: Path
) -> None:
    answers, before = filled(place), rows(place)
    file = tmp_path / "elsewhere" / "store.backup"
    file.parent.mkdir()

    done = back_up(place, file)
    destroy(place)
    restore(file, place)

    assert rows(place) == before
    assert done.facts.rows == {name: before[name][0] for name in done.facts.rows}
    store = opened(place)
    assert everything(store) == answers
    assert [each for each in store.check() if not each.good and each.name != "work"] == []
    store.close()


def test_a_backup_of_one_kind_is_restored_into_the_other(
    place: str, tmp_path: Path, postgres_url: str
) -> None:
    answers = filled(place)
    back_up(place, tmp_path / "store.backup")

    is_file = isinstance(store_name(place), StoreFile)
    other = postgres_url if is_file else str(tmp_path / "other.db")
    restore(tmp_path / "store.backup", other)

    store = opened(other)
    assert everything(store) == answers
    store.close()


WRITER = """
import sys
from bearinmind.app import Mind
from bearinmind.config import Settings
with Mind.build(Settings(store=sys.argv[1], user="busy", embedder="none")) as mind:
    for number in range(100_000):
        mind.store(f"writer note {number} of the walrus")
        print(number, flush=True)
"""


@pytest.fixture
def writer(place: str) -> Iterator[subprocess.Popen[str]]:
    """Another process that stores one memory after the other, and says which are acknowledged."""
    opened(place).close()
    command = [sys.executable, "-c", WRITER, place]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_a_backup_beside_a_writer_holds_all_that_was_acknowledged_before_it(
    place: str, destroy: Destroy, tmp_path: Path, writer: subprocess.Popen[str]
) -> None:
    assert writer.stdout is not None
    before = [int(writer.stdout.readline()) for _ in range(20)]

    back_up(place, tmp_path / "store.backup")
    after = int(writer.stdout.readline())  # it has gone on meanwhile
    writer.kill()
    writer.wait()
    destroy(place)
    restore(tmp_path / "store.backup", place)

    settings = Settings.model_validate({"store": place, "user": "busy", "embedder": "none"})
    with Mind.build(settings) as mind:
        kept = {memory.content for memory in mind.list(limit=1_000)}
        assert kept == {f"writer note {number} of the walrus" for number in range(len(kept))}
        assert len(kept) >= len(before) == after  # the pipe gives them in order
        found = mind.recall("writer note 7 of the walrus").hits
        assert found[0].memory.content == "writer note 7 of the walrus"


# ---- damage ------------------------------------------------------------------------------------


@pytest.fixture
def file(tmp_path: Path) -> Path:
    """The backup of a small store, in one file."""
    with Mind.open(tmp_path / "one.db") as mind:
        mind.store("walruses sing at dawn")
    back_up(str(tmp_path / "one.db"), tmp_path / "one.backup")
    return tmp_path / "one.backup"


@pytest.mark.parametrize("part", [0, 0.1, 0.5, 0.9, 0.999])
def test_a_part_of_a_backup_is_refused_and_nothing_is_made(file: Path, part: float) -> None:
    content = file.read_bytes()
    file.write_bytes(content[: int(len(content) * part)])
    new = file.with_name("new.db")

    with pytest.raises(errors.BackupDamaged, match=r"one\.backup"):
        backup.verify(file)
    with pytest.raises(errors.BackupDamaged):
        restore(file, str(new))

    assert sorted(each.name for each in file.parent.iterdir()) == ["one.backup", "one.db"]


def test_a_backup_with_a_changed_byte_is_refused(file: Path) -> None:
    content = file.read_bytes()
    with ZipFile(file) as archive:
        parts = archive.infolist()
    for part in parts:  # every block, and the manifest
        at = part.header_offset + 30 + len(part.filename) + part.file_size // 2
        file.write_bytes(content[:at] + bytes([content[at] ^ 0x20]) + content[at + 1 :])
        with pytest.raises(errors.BackupDamaged):
            backup.verify(file)

    file.write_bytes(content)
    assert backup.verify(file).opened


@pytest.mark.parametrize("content", [b"", b"Dear diary\n" * 99, b"SQLite format 3\0" * 99])
def test_a_file_that_is_no_backup_is_refused(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "x").write_bytes(content)
    with pytest.raises(errors.BackupDamaged):
        backup.verify(tmp_path / "x")


@pytest.mark.parametrize("harm", ["remove", "change", "manifest"])
def test_a_damaged_folder_is_refused(tmp_path: Path, file: Path, harm: str) -> None:
    folder = tmp_path / "backups"
    done = backup.back_up(store_name(tmp_path / "one.db"), folder, ACCESS, folder=True)
    block = max((folder / "blocks").iterdir(), key=lambda each: each.stat().st_size)
    if harm == "remove":
        block.unlink()
    elif harm == "change":
        block.write_bytes(block.read_bytes()[:-1] + b"?")
    else:
        manifest = Path(done.place)
        manifest.write_text(manifest.read_text().replace('"made_at":"20', '"made_at":"19'))

    with pytest.raises(errors.BackupDamaged):
        backup.verify(folder)


def test_a_place_that_is_not_empty_is_left_alone(file: Path, place: str, destroy: Destroy) -> None:
    with Mind.build(Settings.model_validate({"store": place, "embedder": "none"})) as mind:
        mind.store("something else")

    with pytest.raises(errors.StoreNotEmpty):
        restore(file, place)

    with Mind.build(Settings.model_validate({"store": place, "embedder": "none"})) as mind:
        assert [memory.content for memory in mind.list()] == ["something else"]


def test_a_backup_never_replaces_a_file(file: Path) -> None:
    before = file.read_bytes()
    with pytest.raises(errors.InvalidInput, match="already"):
        back_up(str(file.with_name("one.db")), file)
    assert file.read_bytes() == before


# ---- a folder ----------------------------------------------------------------------------------


def test_a_folder_takes_only_what_has_changed_and_keeps_the_latest(tmp_path: Path) -> None:
    place, folder = str(tmp_path / "memories.db"), tmp_path / "backups"
    filled(place)
    name = store_name(place)

    first = backup.back_up(name, folder, ACCESS, folder=True)
    same = backup.back_up(name, folder, ACCESS, folder=True)
    with Mind.build(Settings.model_validate({"store": place, "embedder": "none"})) as mind:
        mind.store("one more walrus")
    third = backup.back_up(name, folder, ACCESS, keep=2, folder=True)
    before = rows(place)

    assert same.written == 0
    assert 0 < third.written < first.written
    assert third.removed == 1
    assert len([*folder.glob("*.manifest")]) == 2
    backup.verify(Path(same.place))
    restore(folder, str(tmp_path / "new.db"))
    assert rows(str(tmp_path / "new.db")) == before
    with pytest.raises(errors.FileMissing):
        backup.verify(Path(first.place))


def test_what_an_interrupted_backup_left_is_removed_and_does_no_harm(
    tmp_path: Path, file: Path
) -> None:
    name, folder = store_name(tmp_path / "one.db"), tmp_path / "backups"
    backup.back_up(name, folder, ACCESS, folder=True)
    stray = folder / "blocks" / ("0" * 64)
    stray.write_bytes(b"half of a block")

    backup.verify(folder)
    backup.back_up(name, folder, ACCESS, keep=1, folder=True)

    assert not stray.exists()
    backup.verify(folder)


def test_only_the_owner_may_read_what_is_written(tmp_path: Path, file: Path) -> None:
    folder = tmp_path / "backups"
    old = os.umask(0)
    try:
        backup.back_up(store_name(tmp_path / "one.db"), folder, ACCESS, folder=True)
        back_up(str(tmp_path / "one.db"), tmp_path / "two.backup")
        restore(folder, str(tmp_path / "new.db"))
    finally:
        os.umask(old)
    written = [each for each in folder.rglob("*") if each.is_file()]
    for each in (*written, tmp_path / "two.backup", tmp_path / "new.db"):
        assert each.stat().st_mode & 0o777 == 0o600, each


# ---- encryption --------------------------------------------------------------------------------


def test_an_encrypted_backup_needs_the_identity_of_its_recipient(
    tmp_path: Path, file: Path
) -> None:
    place, folder = str(tmp_path / "one.db"), tmp_path / "backups"
    own, other = pyrage.x25519.Identity.generate(), pyrage.x25519.Identity.generate()
    (tmp_path / "own").write_text(f"# created by age-keygen\n{own}\n")
    (tmp_path / "other").write_text(str(other))
    to_own, to_other = str(own.to_public()), str(other.to_public())

    name = store_name(place)
    backup.back_up(name, folder, ACCESS, [to_own], folder=True)
    again = backup.back_up(name, folder, ACCESS, [to_own], folder=True)
    mine = Path(again.place)

    assert again.written == 0  # what this recipient can open is not written twice
    assert not backup.verify(mine).opened
    assert backup.verify(mine, tmp_path / "own").opened
    for wrong in (None, tmp_path / "other"):
        with pytest.raises(errors.BackupEncrypted):
            restore(mine, str(tmp_path / "new.db"), wrong)
    restore(mine, str(tmp_path / "new.db"), tmp_path / "own")
    assert rows(str(tmp_path / "new.db")) == rows(place)
    # For somebody else everything is written again.
    assert backup.back_up(name, folder, ACCESS, [to_other], folder=True).written > 0
    backup.verify(folder, tmp_path / "other")


def test_what_is_no_recipient_is_refused(tmp_path: Path, file: Path) -> None:
    for text in ("age1nothing", "ssh-rsa nothing", "grace"):
        with pytest.raises(errors.InvalidInput, match="no recipient"):
            back_up(str(tmp_path / "one.db"), tmp_path / "x.backup", text)
    assert not (tmp_path / "x.backup").exists()
