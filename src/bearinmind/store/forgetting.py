"""Removes what a store has made of versions of memories."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.store import mentions
from bearinmind.store.database import Owned


def forget_rows(transaction: Owned, rows: Sequence[int]) -> None:
    """Remove what index, spaces, queue and graph have of versions, in the caller's transaction."""
    for row in rows:
        for statement in ("forget_indexed_row", "forget_vectors_of_row", "forget_jobs_of_row"):
            transaction.change(statement, {"row": row})
    mentions.forget_rows(transaction, rows)
