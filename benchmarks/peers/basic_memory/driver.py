"""basic-memory: notes written and searched through the tools its MCP server offers.

With the argument `no-floor` its search drops nothing for being too little alike.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Coroutine
from contextlib import AsyncExitStack
from importlib.metadata import version
from pathlib import Path
from typing import Any, TypeVar

from peers.protocol import Record, serve

FLOOR = "no-floor" not in sys.argv[1:]
T = TypeVar("T")


class BasicMemory:
    """One server for all users; each user is a project."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        os.environ |= {
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_MODEL": f"sentence-transformers/{encoder.name}",
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_CACHE_DIR": str(_cache(folder, encoder)),
            "BASIC_MEMORY_SEMANTIC_EMBEDDING_THREADS": "1",  # as OMP_NUM_THREADS for the others
        }
        if not FLOOR:
            os.environ["BASIC_MEMORY_SEMANTIC_MIN_SIMILARITY"] = "0"
        # Imported late: its settings are read from the environment.
        from basic_memory.config import (  # type: ignore[import-not-found]  # noqa: PLC0415
            init_mcp_logging,
        )
        from basic_memory.mcp import (  # type: ignore[import-not-found]  # noqa: PLC0415
            server,
            tools,
        )

        init_mcp_logging()  # as its command does; without it every step is written out
        self._folder = folder
        self._encoder = encoder.name
        self._tools = tools
        self._ours: dict[str, str] = {}  # permalinks to ours
        self._loop = asyncio.new_event_loop()
        self._server = AsyncExitStack()
        self._wait(self._server.enter_async_context(server.lifespan(server.mcp)))

    def ingest(self, user: str, memories: list[Record]) -> None:
        """One note for each memory, in the directory of its category."""
        self._wait(self._tools.create_memory_project(user, str(self._folder / user)))
        for memory in memories:
            written = self._wait(
                self._tools.write_note(
                    title=memory["id"],
                    content=memory["content"],
                    directory=memory["category"] or "notes",
                    project=user,
                    tags=memory["tags"],
                    output_format="json",
                )
            )
            self._ours[written["permalink"]] = memory["id"]
        self._wait(_indexed())

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """Search in the user's project, in the mode the tool chooses by itself."""
        found = self._wait(
            self._tools.search_notes(query, project=user, page_size=k, output_format="json")
        )
        if isinstance(found, str):
            raise RuntimeError(found)  # noqa: TRY004 - a text is its way to tell of an error
        return [self._ours[hit["permalink"]] for hit in found["results"]]

    def facts(self) -> dict[str, Any]:
        """Version, encoder, and the legs that are really there."""
        from basic_memory.repository.semantic_runtime import (  # type: ignore[import-not-found]  # noqa: PLC0415
            sqlite_vector_runtime_available,
        )

        vectors = sqlite_vector_runtime_available()
        return {
            "version": version("basic-memory"),
            "encoder": f"{self._encoder} (ONNX)",
            "legs": ["words (FTS5)", *(["vector (sqlite-vec, exact)"] if vectors else [])],
            "notes": [
                f"the vector leg drops what is less similar than {0.55 if FLOOR else 0}",
                "a note's title is the memory's id",
                *([] if vectors else ["words alone: this Python loads no SQLite extensions"]),
            ],
        }

    def close(self) -> None:
        """Stop the server."""
        self._wait(self._server.aclose())
        self._loop.close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return self._loop.run_until_complete(work)


async def _indexed() -> None:
    """Wait for what a write leaves to do, embedding too, as its commands do before they end."""
    from basic_memory.index.local_schedulers import (  # type: ignore[import-not-found]  # noqa: PLC0415
        drain_background_tasks,
    )
    from basic_memory.index.note_content_materialization import (  # type: ignore[import-not-found]  # noqa: PLC0415
        drain_pending_materializations,
    )

    await drain_pending_materializations()
    await drain_background_tasks()


def _cache(folder: Path, encoder: Path) -> Path:
    """Where its embedder looks before it would download the same model."""
    cache = folder / "models"
    model = cache / f"models--Qdrant--{encoder.name}-onnx"
    (model / "refs").mkdir(parents=True)
    (model / "refs" / "main").write_text("shared", encoding="utf-8")
    (model / "snapshots").mkdir()
    (model / "snapshots" / "shared").symlink_to(encoder.with_name(f"{encoder.name}-onnx"))
    return cache


if __name__ == "__main__":
    serve(BasicMemory)
