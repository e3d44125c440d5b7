"""How probable it is that one memory outdates another: a small learned scorer over features.

`weights.json` is made by `benchmarks/outdates_scorer.py`: boosted trees over what two texts show,
and, for the embedder that it was trained with, one weight for every dimension of both vectors.
"""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from bearinmind.outdates.features import features, read
from bearinmind.types import Memory

if TYPE_CHECKING:  # numpy
    from bearinmind.protocols import Vector

#: From this probability on a memory is marked outdated, and grouped under what outdates it.
MARK = 0.8
#: From this one on it is asked which of two memories holds.
OFFER = 0.35
#: From this one on a link is kept: at recall the newer of the two comes first.
KEEP = 0.12

_DAY = 86_400.0
#: A node is a feature's number, a threshold and the two nodes below; a leaf is a number.
Node = float | tuple[int, float, Any, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Pair:
    """Two memories, and how near they are in meaning."""

    newer: Memory
    older: Memory
    cosine: float
    vectors: tuple[Vector, Vector] | None = None  #: of the newer and the older, if both have one
    space: str = ""  #: the key of the vectors' space


@dataclass(frozen=True, slots=True, kw_only=True)
class Scorer:
    """The learned weights."""

    trees: Sequence[Node]
    base: float
    slope: float  #: and
    offset: float  #: turn the sum into log odds that are probabilities on unseen pairs
    space: str  #: the key of the space that the weights below are for
    dimensions: Sequence[float]  #: weights of the newer vector's dimensions, then the older's
    bias: float

    def __call__(self, pair: Pair) -> float:
        """The probability that the newer outdates the older."""
        days = (pair.newer.created_at - pair.older.created_at).total_seconds() / _DAY
        values = [
            *features(
                read(pair.newer.content), read(pair.older.content), days, pair.cosine
            ).values()
        ]
        score = self.base + math.fsum(_leaf(tree, values) for tree in self.trees)
        if pair.vectors and pair.space == self.space:
            both = (*map(float, pair.vectors[0]), *map(float, pair.vectors[1]))
            score += self.bias + math.sumprod(self.dimensions, both)
        return 1 / (1 + math.exp(-self.slope * score - self.offset))


def _leaf(node: Node, values: Sequence[float]) -> float:
    while not isinstance(node, float):
        feature, threshold, low, high = node
        node = low if values[feature] <= threshold else high
    return node


@cache
def scorer() -> Scorer:
    """The scorer that ships with this release."""
    weights = json.loads(files("bearinmind.outdates").joinpath("weights.json").read_text("utf-8"))
    return weights
