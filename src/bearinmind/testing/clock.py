"""A clock that stands still, and ids that count."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from bearinmind import ids
from bearinmind.types import MemoryId


class FixedClock:
    """A clock that stands still until it is advanced."""

    def __init__(self, now: datetime = datetime(2026, 1, 1, tzinfo=UTC)) -> None:
        self.now = now

    def __call__(self) -> datetime:
        """The present moment."""
        return self.now

    def advance(self, **span: float) -> datetime:
        """Let time pass; the keywords are those of `timedelta`."""
        self.now += timedelta(**span)
        return self.now


def counting_ids() -> Callable[[], MemoryId]:
    """A source of valid ids that sort as they are made: 000100000000, 000200000000, ..."""
    counter = itertools.count(1)
    base = len(ids.ALPHABET)

    def new_id() -> MemoryId:
        number = next(counter)
        digits = [ids.ALPHABET[number // base**place % base] for place in (3, 2, 1, 0)]
        return MemoryId("".join(digits).ljust(ids.LENGTH, ids.ALPHABET[0]))

    return new_id
