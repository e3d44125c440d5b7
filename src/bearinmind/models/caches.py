"""Caches in private SQLite files that many processes may share: of anything, and of embeddings.

They hold digests and what was made of texts, but no texts, and can be deleted at any time. A broken
file costs the cache, and is no error.
"""

from __future__ import annotations

import hashlib
import logging
import os
import sqlite3
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import KW_ONLY, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Self

from bearinmind.errors import EmbedderFailure
from bearinmind.models import forks
from bearinmind.protocols import Embedder
from bearinmind.text.sql_statements import statements_of
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

_BUSY_SECONDS = 5.0  # another process writes for milliseconds
_DAMAGED = (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB)
_PASSING = (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
_VERSION = 1  # of the tables in all of these files: those of another one are made anew ...
_MAKING = ("drop_", "create_", "mark")  # ... by these statements, in their order
_log = logging.getLogger(__name__)


class CacheFile:
    """Values by key. Any number of threads and processes may use it at the same time.

    A damaged file is replaced; in a file that cannot be used nothing is found and nothing kept.
    Both are logged.
    """

    def __init__(self, file: Path, what: str, *, most_bytes: int) -> None:
        """Nothing is opened yet; what it holds names its statements in the folder `sql`."""
        statements = files("bearinmind.models").joinpath("sql", f"{what}.sql")
        self._sql = statements_of(statements.read_text("utf-8"))
        self._file = file
        self._what = what
        self._most_bytes = most_bytes
        self._lock = forks.Lock()
        self._connection: sqlite3.Connection | None = None
        self._usable = True

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        with self._lock:
            self._disconnect()

    def find(self, keys: Sequence[bytes]) -> dict[bytes, bytes]:
        """The values of those keys that are known."""
        values: dict[bytes, bytes] = {}
        with self.using() as connection:
            if connection is not None:
                for key in keys:
                    row = connection.execute(self._sql["find"], {"key": key}).fetchone()
                    if row is not None:
                        values[key] = row[0]
        return values

    def keep(self, values: Mapping[bytes, bytes]) -> None:
        """Keep values by their keys; the oldest make room for them."""
        rows = [{"key": key, "value": value} for key, value in values.items()]
        with self.using() as connection:
            if connection is None:
                return
            with connection:  # one transaction
                connection.executemany(self._sql["keep"], rows)
                while connection.execute(self._sql["size"]).fetchone()[0] > self._most_bytes:
                    if not connection.execute(self._sql["evict"]).rowcount:
                        break

    @contextmanager
    def using(self) -> Iterator[sqlite3.Connection | None]:
        """The connection; None when the file cannot be used. Errors of SQLite end here."""
        with self._lock:
            try:
                yield self._opened()
            except sqlite3.DatabaseError as exc:
                self._disconnect()
                removed = exc.sqlite_errorcode in _DAMAGED and self._remove(exc)
                if not removed and exc.sqlite_errorcode not in _PASSING:
                    self._give_up(exc)

    def _opened(self) -> sqlite3.Connection | None:
        if self._connection is None and self._usable:
            try:
                self._connection = self._open()
            except sqlite3.DatabaseError as exc:
                if exc.sqlite_errorcode not in _DAMAGED or not self._remove(exc):
                    raise
                self._connection = self._open()
            except OSError as exc:
                self._give_up(exc)
        return self._connection

    def _remove(self, exc: Exception) -> bool:
        """Remove a damaged file; the next use makes a new one."""
        _log.warning("%r was damaged (%s); a new cache is begun", str(self._file), exc)
        try:
            self._file.unlink(missing_ok=True)
        except OSError:
            return False
        return True

    def _give_up(self, exc: Exception) -> None:
        """Go on without the cache."""
        self._usable = False
        said = "%s are not cached: %r cannot be used (%s)"
        _log.warning(said, self._what, str(self._file), exc)

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def _open(self) -> sqlite3.Connection:
        self._file.parent.mkdir(parents=True, exist_ok=True)
        # The values tell something about the texts, so only the user may read them.
        os.close(os.open(self._file, os.O_CREAT | os.O_RDWR, 0o600))
        connection = sqlite3.connect(self._file, timeout=_BUSY_SECONDS, check_same_thread=False)
        try:
            connection.execute(self._sql["hurry"])  # less safety, more speed
            if self._version(connection) != _VERSION:
                connection.execute("BEGIN IMMEDIATE")
                with connection:
                    if self._version(connection) != _VERSION:  # no other process was faster
                        for name in self._sql:
                            if name.startswith(_MAKING):
                                connection.execute(self._sql[name])
        except sqlite3.Error:
            connection.close()
            raise
        return connection

    def _version(self, connection: sqlite3.Connection) -> int:
        return int(connection.execute(self._sql["version"]).fetchone()[0])


# ---- of embeddings -----------------------------------------------------------------------------

MOST_BYTES = 512 * 1024 * 1024  # of a file: a hundred thousand vectors of 1,024 dimensions
_AT_ONCE = 256  # texts between two commits: what an interrupted run loses


class EmbeddingCache(CacheFile):
    """Vectors by their keys, and the dimensions of models."""

    def __init__(self, file: Path, *, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(file, "embeddings", most_bytes=most_bytes)

    def dimensions(self, model: str) -> int | None:
        """The dimensions that a model was found to have."""
        with self.using() as connection:
            if connection is not None:
                row = connection.execute(self._sql["find_dimensions"], {"model": model}).fetchone()
                return int(row[0]) if row is not None else None
        return None

    def keep_dimensions(self, model: str, dimensions: int) -> None:
        """Remember how many dimensions a model has."""
        with self.using() as connection:
            if connection is not None:
                with connection:
                    connection.execute(
                        self._sql["keep_dimensions"], {"model": model, "dimensions": dimensions}
                    )


@dataclass(frozen=True, slots=True, eq=False)
class CachedEmbedder:
    """An embedder that computes only what is not in a cache; closing it closes both."""

    embedder: Embedder
    cache: EmbeddingCache
    _: KW_ONLY
    queries: bool = True  #: whether the vectors of queries are kept too
    #: Gets the number of memories that are embedded, and of all.
    progress: Callable[[int, int], None] = lambda _done, _all: None

    def __repr__(self) -> str:
        return f"CachedEmbedder({self.embedder!r})"

    @property
    def space(self) -> Space:
        """The space of its vectors."""
        return self.embedder.space

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""
        return self.embedder.leaves_machine

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text; the vectors that were made before a failure are kept."""
        import numpy as np  # noqa: PLC0415  slow to import

        if not texts:
            return np.zeros((0, self.space.dimensions), np.float32)
        keys = [_key(self.space, "memory", text) for text in texts]
        text_of = dict(zip(keys, texts, strict=True))
        known = self._find([*text_of])
        # Texts of one length together: less padding for a model, fuller requests for a server.
        missing = sorted(text_of.keys() - known.keys(), key=lambda key: (len(text_of[key]), key))
        self.progress(len(known), len(text_of))
        for begin in range(0, len(missing), _AT_ONCE):
            some = missing[begin : begin + _AT_ONCE]
            try:
                known |= self._embed(some, text_of)
            except EmbedderFailure as exc:
                raise self._among_all(exc, some, keys, text_of) from exc
            self.progress(len(known), len(text_of))
        return np.stack([known[key] for key in keys])

    def embed_query(self, text: str) -> Vector:
        """A query's vector."""
        if not self.queries:
            return self.embedder.embed_query(text)
        key = _key(self.space, "query", text)
        vector = self._find([key]).get(key)
        if vector is None:
            vector = self.embedder.embed_query(text)
            self.cache.keep({key: vector.tobytes()})
        return vector

    def close(self) -> None:
        """Release the embedder and the file."""
        self.embedder.close()
        self.cache.close()

    def _embed(self, keys: Sequence[bytes], text_of: Mapping[bytes, str]) -> dict[bytes, Vector]:
        vectors = self.embedder.embed_memories([text_of[key] for key in keys])
        fresh = dict(zip(keys, vectors, strict=True))
        self.cache.keep({key: vector.tobytes() for key, vector in fresh.items()})
        return fresh

    def _find(self, keys: Sequence[bytes]) -> dict[bytes, Vector]:
        """The cached vectors of these keys; damaged ones are left out."""
        import numpy as np  # noqa: PLC0415  slow to import

        vectors: dict[bytes, Vector] = {}
        size = self.space.dimensions * np.dtype(np.float32).itemsize
        for key, blob in self.cache.find(keys).items():
            vector = np.frombuffer(blob, np.float32) if len(blob) == size else None
            if vector is not None and abs(float(vector @ vector) - 1.0) < 0.01:  # noqa: PLR2004
                vectors[key] = vector
        return vectors

    def _among_all(
        self,
        exc: EmbedderFailure,
        some: Sequence[bytes],
        keys: Sequence[bytes],
        text_of: Mapping[bytes, str],
    ) -> EmbedderFailure:
        """The failure with positions among all texts; the vectors of the others are kept."""
        if not (exc.permanent and exc.refused):
            return exc
        at_fault = {some[position] for position in exc.refused}
        self._embed([key for key in some if key not in at_fault], text_of)
        return EmbedderFailure(
            exc.message,
            hint=exc.hint,
            permanent=True,
            refused=[at for at, key in enumerate(keys) if key in at_fault],
        )


def _key(space: Space, role: str, text: str) -> bytes:
    return hashlib.sha256(f"{space.key}\0{role}\0{text}".encode(errors="surrogatepass")).digest()
