"""What a store must know of vectors, in dicts: which version is embedded, and what is nearest."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from bearinmind.protocols import Job, Nearby, SpaceState
from bearinmind.types import Filter, Memory, MemoryId, Scope, Space
from support.versions import Key, Versions


def pointing(content: str) -> np.ndarray:
    """The vector of a memory: its content begins with three numbers."""
    return np.array(content.split()[:3], np.float32)


class VectorModel:
    """Every space with the versions that have a vector in it, and the jobs that wait for one."""

    def __init__(self) -> None:
        self.versions = Versions()
        self.states: dict[Space, SpaceState] = {}
        self.embedded: dict[Space, set[Key]] = {}
        self.jobs: dict[tuple[str, Key], int] = {}  #: a job that is dropped and comes again is new
        self._numbers = itertools.count()

    # ---- memories ------------------------------------------------------------------------------

    def keep(self, scope: Scope, *memories: Memory) -> None:
        """A version has the vector of the last one that says the same, or waits for its own."""
        for key in self.versions.keep(scope, *memories):
            for space, state in self.states.items():
                if self.versions.is_readable(key) and state is not SpaceState.RETIRED:
                    self._embed(space, key)

    def _embed(self, space: Space, key: Key) -> None:
        before = [x for x in self.versions.earlier(key) if x in self.embedded[space]]
        memories = self.versions.memories
        if before and memories[before[0]].content == memories[key].content:
            self.embedded[space].add(key)
        else:
            self.jobs[space.key, key] = next(self._numbers)

    def forget(self, scope: Scope, id: MemoryId) -> None:
        """What is purged has no vector and no job."""
        for key in self.versions.forget(scope, id):
            for space, embedded in self.embedded.items():
                embedded.discard(key)
                self.jobs.pop((space.key, key), None)

    # ---- spaces --------------------------------------------------------------------------------

    def use(self, space: Space) -> None:
        """The first space is active; another one is filled, and the one filled before is gone."""
        for other, state in [*self.states.items()]:
            if state is SpaceState.FILLING and other != space:
                self._drop(other)
        if self.states.get(space, SpaceState.RETIRED) is SpaceState.RETIRED:
            is_first = SpaceState.ACTIVE not in self.states.values()
            self.states[space] = SpaceState.ACTIVE if is_first else SpaceState.FILLING
            embedded = self.embedded.setdefault(space, set())
            for key in {*self.versions.memories} - embedded:
                if self.versions.is_readable(key):
                    self.jobs[space.key, key] = next(self._numbers)

    def activate(self) -> None:
        """The space that was filled is the active one; the other is retired, and its jobs go."""
        for space, state in [*self.states.items()]:
            if state is SpaceState.ACTIVE:
                self.states[space] = SpaceState.RETIRED
                self._drop_jobs(space)
            elif state is SpaceState.FILLING:
                self.states[space] = SpaceState.ACTIVE

    def drop_retired(self) -> int:
        """How many vectors go with the retired spaces."""
        retired = [x for x, state in self.states.items() if state is SpaceState.RETIRED]
        count = sum(len(self.embedded[space]) for space in retired)
        for space in retired:
            self._drop(space)
        return count

    def _drop(self, space: Space) -> None:
        del self.states[space], self.embedded[space]
        self._drop_jobs(space)

    def _drop_jobs(self, space: Space) -> None:
        self.jobs = {job: number for job, number in self.jobs.items() if job[0] != space.key}

    # ---- jobs ----------------------------------------------------------------------------------

    def number_of(self, job: Job) -> int:
        """The number of a job that was claimed just now; every such job must wait."""
        return self.jobs[job.target, _key(job)]

    def finish(self, space: Space, jobs: Sequence[Job], numbers: Sequence[int]) -> int:
        """How many vectors are new: what is no job any more brings none."""
        new = 0
        for job, number in zip(jobs, numbers, strict=True):
            if self.jobs.get((space.key, _key(job))) == number:
                del self.jobs[space.key, _key(job)]
                self.embedded[space].add(_key(job))
                new += 1
        return new

    # ---- what is near --------------------------------------------------------------------------

    def nearest(self, filter: Filter, space: Space, query: np.ndarray) -> list[Nearby]:
        """Everything that is admitted and embedded, the nearest first."""
        admitted = self.versions.admitted(filter)
        embedded = self.embedded.get(space, set())
        near = {
            id_: _cosine(pointing(self.versions.memories[key].content), query)
            for id_, key in admitted.items()
            if key in embedded
        }
        return sorted((Nearby(*each) for each in near.items()), key=lambda x: (-x.cosine, x.id))


def _key(job: Job) -> Key:
    return Key(job.owner, job.memory.id, job.memory.version)


def _cosine(one: np.ndarray, two: np.ndarray) -> float:
    """A vector without a length is near to nothing."""
    lengths = float(np.linalg.norm(one) * np.linalg.norm(two))
    return float(one @ two) / lengths if lengths else 0.0
