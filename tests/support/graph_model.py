"""What a store must know of mentions, in dicts: which memory mentions what, and in which role."""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Mapping, Sequence

from bearinmind.concepts import ConceptName, Extraction, Mention, Mentioned, Role
from bearinmind.protocols import Job
from bearinmind.types import Filter, Memory, MemoryId, Scope
from support.versions import Key, Versions

Roles = dict[ConceptName, set[Role]]
_STRONGEST_FIRST = [*Role]


class GraphModel:
    """What every version mentions, who has read it, and the jobs that wait for a reader."""

    def __init__(self) -> None:
        self.versions = Versions()
        self.extractor = ""
        self.mentions: dict[Key, Roles] = {}
        self.jobs: dict[Key, tuple[str, int]] = {}  #: a job that comes again has another number
        self._given: dict[Key, list[Mention]] = defaultdict(list)
        self._read_by: dict[Key, str] = {}
        self._stated: set[Key] = set()
        self._numbers = itertools.count()

    # ---- memories ------------------------------------------------------------------------------

    def keep(self, scope: Scope, *memories: Memory) -> None:
        """A version mentions what the one before does that says the same, or waits to be read."""
        for key in self.versions.keep(scope, *memories):
            if self.versions.is_readable(key):
                self._take_over(key)
                if self.extractor and self._read_by.get(key) != self.extractor:
                    self._wait(key)

    def _take_over(self, key: Key) -> None:
        known = {*self._read_by, *self.mentions, *self._stated}
        before = next((x for x in self.versions.earlier(key) if x in known), None)
        said = self.versions.memories
        if before is None or said[before].content != said[key].content:
            return
        self._given[key] = [*self._given[before]]
        if before in self.mentions:
            self.mentions[key] = {x: {*roles} for x, roles in self.mentions[before].items()}
        if before in self._read_by:
            self._read_by[key] = self._read_by[before]
        if before in self._stated:
            self._stated.add(key)

    def conceal(self, scope: Scope, *memories: Memory) -> None:
        """What has become sensitive mentions nothing, and is not read."""
        self._drop(self.versions.keep(scope, *memories))

    def forget(self, scope: Scope, id: MemoryId) -> None:
        """What is purged mentions nothing."""
        self._drop(self.versions.forget(scope, id))

    def _drop(self, keys: Sequence[Key]) -> None:
        for key in keys:
            for known in (self.mentions, self.jobs, self._given, self._read_by):
                known.pop(key, None)
            self._stated.discard(key)

    # ---- reading -------------------------------------------------------------------------------

    def use(self, extractor: str, *, again: bool) -> None:
        """Have every version read that this extractor has not read; with `again` all of them."""
        if not again and extractor == self.extractor:
            return
        self.extractor = extractor
        self.jobs = {key: job for key, job in self.jobs.items() if job[0] == extractor}
        for key in self.versions.memories if extractor else ():
            unread = again or self._read_by.get(key) != extractor
            if self.versions.is_readable(key) and unread and key not in self.jobs:
                self._wait(key)

    def _wait(self, key: Key) -> None:
        self.jobs[key] = (self.extractor, next(self._numbers))

    def job_of(self, job: Job) -> tuple[str, int]:
        """A job that was claimed just now; every such job must wait."""
        return self.jobs[_key(job)]

    def finish(
        self,
        jobs: Sequence[Job],
        numbers: Sequence[tuple[str, int]],
        found: Sequence[Extraction],
    ) -> None:
        """A version mentions what was read in it and what it was given, and nothing else."""
        for job, number, extraction in zip(jobs, numbers, found, strict=True):
            key = _key(job)
            if self.jobs.get(key) == number:
                del self.jobs[key]
                self._read_by[key] = job.target
                self.mentions[key] = {}
                self._mention(key, [*self._given[key], *extraction.mentions])

    def add(self, scope: Scope, id: MemoryId, mention: Mention, *, given: bool) -> None:
        """The present version mentions this, too; what was given outlasts another reading."""
        key = self.versions.present(scope)[id]
        if self.versions.is_readable(key):
            self._mention(key, [mention])
            self._given[key] += [mention] if given else []

    def state(self, scope: Scope, id: MemoryId) -> None:
        """The present version is evidence of a relation, and so is known."""
        key = self.versions.present(scope)[id]
        if self.versions.is_readable(key):
            self._stated.add(key)

    def _mention(self, key: Key, mentions: Sequence[Mention]) -> None:
        said = self.mentions.setdefault(key, {})
        for mention in mentions:
            said.setdefault(mention.name, set()).add(mention.role)

    # ---- what is mentioned ---------------------------------------------------------------------

    def mentioned(
        self, filter: Filter, merged: Mapping[ConceptName, ConceptName]
    ) -> set[Mentioned]:
        """Everything that admitted memories mention, each concept in its strongest role."""
        found: set[Mentioned] = set()
        for id_, key in self.versions.admitted(filter).items():
            roles: Roles = {}
            for name, said in self.mentions.get(key, {}).items():
                roles.setdefault(_meant(name, merged), set()).update(said)
            for name, said in roles.items():
                role = min(said, key=_STRONGEST_FIRST.index)
                found.add(Mentioned(id_, name, role, *self._counts(filter.scope, name, merged)))
        return found

    def _counts(
        self, scope: Scope, concept: ConceptName, merged: Mapping[ConceptName, ConceptName]
    ) -> tuple[int, int]:
        """How many present versions mention a concept, and how many are about it."""
        present = [self.mentions.get(key, {}) for key in self.versions.present(scope).values()]
        said = [
            roles
            for mentions in present
            for name, roles in mentions.items()
            if _meant(name, merged) == concept
        ]
        return len(said), sum(Role.SUBJECT in roles for roles in said)


def _meant(name: ConceptName, merged: Mapping[ConceptName, ConceptName]) -> ConceptName:
    while name in merged:
        name = merged[name]
    return name


def _key(job: Job) -> Key:
    return Key(job.owner, job.memory.id, job.memory.version)
