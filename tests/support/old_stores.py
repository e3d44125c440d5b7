"""Memories of every sort, for stores that are then made those of an earlier schema."""

from __future__ import annotations

from collections.abc import Sequence

from bearinmind.app import Mind
from bearinmind.types import MemoryId


def live_and_other_memories(memory: Mind) -> tuple[list[MemoryId], list[MemoryId]]:
    """Store memories in every state, and link them: the ids that are live in clear, and all."""
    one, other, gone, secret = (
        memory.store(text, sensitive=text == "a secret walrus").memory.id
        for text in ("walruses sing", "walruses dance", "a deleted walrus", "a secret walrus")
    )
    memory.update(other, content="walruses dance at dawn")
    memory.delete(gone)
    memory.link(one, "supersedes", other)
    memory.link(one, "see-also", secret)
    memory.unlink(one, "see-also", secret)
    return sorted([one, other]), [one, other, gone, secret]


def held_by(memory: Mind, ids: Sequence[MemoryId]) -> object:
    """Every version of these memories, and every link there ever was."""
    return [memory.versions(id_) for id_ in ids], [*memory.transfer.links()]
