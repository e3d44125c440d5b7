"""Vectors in half precision, as every store keeps them. Needs numpy, which is slow to import."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from bearinmind.errors import EmbedderFailure, StoreDamaged
from bearinmind.types import Space

HALF = np.dtype("<f2")
PLACES = 6  #: of a cosine: more than half precision has

Singles = NDArray[np.float32]
Doubles = NDArray[np.float64]
Halves = NDArray[np.float16]
_Floats = TypeVar("_Floats", Singles, Doubles)


def halves_of(vectors: Singles, count: int, dimensions: int) -> Halves:
    """Vectors in half precision, as they are stored."""
    if vectors.shape != (count, dimensions):
        raise EmbedderFailure(
            f"the embedder gave an array of shape {vectors.shape} for {count} texts in a space"
            f" of {dimensions} dimensions",
            permanent=True,
        )
    if not np.isfinite(vectors).all():
        raise EmbedderFailure("the embedder gave a vector that is not finite", permanent=True)
    return unit(vectors).astype(HALF)


def unit(vectors: _Floats) -> _Floats:
    """Vectors scaled to length 1; zero vectors stay zero."""
    lengths = np.linalg.norm(vectors, axis=-1, keepdims=True)
    units: _Floats = np.divide(vectors, lengths, out=np.zeros_like(vectors), where=lengths > 0)
    return units


def direction_of(query: Singles, space: Space) -> Doubles:
    """The direction of a query, of length 1."""
    if query.shape != (space.dimensions,):
        raise EmbedderFailure(
            f"the query has {query.size} dimensions, its space {space.dimensions}", permanent=True
        )
    return unit(query.astype(np.float64))


def joined(blobs: Sequence[bytes], size: int) -> bytes:
    """The blobs joined; each must have this size."""
    data = b"".join(blobs)
    if len(data) != len(blobs) * size:
        raise StoreDamaged(f"the store holds vectors that are not {size} bytes long")
    return data


def directions_of(halves: Halves) -> Singles:
    """Kept vectors as an embedder gives them: of length 1."""
    return unit(halves.astype(np.float32))


def exact_cosines(vectors: Sequence[bytes], query: Doubles) -> list[float]:
    """The cosines of a few kept vectors; equal ones have equal cosines."""
    exact = halves_in(vectors, len(query)).astype(np.float64)
    products = exact @ query
    # The lengths by themselves: dividing every number by them takes four times as long.
    lengths = np.sqrt(np.einsum("ij,ij->i", exact, exact))
    cosines = np.divide(products, lengths, out=np.zeros_like(products), where=lengths > 0)
    rounded: list[float] = np.round(cosines, PLACES).tolist()
    return rounded


def halves_in(vectors: Sequence[bytes], dimensions: int) -> Halves:
    """Kept vectors from their bytes, a row for each."""
    halves = np.frombuffer(joined(vectors, dimensions * HALF.itemsize), HALF)
    return halves.reshape(len(vectors), dimensions)
