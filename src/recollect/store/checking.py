"""Looks a SQLite file over for damage; reads only."""

from __future__ import annotations

import sqlite3

from recollect.protocols import Finding
from recollect.store.queries import SQLITE as SQL

#: Counts that must be zero: the finding, the statement, and what it counts.
_COUNTED = (
    ("index", "count_unindexed", "versions missing from the index"),
    ("links", "count_dangling", "links without a memory at one end"),
    ("versions", "count_presents", "memories without one present version"),
    ("vectors", "count_stray", "vectors without their memory, their space or their values"),
    ("meaning", "count_unembedded", "memories that will never be found by meaning"),
    ("graph", "count_graph_faults", "parts of the graph that are wrong"),
    ("concepts", "count_unread", "memories that will never be read for concepts"),
)


def findings(connection: sqlite3.Connection, *, read_only: bool) -> list[Finding]:
    """Everything that was looked at."""
    integrity = [row[0] for row in connection.execute("PRAGMA integrity_check(5)")]
    [journal] = connection.execute("PRAGMA journal_mode").fetchone()
    return [
        Finding(name="file", good=integrity == ["ok"], detail="; ".join(integrity)),
        Finding(name="journal", good=journal == "wal", detail=f"{journal} mode"),
        _lexicon(connection, read_only=read_only),
        *(_counted(connection, *counted) for counted in _COUNTED),
        _dead_jobs(connection),
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


def _counted(connection: sqlite3.Connection, name: str, statement: str, what: str) -> Finding:
    [count] = connection.execute(SQL[statement]).fetchone()
    return Finding(name=name, good=count == 0, detail=f"{count} {what}")


def _dead_jobs(connection: sqlite3.Connection) -> Finding:
    count, error, _ = connection.execute(SQL["count_dead"]).fetchone()
    said = f"{count} jobs given up"
    return Finding(name="work", good=count == 0, detail=f"{said}: {error}" if error else said)
