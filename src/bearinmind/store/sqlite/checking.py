"""Looks a SQLite file over for damage; reads only."""

from __future__ import annotations

import sqlite3

from bearinmind.protocols import Finding
from bearinmind.store import checking
from bearinmind.store.sqlite.file import SQL, SqliteFile


def findings(file: SqliteFile) -> list[Finding]:
    """Everything that was looked at."""
    connection = file.connections.get()
    integrity = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
    [journal] = connection.execute("PRAGMA journal_mode").fetchone()
    return [
        Finding(name="file", good=integrity == ["ok"], detail="; ".join(integrity)),
        Finding(name="journal", good=journal == "wal", detail=f"{journal} mode"),
        _lexicon(connection, read_only=file.connections.read_only),
        *checking.findings(file),
    ]


def _lexicon(connection: sqlite3.Connection, *, read_only: bool) -> Finding:
    """Whether FTS5's index agrees with the terms it was made from."""
    if read_only:  # FTS5 takes the command as an INSERT
        return Finding(name="lexicon", good=True, detail="not checked: the file is read-only")
    try:
        connection.execute(SQL["check_index"])
    except sqlite3.DatabaseError as exc:
        return Finding(name="lexicon", good=False, detail=str(exc))
    return Finding(name="lexicon", good=True, detail="agrees with the terms")
