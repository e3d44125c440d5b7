"""The embedders of a run: made once for all its users and arms.

The embeddings of memories are kept for the next run, since they take most of its time. Queries are
embedded each time they are asked, so that the latency is what a user would see; a sweep, which
asks the same queries again and again and times nothing, keeps theirs too.
"""

from __future__ import annotations

from pathlib import Path

from bearinmind.app import embedders_of
from bearinmind.config import Settings, cache_folder
from bearinmind.embed.cache import CachedEmbedder, EmbeddingCache
from bearinmind.embed.embedders import Embedders
from bearinmind.protocols import Embedder

_MOST_BYTES = 4_000_000_000  # every published set with every recipe that was ever swept


class EmbeddersOfRun:
    """Gives settings their embedders."""

    def __init__(self, *, keep_queries: bool = False, file: Path | None = None) -> None:
        self._keep_queries = keep_queries
        self._file = file or default_cache()
        self._made: dict[str, Embedders] = {}

    def of(self, settings: Settings) -> Embedders:
        """The embedders that these settings ask for.

        Raises:
            MindError: there are none, such as for want of a key.
        """
        asked = repr([getattr(settings, name) for name in Settings.model_fields if "embed" in name])
        if asked not in self._made:
            self._made[asked] = self._make(settings)
        return self._made[asked]

    def _make(self, settings: Settings) -> Embedders:
        embedder = embedders_of(settings).configured()
        if embedder is None:
            return Embedders.among(None)
        return Embedders.among(kept(embedder, queries=self._keep_queries, file=self._file))

    def close(self) -> None:
        """Release every model."""
        for embedders in self._made.values():
            embedders.close()
        self._made.clear()


def kept(embedder: Embedder, *, queries: bool = False, file: Path | None = None) -> CachedEmbedder:
    """The same embedder, asked only for what no run ever embedded with it."""
    cache = EmbeddingCache(file or default_cache(), most_bytes=_MOST_BYTES)
    return CachedEmbedder(embedder, cache, queries=queries)


def default_cache() -> Path:
    """The file in which embeddings are kept from run to run."""
    return cache_folder() / "bench-embeddings.db"
