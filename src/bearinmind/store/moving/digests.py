"""Whether two stores hold the same: counts, and hashes that do not depend on the order of rows."""

from __future__ import annotations

import marshal
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b

from bearinmind.store.database import Row

_BYTES = 16
_MODULUS = 2 ** (8 * _BYTES)
_PLAIN = 2  # the last version of marshal's form in which equal values have equal bytes


@dataclass(slots=True)
class Digest:
    """How many rows there were, and the sum of their hashes.

    Each store gives its rows in the order of its own keys; a sum is the same in any.
    """

    rows: int = 0
    total: int = 0

    def add(self, rows: Iterable[Row]) -> None:
        """Take rows in."""
        for row in rows:
            hashed = blake2b(marshal.dumps(row, _PLAIN), digest_size=_BYTES)
            self.rows += 1
            self.total = (self.total + int.from_bytes(hashed.digest())) % _MODULUS

    def __str__(self) -> str:
        return f"{self.total:0{2 * _BYTES}x}"
