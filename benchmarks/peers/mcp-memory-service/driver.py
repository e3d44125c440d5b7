"""mcp-memory-service: hybrid search of its SQLite storage, a database for each user."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Coroutine
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from mcp_memory_service.models.memory import Memory  # type: ignore[import-not-found]
from mcp_memory_service.storage.sqlite_vec import (  # type: ignore[import-not-found]
    SqliteVecMemoryStorage,
)
from mcp_memory_service.utils.hashing import (  # type: ignore[import-not-found]
    generate_content_hash,
)

from peers.protocol import Record, serve

T = TypeVar("T")


class McpMemoryService:
    """One database for each user: the keyword leg does not know the service's own partitions."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        # Its ONNX encoder has the same weights, but can only be had from the network.
        os.environ["MCP_MEMORY_USE_ONNX"] = "0"
        self._folder = folder
        self._encoder = encoder
        self._loop = asyncio.new_event_loop()
        self._users: dict[str, Any] = {}
        self._refused = 0

    def ingest(self, user: str, memories: list[Record]) -> None:
        """One batch; exact duplicates are refused, and counted."""
        storage = SqliteVecMemoryStorage(
            str(self._folder / f"{user}.db"), embedding_model=str(self._encoder)
        )
        self._wait(storage.initialize())
        outcomes = self._wait(storage.store_batch([_memory(record) for record in memories]))
        self._refused += sum(not stored for stored, _reason in outcomes)
        self._users[user] = storage

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """Search in its hybrid mode; an error it answers with is raised."""
        found = self._wait(self._users[user].search_memories(query=query, mode="hybrid", limit=k))
        if "error" in found:
            raise RuntimeError(found["error"])
        return [memory["ours"] for memory in found["memories"]]

    def facts(self) -> dict[str, Any]:
        """Version, encoder, legs and notes."""
        return {
            "version": version("mcp-memory-service"),
            "encoder": self._encoder.name,
            "legs": ["vector (sqlite-vec, exact)", "keywords (FTS5 trigrams, BM25)"],
            "notes": [
                f"refused at ingest: {self._refused}",
                "hybrid is a mode to be asked for; the default mode is vectors alone",
                "scores added 0.7 vectors to 0.3 keywords, twice k candidates of each",
            ],
        }

    def close(self) -> None:
        """Close every user's database."""
        for storage in self._users.values():
            self._wait(storage.close())
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


def _memory(record: Record) -> Any:  # noqa: ANN401 - its type is unknown outside of its environment
    return Memory(
        content=record["content"],
        content_hash=generate_content_hash(record["content"]),
        tags=record["tags"],
        metadata={"ours": record["id"]},
        created_at_iso=f"{record['created_at']}Z" if record["created_at"] else None,
    )


if __name__ == "__main__":
    serve(McpMemoryService)
