"""The queue of a store in memory."""

from __future__ import annotations

import itertools
import threading
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from datetime import datetime
from typing import NamedTuple

from bearinmind.protocols import Job, WorkCount, WorkState
from bearinmind.testing.holdings import Holdings, Row
from bearinmind.testing.sharing import SharesInMemory
from bearinmind.types import UserId

ERROR_LENGTH = 500


class QueuedJob(NamedTuple):
    """A job in the queue."""

    number: int
    kind: str
    target: str
    row: int
    has_time: bool  #: others come before it
    attempts: int = 0
    due: datetime | None = None  #: from when it may be claimed, again if it is claimed
    claimed: bool = False
    dead: bool = False
    error: str | None = None

    def may_be_claimed(self, now: datetime) -> bool:
        """Whether it waits no longer, and nobody works on it."""
        return not self.dead and (self.due is None or self.due <= now)

    def state(self, now: datetime) -> WorkState:
        """Where it stands."""
        if self.dead:
            return WorkState.DEAD
        held = self.claimed and not self.may_be_claimed(now)
        return WorkState.RUNNING if held else WorkState.WAITING


class WorkInMemory(SharesInMemory):
    """Satisfies `bearinmind.protocols.Work`, but for what the work comes to."""

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.RLock()
        self._holdings: dict[UserId, Holdings] = defaultdict(Holdings)
        self._jobs: dict[int, QueuedJob] = {}
        self._numbers = itertools.count(1)

    def _rows(self) -> Iterator[Row]:
        return (row for owned in self._holdings.values() for row in owned.rows)

    # ---- following the memories ----------------------------------------------------------------

    def _follow(self, before: Holdings, after: Holdings) -> None:
        """Bring all that depends on versions up to a transaction."""
        old, new = ({row.number for row in owned.rows} for owned in (before, after))
        if old - new:
            self._forget(old - new)
        for row in after.rows:
            if row.number not in old:
                self._belong(row, after)

    def _forget(self, gone: AbstractSet[int]) -> None:
        """These versions are no more."""
        self._drop(lambda job: job.row in gone)

    def _belong(self, row: Row, owned: Holdings) -> None:
        """A version is new: see to it that it is worked on."""

    def _queue(self, kind: str, target: str, row: Row, *, has_time: bool = False) -> None:
        number = next(self._numbers)
        self._jobs[number] = QueuedJob(number, kind, target, row.number, has_time)

    def _drop(self, which: Callable[[QueuedJob], bool]) -> None:
        self._jobs = {number: job for number, job in self._jobs.items() if not which(job)}

    def _has_time(self, job: QueuedJob) -> bool:
        """Whether the jobs of other present versions come before it."""
        return job.has_time

    # ---- work ----------------------------------------------------------------------------------

    def claim(self, kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        """Take the oldest jobs that are due, or whose claim has run out, until a moment."""
        with self._lock:
            rows = {row.number: row for row in self._rows()}
            due = [job for job in self._jobs.values() if job.may_be_claimed(now)]

            def turn(job: QueuedJob) -> tuple[bool, bool, int]:
                past = rows[job.row].replaced_at is not None
                return past, self._has_time(job) and not past, job.number

            taken = sorted((job for job in due if job.kind in kinds), key=turn)[:limit]
            for job in taken:
                claimed = job._replace(claimed=True, due=until, attempts=job.attempts + 1)
                self._jobs[job.number] = claimed
        return [_to_job(job, rows[job.row]) for job in taken]

    def give_back(
        self, jobs: Sequence[Job], error: str, due: datetime, *, dead: bool = False
    ) -> None:
        """Put claimed jobs back for another attempt at a later time, or give them up."""
        with self._lock:
            for job in jobs:
                queued = self._jobs.get(job.number)
                if queued and queued.claimed and queued.attempts == job.attempts + 1:
                    self._jobs[job.number] = queued._replace(
                        claimed=False,
                        dead=dead,
                        due=due,
                        error=error[:ERROR_LENGTH] or queued.error,
                        attempts=job.attempts + bool(error),
                    )

    def revive(self, kind: str) -> int:
        """Make the dead jobs of a kind wait again; how many there were."""
        with self._lock:
            dead = [job for job in self._jobs.values() if job.dead and job.kind == kind]
            for job in dead:
                self._jobs[job.number] = job._replace(dead=False, due=None, attempts=0)
        return len(dead)

    def work_counts(self, now: datetime) -> list[WorkCount]:
        """What is in the queue."""
        with self._lock:
            jobs = sorted(self._jobs.values())
        groups: dict[tuple[str, str, WorkState], list[QueuedJob]] = defaultdict(list)
        for job in jobs:
            groups[job.kind, job.target, job.state(now)].append(job)
        counts = []
        for place, group in sorted(groups.items()):
            said = [job.error for job in group if job.error is not None]
            counts.append(WorkCount(*place, len(group), said[-1] if said else None))
        return counts

    def next_due(self, now: datetime, kinds: Sequence[str] | None = None) -> datetime | None:
        """When the next job, perhaps only of these kinds, can be claimed; None: nothing waits."""
        with self._lock:
            meant = [x for x in self._jobs.values() if kinds is None or x.kind in kinds]
            due = [job.due or now for job in meant if not job.dead]
        return max(now, min(due)) if due else None


def is_readable(row: Row) -> bool:
    """Whether a version may be worked on."""
    return row.memory.deleted_at is None and not row.memory.sensitive


def _to_job(job: QueuedJob, row: Row) -> Job:
    return Job(job.number, job.kind, job.target, row.memory.owner, row.memory, job.attempts)
