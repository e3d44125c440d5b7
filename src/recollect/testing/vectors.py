"""The vectors and the queue of a store in memory."""

from __future__ import annotations

import itertools
import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple

from recollect.embedded_text import embedded_text
from recollect.errors import EmbedderFailure
from recollect.filters import admits
from recollect.protocols import (
    DenseAnswer,
    Job,
    KnownSpace,
    Nearby,
    SpaceState,
    WorkCount,
    WorkState,
)
from recollect.testing.holdings import Holdings, Row
from recollect.types import Filter, Space, UserId

if TYPE_CHECKING:
    from recollect.protocols import Vector, Vectors

EMBED = "embed"
ERROR_LENGTH = 500
_PLACES = 6  # of a cosine


class _Job(NamedTuple):
    """A job in the queue."""

    number: int
    target: str
    row: int
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


@dataclass(slots=True)
class _Kept:
    """A space and its vectors by the number of their row."""

    space: Space
    state: SpaceState
    vectors: dict[int, Vector] = field(default_factory=dict)


class VectorsInMemory:
    """Satisfies `recollect.protocols.Spaces` and `recollect.protocols.Work`."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._holdings: dict[UserId, Holdings] = defaultdict(Holdings)
        self._kept: dict[str, _Kept] = {}
        self._jobs: dict[int, _Job] = {}
        self._numbers = itertools.count(1)

    def _rows(self) -> Iterator[Row]:
        return (row for owned in self._holdings.values() for row in owned.rows)

    def _follow(self, before: Holdings, after: Holdings) -> None:
        """Bring vectors and jobs up to a transaction."""
        old, new = ({row.number for row in owned.rows} for owned in (before, after))
        for gone in old - new:
            for kept in self._kept.values():
                kept.vectors.pop(gone, None)
        self._jobs = {n: job for n, job in self._jobs.items() if job.row not in old - new}
        for row in after.rows:
            if row.number not in old:
                self._belong(row, after)

    def _belong(self, row: Row, owned: Holdings) -> None:
        """Give a new version its vectors, or the jobs that will bring them."""
        if not _embeddable(row):
            return
        for key, kept in self._kept.items():
            if kept.state is SpaceState.RETIRED:
                continue
            earlier = [x for x in owned.rows if x.memory.id == row.memory.id and x is not row]
            embedded = [x for x in earlier if x.number in kept.vectors]
            before = max(embedded, key=lambda x: x.memory.version, default=None)
            recipe = kept.space.text
            if before and embedded_text(before.memory, recipe) == embedded_text(row.memory, recipe):
                kept.vectors[row.number] = kept.vectors[before.number]
            else:
                self._queue(key, row)

    def _queue(self, key: str, row: Row) -> None:
        number = next(self._numbers)
        self._jobs[number] = _Job(number, key, row.number)

    # ---- spaces --------------------------------------------------------------------------------

    def spaces(self) -> list[KnownSpace]:
        """Every space, the active one first, then the one being filled."""
        with self._lock:
            dead = Counter((job.target, job.dead) for job in self._jobs.values())
            found = [
                KnownSpace(x.space, x.state, len(x.vectors), dead[key, False], dead[key, True])
                for key, x in self._kept.items()
            ]
        return sorted(found, key=lambda known: [*SpaceState].index(known.state))

    def use_space(self, space: Space) -> SpaceState:
        """Make sure that memories are embedded into a space."""
        with self._lock:
            for key, kept in [*self._kept.items()]:
                if kept.state is SpaceState.FILLING and key != space.key:
                    self._drop(key)
            known = self._kept.get(space.key)
            if known is not None and known.state is not SpaceState.RETIRED:
                return known.state
            active = any(kept.state is SpaceState.ACTIVE for kept in self._kept.values())
            state = SpaceState.FILLING if active else SpaceState.ACTIVE
            vectors = known.vectors if known else {}
            self._kept[space.key] = _Kept(space, state, vectors)
            for row in sorted(self._rows()):
                if _embeddable(row) and row.number not in vectors:
                    self._queue(space.key, row)
            return state

    def activate_filled(self) -> bool:
        """Make the space being filled the active one if no job is left for it; retire the other."""
        with self._lock:
            known = {each.state: each for each in self.spaces()}
            filled = known.get(SpaceState.FILLING)
            if filled is None or filled.waiting or filled.dead > filled.embedded:
                return False
            active = known.get(SpaceState.ACTIVE)
            if active is not None:
                self._kept[active.space.key].state = SpaceState.RETIRED
                self._drop_jobs(active.space.key)
            self._kept[filled.space.key].state = SpaceState.ACTIVE
        return True

    def drop_retired(self) -> int:
        """Remove the vectors of retired spaces; how many there were."""
        with self._lock:
            retired = [x for x in self.spaces() if x.state is SpaceState.RETIRED]
            for known in retired:
                self._drop(known.space.key)
        return sum(known.embedded for known in retired)

    def _drop(self, key: str) -> None:
        del self._kept[key]
        self._drop_jobs(key)

    def _drop_jobs(self, key: str) -> None:
        self._jobs = {n: job for n, job in self._jobs.items() if job.target != key}

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        """The admitted memories nearest to a query, by cosine."""
        import numpy as np  # noqa: PLC0415 (slow to import)

        _check_shape(query.shape, (space.dimensions,))
        asked = _unit(query.astype(np.float64))
        with self._lock:
            owned = self._holdings[filter.scope.user]
            vectors = dict(self._kept[space.key].vectors) if space.key in self._kept else {}

        def cosine(row: Row) -> float:
            return round(float(vectors[row.number] @ asked), _PLACES)

        present = [cosine(row) for row in owned.at(None).values() if row.number in vectors]
        found = [
            Nearby(row.memory.id, cosine(row))
            for row in owned.at(filter.as_of).values()
            if row.number in vectors and admits(filter, row.memory)
        ]
        found.sort(key=lambda near: (-near.cosine, near.id))
        mean, deviation = (float(np.mean(present)), float(np.std(present))) if present else (0, 0)
        return DenseAnswer(found[:limit], len(found), mean, deviation, len(present))

    # ---- work ----------------------------------------------------------------------------------

    def claim(self, kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        """Take the oldest jobs that are due, or whose claim has run out, until a moment."""
        with self._lock:
            rows = {row.number: row for row in self._rows()}
            due = [job for job in self._jobs.values() if job.may_be_claimed(now)]

            def turn(job: _Job) -> tuple[bool, bool, int]:
                past = rows[job.row].replaced_at is not None
                filling = self._kept[job.target].state is SpaceState.FILLING
                return past, filling and not past, job.number

            due.sort(key=turn)
            taken = due[:limit] if EMBED in kinds else []
            for job in taken:
                claimed = job._replace(claimed=True, due=until, attempts=job.attempts + 1)
                self._jobs[job.number] = claimed
        return [_to_job(job, rows[job.row]) for job in taken]

    def finish_embedding(self, space: Space, jobs: Sequence[Job], vectors: Vectors) -> int:
        """Keep the vectors and remove the jobs, in one transaction; how many were new."""
        import numpy as np  # noqa: PLC0415 (slow to import)

        _check_shape(vectors.shape, (len(jobs), space.dimensions))
        if not np.isfinite(vectors).all():
            raise EmbedderFailure("the embedder gave a vector that is not finite", permanent=True)
        new = 0
        with self._lock:
            for job, vector in zip(jobs, vectors, strict=True):
                queued = self._jobs.get(job.number)
                if queued is None or queued.target != space.key:
                    continue
                del self._jobs[job.number]
                half = _unit(vector).astype(np.float16)  # as files keep it
                self._kept[space.key].vectors[queued.row] = _unit(half.astype(np.float64))
                new += 1
        return new

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
            dead = [job for job in self._jobs.values() if job.dead and kind == EMBED]
            for job in dead:
                self._jobs[job.number] = job._replace(dead=False, due=None, attempts=0)
        return len(dead)

    def work_counts(self, now: datetime) -> list[WorkCount]:
        """What is in the queue."""
        with self._lock:
            jobs = sorted(self._jobs.values())
        groups: dict[tuple[str, WorkState], list[_Job]] = defaultdict(list)
        for job in jobs:
            groups[job.target, job.state(now)].append(job)
        counts = []
        for (target, state), group in sorted(groups.items()):
            said = [job.error for job in group if job.error is not None]
            counts.append(WorkCount(EMBED, target, state, len(group), said[-1] if said else None))
        return counts

    def next_due(self, now: datetime) -> datetime | None:
        """When the next job can be claimed; None when nothing waits."""
        with self._lock:
            due = [job.due or now for job in self._jobs.values() if not job.dead]
        return max(now, min(due)) if due else None


def _embeddable(row: Row) -> bool:
    return row.memory.deleted_at is None and not row.memory.sensitive


def _to_job(job: _Job, row: Row) -> Job:
    return Job(job.number, EMBED, job.target, row.memory.owner, row.memory, job.attempts)


def _check_shape(shape: tuple[int, ...], expected: tuple[int, ...]) -> None:
    if shape != expected:
        raise EmbedderFailure(
            f"a vector array has the shape {shape}, not {expected}", permanent=True
        )


def _unit(vector: Vector) -> Vector:
    """The same direction at length 1; what has none stays zero."""
    import numpy as np  # noqa: PLC0415 (slow to import)

    length = np.linalg.norm(vector)
    unit: Vector = vector / length if length else vector
    return unit
