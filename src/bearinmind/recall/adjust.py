"""Adjustment: factors that do not depend on how well the query matches. Pure."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bearinmind.errors import InvalidQuery
from bearinmind.text.analysis import fold
from bearinmind.trace import Span
from bearinmind.types import Memory, Query, Trust

_DAY = 86_400.0
_MONTH = timedelta(days=31)  # a longer span says less about a memory that is from it
_TOLD_LATER = timedelta(days=7)  # what happened is often stored some days later


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustments:
    """How much each thing counts; its repr is the recipe that a trace shows.

    What is on by default does nothing until somebody gives memories an importance, or names a time
    in a question. The others stay off until the benchmark shows that they help.
    """

    importance: float = 0.3  #: a memory of importance 0 keeps 1 - this of its score
    exact: float = 0.0  #: added when the memory holds the query word for word
    focus: float = 0.2  #: added when the memory has a tag or category in the query's focus
    time: float = 2.0  #: added when the memory is from the time that the question names
    #: By category: tau of exp(-age/tau).
    decay_days: Mapping[str, float] = field(default_factory=dict)
    trust: Mapping[Trust, float] = field(default_factory=dict)  #: factor by trust class

    def most(self, query: Query, span: Span | None = None) -> float:
        """The largest product that the factors of a memory can have."""
        if query.boost:
            return math.inf  # nothing is known of somebody's own function
        most = 1 + self.exact
        if span:
            most *= 1 + self.time * most_share_of_time(span)
        if query.focus:
            most *= 1 + self.focus
        return most * max(1.0, *self.trust.values(), 1.0)

    def __call__(
        self, query: Query, memory: Memory, now: datetime, span: Span | None = None
    ) -> dict[str, float]:
        """The factors that apply to a memory, by name; the span is the time that is asked about."""
        factors: dict[str, float] = {}
        if self.importance:  # a prior that no query changes (Kraaij et al. 2002)
            factors["importance"] = 1 - self.importance + self.importance * memory.importance
        if self.exact and fold(query.text).strip() in fold(memory.content):
            factors["exact"] = 1 + self.exact
        if query.focus and not {memory.category, *memory.tags}.isdisjoint(query.focus):
            factors["focus"] = 1 + self.focus
        if self.time and span and (share := share_of_time(memory, span)):
            factors["time"] = 1 + self.time * share
        if self.decay_days and memory.category in self.decay_days:
            factors["decay"] = decay(memory, self.decay_days[memory.category], now)
        if self.trust and memory.provenance.trust in self.trust:
            factors["trust"] = self.trust[memory.provenance.trust]
        if query.boost:
            factors["boost"] = boost(memory, query.boost)
        return factors


def boost(memory: Memory, function: Callable[[Memory], float]) -> float:
    """The factor that the caller's own function gives a memory."""
    factor = function(memory)
    if isinstance(factor, bool) or not isinstance(factor, int | float) or not 0 < factor < math.inf:
        raise InvalidQuery(
            f"boost gave {factor!r} for the memory {memory.id}; it must be a number above 0",
            hint="Give 1 for a memory that is to stay as it is.",
        )
    return float(factor)


def share_of_time(memory: Memory, span: Span) -> float:
    """How much a memory is from a span: 1 within it, half in the week after, less if it is long."""
    start, end = span
    if start is None:
        return 0.0
    share = most_share_of_time(span)
    if _is_within(memory, start, end):
        return share
    return share / 2 if end <= memory.created_at < end + _TOLD_LATER else 0.0


def most_share_of_time(span: Span) -> float:
    """The share of a memory within a span; none if it is open: nearly all are "before 2024"."""
    return _MONTH / max(_MONTH, span.end - span.start) if span.start else 0.0


def _is_within(memory: Memory, start: datetime, end: datetime) -> bool:
    """Whether a memory holds at some moment of a span, or was stored then if it has no validity."""
    if memory.valid_from is None and memory.valid_to is None:
        return start <= memory.created_at < end
    begins = memory.valid_from or memory.created_at
    return begins < end and (memory.valid_to is None or memory.valid_to > start)


def decay(memory: Memory, tau: float, now: datetime) -> float:
    """exp(-age / tau): after tau days 1/e is left (Li & Croft 2003, time-based language models)."""
    age = max(0.0, (now - memory.created_at).total_seconds() / _DAY)
    return math.exp(-age / tau)
