"""How many dimensions a model's vectors have: said, known, or found out once and remembered."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import NamedTuple


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
