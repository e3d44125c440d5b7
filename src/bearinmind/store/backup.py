"""Backs up a whole store of either kind, verifies backups, and restores them into an empty place.

What is backed up is a SQLite store: of a file the copy that SQLite itself makes while others write,
of a server what a move into a file brings, from one snapshot of the database.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from tempfile import TemporaryDirectory

from bearinmind import errors
from bearinmind.store import backup_files
from bearinmind.store.backup_files import BLOCK, BackupFacts, BlockReader, BlockWriter, Manifest
from bearinmind.store.factory import Access, open_source, open_store, open_target
from bearinmind.store.migrate_store import Advance, Description, Shifts, open_move
from bearinmind.store.sqlite.endpoint import SqliteEndpoint
from bearinmind.store.sqlite.file import SqliteFile, is_current, translated
from bearinmind.text.addresses import StoreFile, StoreName


def _no_progress(_: int) -> None:
    """Tell nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BackedUp:
    """A backup that was made."""

    place: str  #: its file, or its manifest in a folder
    facts: BackupFacts
    written: int  #: bytes that were written: few where a folder has most of it already
    removed: int  #: older backups


@dataclass(frozen=True, slots=True, kw_only=True)
class Verified:
    """A backup that is whole."""

    facts: BackupFacts
    opened: bool  #: the store in it was checked too: an encrypted one needs its identity for that


# ---- making ------------------------------------------------------------------------------------


def back_up(
    store: StoreName,
    place: Path,
    access: Access,
    recipients: Sequence[str] = (),
    advance: Advance = _no_progress,
    *,
    folder: bool = False,
    keep: int | None = None,
) -> BackedUp:
    """Back up a store while others use it: into one file, or into a folder of backups.

    Of the backups that are in a folder then, the latest `keep` stay.
    """
    if not folder:
        with _copied(store, access) as copy, backup_files.new_file(place) as file:
            return _written(copy, file, recipients, {}, advance)
    with backup_files.shared_folder(place) as blocks, _copied(store, access) as copy:
        earlier = backup_files.manifests(place).values()
        # A block that is encrypted for others is of no use to these.
        alike = [each for each in earlier if each.facts.recipients == tuple(recipients)]
        known = {block.content: block.kept for each in alike for block in each.blocks}
        done = _written(copy, blocks, recipients, known, advance)
        return replace(done, removed=backup_files.prune(place, keep) if keep else 0)


@dataclass(frozen=True, slots=True)
class _Copy:
    """A store as it was at one moment, as a file of SQLite."""

    path: Path
    shifts: Shifts


@contextmanager
def _copied(store: StoreName, access: Access) -> Iterator[_Copy]:
    """A copy of a store, whole and checked."""
    with TemporaryDirectory(prefix="bearinmind-") as folder:
        path = Path(folder) / "copy.db"
        shifts: Shifts = {}
        if isinstance(store, StoreFile):
            open_store(store, access, create=False).close()  # raises if it is not a whole store
            with closing(SqliteFile(store.path, create=False)) as file:
                file.copy_to(path)
        else:
            with (
                open_source(store, access) as one,
                open_target(StoreFile(path), access) as two,
                open_move(one, two) as move,
            ):
                move.copy(_no_progress)
                move.verify(_no_progress)
                shifts = move.shifts
        _check(path)
        yield _Copy(path, shifts)


def _written(
    copy: _Copy,
    blocks: backup_files.Blocks,
    recipients: Sequence[str],
    known: Mapping[str, str],
    advance: Advance,
) -> BackedUp:
    """Write the blocks of a copy that are not known, and the manifest."""
    keep = BlockWriter(blocks, backup_files.recipients_of(recipients), known)
    with closing(SqliteEndpoint(copy.path, busy_timeout=1)) as end, end.snapshot() as snapshot:
        rows = Description.of(snapshot).rows
        sealing_keys = tuple(key_id for key_id, _ in snapshot.read("sealed_under"))
    stored, size = [], 0
    with copy.path.open("rb") as file:
        while content := file.read(BLOCK):
            stored.append(keep(content))
            size += len(content)
            advance(1)
    shifts = json.dumps(dict(copy.shifts)).encode() if copy.shifts else b""
    facts = BackupFacts(
        made_at=datetime.now(UTC),
        release=version("bearinmind"),
        size=size,
        rows=rows,
        sealing_keys=sealing_keys,
        recipients=tuple(recipients),
    )
    shifted = tuple(keep(shifts[at : at + BLOCK]) for at in range(0, len(shifts), BLOCK))
    place = blocks.finish(Manifest(facts=facts, store=tuple(stored), shifts=shifted))
    return BackedUp(place=str(place), facts=facts, written=keep.written, removed=0)


# ---- reading -----------------------------------------------------------------------------------


def verify(place: Path, identity: Path | None = None, advance: Advance = _no_progress) -> Verified:
    """Make sure that a backup is whole: every block, and the store that they make up."""
    with backup_files.opened(place) as (manifest, blocks):
        opened = identity is not None or not manifest.facts.recipients
        with TemporaryDirectory(prefix="bearinmind-") as folder:
            if opened:
                reader = _reader(place, manifest, blocks, identity)
                _assemble(reader, manifest, Path(folder) / "copy.db", advance)
            else:
                reader = BlockReader(place, blocks, ())
                for block in manifest.blocks:
                    reader.kept(block)
                    advance(1)
    return Verified(facts=manifest.facts, opened=opened)


def restore(
    place: Path,
    store: StoreName,
    access: Access,
    identity: Path | None = None,
    advance: Advance = _no_progress,
) -> BackupFacts:
    """Restore a backup into an empty place: a file that is not there, or an empty database.

    The store can be opened only once it is whole. Into a database, an interrupted one goes on.
    """
    with backup_files.opened(place) as (manifest, blocks):
        reader = _reader(place, manifest, blocks, identity)
        if isinstance(store, StoreFile):
            _restore_file(reader, manifest, store.path, access, advance)
            return manifest.facts
        with TemporaryDirectory(prefix="bearinmind-") as folder:
            copy = Path(folder) / "copy.db"
            _assemble(reader, manifest, copy, advance)
            shifts = json.loads(b"".join(map(reader.content, manifest.shifts)) or b"{}")
            with (
                open_source(StoreFile(copy), access) as one,
                open_target(store, access) as two,
                open_move(one, two, shifts={owner: -by for owner, by in shifts.items()}) as move,
            ):
                move.copy(_no_progress)
                move.verify(_no_progress)
    return manifest.facts


def _restore_file(
    reader: BlockReader, manifest: Manifest, path: Path, access: Access, advance: Advance
) -> None:
    _refuse_existing(path)
    with backup_files.failures(path):
        path.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(prefix=".restoring-", dir=path.parent) as folder:
            copy = Path(folder) / "copy.db"
            _assemble(reader, manifest, copy, advance)
            open_store(StoreFile(copy), access).close()  # brings it to the present schema
            _refuse_existing(path)
            copy.rename(path)


def _refuse_existing(path: Path) -> None:
    """Raise if there is a file, or the log of one."""
    for part in ("", "-wal"):
        if path.with_name(f"{path.name}{part}").exists():
            raise errors.StoreNotEmpty(
                f"{str(path)!r}{part} is there already: a backup is restored into an empty place",
                hint="Name another file with --store, or move that one away.",
            )


def _reader(
    place: Path, manifest: Manifest, blocks: backup_files.Blocks, identity: Path | None
) -> BlockReader:
    recipients = manifest.facts.recipients
    if recipients and identity is None:
        raise errors.BackupEncrypted(f"{str(place)!r} is encrypted for {', '.join(recipients)}")
    identities = backup_files.identities_of(identity) if recipients and identity else ()
    return BlockReader(place, blocks, identities)


def _assemble(reader: BlockReader, manifest: Manifest, path: Path, advance: Advance) -> None:
    """Write the store of a backup into a new file, and check it."""

    def contents() -> Iterator[bytes]:
        for block in manifest.store:
            yield reader.content(block)
            advance(1)

    backup_files.write_whole(path, contents())
    _check(path)


def _check(path: Path) -> None:
    """Raise unless a file is a whole store, of this release or of an earlier one."""
    with translated(path), closing(sqlite3.connect(path)) as connection:
        is_current(connection, str(path))
        found = [text for [text] in connection.execute("PRAGMA integrity_check(5)")]
    if found != ["ok"]:
        raise errors.StoreDamaged(f"the store is damaged: {'; '.join(found)}")
