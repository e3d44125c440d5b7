"""The secrets of a store, encrypted, beside the versions of memories that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from bearinmind.errors import KeyRetired
from bearinmind.protocols import AuditEntry, Sealed
from bearinmind.store import rows
from bearinmind.store.database import OnDatabase, Owned
from bearinmind.text import analysis
from bearinmind.types import Memory, MemoryId, Scope, UserId


class SecretsInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Secrets`."""

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        return [*map(_to_sealed, self._read(scope, "secrets_of", id=id))]

    def sensitive(self, scope: Scope) -> list[Memory]:
        return [*map(rows.to_memory, self._read(scope, "list_sensitive"))]

    def sealed_under(self) -> dict[str, int]:
        return dict(self._database.read("sealed_under"))

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        retired = [{"key_id": key_id, "now": rows.from_time(now)} for key_id in key_ids]
        with self._database.writing(alone=True) as transaction:
            transaction.change_each("retire_key", retired)

    def retired_keys(self) -> frozenset[str]:
        return frozenset(row[0] for row in self._database.read("retired_keys"))

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        place = (after.owner, after.id, after.version) if after else ("", "", 0)
        behind = dict(zip(("owner", "id", "version"), place, strict=True))
        records = self._database.read(
            "sealed_otherwise", behind | {"key_id": key_id, "limit": limit}
        )
        return [*map(_to_sealed, records)]

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        done = 0
        with self._database.writing(*(old.owner for old, _ in pairs)) as transaction:
            for old, new in pairs:
                record = asdict(new)
                if transaction.change("reseal", record | {"before": old.nonce}):
                    transaction.change("rehash", record | {"before": old.fingerprint})
                    done += 1
        return done

    def note(self, entry: AuditEntry) -> None:
        with self._writing(Scope(user=entry.owner)) as transaction:
            [number] = transaction.numbers(1)
            transaction.change("note_audit", rows.from_noun(entry) | {"number": number})

    def audit(
        self, scope: Scope, limit: int, actions: Sequence[str] | None = None
    ) -> list[AuditEntry]:
        records = self._read(scope, "list_audit", actions=actions and [*actions], limit=limit)
        return [*map(rows.to_entry, records)]


# The functions below run inside a transaction of the caller.


def keep_sealed(transaction: Owned, sealed: Sequence[Sealed]) -> None:
    """Keep sealed records; those under a retired key are refused."""
    if not sealed:
        return
    gone = retired_keys(transaction)
    for record in sealed:
        if record.key_id in gone:
            raise KeyRetired(f"the key {record.key_id} was rotated away")
        transaction.change("keep_secret", asdict(record))


def retired_keys(transaction: Owned) -> frozenset[str]:
    """The keys whose records are refused."""
    return frozenset(row[0] for row in transaction.rows("retired_keys"))


def content_hash(transaction: Owned, memory: Memory, sealed: Sequence[Sealed]) -> bytes:
    """The content hash of a version; of a sensitive one never the hash of its text."""
    known = hash_without_history(memory, sealed)
    if known is not None:
        return known
    row = transaction.row("hash_of", {"id": memory.id, "version": memory.version - 1})
    return bytes(row[0]) if row else analysis.fingerprint(memory.content)


def hash_without_history(memory: Memory, sealed: Sequence[Sealed]) -> bytes | None:
    """The content hash of a version, as far as it can be known without the version before.

    None for a sensitive one without a record: its content is that of the version before.
    """
    if not memory.sensitive:
        return analysis.fingerprint(memory.content)
    records = [record for record in sealed if record.version <= memory.version]
    return max(records, key=lambda record: record.version).fingerprint if records else None


def forget_sealed(transaction: Owned, ids: Sequence[MemoryId]) -> None:
    """Remove the records of these memories."""
    transaction.change("forget_secrets", {"ids": [*ids]})


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
