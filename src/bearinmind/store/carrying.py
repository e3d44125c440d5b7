"""Vectors that were made elsewhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from bearinmind.changes import digest
from bearinmind.store import queue, rows
from bearinmind.store.spaces import SpacesInDatabase
from bearinmind.types import MemoryId, Scope, Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector


class CarryingInDatabase(SpacesInDatabase):
    """Satisfies the part of `bearinmind.protocols.Syncing` that is about vectors."""

    def vectors_of(
        self, scope: Scope, space: Space, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, Vector]:
        """The vectors of the present versions of these memories, as far as they are embedded."""
        return self._vectors.present(scope, space, ids) if self.meaning_off() is None else {}

    def carry_vectors(
        self, scope: Scope, space: Space, vectors: Mapping[MemoryId, tuple[str, Vector]]
    ) -> int:
        """Take vectors that were made elsewhere, for the present versions with these digests."""
        if not vectors or self.meaning_off() is not None:
            return 0
        import numpy as np  # noqa: PLC0415 (slow to import)

        with self._writing(scope) as transaction:
            asked = {"ids": [*vectors], "key": space.key}
            waiting = [
                (number, rows.to_memory(columns))
                for number, *columns in transaction.rows("embed_jobs_of", asked)
            ]
            fitting = [
                (x, memory.id) for x, memory in waiting if digest(memory) == vectors[memory.id][0]
            ]
            if not fitting:
                return 0
            made = np.stack([vectors[id_][1] for _, id_ in fitting])
            return queue.keep_vectors(
                self._database,
                transaction.transaction,
                space,
                [{"owner": scope.user, "number": number} for number, _ in fitting],
                self._database.vector_parameters(space, made, len(fitting)),
            )
