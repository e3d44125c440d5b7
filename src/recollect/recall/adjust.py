"""Adjustment: what is known about a memory apart from the query. Pure; each factor applied once."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from recollect.analysis import fold
from recollect.types import Memory, Query, Trust

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
            factors["importance"] = 1 - self.importance + self.importance * memory.importance
        if self.exact and fold(query.text).strip() in fold(memory.content):
            factors["exact"] = 1 + self.exact
        if query.focus and (memory.category in query.focus or {*memory.tags} & {*query.focus}):
            factors["focus"] = 1 + self.focus
        tau = self.decay_days.get(memory.category)
        if tau:
            age = max(0.0, (now - memory.created_at).total_seconds() / _DAY)
            factors["decay"] = math.exp(-age / tau)
        if memory.provenance.trust in self.trust:
            factors["trust"] = self.trust[memory.provenance.trust]
        return factors
