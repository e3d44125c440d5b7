"""What a session should begin with: few memories, chosen without a question."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from bearinmind.protocols import Page, Store
from bearinmind.recall.parse import LARGEST_LIMIT, check_number
from bearinmind.types import Filter, Memory, MemoryId

#: What people expect an agent to know before it is asked.
LEADING = frozenset({"preferences", "decisions"})
_LEADING_BONUS = 0.25
_OWN_PROJECT_BONUS = 0.25
_RECENT = 0.5  # what a memory of this moment has beside its importance
_FADES = timedelta(days=30)  # after so long that is down to 1/e
_POOL = 300  # the newest memories, among which a brief is chosen
_NEAREST = 3  # memories of a brief that answer its query
MOST_BYTES = 1_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefRequest:
    """What a brief is for, and how long it may be."""

    project: str | None
    session: str | None
    query: str | None
    limit: int
    budget_bytes: int

    def __post_init__(self) -> None:
        check_number("limit", self.limit, LARGEST_LIMIT)
        check_number("budget_bytes", self.budget_bytes, MOST_BYTES)


def brief(
    store: Store,
    own: Filter,
    request: BriefRequest,
    nearest: Callable[[str, int], Sequence[Memory]],
) -> Sequence[Memory]:
    """The memories of a session first, then those nearest to the query, then the weightiest."""
    project, page = request.project, Page(limit=_POOL)
    pool = store.browse(own, page)
    if project is not None:
        pool = [*store.browse(replace(own, project=project), page), *pool]
    first: list[Memory] = []
    if request.session is not None:
        in_session = replace(own, session=request.session)
        first += store.browse(in_session, Page(limit=request.limit))
    if request.query:
        answers = nearest(request.query, _NEAREST)
        first += [memory for memory in answers if memory.provenance.project in (project, None)]
    return chosen(
        pool,
        first=first,
        project=project,
        now=own.now,
        limit=request.limit,
        budget_bytes=request.budget_bytes,
    )


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
