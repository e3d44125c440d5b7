"""Vectors as pgvector takes and gives them. Needs numpy, which is slow to import."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bearinmind.store.halves import HALF, Doubles, Halves, joined
from bearinmind.store.postgres.dumpers import REAL, Reals

_HEAD = 4  # bytes before the numbers: how many dimensions there are, and nothing


def written(half: Halves) -> str:
    """A vector as a parameter: five digits say any number of half precision exactly."""
    return f"[{','.join(['%.5g' % number for number in half.tolist()])}]"  # noqa: UP031 (faster)


def received(blobs: Sequence[bytes], dimensions: int) -> Halves:
    """The vectors that `halfvec_send` gave, a row for each."""
    shape = np.dtype([("head", f"V{_HEAD}"), ("half", ">f2", (dimensions,))])
    vectors = np.frombuffer(joined(blobs, shape.itemsize), shape)
    return vectors["half"].astype(HALF)


def reals(values: Doubles) -> Reals:
    """Numbers as a parameter: the head of an array, then each behind its size."""
    head = np.array([1, 0, REAL, len(values), 1], ">i4")
    body = np.empty(len(values), [("size", ">i4"), ("value", ">f4")])
    body["size"], body["value"] = 4, values
    return Reals(head.tobytes() + body.tobytes())
