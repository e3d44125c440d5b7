"""Adds, ends and removes versions of memories, with all that belongs to them.

Everything here runs inside a transaction of the caller.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from bearinmind.store import forgetting, inbox, indexing, mentions, rows, secrets, spaces
from bearinmind.store.database import Database, Owned
from bearinmind.types import Memory, MemoryId


def insert(database: Database, transaction: Owned, memory: Memory, known_by: bytes) -> None:
    """Add the present version of a memory, which is known by this hash."""
    [number] = transaction.numbers(1)
    version = rows.from_memory(memory, None) | {"row": number, "content_hash": known_by}
    [[row]] = transaction.rows("insert_memory", version)
    if memory.deleted_at is None:
        indexing.insert(database, transaction, {row: memory})
        spaces.belong(database, transaction, row, memory)
        mentions.belong(transaction, row, memory)


def close(database: Database, transaction: Owned, present: Memory, at: datetime) -> None:
    """End the present version of a memory."""
    place = {"id": present.id, "version": present.version}
    for [row] in transaction.rows("close_version", place | {"replaced_at": rows.from_time(at)}):
        for statement in database.steps.closed:
            transaction.change(statement, {"row": row})


def remove_behind(transaction: Owned, id: MemoryId, version: int) -> None:
    """Remove the versions of a memory behind one."""
    behind = {"id": id, "version": version}
    found = transaction.rows("rows_behind", behind)
    forgetting.forget_rows(transaction, [row for [row] in found])
    transaction.change("forget_secrets_behind", behind)
    transaction.change("delete_behind", behind)


def purge(transaction: Owned, ids: Sequence[MemoryId]) -> None:
    """Remove memories, with their links, shares and all that is said of them.

    The caller sees to it that no term of them stays behind: `indexing.forgotten`.
    """
    parameters = {"ids": [*ids]}
    spaces.forget(transaction, ids)
    mentions.forget(transaction, ids)
    secrets.forget(transaction, ids)
    inbox.forget(transaction, ids)
    transaction.change("forget_shares", parameters)
    for statement in ("delete_links", "delete_indexed", "delete_memories"):
        transaction.change(statement, parameters)
