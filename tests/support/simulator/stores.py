"""Where the memories of a world are kept, and how they are found by a process that begins."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from typing import Protocol

from bearinmind.protocols import Store
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.testing import empty_file
from bearinmind.types import UserId
from support.simulator.ledger import SECRET, Broken

SERVER = "server"  #: the name of the machine that the others sync with


class Keeping(Protocol):
    """Keeps what every machine has, whatever becomes of the machine."""

    user: UserId  #: who nobody else is where it is kept
    may_be_cut: bool  #: whether the server may lose the connection to what it has

    def store(self, name: str) -> Store:
        """The store of a machine, for a process that begins; the last one has ended."""

    def back_up(self) -> None:
        """Keep what the server has now."""

    def restore(self) -> None:
        """Give the server what it had then; its process must begin anew."""

    def check(self) -> None:
        """Look below the stores.

        Raises:
            Broken: a secret is kept in clear.
        """

    def traces(self, name: str) -> bytes:
        """All that lies below the store of a machine; nothing where that cannot be told."""

    def close(self) -> None:
        """Let go of everything."""


class InFiles:
    """Satisfies `Keeping`: SQLite files that every process opens anew."""

    user = UserId("ada")
    may_be_cut = False

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory()
        self._stores: dict[str, SqliteStore] = {}

    def store(self, name: str) -> Store:
        """The file of a machine, opened."""
        if name in self._stores:
            self._stores[name].close()
        file = self._file(name)
        if not file.exists():
            file.write_bytes(empty_file())
        self._stores[name] = _opened(file)
        return self._stores[name]

    def back_up(self) -> None:
        """Keep what the server has now."""
        self._stores[SERVER].close()  # which writes all that it has to one file
        shutil.copy(self._file(SERVER), self._file("backup"))

    def restore(self) -> None:
        """Give the server what it had then."""
        self._stores[SERVER].close()
        shutil.copy(self._file("backup"), self._file(SERVER))

    def check(self) -> None:
        """No file holds a secret in clear."""
        if any(SECRET.encode() in file.read_bytes() for file in Path(self._folder.name).iterdir()):
            raise Broken("a file holds a secret in clear")

    def traces(self, name: str) -> bytes:
        """The bytes of a machine's file, and of those beside it."""
        files = sorted(Path(self._folder.name).glob(f"{name}.db*"))
        return b"".join(file.read_bytes() for file in files)

    def close(self) -> None:
        """Remove the files."""
        for store in self._stores.values():
            store.close()
        self._folder.cleanup()

    def _file(self, name: str) -> Path:
        return Path(self._folder.name, f"{name}.db")


def _opened(file: Path) -> SqliteStore:
    store = SqliteStore(file)
    # Processes die here, and never the machine: what was written need not reach the disk.
    store._connections.get().execute("PRAGMA synchronous = OFF")
    return store
