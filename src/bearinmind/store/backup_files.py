"""The files of backups: blocks that are named by their hashes, and manifests that list them.

A backup is one file (a zip of both), or a manifest in a folder whose blocks many backups share. A
manifest is written when all of its blocks are there: what has none is no backup.
"""

from __future__ import annotations

import os
import re
import sys
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import astuple, dataclass
from datetime import datetime
from errno import ENOSPC
from hashlib import sha256
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from bearinmind import codec, errors
from bearinmind.store.new_file import refuse_existing

BLOCK = 64 * 1024  # bytes: 16 pages of SQLite
FORMAT = 1
SUFFIX = ".manifest"

_MAGIC = b"bearinmind-backup"
_MANIFEST = "manifest"  # its name in a file
_HASH = re.compile("[0-9a-f]{64}")
_LEVEL = 6  # of compression
_PRIVATE = 0o600
_PART = ".part"  # ends the name of what is not whole yet


@dataclass(frozen=True, slots=True, kw_only=True)
class Block:
    """A part of what is backed up."""

    content: str  #: the hash of what it says
    kept: str  #: the hash of the file that keeps it, compressed and perhaps encrypted


@dataclass(frozen=True, slots=True, kw_only=True)
class BackupFacts:
    """What is known of a backup. Nothing that a user wrote is in it, and no name."""

    made_at: datetime
    release: str  #: that made it
    size: int  #: bytes of the whole store
    rows: Mapping[str, int]  #: by table
    sealing_keys: tuple[str, ...]  #: the ids of the keys that its secrets need
    recipients: tuple[str, ...]  #: for whom it is encrypted; nobody when it is not


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What a backup consists of."""

    facts: BackupFacts
    store: tuple[Block, ...]
    shifts: tuple[Block, ...]  #: by owner, how far numbers were shifted; none if they were not

    @property
    def blocks(self) -> tuple[Block, ...]:
        return self.store + self.shifts


@dataclass(frozen=True, slots=True)
class FolderBlocks:
    """Blocks in a folder, and the manifests of many backups beside them."""

    folder: Path

    def read(self, name: str) -> bytes | None:
        path = self.path(name)
        return path.read_bytes() if path.is_file() else None

    def write(self, name: str, kept: bytes) -> None:
        self.path(name).parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_whole(self.path(name), [kept])

    def finish(self, manifest: Manifest) -> Path:
        path = self.folder / f"{manifest.facts.made_at:%Y-%m-%dT%H-%M-%S.%fZ}{SUFFIX}"
        write_whole(path, [_written(manifest)])
        return path

    def path(self, name: str) -> Path:
        """The file of a block."""
        return self.folder / "blocks" / name


@dataclass(frozen=True, slots=True)
class ZippedBlocks:
    """Blocks in one file."""

    path: Path
    zip: ZipFile

    def read(self, name: str) -> bytes | None:
        return self.zip.read(name) if name in self.zip.NameToInfo else None

    def write(self, name: str, kept: bytes) -> None:
        if name not in self.zip.NameToInfo:
            self.zip.writestr(name, kept)

    def finish(self, manifest: Manifest) -> Path:
        self.zip.writestr(_MANIFEST, _written(manifest))
        return self.path


Blocks = FolderBlocks | ZippedBlocks


@contextmanager
def new_file(path: Path) -> Iterator[ZippedBlocks]:
    """The blocks of a backup in one file, which appears only once it is whole."""
    refuse_existing(path, hint="Name another file; a folder keeps many backups.")
    with (
        failures(path),
        _part(path) as part,
        os.fdopen(os.dup(part), "wb") as stream,
        ZipFile(stream, "w") as archive,
    ):
        yield ZippedBlocks(path, archive)


@contextmanager
def shared_folder(folder: Path) -> Iterator[FolderBlocks]:
    """The blocks of all backups in a folder; one process at a time writes there."""
    with failures(folder):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(folder / ".lock", os.O_RDWR | os.O_CREAT, _PRIVATE)
        try:
            if sys.platform != "win32":
                import fcntl  # noqa: PLC0415  not everywhere

                fcntl.flock(lock, fcntl.LOCK_EX)
            yield FolderBlocks(folder)
        finally:
            os.close(lock)


@contextmanager
def opened(place: Path) -> Iterator[tuple[Manifest, Blocks]]:
    """A backup: a file, a manifest, or the latest one of a folder."""
    with failures(place):
        if place.is_dir():
            latest = max(place.glob(f"*{SUFFIX}"), default=None)
            if latest is None:
                raise errors.FileMissing(f"there is no backup in {str(place)!r}")
            place = latest
        if place.suffix == SUFFIX:
            manifest = read_manifest(place.read_bytes(), place)
            yield manifest, FolderBlocks(place.parent)
            return
        try:
            with ZipFile(place) as archive:
                yield read_manifest(archive.read(_MANIFEST), place), ZippedBlocks(place, archive)
        except (BadZipFile, KeyError, zlib.error, EOFError) as exc:
            raise _damaged(place, "it is no backup, or only a part of one") from exc


def manifests(folder: Path) -> dict[Path, Manifest]:
    """The backups in a folder, oldest first; one whose manifest is damaged is none."""
    found = {}
    for path in sorted(folder.glob(f"*{SUFFIX}")):
        try:
            found[path] = read_manifest(path.read_bytes(), path)
        except errors.BackupDamaged:
            continue
    return found


def prune(folder: Path, keep: int) -> int:
    """Remove all but the latest backups, and the blocks that none needs: how many backups."""
    with failures(folder):
        found = manifests(folder)
        old = [*found][:-keep]
        for path in old:
            path.unlink()
        needed = {block.kept for path in [*found][-keep:] for block in found[path].blocks}
        for path in (folder / "blocks").glob("*"):
            if path.name not in needed:  # also what an interrupted backup has left
                path.unlink()
    return len(old)


def _written(manifest: Manifest) -> bytes:
    """A manifest as a file, with its own hash."""
    body = codec.to_json(manifest)
    return b"%s %d %s\n%s" % (_MAGIC, FORMAT, sha256(body).hexdigest().encode(), body)


def read_manifest(content: bytes, place: Path) -> Manifest:
    """The manifest that a file holds."""
    head, _, body = content.partition(b"\n")
    magic, format_, digest, *_ = *head.split(), b"", b"", b""
    if magic != _MAGIC or digest != sha256(body).hexdigest().encode():
        raise _damaged(place, "its manifest is not what was written")
    if int(format_) > FORMAT:
        raise errors.StoreTooNew(f"{str(place)!r} has format {int(format_)}; {FORMAT} can be read")
    manifest = codec.from_json(Manifest, body)
    if not all(_HASH.fullmatch(name) for block in manifest.blocks for name in astuple(block)):
        raise _damaged(place, "its manifest names blocks by what is no hash")
    return manifest


# ---- the contents of blocks --------------------------------------------------------------------


@dataclass(slots=True)
class BlockWriter:
    """Keeps contents as blocks; a block that an earlier backup has is not written again."""

    blocks: Blocks
    recipients: Sequence[Any]  #: of age
    known: Mapping[str, str]  #: by content: the name under which it is kept already
    written: int = 0  #: bytes

    def __call__(self, content: bytes) -> Block:
        """The block of a content."""
        hashed = sha256(content).hexdigest()
        before = self.known.get(hashed)
        there = self.blocks.read(before) if before else None
        if before and there and sha256(there).hexdigest() == before:
            return Block(content=hashed, kept=before)
        kept = zlib.compress(content, _LEVEL)
        if self.recipients:
            kept = _age().encrypt(kept, [*self.recipients])
        block = Block(content=hashed, kept=sha256(kept).hexdigest())
        self.blocks.write(block.kept, kept)
        self.written += len(kept)
        return block


@dataclass(frozen=True, slots=True)
class BlockReader:
    """Reads blocks, and makes sure that each is what was written."""

    place: Path
    blocks: Blocks
    identities: Sequence[Any]  #: of age; none for a backup that is not encrypted

    def kept(self, block: Block) -> bytes:
        kept = self.blocks.read(block.kept)
        if kept is None:
            raise _damaged(self.place, f"the block {block.kept[:12]} is missing")
        if sha256(kept).hexdigest() != block.kept:
            raise _damaged(self.place, f"the block {block.kept[:12]} is not what was written")
        return kept

    def content(self, block: Block) -> bytes:
        kept = self.kept(block)
        if self.identities:
            kept = self._decrypted(kept)
        try:
            content = zlib.decompressobj().decompress(kept, BLOCK + 1)
        except zlib.error as exc:
            raise _damaged(self.place, f"the block {block.kept[:12]} cannot be unpacked") from exc
        if sha256(content).hexdigest() != block.content:
            raise _damaged(self.place, f"the block {block.kept[:12]} has another content")
        return content

    def _decrypted(self, kept: bytes) -> bytes:
        try:
            return bytes(_age().decrypt(kept, [*self.identities]))
        except _age().DecryptError as exc:
            raise errors.BackupEncrypted(
                f"this identity does not open {str(self.place)!r}: {exc}"
            ) from None


def recipients_of(texts: Sequence[str]) -> list[Any]:
    """The recipients of age that these texts name: keys of age or of SSH."""
    recipients = []
    for text in texts:
        kind = _age().x25519 if text.startswith("age1") else _age().ssh
        try:
            recipients.append(kind.Recipient.from_str(text.strip()))
        except _age().RecipientError:
            raise errors.InvalidInput(
                f"{text!r} is no recipient",
                hint="Give a public key of age (age1...) or of SSH (ssh-ed25519 ...).",
            ) from None
    return recipients


def identities_of(file: Path) -> list[Any]:
    """The identities of age in a file: lines of `age-keygen`, or one key of SSH."""
    with failures(file):
        content = file.read_bytes()
    lines = [line for line in content.decode(errors="replace").split() if "AGE-SECRET" in line]
    try:
        if lines:
            return [_age().x25519.Identity.from_str(line) for line in lines]
        return [_age().ssh.Identity.from_buffer(content)]
    except _age().IdentityError:
        raise errors.InvalidInput(
            f"{str(file)!r} holds no identity",
            hint="Give the file that `age-keygen` made, or a private key of SSH.",
        ) from None


def _age() -> Any:  # noqa: ANN401  a module without types
    try:
        import pyrage  # noqa: PLC0415  only who encrypts needs it
    except ImportError:
        raise errors.MissingExtra(
            "an encrypted backup needs pyrage, which is not installed",
            hint="Install it: pip install 'bearinmind[age]'.",
        ) from None
    return pyrage


# ---- files -------------------------------------------------------------------------------------


def write_whole(path: Path, contents: Iterable[bytes]) -> None:
    """Write a file that appears only once all of it is on the disk."""
    with _part(path) as part, os.fdopen(os.dup(part), "wb") as stream:
        stream.writelines(contents)


@contextmanager
def _part(path: Path) -> Iterator[int]:
    """A file that only its owner may read; it gets its name when the context ends well."""
    part = path.with_name(f".{path.name}.{os.getpid()}{_PART}")
    handle = os.open(part, os.O_CREAT | os.O_TRUNC | os.O_RDWR, _PRIVATE)
    try:
        yield handle
        os.fsync(handle)
        part.replace(path)
    finally:
        os.close(handle)
        part.unlink(missing_ok=True)


@contextmanager
def failures(place: Path) -> Iterator[None]:
    """Failures of the file system become errors of the store."""
    try:
        yield
    except FileNotFoundError as exc:
        missing = Path(exc.filename or place)
        if missing.suffix == _PART:  # to be written, so it is the folder that is not there
            raise errors.FileMissing.of_folder(missing.parent) from exc
        raise errors.FileMissing(f"there is no file {str(missing)!r}") from exc
    except OSError as exc:
        if exc.errno == ENOSPC:
            raise errors.StoreFull(f"there is no room left to write {str(place)!r}") from exc
        raise errors.StoreUnavailable(
            f"{str(place)!r} cannot be used: {exc.strerror}",
            hint="Check the path and its permissions.",
        ) from exc


def _damaged(place: Path, why: str) -> errors.BackupDamaged:
    return errors.BackupDamaged(f"{str(place)!r} cannot be restored: {why}")
