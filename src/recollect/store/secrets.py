"""The secrets of a SQLite file, encrypted, beside the versions of memories that they belong to."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from recollect import analysis
from recollect.errors import KeyRetired
from recollect.protocols import AuditEntry, Sealed
from recollect.store import mentions, rows
from recollect.store.connections import translated
from recollect.store.file import SqliteFile
from recollect.store.queries import SQLITE as SQL
from recollect.types import Memory, MemoryId, Scope, UserId


class SecretsInFile(SqliteFile):
    """Satisfies `recollect.protocols.Secrets`."""

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        """Every record of a memory, oldest first."""
        return [*map(_to_sealed, self._read("secrets_of", {"owner": scope.user, "id": id}))]

    def sensitive(self, scope: Scope) -> list[Memory]:
        """The sensitive memories that are not deleted, newest first."""
        return [*map(rows.to_memory, self._read("list_sensitive", {"owner": scope.user}))]

    def sealed_under(self) -> dict[str, int]:
        """By key id: how many records of the whole store it opens."""
        return dict(self._read("sealed_under"))

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        """Take no more records that are sealed under these keys."""
        with self._write() as connection:
            for key_id in key_ids:
                connection.execute(
                    SQL["retire_key"], {"key_id": key_id, "now": rows.from_time(now)}
                )

    def retired_keys(self) -> frozenset[str]:
        """The keys under which no more records are taken."""
        return frozenset(row[0] for row in self._read("retired_keys"))

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        """Records of the whole store under any other key, in an order, behind one of them."""
        place = (after.owner, after.id, after.version) if after else ("", "", 0)
        behind = dict(zip(("owner", "id", "version"), place, strict=True))
        found = self._read("sealed_otherwise", behind | {"key_id": key_id, "limit": limit})
        return [*map(_to_sealed, found)]

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        """Put the second of each pair in the place of the first, in one transaction; how many."""
        done = 0
        with self._write() as connection:
            for old, new in pairs:
                record = asdict(new)
                if connection.execute(SQL["reseal"], record | {"before": old.nonce}).rowcount:
                    connection.execute(SQL["rehash"], record | {"before": old.fingerprint})
                    done += 1
        return done

    def scrub(self) -> bool:
        """Overwrite what removed text has left behind in the write-ahead log."""
        connection = self._connections.get()
        with translated(self.path):
            [busy, *_] = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
        return not busy

    def note(self, entry: AuditEntry) -> None:
        """Keep an audit entry, durably."""
        with self._write() as connection:
            connection.execute(
                SQL["note_audit"], entry._asdict() | {"at": rows.from_time(entry.at)}
            )

    def audit(self, scope: Scope, limit: int) -> list[AuditEntry]:
        """The youngest audit entries of a scope, youngest first."""
        found = self._read("list_audit", {"owner": scope.user, "limit": limit})
        return [AuditEntry(rows.to_time(at), *rest) for at, *rest in found]


# What follows runs inside a transaction of the caller.


def keep(connection: sqlite3.Connection, sealed: Sequence[Sealed]) -> None:
    """Keep records; those under a key that was rotated away are refused."""
    if not sealed:
        return
    retired = {row[0] for row in connection.execute(SQL["retired_keys"])}
    for record in sealed:
        if record.key_id in retired:
            raise KeyRetired(f"the key {record.key_id} was rotated away")
        connection.execute(SQL["keep_secret"], asdict(record))


def content_hash(
    connection: sqlite3.Connection, scope: Scope, memory: Memory, sealed: Sequence[Sealed]
) -> bytes:
    """The hash under which a version is known: of a sensitive one never that of its text."""
    if memory.sensitive:
        given = [record for record in sealed if record.version <= memory.version]
        if given:
            return max(given, key=lambda record: record.version).fingerprint
        before = {"owner": scope.user, "id": memory.id, "version": memory.version - 1}
        row = connection.execute(SQL["hash_of"], before).fetchone()
        if row:  # it still says the same
            return bytes(row[0])
    return analysis.fingerprint(memory.content)


def conceal(
    connection: sqlite3.Connection,
    scope: Scope,
    concealed: Sequence[Memory],
    sealed: Sequence[Sealed],
) -> None:
    """Overwrite the text of earlier versions, and what index, spaces and graph have of it."""
    fingerprints = {record.version: record.fingerprint for record in sealed}
    for memory in concealed:
        overwritten: dict[str, Any] = {
            "owner": scope.user,
            "id": memory.id,
            "version": memory.version,
            "content": memory.content,
            "content_hash": fingerprints[memory.version],
        }
        for [row] in connection.execute(SQL["conceal_version"], overwritten).fetchall():
            for statement in ("forget_indexed_row", "forget_vectors_of_row", "forget_jobs_of_row"):
                connection.execute(SQL[statement], (row,))
            mentions.forget_rows(connection, [row])
            if memory.deleted_at is None:
                connection.execute(SQL["insert_indexed"], (row, *analysis.entry(memory)))
    if concealed:
        connection.execute(SQL["optimise_index"])  # its terms are gone only after that


def forget(connection: sqlite3.Connection, scope: Scope, ids: Sequence[MemoryId]) -> None:
    """Remove the records of these memories."""
    connection.execute(SQL["forget_secrets"], {"owner": scope.user, "ids": json.dumps(ids)})


def _to_sealed(row: Sequence[Any]) -> Sealed:
    owner, id_, version, key_id, nonce, ciphertext, fingerprint = row
    return Sealed(
        owner=UserId(owner),
        id=MemoryId(id_),
        version=version,
        key_id=key_id,
        nonce=nonce,
        ciphertext=ciphertext,
        fingerprint=fingerprint,
    )
