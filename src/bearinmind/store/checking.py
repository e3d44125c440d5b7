"""Looks a store over for damage; reads only."""

from __future__ import annotations

from bearinmind.protocols import Finding
from bearinmind.store.database import Database

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


def findings(database: Database) -> list[Finding]:
    """Everything that is looked at in every store."""
    return [*(_counted(database, *counted) for counted in _COUNTED), _dead_jobs(database)]


def _counted(database: Database, name: str, statement: str, what: str) -> Finding:
    [[count]] = database.read(statement)
    return Finding(name=name, good=count == 0, detail=f"{count} {what}")


def _dead_jobs(database: Database) -> Finding:
    [[count, error]] = database.read("count_dead")
    said = f"{count} jobs given up"
    return Finding(name="work", good=count == 0, detail=f"{said}: {error}" if error else said)
