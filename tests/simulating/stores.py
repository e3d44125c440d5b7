"""Where the memories of a world are kept, and how they are found by a process that begins."""

from __future__ import annotations

import copy
import shutil
import tempfile
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Protocol

from bearinmind.protocols import Store
from bearinmind.store.sqlite.store import SqliteStore
from bearinmind.testing import MemoryStore
from bearinmind.types import UserId
from simulating.ledger import SECRET, Broken

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


class InMemory:
    """Satisfies `Keeping`: the quickest way, and what most schedules are run on."""

    user = UserId("ada")
    may_be_cut = False

    def __init__(self) -> None:
        self._stores: dict[str, MemoryStore] = {}
        self._restore: Callable[[], None] | None = None

    def store(self, name: str) -> Store:
        """What was written to memory stays there, as it would in a file."""
        return self._stores.setdefault(name, MemoryStore())

    def back_up(self) -> None:
        """Keep what the server has now."""
        self._restore = backup(self._stores[SERVER])

    def restore(self) -> None:
        """Give the server what it had then."""
        assert self._restore is not None
        self._restore()

    def check(self) -> None:
        """There is nothing below."""

    def traces(self, name: str) -> bytes:  # noqa: ARG002
        """Memory is not looked through."""
        return b""

    def close(self) -> None:
        """There is nothing to let go of."""


def backup(store: MemoryStore) -> Callable[[], None]:
    """What puts a store in memory back to what it is now."""
    kept = {name: copy.deepcopy(vars(store)[name]) for name in ("_holdings", "_shares", "_feeds")}
    return lambda: vars(store).update(copy.deepcopy(kept))


class InFiles:
    """Satisfies `Keeping`: one SQLite file for every machine."""

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
            file.write_bytes(_empty_file())
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


@cache
def _empty_file() -> bytes:
    """An empty store: to make one takes as long as half a schedule."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "empty.db")
        _opened(file).close()
        return file.read_bytes()
