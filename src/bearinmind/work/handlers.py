"""The handlers of background work: each does the jobs of one kind.

They make the vectors of memories, read memories for the concept graph, and find which earlier
memories a memory outdates.
"""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from bearinmind.concepts import Extraction
from bearinmind.errors import EmbedderFailure, ExtractorFailure, StoreFailure, WorkFailure
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Embedder, Extractor, Job, SpaceState, Store
from bearinmind.text.embedded_text import embedded_text
from bearinmind.text.names import Text
from bearinmind.types import Link, Memory, MemoryId, Scope, Space
from bearinmind.work.entity_linking import Certain, EntityLinking, ExtractedMemory
from bearinmind.work.status import EMBED, WorkDone
from bearinmind.work.worker import CLAIM, HARMLESS, SUSPECT, Attempts, Handled, passing

_log = logging.getLogger(__name__)


# ---- embedding ---------------------------------------------------------------------------------

EMBEDDED_AT_ONCE = 256  # jobs of one claim
#: Characters that go to a model on this machine at once: it answers within about a second, so that
#: a worker told to stop soon does.
SLICE = 20_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The handler of these jobs."""

    store: Store
    embedders: Embedders
    clock: Callable[[], datetime]
    chance: Callable[[], float] = field(default=random.random)  #: from 0 to 1, for the jitter
    batch: int = EMBEDDED_AT_ONCE

    def begin(self) -> bool:
        """Make the space of the configured embedder the target; False when there is none."""
        embedder = self.embedders.configured()
        if embedder is None:
            return False
        self.store.use_space(_space_of(embedder))
        return True

    def __call__(self, jobs: Sequence[Job], stopping: Callable[[], bool]) -> Handled:
        """Embed the memories of these jobs, space by space."""
        spaces = {known.space.key: known.space for known in self.store.spaces(counted=False)}
        allowed, handled = self._attempts.allowed(jobs)
        by_space: dict[str, list[Job]] = {}
        for job in allowed:
            by_space.setdefault(job.target, []).append(job)
        for key, group in by_space.items():
            if key in spaces:  # else it was dropped since, and its jobs with it
                handled = handled.plus(self._embed_space(spaces[key], group, stopping))
        return handled

    def settle(self) -> None:
        """Activate a space that is filled, and index one that has grown large."""
        filling = [x for x in self.store.spaces(counted=False) if x.state is SpaceState.FILLING]
        if filling and self.store.activate_filled():
            _log.info(
                "the space of %s is filled and answers now",
                filling[0].space.model,
                extra={"action": "space_activated"},
            )
        try:
            built = self.store.index_spaces()
        except StoreFailure as exc:  # recalls are right without an index, if slower
            _log.warning("no vector index: %s", exc, extra={"action": "spaces_not_indexed"})
            return
        if built:
            _log.info("built %d vector indexes", built, extra={"action": "spaces_indexed"})

    @property
    def _attempts(self) -> Attempts:
        return Attempts(work=self.store, clock=self.clock, outcome="embedded", chance=self.chance)

    def _embed_space(self, space: Space, jobs: list[Job], stopping: Callable[[], bool]) -> Handled:
        try:
            embedder = self.embedders.of(space)
        except EmbedderFailure as exc:
            # Another space's embedder may be well, so the worker need not rest.
            return Handled(self._attempts.failed(jobs, passing(exc)).done)
        parts = [jobs] if embedder.leaves_machine else [*_slices(jobs, space)]
        harmless = partial(embedder.embed_memories, [HARMLESS])
        return self._attempts.each(parts, partial(self._embed, embedder), harmless, stopping)

    def _embed(self, embedder: Embedder, jobs: Sequence[Job]) -> EmbedderFailure | None:
        """Embed these memories and store the vectors; return the failure, if any."""
        texts = [embedded_text(job.memory, embedder.space.text) for job in jobs]
        try:
            vectors = embedder.embed_memories(texts)
        except EmbedderFailure as exc:
            return exc
        except Exception as exc:  # noqa: BLE001  a text may make a model raise anything
            return EmbedderFailure(f"{type(exc).__name__}: {exc}", permanent=True)
        try:
            self.store.finish_embedding(embedder.space, jobs, vectors)
        except EmbedderFailure as exc:  # they are not vectors of the space
            return exc
        return None


def _space_of(embedder: Embedder) -> Space:
    """The space of an embedder; a model that is not downloaded yet knows it after its first use."""
    try:
        return embedder.space
    except EmbedderFailure:
        if embedder.leaves_machine:
            raise
        embedder.embed_memories([HARMLESS])
        return embedder.space


def _slices(jobs: Sequence[Job], space: Space) -> Iterator[list[Job]]:
    """Small groups of jobs of similar length, so that a model pads little."""
    part: list[Job] = []
    size = 0
    for job in sorted(jobs, key=lambda job: len(embedded_text(job.memory, space.text))):
        length = len(embedded_text(job.memory, space.text))
        alone = job.attempts >= SUSPECT
        if part and (alone or size + length > SLICE):
            yield part
            part, size = [], 0
        part.append(job)
        size += SLICE if alone else length
    if part:
        yield part


# ---- reading for the graph ---------------------------------------------------------------------

EXTRACTED_AT_ONCE = 200  # jobs of one claim, unless the extractor takes fewer at a time
_ELSEWHERE = 60.0  # seconds for which jobs of another extractor are left to another process


class ExtractorOfProcess(Protocol):
    """The extractor that this process can make."""

    def configured(self) -> Extractor | None:
        """The extractor of the settings; None when extraction is off."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracting:
    """The handler of these jobs."""

    store: Store
    extractor: ExtractorOfProcess
    clock: Callable[[], datetime]
    certain: Certain | None = None  #: which new names are the same as known ones
    chance: Callable[[], float] = field(default=random.random)  #: from 0 to 1, for the jitter

    @property
    def batch(self) -> int:
        """How many memories the extractor takes at a time."""
        extractor = self.extractor.configured()
        return min(extractor.batch, EXTRACTED_AT_ONCE) if extractor else EXTRACTED_AT_ONCE

    def begin(self) -> bool:
        """Make the configured extractor that of the store; False when there is none."""
        extractor = self.extractor.configured()
        key = extractor.key if extractor else ""
        if self.store.extractor() != key:
            count = self.store.use_extractor(key)
            _log.info(
                "%d memories are read by %s", count, key or "nobody", extra={"action": "extractor"}
            )
        return extractor is not None

    def __call__(self, jobs: Sequence[Job], stopping: Callable[[], bool]) -> Handled:
        """Read the memories of these jobs."""
        extractor = self.extractor.configured()
        key = extractor.key if extractor else ""
        mine = [job for job in jobs if job.target == key]
        others = [job for job in jobs if job.target != key]
        handled = Handled(WorkDone())
        if others:  # another process changed the extractor, and can do them
            self.store.give_back(others, "", self.clock() + timedelta(seconds=_ELSEWHERE))
            handled = Handled(WorkDone(postponed=len(others)), _ELSEWHERE)
        if extractor is None or not mine:
            return handled
        attempts = Attempts(
            work=self.store, clock=self.clock, outcome="read for the graph", chance=self.chance
        )
        allowed, given_up = attempts.allowed(mine)
        read = partial(self._extract, extractor)
        harmless = replace(
            mine[0].memory,
            content=HARMLESS,
            tags=(),
            keywords=(),
            sensitive=False,  # else it would be read as nothing
            deleted_at=None,
        )
        tried = attempts.each(
            _tried_together(allowed), read, partial(extractor, [harmless]), stopping
        )
        return handled.plus(given_up).plus(tried)

    def settle(self) -> None:
        """There is nothing to clean up."""

    def _extract(self, extractor: Extractor, jobs: Sequence[Job]) -> ExtractorFailure | None:
        """Extract from these memories and store the result; return the failure, if any."""
        linking = EntityLinking(store=self.store, clock=self.clock, certain=self.certain)
        try:
            extractions = extractor([job.memory for job in jobs])
        except ExtractorFailure as exc:
            if exc.found:
                for scope, extracted in _by_owner(jobs, exc.found).items():
                    linking.add_partial(scope, extracted)
            return exc
        except Exception as exc:  # noqa: BLE001  a text may make a model raise anything
            return ExtractorFailure(f"{type(exc).__name__}: {exc}", permanent=True)
        if len(extractions) != len(jobs):
            problem = f"the extractor answered {len(extractions)} of {len(jobs)} memories"
            return ExtractorFailure(problem, permanent=True)
        owned = _by_owner(jobs, extractions)
        completed: dict[int, Extraction] = {}
        for scope, extracted in owned.items():
            numbers = [each.job.number for each in extracted]
            completed |= zip(numbers, linking.completed(scope, extracted), strict=True)
        self.store.finish_extraction(jobs, [completed[job.number] for job in jobs], self.clock())
        for scope, extracted in owned.items():
            linking.add_missed_names(scope, extracted)
        return None


def _by_owner(
    jobs: Sequence[Job], extractions: Sequence[Extraction]
) -> dict[Scope, list[ExtractedMemory]]:
    owned: dict[Scope, list[ExtractedMemory]] = {}
    for job, extraction in zip(jobs, extractions, strict=True):
        extracted = ExtractedMemory(job, extraction, Text(job.memory.content))
        owned.setdefault(Scope(user=job.owner), []).append(extracted)
    return owned


def _tried_together(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs to try together: all of them, but each suspect alone."""
    together = [job for job in jobs if job.attempts < SUSPECT]
    alone = [[job] for job in jobs if job.attempts >= SUSPECT]
    return [together, *alone] if together else alone


# ---- comparing ---------------------------------------------------------------------------------

COMPARED_AT_ONCE = 50  # jobs of one claim
_NOT_EMBEDDED = 0.5  # seconds after which it is looked again whether a memory is embedded

#: The links that follow from a memory, and those that no longer do.
Compare = Callable[[Scope, Memory], tuple[Sequence[Link], Sequence[Link]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Comparing:
    """The handler of these jobs; a memory that is to be embedded is compared after that."""

    store: Store
    compare: Compare
    clock: Callable[[], datetime]
    embeds: Callable[[], bool]  #: whether memories are embedded here
    batch: int = COMPARED_AT_ONCE

    def begin(self) -> bool:
        """There is always something to compare with."""
        return True

    def __call__(self, jobs: Sequence[Job], stopping: Callable[[], bool]) -> Handled:
        """Compare the memories of these jobs."""
        attempts = Attempts(work=self.store, clock=self.clock, outcome="compared")
        allowed, handled = attempts.allowed(jobs)
        ready = self._embedded(allowed)
        early = [job for job in allowed if job.number not in ready]
        if early:
            now = self.clock()
            embedding = self.store.next_due(now, [EMBED]) or now
            is_running = embedding - now <= CLAIM  # else its embedder is away
            soon = now + timedelta(seconds=_NOT_EMBEDDED)
            self.store.give_back(early, "", soon if is_running else embedding)
            handled = handled.plus(Handled(WorkDone(postponed=len(early))))
        parts = [[job] for job in allowed if job.number in ready]
        return handled.plus(attempts.each(parts, self._compare, lambda: True, stopping))

    def settle(self) -> None:
        """There is nothing to clean up."""

    def _embedded(self, jobs: Sequence[Job]) -> set[int]:
        """The jobs whose memories have their vector, or will never have one."""
        active = [x for x in self.store.spaces(counted=False) if x.state is SpaceState.ACTIVE]
        is_possible = self.embeds() and self.store.meaning_off() is None
        if not is_possible or not active or not active[0].waiting:
            return {job.number for job in jobs}
        owners = {job.owner for job in jobs}
        vectors: set[tuple[str, MemoryId]] = set()
        for owner in owners:
            ids = [job.memory.id for job in jobs if job.owner == owner]
            known = self.store.vectors_of(Scope(user=owner), active[0].space, ids)
            vectors |= {(owner, id_) for id_ in known}
        return {job.number for job in jobs if (job.owner, job.memory.id) in vectors}

    def _compare(self, jobs: Sequence[Job]) -> WorkFailure | None:
        [job] = jobs
        scope = Scope(user=job.owner)
        try:
            new, ended = self.compare(scope, job.memory)
        except StoreFailure:
            raise
        except Exception as exc:  # noqa: BLE001  a text may make a comparison raise anything
            return WorkFailure(f"{type(exc).__name__}: {exc}", permanent=True)
        self.store.finish_comparison(scope, jobs, new, ended)
        return None
