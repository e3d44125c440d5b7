"""The secrets of a store, encrypted, beside the versions of memories that they belong to."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from bearinmind import analysis
from bearinmind.errors import KeyRetired
from bearinmind.protocols import AuditEntry, Sealed
from bearinmind.store import rows
from bearinmind.store.database import OnDatabase, Owned
from bearinmind.types import Memory, MemoryId, Scope, UserId


class SecretsInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.Secrets`."""

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        """Every record of a memory, oldest first."""
        found = self._database.read("secrets_of", {"owner": scope.user, "id": id})
        return [*map(_to_sealed, found)]

    def sensitive(self, scope: Scope) -> list[Memory]:
        """The sensitive memories that are not deleted, newest first."""
        return [*map(rows.to_memory, self._database.read("list_sensitive", {"owner": scope.user}))]

    def sealed_under(self) -> dict[str, int]:
        """By key id: how many records of the whole store it opens."""
        return dict(self._database.read("sealed_under"))

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        """Take no more records that are sealed under these keys."""
        retired = [{"key_id": key_id, "now": rows.from_time(now)} for key_id in key_ids]
        with self._database.writing(alone=True) as transaction:
            transaction.change_each("retire_key", retired)

    def retired_keys(self) -> frozenset[str]:
        """The keys under which no more records are taken."""
        return frozenset(row[0] for row in self._database.read("retired_keys"))

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        """Records of the whole store under any other key, in an order, behind one of them."""
        place = (after.owner, after.id, after.version) if after else ("", "", 0)
        behind = dict(zip(("owner", "id", "version"), place, strict=True))
        found = self._database.read("sealed_otherwise", behind | {"key_id": key_id, "limit": limit})
        return [*map(_to_sealed, found)]

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        """Put the second of each pair in the place of the first, in one transaction; how many."""
        done = 0
        with self._database.writing(*(old.owner for old, _ in pairs)) as transaction:
            for old, new in pairs:
                record = asdict(new)
                if transaction.change("reseal", record | {"before": old.nonce}):
                    transaction.change("rehash", record | {"before": old.fingerprint})
                    done += 1
        return done

    def note(self, entry: AuditEntry) -> None:
        """Keep an audit entry, durably."""
        with self._writing(Scope(user=entry.owner)) as transaction:
            [number] = transaction.numbers(1)
            kept = entry._asdict() | {"at": rows.from_time(entry.at), "number": number}
            transaction.change("note_audit", kept)

    def audit(
        self, scope: Scope, limit: int, actions: Sequence[str] | None = None
    ) -> list[AuditEntry]:
        """The youngest audit entries of a scope, perhaps only of these actions, youngest first."""
        wanted = {"owner": scope.user, "actions": actions and [*actions], "limit": limit}
        found = self._database.read("list_audit", wanted)
        return [*map(rows.to_entry, found)]


# What follows runs inside a transaction of the caller.


def keep_sealed(transaction: Owned, sealed: Sequence[Sealed]) -> None:
    """Keep records; those under a key that was rotated away are refused."""
    if not sealed:
        return
    gone = retired_keys(transaction)
    for record in sealed:
        if record.key_id in gone:
            raise KeyRetired(f"the key {record.key_id} was rotated away")
        transaction.change("keep_secret", asdict(record))


def retired_keys(transaction: Owned) -> frozenset[str]:
    """The keys under which no more records are taken."""
    return frozenset(row[0] for row in transaction.rows("retired_keys"))


def content_hash(transaction: Owned, memory: Memory, sealed: Sequence[Sealed]) -> bytes:
    """The hash under which a version is known: of a sensitive one never that of its text."""
    given = hash_without_history(memory, sealed)
    if given is not None:
        return given
    row = transaction.row("hash_of", {"id": memory.id, "version": memory.version - 1})
    return bytes(row[0]) if row else analysis.fingerprint(memory.content)


def hash_without_history(memory: Memory, sealed: Sequence[Sealed]) -> bytes | None:
    """The same, as far as it can be told without the version before.

    None for a sensitive one without a record of its own: it says what the version before says.
    """
    if not memory.sensitive:
        return analysis.fingerprint(memory.content)
    given = [record for record in sealed if record.version <= memory.version]
    return max(given, key=lambda record: record.version).fingerprint if given else None


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
