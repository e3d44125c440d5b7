"""What a worker has done, counted."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import NamedTuple

_NONE: Mapping[str, int] = MappingProxyType({})


class WorkDone(NamedTuple):
    """What became of the jobs that a worker took."""

    finished: int = 0
    postponed: int = 0  #: put back for another attempt
    given_up: int = 0  #: dead letters now
    last_error: str | None = None
    by_kind: Mapping[str, int] = _NONE  #: how many were finished of each kind

    def of_kind(self, kind: str) -> WorkDone:
        """The same, known to be of one kind."""
        return self._replace(by_kind={kind: self.finished} if self.finished else _NONE)

    def plus(self, other: WorkDone) -> WorkDone:
        """Both together."""
        mine, its = self.by_kind, other.by_kind
        return WorkDone(
            finished=self.finished + other.finished,
            postponed=self.postponed + other.postponed,
            given_up=self.given_up + other.given_up,
            last_error=other.last_error or self.last_error,
            by_kind={kind: mine.get(kind, 0) + its.get(kind, 0) for kind in sorted({*mine, *its})},
        )
