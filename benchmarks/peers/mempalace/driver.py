"""MemPalace: drawers filed and searched through the tools its MCP server offers."""

from __future__ import annotations

import os
from importlib.metadata import version
from pathlib import Path
from typing import Any

from peers.protocol import Record, serve


class MemPalace:
    """One palace for all users; each user is a wing."""

    def __init__(self, folder: Path, encoder: Path) -> None:
        os.environ["MEMPALACE_PALACE_PATH"] = str(folder / "palace")
        os.environ["MEMPALACE_EMBEDDING_MODEL"] = "minilm"
        os.environ["MEMPALACE_EMBEDDING_DEVICE"] = "cpu"
        os.environ["MEMPALACE_EMBEDDING_THREADS"] = "1"  # as OMP_NUM_THREADS for the others
        # Where its embedder looks before it would download the same model.
        cache = folder / ".cache" / "chroma" / "onnx_models" / encoder.name
        cache.mkdir(parents=True)
        (cache / "onnx").symlink_to(encoder.with_name(f"{encoder.name}-onnx"))
        # Imported late: the palace's place is read when the module is.
        from mempalace import mcp_server  # type: ignore[import-not-found]  # noqa: PLC0415

        self._encoder = encoder.name
        self._tools = mcp_server
        self._ours: dict[str, str] = {}  # drawer ids to ours
        self._known = 0

    def ingest(self, user: str, memories: list[Record]) -> None:
        """One drawer for each memory, in the room of its category."""
        for memory in memories:
            filed = self._tools.tool_add_drawer(
                wing=user, room=memory["category"] or "general", content=memory["content"]
            )
            if not filed["success"]:
                raise RuntimeError(filed["error"])
            self._known += filed["drawer_id"] in self._ours
            self._ours.setdefault(filed["drawer_id"], memory["id"])

    def recall(self, user: str, query: str, k: int) -> list[str]:
        """Search in the user's wing; pieces of one drawer count once."""
        found = self._tools.tool_search(query, limit=k, wing=user)
        if "error" in found:
            raise RuntimeError(found["error"])
        return list(dict.fromkeys(self._ours[hit["drawer_id"]] for hit in found["results"]))

    def facts(self) -> dict[str, Any]:
        """Version, encoder, legs and notes."""
        return {
            "version": version("mempalace"),
            "encoder": f"{self._encoder} (ONNX)",
            "legs": ["vector (Chroma, HNSW)", "BM25 over the vector leg's candidates"],
            "notes": [
                f"known already at ingest: {self._known}",
                "keywords only reorder four times k candidates that the vectors found",
                "search drops what is farther than a cosine distance of 1.5",
            ],
        }

    def close(self) -> None:
        """Nothing to let go of: the palace is files."""


if __name__ == "__main__":
    serve(MemPalace)
