"""How probable it is that one memory outdates another: a small learned scorer over features.

`benchmarks/outdates_scorer.py` made its `weights.json`: boosted trees over what two texts show.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from bearinmind.outdates.features import Text, features, read
from bearinmind.types import Memory

#: Stands for the cosine of two memories of which one has no vector.
NO_COSINE = 0.0

_DAY = 86_400.0
_WORDS = {  # what a person reads of a feature that speaks for a change
    "denied_value": "it names the earlier value as no longer so",
    "newer_moved": "it speaks of a change",
    "newer_ended": "it says that something ended",
    "newer_now": "it says how it is now",
    "newer_back": "it says that something is back",
    "kind_swapped": "another amount of the same kind",
    "numbers_swapped": "another number",
    "identifiers_swapped": "another identifier",
    "names_swapped": "another name",
}
_MOST_EVIDENCE = 3

#: A node is a feature's number, a threshold and the two nodes below; a leaf is a number.
Node = float | list[Any]


@dataclass(frozen=True, slots=True)
class Score:
    """What the scorer says of a pair."""

    probability: float
    evidence: tuple[str, ...]  #: in words that quote neither text


@dataclass(frozen=True, slots=True)
class Scorer:
    """The learned weights."""

    features: Sequence[str]
    base: float
    trees: Sequence[Node]

    def __call__(self, newer: Memory, older: Memory, cosine: float = NO_COSINE) -> Score:
        """How probable it is that the newer memory outdates the older."""
        days = (newer.created_at - older.created_at).total_seconds() / _DAY
        return self.score(read(newer.content), read(older.content), days, cosine)

    def score(self, newer: Text, older: Text, days: float, cosine: float) -> Score:
        """The same of two texts."""
        named = features(newer, older, days, cosine)
        values = [*named.values()]
        total = self.base + math.fsum(_leaf(tree, values) for tree in self.trees)
        evidence = [words for name, words in _WORDS.items() if named[name]]
        probability = 1 / (1 + math.exp(-total))
        return Score(round(probability, 4), tuple(evidence[:_MOST_EVIDENCE]))


def _leaf(node: Node, values: Sequence[float]) -> float:
    while isinstance(node, list):
        feature, threshold, low, high = node
        node = low if values[feature] <= threshold else high
    return node


@cache
def scorer() -> Scorer:
    """The scorer of this release."""
    weights = files("bearinmind.outdates").joinpath("weights.json").read_text(encoding="utf-8")
    return Scorer(**json.loads(weights))
