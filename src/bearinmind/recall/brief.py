"""What a session should begin with: few memories, chosen without a question. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from bearinmind.types import Memory, MemoryId

#: What people expect an agent to know before it is asked.
LEADING = frozenset({"preferences", "decisions"})
_LEADING_BONUS = 0.25
_OWN_PROJECT_BONUS = 0.25
_RECENT = 0.5  # what a memory of this moment has beside its importance
_FADES = timedelta(days=30)  # after so long that is down to 1/e


def chosen(
    memories: Iterable[Memory],
    *,
    first: Sequence[Memory] = (),
    project: str | None,
    now: datetime,
    limit: int,
    budget_bytes: int,
) -> list[Memory]:
    """The memories to begin with, the weightiest first; each is there whole or not at all.

    Those of `first` come before all others, in their order. What belongs to another project, and
    what is sensitive, is left out.
    """
    fitting = {
        each.id: each
        for each in memories
        if not each.sensitive and each.provenance.project in (project, None)
    }
    ranked = sorted(fitting.values(), key=lambda each: (-_weight(each, project, now), each.id))
    brief: dict[MemoryId, Memory] = {}
    left = budget_bytes
    for memory in (*first, *ranked):
        size = len(memory.content.encode())
        if memory.id not in brief and not memory.sensitive and size <= left:
            brief[memory.id] = memory
            left -= size
        if len(brief) == limit:
            break
    return [*brief.values()]


def _weight(memory: Memory, project: str | None, now: datetime) -> float:
    age = max(now - memory.updated_at, timedelta())
    weight = memory.importance + _RECENT * math.exp(-age / _FADES)
    weight += _LEADING_BONUS if memory.category in LEADING else 0.0
    is_own = project is not None and memory.provenance.project == project
    return weight + (_OWN_PROJECT_BONUS if is_own else 0.0)
