"""Store with mcp-memory-service and write its file: `mcp_memory_service_files.py FOLDER`.

Run by the Python of an environment with `mcp-memory-service`. Its fallback encoder is enough: the
vectors are taken out of the file, for nobody imports them and they make it large.
"""

from __future__ import annotations

import asyncio
import gzip
import sqlite3
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from mcp_memory_service.models.memory import Memory  # type: ignore[import-not-found]
from mcp_memory_service.storage.graph import GraphStorage  # type: ignore[import-not-found]
from mcp_memory_service.storage.sqlite_vec import (  # type: ignore[import-not-found]
    SqliteVecMemoryStorage,
)
from mcp_memory_service.utils.hashing import (  # type: ignore[import-not-found]
    generate_content_hash,
)

from peers.files.facts import facts


async def write(path: Path) -> None:
    """Store memories with every field, relate two of them, and delete one."""
    storage = SqliteVecMemoryStorage(str(path), embedding_model="none")
    await storage.initialize()
    hashes = []
    for number, topic, text in facts():
        hashes.append(generate_content_hash(text))
        await storage.store(
            Memory(
                content=text,
                content_hash=hashes[-1],
                tags=[topic, f"team-{number % 7}"],
                memory_type=("observation", "decision", "learning")[number % 3],
                metadata={"source": "chat", "agent": "planner", "number": number},
                created_at=1_740_000_000.0 + 3_600 * number,
            )
        )
    await storage.delete(hashes[3])
    graph = GraphStorage(str(path))
    await graph.store_association(hashes[0], hashes[1], 0.6, ["semantic"], {"note": "same team"})
    await graph.store_association(
        hashes[4], hashes[5], 0.5, ["causal"], None, relationship_type="causes"
    )
    storage.conn.execute("DELETE FROM memory_embeddings")
    storage.conn.commit()
    await storage.close()


def main() -> None:
    """Write `mcp-memory-service.db.gz`."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "memory.db"
        asyncio.run(write(path))
        database = sqlite3.connect(path)
        database.execute("VACUUM INTO ?", (str(path) + ".packed",))
        database.close()
        data = Path(str(path) + ".packed").read_bytes()
    packed = gzip.compress(data, 9, mtime=0)
    (Path(sys.argv[1]) / "mcp-memory-service.db.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
