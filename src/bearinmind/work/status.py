"""The status of a store's background work, and the result of a worker."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from types import MappingProxyType
from typing import NamedTuple

from bearinmind.protocols import KnownSpace, SpaceState, Unavailable, WorkCount, WorkState

EMBED = "embed"  #: a memory's text becomes a vector
EXTRACT = "extract"  #: a memory is read for the concept graph
COMPARE = "compare"  #: it is found which earlier memories a memory outdates
KINDS = (EMBED, EXTRACT, COMPARE)
_NONE: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkStatus:
    """The vector spaces of a store, its extractor and its queue."""

    spaces: Sequence[KnownSpace]
    queue: Sequence[WorkCount]
    next_due: datetime | None  #: when the next job can be done; None when none waits
    extractor: str = ""  #: its key; empty when extraction is off
    meaning_off: Unavailable | None = None  #: why the store cannot keep vectors; None: it can

    @property
    def active(self) -> KnownSpace | None:
        """The space that answers semantic recall."""
        return self._in(SpaceState.ACTIVE)

    @property
    def filling(self) -> KnownSpace | None:
        """The space that is being filled to take its place."""
        return self._in(SpaceState.FILLING)

    @property
    def waiting(self) -> int:
        """Jobs that wait or run."""
        return sum(count.jobs for count in self.queue if count.state is not WorkState.DEAD)

    @property
    def dead(self) -> int:
        """Jobs that were given up."""
        return sum(count.jobs for count in self.queue if count.state is WorkState.DEAD)

    @property
    def to_embed(self) -> int:
        """Jobs of embedding to do, for every space."""
        return self.of_kind(EMBED).waiting

    @property
    def to_read(self) -> int:
        """Memories to read for the graph."""
        return self.of_kind(EXTRACT).waiting

    @property
    def to_compare(self) -> int:
        """Memories to compare with earlier ones."""
        return self.of_kind(COMPARE).waiting

    def of_kind(self, kind: str) -> WorkStatus:
        """The status with the jobs of one kind only."""
        return replace(self, queue=[count for count in self.queue if count.kind == kind])

    @property
    def last_error(self) -> str | None:
        """The error of a failed job, of one that was given up if there is any."""
        failed = [count for count in self.queue if count.last_error]
        failed.sort(key=lambda count: count.state is not WorkState.DEAD)
        return failed[0].last_error if failed else None

    def _in(self, state: SpaceState) -> KnownSpace | None:
        return next((known for known in self.spaces if known.state is state), None)


class WorkDone(NamedTuple):
    """The result of the jobs that a worker claimed."""

    finished: int = 0
    postponed: int = 0  #: put back for another attempt
    given_up: int = 0  #: dead letters now
    last_error: str | None = None
    by_kind: Mapping[str, int] = _NONE  #: how many were finished of each kind

    def of_kind(self, kind: str) -> WorkDone:
        """The result as that of one kind."""
        return self._replace(by_kind={kind: self.finished} if self.finished else _NONE)

    def plus(self, other: WorkDone) -> WorkDone:
        """The sum of both."""
        mine, its = self.by_kind, other.by_kind
        return WorkDone(
            finished=self.finished + other.finished,
            postponed=self.postponed + other.postponed,
            given_up=self.given_up + other.given_up,
            last_error=other.last_error or self.last_error,
            by_kind={kind: mine.get(kind, 0) + its.get(kind, 0) for kind in sorted({*mine, *its})},
        )
