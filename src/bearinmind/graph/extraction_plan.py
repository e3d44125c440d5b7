"""What extraction from the memories of a user would cost, before it begins."""

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
class ExtractionPlan:
    """How many versions there are to read, with which extractor, and what a chat model costs."""

    extractor: str
    leaves_machine: bool
    versions: int  #: to read; every version of a memory is read by itself
    estimate: Estimate | None = None  #: of a chat model
    budget: Budget | None = None


def plan(
    store: Store, scope: Scope, extractor: Extractor, now: datetime, *, again: bool
) -> ExtractionPlan:
    """What extraction would cost for a scope; nothing is read, sent or changed."""
    versions = [*_versions(store, scope, now)]
    is_whole = again or store.extractor() != extractor.key
    model = chat_model(extractor)
    return ExtractionPlan(
        extractor=extractor.key,
        leaves_machine=extractor.leaves_machine,
        versions=len(versions) if is_whole else store.graph_counts(scope).waiting,
        estimate=model.estimate(versions) if model else None,
        budget=budget(extractor),
    )


def budget(extractor: Extractor) -> Budget | None:
    """The tokens that a chat model spent today, and its limit; None without a chat model."""
    model = chat_model(extractor)
    return Budget(model.daily_tokens.spent(), model.daily_tokens.limit) if model else None


def chat_model(extractor: Extractor) -> LlmExtractor | None:
    """The chat model among the extractors, if there is one."""
    from bearinmind.graph.llm.extractor import LlmExtractor  # noqa: PLC0415  most extract by rules alone

    parts = extractor.parts if isinstance(extractor, Together) else (extractor,)
    return next((part for part in parts if isinstance(part, LlmExtractor)), None)


def _versions(store: Store, scope: Scope, now: datetime) -> Iterator[Memory]:
    """Every version that an extractor may read."""
    after = None
    everything = Filter(scope=scope, now=now, states=_PRESENT)
    while page := store.browse(everything, Page(limit=_PAGE, after=after, newest_first=False)):
        after = (page[-1].created_at, page[-1].id)
        for memory in page:
            versions = store.versions(scope, memory.id) if memory.version > 1 else [memory]
            yield from (x for x in versions if not x.sensitive and x.deleted_at is None)
