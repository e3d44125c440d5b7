"""Puts versions of memories into the lexical index of a store.

Everything here runs inside a transaction of the caller.
"""

from __future__ import annotations

from collections.abc import Mapping

from bearinmind import analysis
from bearinmind.store.database import Database, Owned
from bearinmind.types import Memory


def insert(database: Database, transaction: Owned, versions: Mapping[int, Memory]) -> None:
    """Make versions findable by their terms; by the number of their row."""
    entries = {row: analysis.entry(memory) for row, memory in versions.items()}
    transaction.insert(
        "insert_indexed",
        [
            {"row": row, **database.entry_parameters(transaction.owner, entry)}
            for row, entry in entries.items()
        ],
    )
    terms = sum(entry.length for entry in entries.values())
    for statement in database.steps.indexed:
        transaction.change(statement, {"versions": len(entries), "terms": terms})


def forgotten(database: Database, transaction: Owned) -> None:
    """See to it that no term of what left the index stays behind."""
    for statement in database.steps.forgotten:
        transaction.change(statement)
