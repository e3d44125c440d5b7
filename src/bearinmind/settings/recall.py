"""Settings of recall: how deep it looks, and how what it finds is ranked."""

from __future__ import annotations

from dataclasses import fields
from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from bearinmind.recall.graph import Spread
from bearinmind.recall.lexical import LexicalWeights
from bearinmind.settings.group import SettingsGroup, must_name
from bearinmind.types import Trust

#: Every leg that a recall can have.
LEGS = ("lexical", "dense", "graph")

_Weight = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_AboveZero = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class RecallSettings(SettingsGroup):
    """How memories are found and ranked."""

    limit: int = Field(default=10, ge=1, le=1_000, description="Most memories of one recall.")
    pool: int = Field(
        default=50, ge=1, le=10_000, description="How deep each leg of a recall looks."
    )
    budget_bytes: int | None = Field(
        default=None, ge=0, description="Most bytes of memories that one recall gives back."
    )
    fusion: Literal["calibrated", "convex", "rrf"] = Field(
        default="calibrated", description="How the rankings of the legs become one."
    )
    rrf_k: int = Field(
        default=60, ge=1, le=10_000, description="What `rrf` fusion adds to every rank."
    )
    leg_weights: dict[str, _Weight] = Field(
        default_factory=dict,
        description="By leg: how much its ranking counts, 1 when not named; 0 turns it off.",
    )
    lexical: dict[str, _Weight] = Field(
        default_factory=dict, description="By name: weights of the lexical leg to change."
    )
    graph: dict[str, _Weight] = Field(
        default_factory=dict, description="By name: weights of the graph leg to change."
    )
    importance_weight: float = Field(
        default=0.3, ge=0, le=1, description="How much importance counts in the ranking."
    )
    exact_bonus: float = Field(
        default=0.0, ge=0, le=10, description="Added when a memory holds the query word for word."
    )
    focus_bonus: float = Field(
        default=0.2, ge=0, le=10, description="Added for tags and categories in focus."
    )
    decay_days: dict[str, _AboveZero] = Field(
        default_factory=dict,
        description="By category: after how many days a score has faded to 1/e.",
    )
    trust_factors: dict[Trust, _AboveZero] = Field(
        default_factory=dict,
        description="By trust class: what a score is multiplied with.",
    )
    least_confidence: float = Field(
        default=0.0, ge=0, le=1, description="Recall gives back nothing less certain than this."
    )
    near_duplicates: float = Field(
        default=0.0,
        ge=0,
        le=1,
        description="Share of common words from which one memory speaks for two; 0: only the same.",
    )
    capture_queries: bool = Field(
        default=False,
        description="Keep what is asked in a private file beside the store, to measure recall on.",
    )

    @model_validator(mode="after")
    def _weights_are_of_known_things(self) -> Self:
        must_name("leg_weights", self.leg_weights, LEGS, "a leg")
        for setting, given, weights, thing in (
            ("lexical", self.lexical, LexicalWeights, "a lexical weight"),
            ("graph", self.graph, Spread, "a weight of the graph leg"),
        ):
            must_name(setting, given, (field.name for field in fields(weights)), thing)
        return self
