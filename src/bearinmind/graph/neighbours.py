"""Names that mean nearly the same to an embedder. Off unless asked for: see `THRESHOLD`.

Only names that share a block are compared: a word, or how one begins. What a number, a numeral or
an opposite tells apart is never compared at all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import NamedTuple

from bearinmind.graph.spellings import parts_of
from bearinmind.graph.telling import tells_apart
from bearinmind.protocols import Embedder

#: Cosine of two labels, tuned on development pairs for a precision of .98 with the shipped encoder
#: (`make bench-canonical`). So high, it finds next to nothing that the rules do not: `Paul Simon`
#: and `Simon Paul` are at .983, `Dana Whitfield` and `Dana Whitmore` at .962. Hence rules alone
#: decide, and neighbours are only ever proposed.
THRESHOLD = 0.985
BEGINNING = 4  # letters that two words share which may be one
LARGEST_BLOCK = 50  # names; what so many share is no sign of anything


class Near(NamedTuple):
    """Two of the labels that were compared, by their places, and their cosine."""

    one: int
    other: int
    cosine: float


def blocks_of(label: str) -> set[str]:
    """What another label must share with this one to be compared."""
    parts = parts_of(label)
    return {*parts} | {part[:BEGINNING] for part in parts if len(part) >= BEGINNING}


def pairs(labels: Sequence[str]) -> Iterator[tuple[int, int]]:
    """The labels that may name one thing, as places, each pair once."""
    blocks: dict[str, list[int]] = {}
    for at, label in enumerate(labels):
        for block in blocks_of(label):
            blocks.setdefault(block, []).append(at)
    seen: set[tuple[int, int]] = set()
    for members in blocks.values():
        if len(members) > LARGEST_BLOCK:
            continue
        for pair in combinations(members, 2):
            if pair not in seen:
                seen.add(pair)
                yield pair


def near(labels: Sequence[str], embedder: Embedder, threshold: float = THRESHOLD) -> list[Near]:
    """The pairs of labels that mean nearly the same, nearest first."""
    import numpy as np  # noqa: PLC0415  slow to import

    compared = [
        (one, other) for one, other in pairs(labels) if not tells_apart(labels[one], labels[other])
    ]
    if not compared:
        return []
    vectors = embedder.embed_memories(labels)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    first, second = np.array(compared).T
    cosines = np.einsum("ij,ij->i", vectors[first], vectors[second])
    found = [
        Near(one, other, min(1.0, float(cosine)))
        for (one, other), cosine in zip(compared, cosines, strict=True)
        if cosine >= threshold
    ]
    return sorted(found, key=lambda each: (-each.cosine, each.one, each.other))
