"""The vectors of a store in memory."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bearinmind.embedded_text import embedded_text
from bearinmind.errors import EmbedderFailure
from bearinmind.protocols import DenseAnswer, Job, KnownSpace, Nearby, SpaceState
from bearinmind.testing.holdings import Holdings, Row
from bearinmind.testing.queue import QueuedJob, WorkInMemory, is_readable
from bearinmind.types import Filter, MemoryId, Scope, Space

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

EMBED = "embed"
_PLACES = 6  # of a cosine


@dataclass(slots=True)
class _Kept:
    """A space and its vectors by the number of their row."""

    space: Space
    state: SpaceState
    vectors: dict[int, Vector] = field(default_factory=dict)


class VectorsInMemory(WorkInMemory):
    """Satisfies `bearinmind.protocols.Spaces`."""

    def __init__(self) -> None:
        super().__init__()
        self._kept: dict[str, _Kept] = {}

    def _forget(self, gone: AbstractSet[int]) -> None:
        super()._forget(gone)
        for kept in self._kept.values():
            for number in gone:
                kept.vectors.pop(number, None)

    def _belong(self, row: Row, owned: Holdings) -> None:
        """Give a new version its vectors, or the jobs that will bring them."""
        super()._belong(row, owned)
        if not is_readable(row):
            return
        for key, kept in self._kept.items():
            if kept.state is SpaceState.RETIRED:
                continue
            embedded = [x for x in owned.earlier(row) if x.number in kept.vectors]
            before = max(embedded, key=lambda x: x.memory.version, default=None)
            recipe = kept.space.text
            if before and embedded_text(before.memory, recipe) == embedded_text(row.memory, recipe):
                kept.vectors[row.number] = kept.vectors[before.number]
            else:
                self._queue(EMBED, key, row)

    def _has_time(self, job: QueuedJob) -> bool:
        if job.kind != EMBED:
            return super()._has_time(job)
        return self._kept[job.target].state is SpaceState.FILLING

    # ---- spaces --------------------------------------------------------------------------------

    def meaning_off(self) -> None:
        """Vectors can always be kept in memory."""

    def spaces(self) -> list[KnownSpace]:
        """Every space, the active one first, then the one being filled."""
        with self._lock:
            dead = Counter((x.target, x.dead) for x in self._jobs.values() if x.kind == EMBED)
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
                    self._drop_space(key)
            known = self._kept.get(space.key)
            if known is not None and known.state is not SpaceState.RETIRED:
                return known.state
            active = any(kept.state is SpaceState.ACTIVE for kept in self._kept.values())
            state = SpaceState.FILLING if active else SpaceState.ACTIVE
            vectors = known.vectors if known else {}
            self._kept[space.key] = _Kept(space, state, vectors)
            for row in sorted(self._rows()):
                if is_readable(row) and row.number not in vectors:
                    self._queue(EMBED, space.key, row)
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
                self._drop_space(known.space.key)
        return sum(known.embedded for known in retired)

    def index_spaces(self) -> int:
        """None: vectors are searched as they are."""
        return 0

    def _drop_space(self, key: str) -> None:
        del self._kept[key]
        self._drop_jobs(key)

    def _drop_jobs(self, key: str) -> None:
        self._drop(lambda job: (job.kind, job.target) == (EMBED, key))

    def nearest(self, filter: Filter, space: Space, query: Vector, limit: int) -> DenseAnswer:
        """The admitted memories nearest to a query, by cosine."""
        import numpy as np  # noqa: PLC0415 (slow to import)

        cosines = self._cosines(filter.scope, space, query)
        found = [Nearby(*near) for near in self._embedded(filter, cosines)]
        if filter.reader is None:
            held = self._holdings[filter.scope.user].at(None).values()
            present = [cosines[x.number] for x in held if x.number in cosines]
        else:  # what is not shared with a reader must not show in what all look like
            present = [near.cosine for near in found]
        found.sort(key=lambda near: (-near.cosine, near.id))
        mean, deviation = (float(np.mean(present)), float(np.std(present))) if present else (0, 0)
        how = "exact" if present else ""
        return DenseAnswer(found[:limit], len(found), mean, deviation, len(present), how)

    def cosines(
        self, filter: Filter, space: Space, query: Vector, ids: Sequence[MemoryId]
    ) -> dict[MemoryId, float]:
        """How near these memories are to a query, as far as they are admitted and embedded."""
        cosines = self._cosines(filter.scope, space, query)
        return {id_: near for id_, near in self._embedded(filter, cosines) if id_ in ids}

    def _embedded(
        self, filter: Filter, cosines: Mapping[int, float]
    ) -> Iterator[tuple[MemoryId, float]]:
        """The memories that a filter admits, each with its cosine."""
        for row in self._admitted(filter):
            if row.number in cosines:
                yield row.memory.id, cosines[row.number]

    def _cosines(self, scope: Scope, space: Space, query: Vector) -> dict[int, float]:
        """How near every version of a scope is that has a vector, by its number."""
        import numpy as np  # noqa: PLC0415 (slow to import)

        _check_shape(query.shape, (space.dimensions,))
        asked = _unit(query.astype(np.float64))
        with self._lock:
            vectors = dict(self._kept[space.key].vectors) if space.key in self._kept else {}
            own = [x.number for x in self._holdings[scope.user].rows if x.number in vectors]
        return {number: round(float(vectors[number] @ asked), _PLACES) for number in own}

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
                self._kept[space.key].vectors[queued.row] = as_kept(space, vector)
                new += 1
        return new


def as_kept(space: Space, vector: Vector) -> Vector:
    """A vector as files keep it.

    Raises:
        EmbedderFailure: it is not what a vector of the space must be.
    """
    import numpy as np  # noqa: PLC0415 (slow to import)

    _check_shape(vector.shape, (space.dimensions,))
    if not np.isfinite(vector).all():
        raise EmbedderFailure("the embedder gave a vector that is not finite", permanent=True)
    return _unit(_unit(vector).astype(np.float16).astype(np.float64))


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
