"""What reading memories for the graph would take, before anything is read."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from bearinmind.graph.together import Together
from bearinmind.protocols import Extractor, Page, Store
from bearinmind.types import Filter, Memory, Scope, State

if TYPE_CHECKING:
    from bearinmind.graph.llm.extractor import Estimate, LlmExtractor

_PAGE = 1_000  # memories looked at together
_PRESENT = frozenset({State.LIVE, State.SUPERSEDED, State.EXPIRED})


class Budget(NamedTuple):
    """The tokens that a chat model may use in a day."""

    spent: int
    limit: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadingPlan:
    """What there is to read, by whom, and what a chat model would take for it."""

    extractor: str
    leaves_machine: bool
    versions: int  #: to read: versions of memories are read one by one
    estimate: Estimate | None = None  #: of a chat model
    budget: Budget | None = None


def plan(
    store: Store, scope: Scope, extractor: Extractor, now: datetime, *, again: bool
) -> ReadingPlan:
    """What reading a scope's memories would take; nothing is read, sent or changed."""
    every = [*_versions(store, scope, now)]
    everything = again or store.extractor() != extractor.key
    model = chat_model(extractor)
    return ReadingPlan(
        extractor=extractor.key,
        leaves_machine=extractor.leaves_machine,
        versions=len(every) if everything else store.graph_counts(scope).waiting,
        estimate=model.estimate(every) if model else None,
        budget=budget(extractor),
    )


def budget(extractor: Extractor) -> Budget | None:
    """What a chat model has spent today, of what it may; None when there is none."""
    model = chat_model(extractor)
    return Budget(model.daily_tokens.spent(), model.daily_tokens.limit) if model else None


def chat_model(extractor: Extractor) -> LlmExtractor | None:
    """The chat model that reads, perhaps beside others."""
    from bearinmind.graph.llm.extractor import LlmExtractor  # noqa: PLC0415  most read by rules alone

    parts = extractor.parts if isinstance(extractor, Together) else (extractor,)
    return next((part for part in parts if isinstance(part, LlmExtractor)), None)


def _versions(store: Store, scope: Scope, now: datetime) -> Iterator[Memory]:
    """Every version that may be read."""
    after = None
    everything = Filter(scope=scope, now=now, states=_PRESENT)
    while page := store.browse(everything, Page(limit=_PAGE, after=after, newest_first=False)):
        after = (page[-1].created_at, page[-1].id)
        for memory in page:
            versions = store.versions(scope, memory.id) if memory.version > 1 else [memory]
            yield from (x for x in versions if not x.sensitive and x.deleted_at is None)
