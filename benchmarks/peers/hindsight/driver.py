"""Hindsight: retain and recall without a language model, a bank for each user.

With the argument `graph` its graph leg is on, as it is by default.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from peers.hindsight.server import Server
from peers.protocol import Record, serve

GRAPH = "graph" in sys.argv[1:]
T = TypeVar("T")


class Hindsight:
    """The memory engine on a PostgreSQL of its own."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        self._server = Server(folder)
        os.environ |= {
            "HINDSIGHT_API_DATABASE_URL": self._server.url,
            "HINDSIGHT_API_LLM_PROVIDER": "none",
            "HINDSIGHT_API_EMBEDDINGS_LOCAL_MODEL": str(encoder),
            "HINDSIGHT_API_EMBEDDINGS_LOCAL_FORCE_CPU": "true",
            "HINDSIGHT_API_RERANKER_PROVIDER": "rrf",  # the cross-encoder needs the network
            "HINDSIGHT_API_ENABLE_GRAPH_RETRIEVAL": str(GRAPH).lower(),
        }
        # Imported late: its settings are read from the environment.
        from hindsight_api import (  # type: ignore[import-not-found]  # noqa: PLC0415
            MemoryEngine,
            RequestContext,
        )
        from hindsight_api.engine.task_backend import (  # type: ignore[import-not-found]  # noqa: PLC0415
            SyncTaskBackend,
        )

        self._encoder = encoder.name
        self._loop = asyncio.new_event_loop()
        self._context = RequestContext()
        self._engine = MemoryEngine(task_backend=SyncTaskBackend())
        self._wait(self._engine.initialize())

    def ingest(self, user: str, memories: list[Record]) -> None:
        """One retain for all memories; each is a document of its own."""
        contents = [
            {
                "content": memory["content"],
                "document_id": memory["id"],
                "event_date": _moment(memory["created_at"]),
                "tags": memory["tags"],
            }
            for memory in memories
        ]
        self._wait(self._engine.retain_batch_async(user, contents, request_context=self._context))

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """Recall with its default budgets, cut to k; pieces of one document count once."""
        found = self._wait(self._engine.recall_async(user, query, request_context=self._context))
        return list(dict.fromkeys(fact.document_id for fact in found.results))[:k]

    def facts(self) -> dict[str, Any]:
        """Version, encoder, legs and notes."""
        return {
            "version": version("hindsight-api"),
            "encoder": self._encoder,
            "legs": ["vector (pgvector)", "full text (PostgreSQL)", "temporal"]
            + (["graph"] if GRAPH else []),
            "notes": [
                "no cross-encoder: reciprocal rank fusion decides the order",
                "the vector leg drops what is less similar than 0.3",
                "peak memory includes PostgreSQL, whose shared pages count once per process",
            ],
        }

    def close(self) -> None:
        """Close the engine, then the server."""
        self._wait(self._engine.close())
        self._loop.close()
        self._server.stop()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


def _moment(text: str) -> datetime | None:
    return datetime.fromisoformat(text).replace(tzinfo=UTC) if text else None


if __name__ == "__main__":
    serve(Hindsight)
