"""LanceDB: hybrid search over a table per user, fused by its default reranker."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import lancedb  # type: ignore[import-not-found]
from lancedb.embeddings import get_registry  # type: ignore[import-not-found]
from lancedb.index import FTS  # type: ignore[import-not-found]
from lancedb.pydantic import LanceModel, Vector  # type: ignore[import-not-found]

from peers.protocol import Record, serve


class LanceDb:
    """A database in a folder; one table for each user."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self._encoder = encoder.name
        self._database = lancedb.connect(folder / "lancedb")
        embed = get_registry().get("sentence-transformers").create(name=str(encoder))

        class Row(LanceModel):  # type: ignore[misc]
            id: str
            content: str = embed.SourceField()
            vector: Vector(embed.ndims()) = embed.VectorField()  # type: ignore[valid-type]

        self._schema = Row

    def ingest(self, user: str, memories: list[Record]) -> None:
        """A table of contents with their vectors, then its full-text index."""
        table = self._database.create_table(user, schema=self._schema)
        table.add([{"id": m["id"], "content": m["content"]} for m in memories])
        table.create_index("content", config=FTS())

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """Hybrid search as its guide shows it: both legs, reciprocal rank fusion."""
        table = self._database.open_table(user)
        rows = table.search(query, query_type="hybrid").limit(k).to_list()
        return [row["id"] for row in rows]

    def facts(self) -> dict[str, Any]:
        """Version, encoder, legs and notes."""
        return {
            "version": lancedb.__version__,
            "encoder": self._encoder,
            "legs": ["vector (exact)", "full text (BM25, stemmed, without stop words)"],
            "notes": ["each leg gives k candidates to reciprocal rank fusion (K=60)"],
        }

    def close(self) -> None:
        """Nothing to let go of: the tables are files."""


if __name__ == "__main__":
    serve(LanceDb)
