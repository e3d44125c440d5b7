"""Real embeddings of evaluation sets in any number, and real queries put to them.

How well an index finds what is near depends on how vectors lie, which random ones do not show. So
the vectors are those of the sets, by the shipped encoder. Where more are wanted, each further one
is a real one, moved by the difference between two real neighbours elsewhere: it varies in the
directions and by the distances in which real ones do.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from bearinmind.config import Settings
from bearinmind_bench import evaluation
from bearinmind_bench.corpus import EmbeddersOfRun, words_of

_NEIGHBOURS = 8  # of a vector, among which the one is taken that lends the difference
_AT_ONCE = 2_000
_SEED = 24

Vectors = NDArray[np.float32]
Numbers = NDArray[np.int64]


class VectorSet(NamedTuple):
    """Vectors, and queries put to them; each of both with the number of the set that it is from."""

    vectors: Vectors
    sets: Numbers
    queries: Vectors
    query_sets: Numbers


def real(folders: Sequence[Path]) -> VectorSet:
    """The memories of these sets and their development queries, embedded."""
    embedders = EmbeddersOfRun(keep_queries=True)
    embedder = embedders.of(Settings()).configured()
    if embedder is None:
        raise SystemExit("the shipped settings have no embedder")
    vectors, queries = [], []
    for folder in folders:
        data = evaluation.load(folder)
        texts = [_embedded_text(record) for record in data.corpus]
        vectors.append(embedder.embed_memories([*dict.fromkeys(texts)]))
        asked = dict.fromkeys(query.text for query in data.of_split("dev"))
        queries.append(np.stack([embedder.embed_query(text) for text in asked]))
    embedders.close()
    return VectorSet(
        np.concatenate(vectors), _numbers(vectors), np.concatenate(queries), _numbers(queries)
    )


def enlarged(known: VectorSet, size: int) -> VectorSet:
    """So many vectors in a random order: some of the real ones, or all of them and more."""
    random = np.random.default_rng(_SEED)
    more = max(0, size - len(known.vectors))
    moved, base = _moved(known.vectors, more, random)
    vectors = np.concatenate([known.vectors, moved])
    sets = np.concatenate([known.sets, known.sets[base]])
    chosen = random.permutation(len(vectors))[:size]
    return known._replace(vectors=vectors[chosen], sets=sets[chosen])


def _moved(vectors: Vectors, count: int, random: np.random.Generator) -> tuple[Vectors, Numbers]:
    """So many vectors between and around real ones, and which those are."""
    base, here = random.integers(len(vectors), size=(2, count))
    there = _neighbours(vectors)[here, random.integers(_NEIGHBOURS, size=count)]
    by = random.uniform(0.5, 1.0, (count, 1)).astype(np.float32)
    moved = vectors[base] + by * (vectors[there] - vectors[here])
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved, base


def _neighbours(vectors: Vectors) -> Numbers:
    near = np.empty((len(vectors), _NEIGHBOURS), np.int64)
    for begin in range(0, len(vectors), _AT_ONCE):
        cosines = vectors[begin : begin + _AT_ONCE] @ vectors.T
        nearest = np.argpartition(-cosines, _NEIGHBOURS + 1, axis=1)
        near[begin : begin + _AT_ONCE] = nearest[:, 1 : _NEIGHBOURS + 1]
    return near


def _embedded_text(record: evaluation.Record) -> str:
    """As `embedded_text` has it for the recipe tags+content."""
    tags = ", ".join(word.lower() for word in words_of(record.get("tags")))
    return f"{tags}: {record['content']}" if tags else str(record["content"])


def _numbers(parts: Sequence[Vectors]) -> Numbers:
    return np.repeat(np.arange(len(parts)), [len(part) for part in parts])
