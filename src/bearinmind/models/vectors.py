"""Checks vectors that a server or a library gave, and finds out how many dimensions they have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from bearinmind.errors import EmbedderFailure
from bearinmind.models import forks
from bearinmind.models.caches import EmbeddingCache

if TYPE_CHECKING:
    from bearinmind.models.factory import EmbedderOptions
    from bearinmind.protocols import Vectors


def checked(rows: Sequence[Any], *, texts: int, dimensions: int | None, who: str) -> Vectors:
    """A row of length 1 for each text; an `EmbedderFailure` names texts that alone are at fault."""
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
        what = "only zeros" if not vectors[bad[0]].any() else "numbers that are not finite"
        raise EmbedderFailure(
            f"{who} gave an embedding with {what} for {len(bad)} of {texts} texts",
            permanent=len(bad) < texts,  # when all are bad, the server is at fault
            refused=[int(at) for at in bad],
        )
    return np.asarray(vectors / lengths[:, None], dtype=np.float32)


class Dimensions:
    """The number of dimensions, which may have to be found out from the first vector.

    What was found out is kept for the next process under a name of the model.
    """

    def __init__(self, known: int | None, options: EmbedderOptions, name: str) -> None:
        self.known = known  #: None while it is not known
        self._options = options
        self._name = name
        self._certain = known is not None
        self._lock = forks.Lock(reentrant=True)  # finding out ends in `saw`

    def get(self, find_out: Callable[[], object]) -> int:
        """The number; `find_out` makes a vector and calls `saw`."""
        with self._lock:
            if self.known is None:
                self.known = self._found_before()
            if self.known is None:
                find_out()
            return self.known or 0

    def saw(self, dimensions: int) -> None:
        """Note the dimensions of a vector."""
        with self._lock:
            if self._certain or dimensions < 1:
                return
            if self._options.cache and dimensions != self._found_before():
                with EmbeddingCache(self._options.cache) as cache:
                    # It may be another model now, as the next process will see.
                    cache.keep_dimensions(self._name, dimensions)
            self.known = self.known or dimensions
            self._certain = self.known == dimensions

    def _found_before(self) -> int | None:
        if self._options.expected is not None or self._options.cache is None:
            return self._options.expected
        with EmbeddingCache(self._options.cache) as cache:
            return cache.dimensions(self._name)
