"""What a worker has done, counted."""

from __future__ import annotations

from typing import NamedTuple


class WorkDone(NamedTuple):
    """What became of the jobs that a worker took."""

    finished: int = 0
    postponed: int = 0  #: put back for another attempt
    given_up: int = 0  #: dead letters now
    last_error: str | None = None

    def plus(self, other: WorkDone) -> WorkDone:
        """Both together."""
        return WorkDone(
            finished=self.finished + other.finished,
            postponed=self.postponed + other.postponed,
            given_up=self.given_up + other.given_up,
            last_error=other.last_error or self.last_error,
        )
