"""What can be measured: anything that answers queries. The product, a baseline, a peer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from bearinmind.bench.evaluation import EvaluationQuery


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What came back for a query."""

    ranked: tuple[str, ...]  #: ids of the evaluation set, best first
    milliseconds: float
    confidences: tuple[float, ...] | None = None  #: of each of them; None when nothing is said
    #: By leg: the rank it gave to memories of the answer and to relevant ones.
    legs: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    leg_milliseconds: Mapping[str, float] = field(default_factory=dict)
    degraded: tuple[str, ...] = ()

    @property
    def confidence(self) -> float | None:
        """Of the surest memory; 0 when there is none, None when nothing is said."""
        return None if self.confidences is None else max(self.confidences, default=0.0)


class Measured(Protocol):
    """Something that answers the queries of a set whose corpus it holds."""

    def ask(self, query: EvaluationQuery) -> Answer:
        """The best memories for a query."""

    @property
    def recipe(self) -> Mapping[str, str]:
        """What it says about its ranking; known once it has been asked."""

    @property
    def faults(self) -> tuple[str, ...]:
        """Promises about rankings that its answers broke."""

    @property
    def warnings(self) -> tuple[str, ...]:
        """What whoever reads the figures should know."""
