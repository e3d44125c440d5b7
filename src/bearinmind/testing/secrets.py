"""The secrets of a store in memory."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Sequence
from datetime import datetime

from bearinmind.errors import KeyRetired
from bearinmind.protocols import AuditEntry, Sealed
from bearinmind.testing.holdings import Holdings, when_made
from bearinmind.types import Memory, MemoryId, Scope, UserId


class SecretsInMemory:
    """Satisfies `bearinmind.protocols.Secrets`."""

    _lock: threading.RLock
    _holdings: dict[UserId, Holdings]

    def __init__(self) -> None:
        super().__init__()
        self._retired: dict[str, datetime] = {}
        self._audit: list[AuditEntry] = []

    def _keep_sealed(self, owned: Holdings, sealed: Sequence[Sealed]) -> None:
        """Keep records; those under a key that was rotated away are refused."""
        for record in sealed:
            if record.key_id in self._retired:
                raise KeyRetired(f"the key {record.key_id} was rotated away")
            owned.sealed.append(record)

    def sealed(self, scope: Scope, id: MemoryId) -> list[Sealed]:
        """Every record of a memory, oldest first."""
        with self._lock:
            records = [x for x in self._holdings[scope.user].sealed if x.id == id]
        return sorted(records, key=_place)

    def sensitive(self, scope: Scope) -> list[Memory]:
        """The sensitive memories that are not deleted, newest first."""
        with self._lock:
            held = [row.memory for row in self._holdings[scope.user].at(None).values()]
        found = [memory for memory in held if memory.sensitive and memory.deleted_at is None]
        return sorted(found, key=when_made, reverse=True)

    def sealed_under(self) -> dict[str, int]:
        """By key id: how many records of the whole store it opens."""
        return dict(sorted(Counter(record.key_id for record in self._records()).items()))

    def retire_keys(self, key_ids: Sequence[str], now: datetime) -> None:
        """Take no more records that are sealed under these keys."""
        with self._lock:
            self._retired |= dict.fromkeys(key_ids, now)

    def retired_keys(self) -> frozenset[str]:
        """The keys under which no more records are taken."""
        return frozenset(self._retired)

    def sealed_otherwise(self, key_id: str, after: Sealed | None, limit: int) -> list[Sealed]:
        """Records of the whole store under any other key, in an order, behind one of them."""
        others = [record for record in self._records() if record.key_id != key_id]
        behind = [x for x in others if after is None or _place(x) > _place(after)]
        return sorted(behind, key=_place)[:limit]

    def reseal(self, pairs: Sequence[tuple[Sealed, Sealed]]) -> int:
        """Put the second of each pair in the place of the first, in one transaction; how many."""
        done = 0
        with self._lock:
            for old, new in pairs:
                kept = self._holdings[old.owner].sealed
                if old in kept:
                    kept[kept.index(old)] = new
                    done += 1
        return done

    def scrub(self) -> bool:
        """There is no file in which anything could be left behind."""
        return True

    def note(self, entry: AuditEntry) -> None:
        """Keep an audit entry."""
        with self._lock:
            self._audit.append(entry)

    def audit(
        self, scope: Scope, limit: int, actions: Sequence[str] | None = None
    ) -> list[AuditEntry]:
        """The youngest audit entries of a scope, perhaps only of these actions, youngest first."""
        with self._lock:
            own = [entry for entry in self._audit if entry.owner == scope.user]
        return [x for x in own[::-1] if actions is None or x.action in actions][:limit]

    def _records(self) -> list[Sealed]:
        with self._lock:
            return [record for owned in self._holdings.values() for record in owned.sealed]


def _place(record: Sealed) -> tuple[str, str, int]:
    return (record.owner, record.id, record.version)
