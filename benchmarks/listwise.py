"""A small listwise ranker: boosted trees that learn what an exchange of two candidates is worth.

LambdaMART (Burges 2010) with oblivious trees: every node of a level asks the same question, so a
tree is a few thresholds and a table. It begins with the order that it is given.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

BINS = 32
DEPTH = 3  # of a tree
RATE = 0.1
LEAST = 20.0  # is added to the curvature of a leaf: few examples move little
FIRST = 10  # places that count

Floats = NDArray[np.float64]


class List(NamedTuple):
    """The candidates of a question, in the order that they have."""

    features: Floats  #: a row for each
    gains: Floats  #: the grade of each
    start: Floats  #: the score of each, to begin with
    weight: float = 1.0  #: of the question
    best: float = 1.0  #: the discounted gain of the best order, of those found and not found


class Tree(NamedTuple):
    """Questions, one for each level, and what is added by their answers."""

    features: tuple[int, ...]
    thresholds: tuple[float, ...]
    added: Floats

    def __call__(self, features: Floats) -> Floats:
        """What it adds to each row."""
        leaf = np.zeros(len(features), np.int64)
        for feature, threshold in zip(self.features, self.thresholds, strict=True):
            leaf = 2 * leaf + (features[:, feature] > threshold)
        added: Floats = self.added[leaf]
        return added


def fit(lists: Sequence[List], trees: int) -> list[Tree]:
    """So many trees, each fitted to what the order so far leaves to be gained."""
    values = np.vstack([each.features for each in lists])
    ends = np.cumsum([len(each.gains) for each in lists])
    edges = [_edges(column) for column in values.T]
    pairs = zip(edges, values.T, strict=True)
    bins = np.stack([np.searchsorted(edge, column) for edge, column in pairs], axis=1)
    scores = np.concatenate([each.start for each in lists])
    fitted = []
    for _ in range(trees):
        parts = np.split(scores, ends[:-1])
        slopes = [_slopes(each, part) for each, part in zip(lists, parts, strict=True)]
        slope, curvature = (np.concatenate(each) for each in zip(*slopes, strict=True))
        tree = _tree(bins, edges, slope, curvature)
        scores += tree(values)
        fitted.append(tree)
    return fitted


def scores(trees: Sequence[Tree], each: List) -> Iterator[Floats]:
    """The scores of the candidates, before and after each tree."""
    score = each.start
    yield score
    for tree in trees:
        score = score + tree(each.features)
        yield score


def _edges(column: Floats) -> Floats:
    shares = np.quantile(column, np.linspace(0, 1, BINS + 1)[1:-1], method="lower")
    edges: Floats = np.unique(shares)
    return edges


def _slopes(each: List, score: Floats) -> tuple[Floats, Floats]:
    """For each candidate how it is to move, by what exchanging it with each other would gain."""
    rank = np.empty(len(score), np.int64)
    rank[np.argsort(-score, kind="stable")] = np.arange(len(score))
    discount = np.where(rank < FIRST, 1 / np.log2(rank + 2), 0.0)
    better = each.gains[:, None] > each.gains[None, :]
    worth = np.abs(
        (each.gains[:, None] - each.gains[None, :]) * (discount[:, None] - discount[None, :])
    )
    doubt = 1 / (1 + np.exp(np.clip(score[:, None] - score[None, :], -30, 30)))
    push = np.where(better, worth * doubt, 0.0) * each.weight / each.best
    bend = push * (1 - doubt)
    return push.sum(axis=1) - push.sum(axis=0), bend.sum(axis=1) + bend.sum(axis=0)


def _tree(bins: NDArray[np.int64], edges: Sequence[Floats], slope: Floats, bend: Floats) -> Tree:
    """Level by level the question that gains most over all leaves."""
    leaf = np.zeros(len(bins), np.int64)
    asked: list[tuple[int, int]] = []
    for level in range(DEPTH):
        best = max(
            (_split(leaf, 2**level, bins[:, number], len(edge), slope, bend), number)
            for number, edge in enumerate(edges)
            if len(edge)
        )
        (_, place), feature = best
        asked.append((feature, place))
        leaf = 2 * leaf + (bins[:, feature] > place)
    slopes = np.bincount(leaf, slope, 2**DEPTH)
    bends = np.bincount(leaf, bend, 2**DEPTH)
    return Tree(
        tuple(feature for feature, _ in asked),
        tuple(float(edges[feature][place]) for feature, place in asked),
        RATE * slopes / (bends + LEAST),
    )


def _split(
    leaf: NDArray[np.int64],
    leaves: int,
    column: NDArray[np.int64],
    places: int,
    slope: Floats,
    bend: Floats,
) -> tuple[float, int]:
    """The gain of the best threshold of a feature, and which that is."""
    cell = leaf * BINS + column
    slopes = np.bincount(cell, slope, leaves * BINS).reshape(leaves, BINS)
    bends = np.bincount(cell, bend, leaves * BINS).reshape(leaves, BINS)
    low, low_bend = slopes.cumsum(axis=1), bends.cumsum(axis=1)
    high, high_bend = low[:, -1:] - low, low_bend[:, -1:] - low_bend
    gains = (low**2 / (low_bend + LEAST) + high**2 / (high_bend + LEAST)).sum(axis=0)
    place = int(np.argmax(gains[:places]))
    return float(gains[place]), place
