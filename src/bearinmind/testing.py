"""For tests: a temporary store, a clock that stands still and ids that count."""

from __future__ import annotations

import itertools
import shutil
import tempfile
import weakref
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import ID_ALPHABET, ID_LENGTH, MemoryId


class TemporaryStore(SqliteStore):
    """An empty SQLite store in a folder of its own, which is removed when the store is closed.

    A store that nobody closes is removed when it is collected, at the latest when the process ends.
    """

    def __init__(self) -> None:
        folder = Path(tempfile.mkdtemp(prefix="bearinmind-"))
        self._remove = weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        path = folder / "memories.db"
        path.write_bytes(empty_file())
        super().__init__(path)
        # Writes of this thread do not wait for the disk: a test does not cut the power.
        self._connections.get().execute("PRAGMA synchronous = OFF")

    def close(self) -> None:
        """Close every connection and remove the folder."""
        super().close()
        self._remove()


@cache
def empty_file() -> bytes:
    """The file of an empty store: a copy opens in 3 ms, to create the tables takes up to 40."""
    with tempfile.TemporaryDirectory(prefix="bearinmind-") as folder:
        path = Path(folder, "memories.db")
        SqliteStore(path).close()
        return path.read_bytes()


class FixedClock:
    """A clock that stands still until it is advanced."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The present moment."""
        return self.now

    def advance(self, **span: float) -> datetime:
        """Let time pass; the keywords are those of `timedelta`."""
        self.now += timedelta(**span)
        return self.now


def counting_ids() -> Callable[[], MemoryId]:
    """A source of valid ids that sort as they are made: 000100000000, 000200000000, ..."""
    counter = itertools.count(1)
    base = len(ID_ALPHABET)

    def new_id() -> MemoryId:
        number = next(counter)
        digits = [ID_ALPHABET[number // base**place % base] for place in (3, 2, 1, 0)]
        return MemoryId("".join(digits).ljust(ID_LENGTH, ID_ALPHABET[0]))

    return new_id
