"""Store with MemPalace, and write its databases: `mempalace_files.py FOLDER`.

Run by the Python of an environment with `mempalace`; an endpoint on this machine stands in for a
real embedder, so that nothing is downloaded.
"""

from __future__ import annotations

import hashlib
import json
import os
import sqlite3
import sys
import tarfile
import threading
from contextlib import closing
from http.server import BaseHTTPRequestHandler, HTTPServer
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from types import ModuleType

from peers.files.facts import facts

_NOTE = "# Deploys\n\nA deploy of {topic} waits for the freeze of week {n} to end.\n"


class Embedder(BaseHTTPRequestHandler):
    """Answers like an embedder, with a digest of each text."""

    def do_POST(self) -> None:
        """A vector for each text."""
        texts = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["input"]
        digests = [hashlib.sha256(text.encode()).digest()[:8] for text in texts]
        data = [
            {"index": n, "embedding": [*map(float, digest)]} for n, digest in enumerate(digests)
        ]
        body = json.dumps({"data": data}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002  the name it has there
        """Nothing."""


def main() -> None:
    """File drawers, diaries and facts of the graph, and mine notes and a chat."""
    server = HTTPServer(("127.0.0.1", 0), Embedder)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with TemporaryDirectory() as folder:
        home = Path(folder)
        palace = home / ".mempalace" / "palace"
        os.environ.update(
            HOME=folder,
            MEMPALACE_PALACE_PATH=str(palace),
            MEMPALACE_EMBEDDING_MODEL="openai-compat",
            MEMPALACE_EMBEDDING_API_URL=f"http://127.0.0.1:{server.server_port}/v1",
            MEMPALACE_EMBEDDING_API_MODEL="digest",
            MEMPALACE_EMBEDDING_API_KEY="none",
        )
        mcp_server = import_module("mempalace.mcp_server")  # reads the environment
        _file(mcp_server)
        _mine(mcp_server, home)
        with tarfile.open(Path(sys.argv[1]) / "mempalace.tar.gz", "w:gz") as archive:
            for path in sorted(palace.parent.rglob("*.sqlite3")):
                with closing(sqlite3.connect(path)) as database:
                    database.execute("PRAGMA wal_checkpoint(TRUNCATE)")  # the tools keep it open
                archive.add(path, path.relative_to(home))


def _file(tools: ModuleType) -> None:
    """Drawers, of which one is long and one is changed; a diary; a graph."""
    filed = [
        _done(tools.tool_add_drawer(wing="shop", room=topic, content=text, added_by="dana"))
        for _, topic, text in facts()
    ]
    ids = [answer["drawer_id"] for answer in filed]
    long = "\n\n".join(text for _, _, text in facts(30))
    note = {"wing": "shop", "room": "summary", "source_file": "summary.md"}
    _done(tools.tool_add_drawer(content=long, **note))
    changed = "Runbook 1 for search says to warn the on-call engineer first."
    _done(tools.tool_update_drawer(ids[1], content=changed))
    _done(tools.tool_diary_write("reviewer", "The audit of billing found nothing.", topic="audit"))
    since, until = {"valid_from": "2025-01-01"}, {"valid_to": "2024-12-31"}
    _done(tools.tool_kg_add("Dana", "works_on", "billing", source_drawer_id=ids[0], **since))
    _done(tools.tool_kg_add("Dana", "lives_in", "Porto", valid_from="2020-05-01", **until))
    _done(tools.tool_kg_add("billing", "runs_on", "Postgres 15"))
    _done(tools.tool_kg_supersede("billing", "runs_on", "Postgres 15", "Postgres 17"))


def _mine(tools: ModuleType, home: Path) -> None:
    """Notes of a project, and a chat of Claude Code."""
    notes = home / "notes"
    notes.mkdir()
    for number, topic, _ in facts(3):
        (notes / f"{topic}.md").write_text(_NOTE.format(topic=topic, n=number), "utf-8")
    rooms = "wing: handbook\nrooms:\n- name: general\n  description: All\n"
    (notes / "mempalace.yaml").write_text(rooms, "utf-8")
    _done(tools.tool_mine(source=str(notes)))
    chats = home / "chats"
    chats.mkdir()
    turns = [("user", "Which port has search?"), ("assistant", "Search listens on port 7001.")]
    lines = [
        {
            "type": role,
            "message": {"role": role, "content": text},
            "sessionId": "session-1",
            "uuid": f"message-{n}",
            "timestamp": f"2025-05-01T10:00:0{n}.000Z",
        }
        for n, (role, text) in enumerate(turns * 2)
    ]
    (chats / "chat.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    _done(tools.tool_mine(source=str(chats), mode="convos", wing="chats"))


def _done(answer: dict[str, object]) -> dict[str, object]:
    if not answer.get("success"):
        raise SystemExit(f"mempalace refused: {answer}")
    return answer


if __name__ == "__main__":
    main()
