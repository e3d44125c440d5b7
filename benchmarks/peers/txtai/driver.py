"""txtai: a hybrid index with content for each user."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

import txtai  # type: ignore[import-not-found]

from peers.protocol import Record, serve


class Txtai:
    """One embeddings database for each user; txtai has no word for a user."""

    def __init__(self, _folder: Path, encoder: Path) -> None:
        self._encoder = encoder
        self._models: dict[str, Any] = {}  # one encoder in memory for the indexes of all users
        self._users: dict[str, Any] = {}

    def ingest(self, user: str, memories: list[Record]) -> None:
        """Dense vectors, a BM25 index and the contents themselves."""
        embeddings = txtai.Embeddings(
            path=str(self._encoder), hybrid=True, content=True, models=self._models
        )
        embeddings.index((memory["id"], memory["content"], None) for memory in memories)
        self._users[user] = embeddings

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """Hybrid search with the default weights."""
        return [hit["id"] for hit in self._users[user].search(query, k)]

    def facts(self) -> dict[str, Any]:
        """Version, encoder, legs and notes."""
        return {
            "version": version("txtai"),
            "encoder": self._encoder.name,
            "legs": ["vector (Faiss)", "keywords (BM25)"],
            "notes": [
                "ten candidates of each leg for every hit asked for, scores added half and half",
                "the index is held in memory, the contents in a temporary SQLite file",
            ],
        }

    def close(self) -> None:
        """Close every user's database."""
        for embeddings in self._users.values():
            embeddings.close()


if __name__ == "__main__":
    serve(Txtai)
