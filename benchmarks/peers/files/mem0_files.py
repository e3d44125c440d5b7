"""Store with mem0, and write what it gives back and its history: `mem0_files.py FOLDER`.

Run by the Python of an environment with `mem0ai`; its mock embedder stands in for a real one.
"""

from __future__ import annotations

import gzip
import json
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mem0 import Memory  # type: ignore[import-not-found]
from mem0.embeddings.mock import MockEmbeddings  # type: ignore[import-not-found]

from peers.files.facts import facts


def main() -> None:
    """Add, change and delete memories; write `mem0.json.gz` and `mem0-history.db.gz`."""
    target = Path(sys.argv[1])
    with TemporaryDirectory() as folder:
        place = Path(folder)
        memory = Memory.from_config(
            {
                "vector_store": {
                    "provider": "qdrant",
                    "config": {"path": str(place / "qdrant"), "embedding_model_dims": 10},
                },
                "embedder": {"provider": "openai", "config": {"api_key": "none"}},
                "llm": {"provider": "openai", "config": {"api_key": "none"}},
                "history_db_path": str(place / "history.db"),
            }
        )
        memory.embedding_model = MockEmbeddings()
        ids = []
        for number, topic, text in facts():
            added = memory.add(
                [{"role": "user", "content": text, **({"name": "dana"} if number % 3 else {})}],
                user_id="alex",
                agent_id="planner" if number % 2 else None,
                run_id=f"run-{number // 50}",
                metadata={"topic": topic, "number": number},
                infer=False,
            )
            ids.append(added["results"][0]["id"])
        memory.update(ids[1], "Runbook 1 for search says to warn the on-call engineer first.")
        memory.delete(ids[2])
        export = memory.get_all(filters={"user_id": "alex"}, top_k=1_000)
        memory.close()
        _write(target / "mem0.json.gz", json.dumps(export, indent=1, default=str).encode())
        _write(target / "mem0-history.db.gz", (place / "history.db").read_bytes())


def _write(path: Path, data: bytes) -> None:
    path.write_bytes(gzip.compress(data, 9, mtime=0))


if __name__ == "__main__":
    main()
