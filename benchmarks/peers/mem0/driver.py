"""mem0: memories added as they are, without a language model, in a local Qdrant folder."""

from __future__ import annotations

from importlib.metadata import version
from pathlib import Path
from typing import Any

from mem0 import Memory  # type: ignore[import-not-found]

from peers.protocol import Record, serve

DIMENSIONS = 384


class Mem0:
    """One memory for all users; mem0 keeps them apart by `user_id`."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self._encoder = encoder.name
        self._memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {
                        "path": str(folder / "qdrant"),
                        "on_disk": True,
                        "embedding_model_dims": DIMENSIONS,
                    },
                },
                "embedder": {
                    "provider": "huggingface",
                    "config": {"model": str(encoder), "embedding_dims": DIMENSIONS},
                },
                # Never asked, for nothing is inferred; but mem0 does not start without one.
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": str(folder / "history.db"),
            }
        )

    def ingest(self, user: str, memories: list[Record]) -> None:
        """One add for each memory; its own id travels as metadata."""
        for memory in memories:
            self._memory.add(
                memory["content"], user_id=user, metadata={"ours": memory["id"]}, infer=False
            )

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """Search with the default similarity floor."""
        found = self._memory.search(query, top_k=k, filters={"user_id": user})
        return [hit["metadata"]["ours"] for hit in found["results"]]

    def facts(self) -> dict[str, Any]:
        """Version, encoder, and the legs that are really there."""
        keywords = self._memory.vector_store.keyword_search("anything") is not None
        return {
            "version": version("mem0ai"),
            "encoder": self._encoder,
            "legs": ["vector (exact, Qdrant in process)", *(["BM25"] if keywords else [])],
            "notes": [
                "search drops what is less similar than 0.1",
                *([] if keywords else ["the BM25 leg is missing: fastembed is not installed"]),
                "no entity boost: entities are only linked when a language model infers",
            ],
        }

    def close(self) -> None:
        """Let go of the Qdrant folder."""
        self._memory.vector_store.client.close()


if __name__ == "__main__":
    serve(Mem0)
