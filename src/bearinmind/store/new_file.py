"""Files that are written are new ones: nothing that is there is overwritten."""

from __future__ import annotations

from pathlib import Path

from bearinmind.errors import InvalidInput
from bearinmind.text.addresses import StoreFile, StoreName


def refuse_existing(path: Path, hint: str = "Name another file, or move that one away.") -> None:
    """Raise if there is a file or a folder of that name."""
    if path.exists():
        kind = "folder" if path.is_dir() else "file"
        raise InvalidInput(f"there is already a {kind} {str(path)!r}", hint=hint)


def refuse_store(path: Path, store: StoreName) -> None:
    """Raise if a file is a store or lies beside it as a part of it, there already or not."""
    if not isinstance(store, StoreFile):
        return
    real = store.path.resolve()  # SQLite too puts the others beside the file that a link leads to
    if path.resolve() in {real.with_name(f"{real.name}{part}") for part in ("", "-wal", "-shm")}:
        raise InvalidInput(
            f"{str(path)!r} belongs to the store itself", hint="Name another file to write to."
        )
