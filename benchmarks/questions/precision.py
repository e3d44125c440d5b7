"""Rankings by vectors of 32-bit floats, of 16-bit floats, and by codes of 8 bits.

The shipped encoder, exact cosine. Both stores keep 16-bit floats; the one on SQLite searches by the
codes, and scores the best of them again by the 16-bit floats.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from bearinmind_bench import metrics
from bearinmind_bench.corpus import kept
from bearinmind_bench.evaluation import load
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.sweep import tunable_split
from questions import found
from questions.encoders import opened, ranked

Vectors = NDArray[np.float32]
FULL = "32 bits"


def halves(vectors: Vectors) -> Vectors:
    """Vectors as half precision keeps them."""
    return vectors.astype(np.float16).astype(np.float32)


def codes(vectors: Vectors) -> Vectors:
    """Vectors as one byte for each dimension keeps them, with a step for each vector."""
    steps = np.abs(vectors).max(axis=1, keepdims=True) / 127
    return np.asarray(np.rint(vectors / np.where(steps > 0, steps, 1)) * steps, np.float32)


WAYS: dict[str, Callable[[Vectors], Vectors]] = {
    FULL: lambda vectors: vectors,
    "16 bits": halves,
    "8 bits": codes,
}


def measure(folder: Path, choice: Sequence[str]) -> found.Found:
    """How each precision ranks the memories of a set."""
    del choice
    data = load(folder)
    queries = [query for query in data.of_split(tunable_split(data)) if query.relevant]
    with opened("local") as embedder:
        cached = kept(embedder, queries=True)
        rankings = {name: ranked(data, queries, cached, way) for name, way in WAYS.items()}
    scores = {
        name: [
            metrics.score(ranking, query.relevant, data.top_grade)[HEADLINE]
            for query, ranking in zip(queries, each, strict=True)
        ]
        for name, each in rankings.items()
    }
    full = scores.pop(FULL)
    return {
        "split": tunable_split(data),
        "queries": len(queries),
        FULL: round(statistics.fmean(full), 4),
        "ways": found.compared(full, scores),
        "same_first_ten": {
            name: round(
                statistics.fmean(
                    float(a[:10] == b[:10])
                    for a, b in zip(rankings[FULL], rankings[name], strict=True)
                ),
                4,
            )
            for name in scores
        },
    }
