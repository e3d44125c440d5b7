"""Clocks of machines, which do not agree."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from random import Random

START = datetime(2026, 1, 1, tzinfo=UTC)
_FARTHEST = timedelta(
    hours=10
)  # from the true time: a server takes nothing from the day after next


class Time:
    """The true time."""

    def __init__(self) -> None:
        self.now = START

    def pass_by(self, random: Random) -> None:
        """Some time passes."""
        self.now += timedelta(microseconds=random.choice((0, 1, 1_000, 60_000_000)))


class Clock:
    """A clock of a machine, which may be wrong and may jump."""

    def __init__(self, time: Time) -> None:
        self.time = time
        self.off = timedelta()

    def jump(self, random: Random) -> None:
        """Be wrong by some hours, in either direction."""
        self.off = _FARTHEST * random.uniform(-1, 1)

    def __call__(self) -> datetime:
        """What it says."""
        return self.time.now + self.off
