"""Files of other programs, for tests of imports; those in `foreign` were made by the programs."""

from __future__ import annotations

import gzip
import sqlite3
import tarfile
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path
from typing import Any

FOREIGN = Path(__file__).parent / "foreign"
COLUMNS = (
    *("id", "content", "tags", "keywords", "category", "importance", "created_at", "updated_at"),
    *("valid_to", "author", "session", "project", "trust", "source", "mood"),
)


def unpacked(folder: Path, name: str) -> Path:
    """A database of `support/foreign`, as its program left it."""
    path = folder / name
    path.write_bytes(gzip.decompress((FOREIGN / f"{name}.gz").read_bytes()))
    return path


def extracted(folder: Path, name: str) -> Path:
    """A folder of `support/foreign`, as its program left it."""
    with tarfile.open(FOREIGN / f"{name}.tar.gz") as archive:
        # Python before 3.11.4, as in Debian 12, has no such filter, and takes no argument for one.
        archive.extraction_filter = getattr(tarfile, "data_filter", lambda member, _: member)
        archive.extractall(folder)  # noqa: S202  a file of our own
    return folder


def rows(path: Path, table: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(path)) as database:
        database.row_factory = sqlite3.Row
        return [dict(row) for row in database.execute(f"SELECT * FROM {table}")]


def drawers(path: Path) -> dict[str, dict[str, Any]]:
    """The fields of every drawer of a palace, by its id; those of its index are left out."""
    found: dict[str, dict[str, Any]] = {}
    with closing(sqlite3.connect(path)) as database:
        for drawer, key, *values in database.execute(
            "SELECT e.embedding_id, m.key, m.string_value, m.int_value, m.float_value"
            " FROM embeddings AS e JOIN embedding_metadata AS m USING (id)"
            " JOIN segments AS s ON s.id = e.segment_id"
            " JOIN collections AS c ON c.id = s.collection WHERE c.name = 'mempalace_drawers'"
        ):
            value = next((each for each in values if each is not None), None)
            found.setdefault(drawer, {})[key] = value
    return found


def claude_export(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Conversations in the schema of github.com/brandtcormorant/claude-json-schema."""
    return [
        {
            "uuid": f"conversation-{n}",
            "name": f"Chat {n}",
            "created_at": "2025-05-01T10:00:00.000000Z",
            "updated_at": "2025-05-01T10:05:00.000000Z",
            "account": {"uuid": "account"},
            "chat_messages": [
                {
                    "uuid": f"message-{n}",
                    "sender": "human",
                    "text": text,
                    "content": [{"type": "text", "text": text}],
                    "created_at": "2025-05-01T10:00:00.000000Z",
                    "updated_at": "2025-05-01T10:00:00.000000Z",
                    "attachments": [],
                    "files": [],
                },
                {"uuid": f"answer-{n}", "sender": "assistant", "text": "Always use tabs."},
            ],
        }
        for n, text in enumerate(texts)
    ]


def chatgpt_export(texts: Iterable[str]) -> list[dict[str, Any]]:
    """Conversations in the schema that github.com/mitkury/chatgpt-export-parser describes."""

    def message(role: str, text: str) -> dict[str, Any]:
        content = {"content_type": "text", "parts": [text]}
        return {"author": {"role": role}, "content": content, "create_time": 1_746_090_000.5}

    return [
        {
            "title": f"Chat {n}",
            "create_time": 1_746_090_000.5,
            "update_time": 1_746_090_100.5,
            "conversation_id": f"conversation-{n}",
            "current_node": "asked",
            "mapping": {
                "root": {"id": "root", "message": None, "parent": None, "children": ["asked"]},
                "given-up": {
                    "id": "given-up",
                    "message": message("user", "Never use type hints."),
                    "parent": "root",
                    "children": [],
                },
                "asked": {
                    "id": "asked",
                    "message": message("user", text),
                    "parent": "root",
                    "children": [],
                },
            },
        }
        for n, text in enumerate(texts)
    ]
