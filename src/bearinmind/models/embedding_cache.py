"""A cache of embeddings in one file that many processes may share.

The file holds vectors and digests, no texts, and can be deleted at any time. A broken file costs
the cache, never an embedding.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

from bearinmind.errors import EmbedderFailure
from bearinmind.models.cache_file import CacheFile, Layout
from bearinmind.protocols import Embedder
from bearinmind.text.sql_statements import statements_of
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

MOST_BYTES = 512 * 1024 * 1024  # of a file: a hundred thousand vectors of 1,024 dimensions
_AT_ONCE = 256  # texts between two commits: what an interrupted run loses
_SQL = statements_of(files("bearinmind.models").joinpath("sql", "cache.sql").read_text("utf-8"))
_LAYOUT = Layout(
    what="embeddings",
    statements=_SQL,
    version=1,
    making=("drop_embeddings", "create_embeddings", "drop_learnt", "create_learnt"),
)


class EmbeddingCache(CacheFile):
    """Vectors by their keys, and the dimensions of models."""

    def __init__(self, file: Path, *, most_bytes: int = MOST_BYTES) -> None:
        super().__init__(file, _LAYOUT, most_bytes=most_bytes)

    def dimensions(self, model: str) -> int | None:
        """The dimensions that a model was found to have."""
        with self.using() as connection:
            if connection is not None:
                row = connection.execute(_SQL["find_dimensions"], {"model": model}).fetchone()
                return int(row[0]) if row is not None else None
        return None

    def keep_dimensions(self, model: str, dimensions: int) -> None:
        """Remember how many dimensions a model has."""
        with self.using() as connection:
            if connection is not None:
                with connection:
                    connection.execute(
                        _SQL["keep_dimensions"], {"model": model, "dimensions": dimensions}
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
