"""What a filter admits, for whoever holds memories rather than rows."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bearinmind.types import Filter, Memory

#: The parts of a filter that look at the memory alone, by the name of their field.
CONDITIONS: dict[str, Callable[[Filter, Memory], bool]] = {
    "categories": lambda f, m: not f.categories or m.category in f.categories,
    "tags": lambda f, m: f.tags.issubset(m.tags),
    "created_from": lambda f, m: f.created_from is None or m.created_at >= f.created_from,
    "created_to": lambda f, m: f.created_to is None or m.created_at < f.created_to,
    "session": lambda f, m: f.session is None or m.provenance.session == f.session,
    "project": lambda f, m: f.project is None or m.provenance.project == f.project,
    "agent": lambda f, m: f.agent is None or m.provenance.agent == f.agent,
}


def refusals(filter: Filter, memory: Memory) -> list[str]:
    """The names of the conditions that a memory does not meet."""
    return [name for name, met in CONDITIONS.items() if not met(filter, memory)]


def admits(filter: Filter, memory: Memory) -> bool:
    """Whether a memory of the scope meets every condition; its state is another question."""
    return not refusals(filter, memory)


def says_more(before: Memory, after: Memory) -> bool:
    """Whether a version says what the version before it did not, or no longer did."""
    if after.deleted_at is not None:
        return False
    return before.deleted_at is not None or before.content != after.content


def is_expired(memory: Memory, now: datetime) -> bool:
    """Whether the moment lies outside the memory's valid-from / valid-to span."""
    return (memory.valid_from is not None and memory.valid_from > now) or (
        memory.valid_to is not None and memory.valid_to <= now
    )
