"""Adjustment: what is known about a memory apart from the query. Pure; each factor applied once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bearinmind.analysis import fold
from bearinmind.types import Memory, Query, Trust

_DAY = 86_400.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Adjustments:
    """How much each thing counts; its repr is the recipe that a trace shows.

    Only the importance prior is on by default: it does nothing until somebody gives memories an
    importance. The others stay off until the benchmark shows that they help.
    """

    importance: float = 0.3  #: a memory of importance 0 keeps 1 - this of its score
    exact: float = 0.0  #: added when the memory holds the query word for word
    focus: float = 0.2  #: added when the memory has a tag or category in the query's focus
    decay_days: Mapping[str, float] = field(
        default_factory=dict
    )  #: tau of exp(-age/tau) by category
    trust: Mapping[Trust, float] = field(default_factory=dict)  #: factor by trust class

    def most(self, query: Query) -> float:
        """The most that the factors of any memory can come to."""
        most = 1 + self.exact
        if query.focus:
            most *= 1 + self.focus
        return most * max(1.0, *self.trust.values(), 1.0)

    def __call__(self, query: Query, memory: Memory, now: datetime) -> dict[str, float]:
        """The factors that apply to a memory, by name."""
        factors: dict[str, float] = {}
        if self.importance:
            factors["importance"] = importance_prior(memory, self.importance)
        if self.exact and holds_word_for_word(memory, query):
            factors["exact"] = 1 + self.exact
        if query.focus and is_in_focus(memory, query):
            factors["focus"] = 1 + self.focus
        if self.decay_days and memory.category in self.decay_days:
            factors["decay"] = decay(memory, self.decay_days[memory.category], now)
        if self.trust and memory.provenance.trust in self.trust:
            factors["trust"] = self.trust[memory.provenance.trust]
        return factors


def importance_prior(memory: Memory, weight: float) -> float:
    """1 - w + w x importance, what is known before any query is asked (Kraaij et al. 2002)."""
    return 1 - weight + weight * memory.importance


def holds_word_for_word(memory: Memory, query: Query) -> bool:
    """Whether the memory quotes the whole query: who quotes wants that place and no other."""
    return fold(query.text).strip() in fold(memory.content)


def is_in_focus(memory: Memory, query: Query) -> bool:
    """Whether the caller said that the memory's category or one of its tags matters just now."""
    return memory.category in query.focus or not {*query.focus}.isdisjoint(memory.tags)


def decay(memory: Memory, tau: float, now: datetime) -> float:
    """exp(-age / tau): after tau days 1/e is left (Li & Croft 2003, time-based language models)."""
    age = max(0.0, (now - memory.created_at).total_seconds() / _DAY)
    return math.exp(-age / tau)
