"""Embeddings that were computed before, kept in one file that many processes may share."""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
import platformdirs

from recollect.bench import statements
from recollect.errors import StoreUnavailable
from recollect.protocols import Embedder

if TYPE_CHECKING:
    from recollect.protocols import Vectors

_SQL = statements.load("embeddings.sql")
_AT_ONCE = 256  # texts between two commits: what an interrupted run loses
_BUSY_S = 60  # another process writes for milliseconds


class EmbeddingCache:
    """A file of embeddings by what was embedded and by which embedder.

    It holds vectors and digests, no texts, and can be deleted at any time.
    """

    def __init__(self, file: Path) -> None:
        self._file = file
        with self._translated():
            file.parent.mkdir(parents=True, exist_ok=True)
            # Vectors tell something about the texts: nobody else's business.
            os.close(os.open(file, os.O_CREAT | os.O_RDWR, 0o600))
            self._connection = sqlite3.connect(file, timeout=_BUSY_S)
            self._connection.execute(_SQL["create"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._connection.close()

    def embed(self, embedder: Embedder, texts: Sequence[str]) -> Vectors:
        """A row for each text; only what was never embedded before costs anything.

        Raises:
            StoreUnavailable: the file cannot be used.
        """
        if not texts:
            return embedder.embed_memories([])
        keys = [_key(embedder.space.key, text) for text in texts]
        wanted = dict(zip(keys, texts, strict=True))
        known = self._find([*wanted])
        missing = sorted(wanted.keys() - known.keys(), key=lambda key: (len(wanted[key]), key))
        for some in _slices(missing):
            vectors = embedder.embed_memories([wanted[key] for key in some])
            fresh = dict(zip(some, vectors, strict=True))
            self._keep(fresh)
            known |= fresh
        return np.stack([known[key] for key in keys])

    def _find(self, keys: Sequence[str]) -> dict[str, Vectors]:
        found: dict[str, Vectors] = {}
        with self._translated():
            for some in _slices(keys):
                rows = self._connection.execute(_SQL["find"], {"keys": json.dumps(some)})
                found |= {key: np.frombuffer(vector, np.float32) for key, vector in rows}
        return found

    def _keep(self, vectors: Mapping[str, Vectors]) -> None:
        with self._translated(), self._connection:  # one transaction
            self._connection.executemany(
                _SQL["keep"], [(key, vector.tobytes()) for key, vector in vectors.items()]
            )

    @contextmanager
    def _translated(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError) as exc:
            raise StoreUnavailable(
                f"the embeddings in {str(self._file)!r} cannot be used: {exc}",
                hint="Delete the file: it holds nothing that cannot be computed again.",
            ) from exc


def default_file() -> Path:
    """Where embeddings are kept."""
    return Path(platformdirs.user_cache_dir("recollect", appauthor=False)) / "embeddings.db"


def _key(space: str, text: str) -> str:
    return hashlib.sha256(f"{space}\n{text}".encode()).hexdigest()


def _slices(keys: Sequence[str]) -> Iterator[Sequence[str]]:
    for begin in range(0, len(keys), _AT_ONCE):
        yield keys[begin : begin + _AT_ONCE]
