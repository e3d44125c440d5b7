"""Every version of every memory, in a dict: what the models of a store have in common."""

from __future__ import annotations

from dataclasses import replace
from datetime import datetime
from typing import NamedTuple

from bearinmind.types import Filter, Memory, MemoryId, Scope, UserId


class Key(NamedTuple):
    """Which version of which memory."""

    owner: UserId
    id: MemoryId
    version: int


class Versions:
    """Which version was the present one, and when. No memory supersedes another, none expires."""

    def __init__(self) -> None:
        self.memories: dict[Key, Memory] = {}

    def keep(self, scope: Scope, *memories: Memory) -> list[Key]:
        """Add versions; their keys."""
        keys = [Key(scope.user, memory.id, memory.version) for memory in memories]
        for key, memory in zip(keys, memories, strict=True):
            self.memories[key] = replace(memory, owner=scope.user)
        return keys

    def forget(self, scope: Scope, id: MemoryId) -> list[Key]:
        """Remove every version of a memory; their keys."""
        gone = [key for key in self.memories if key[:2] == (scope.user, id)]
        for key in gone:
            del self.memories[key]
        return gone

    def earlier(self, key: Key) -> list[Key]:
        """The versions before one, the latest first."""
        numbers = range(key.version - 1, 0, -1)
        return [x for x in (key._replace(version=n) for n in numbers) if x in self.memories]

    def present(self, scope: Scope, as_of: datetime | None = None) -> dict[MemoryId, Key]:
        """The version of every memory that was the last one at a moment; of now without one."""
        found: dict[MemoryId, Key] = {}
        for key in sorted(self.memories):
            known = as_of is None or self.memories[key].updated_at <= as_of
            if key.owner == scope.user and known:
                found[key.id] = key
        return found

    def admitted(self, filter: Filter) -> dict[MemoryId, Key]:
        """Those that a filter admits, by their category and as of its moment."""
        present = self.present(filter.scope, filter.as_of)
        return {id_: key for id_, key in present.items() if self._admits(filter, key)}

    def _admits(self, filter: Filter, key: Key) -> bool:
        memory = self.memories[key]
        meant = not filter.categories or memory.category in filter.categories
        return meant and memory.deleted_at is None

    def is_readable(self, key: Key) -> bool:
        """Whether a version is worked on: neither a deleted nor a sensitive one is."""
        memory = self.memories[key]
        return memory.deleted_at is None and not memory.sensitive
