"""Vectors as they came from elsewhere, checked and made to have the length 1."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from bearinmind.errors import EmbedderFailure

if TYPE_CHECKING:
    from bearinmind.protocols import Vectors


def checked(rows: Sequence[Any], *, texts: int, dimensions: int | None, who: str) -> Vectors:
    """A row of length 1 for each text.

    Raises:
        EmbedderFailure: there are too few or too many, or some are no vectors of that many
            dimensions; it names the texts at fault when it is a matter of some alone.
    """
    import numpy as np  # noqa: PLC0415

    if len(rows) != texts:
        raise EmbedderFailure(f"{who} gave {len(rows)} embeddings for {texts} texts")
    try:
        vectors = np.asarray(rows, dtype=np.float32)
    except (ValueError, TypeError, OverflowError):
        raise EmbedderFailure(
            f"{who} gave embeddings that are no lists of numbers of the same length"
        ) from None
    if not texts:
        return np.zeros((0, dimensions or 0), np.float32)
    if vectors.ndim != 2 or not vectors.shape[1]:  # noqa: PLR2004
        raise EmbedderFailure(f"{who} gave embeddings that are no lists of numbers")
    if dimensions is not None and vectors.shape[1] != dimensions:
        raise EmbedderFailure(
            f"{who} gave embeddings of {vectors.shape[1]} dimensions instead of {dimensions}",
            hint="Correct or leave out `embedder_dimensions`; not every model can shorten.",
        )
    with np.errstate(over="ignore", invalid="ignore"):
        lengths = np.linalg.norm(vectors.astype(np.float64), axis=1)
    bad = np.flatnonzero(~(np.isfinite(lengths) & (lengths > 0)))
    if bad.size:
        raise _without_direction(vectors[bad[0]], [int(at) for at in bad], texts, who)
    return np.asarray(vectors / lengths[:, None], dtype=np.float32)


def _without_direction(vector: Any, bad: list[int], texts: int, who: str) -> EmbedderFailure:  # noqa: ANN401
    """When some are good and some are not, the texts are at fault; else it is whoever answered."""
    what = "only zeros" if not vector.any() else "numbers that are not finite"
    return EmbedderFailure(
        f"{who} gave an embedding with {what} for {len(bad)} of {texts} texts",
        permanent=len(bad) < texts,
        refused=bad,
    )


class Memo(NamedTuple):
    """Where a number that was found out is kept for the next process."""

    find: Callable[[], int | None]
    keep: Callable[[int], None]


class Dimensions:
    """The number, which may have to be found out from the first vector that is seen."""

    def __init__(self, known: int | None, memo: Memo | None = None) -> None:
        self._known = known
        self._memo = memo
        self._certain = known is not None
        self._lock = threading.RLock()  # finding out ends in `saw`

    @property
    def known(self) -> int | None:
        """The number, if it is known by now."""
        return self._known

    def get(self, find_out: Callable[[], object]) -> int:
        """The number; `find_out` makes a vector, which is told to `saw`."""
        with self._lock:
            if self._known is None and self._memo is not None:
                self._known = self._memo.find()
            if self._known is None:
                find_out()
            return self._known or 0

    def saw(self, dimensions: int) -> None:
        """Take note of a vector that came."""
        with self._lock:
            if self._certain or dimensions < 1:
                return
            if self._memo is not None and dimensions != self._memo.find():
                self._memo.keep(dimensions)  # it is now another model, as the next process will see
            self._known = self._known or dimensions
            self._certain = self._known == dimensions
