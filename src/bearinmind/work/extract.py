"""The jobs of kind `extract`: a memory is read for the concept graph."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Protocol

from bearinmind.concepts import Extraction
from bearinmind.errors import ExtractorFailure
from bearinmind.protocols import Extractor, Job
from bearinmind.text.names import Text
from bearinmind.types import Memory, MemoryId, Provenance, Scope, UserId
from bearinmind.work.entity_linking import Certain, EntityLinking, Reading, ReadingStore
from bearinmind.work.status import EXTRACT, WorkDone
from bearinmind.work.worker import SUSPECT, Attempts, Handled

KIND = EXTRACT
BATCH = 200  # jobs of one claim, unless the extractor takes fewer at a time
_ELSEWHERE = 60.0  # seconds for which jobs of another extractor are left to whoever has it

_log = logging.getLogger(__name__)


class ExtractorOfProcess(Protocol):
    """What the handler asks of whoever makes the extractor."""

    def configured(self) -> Extractor | None:
        """The extractor of the settings; None when there is to be none."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Extracting:
    """The handler."""

    store: ReadingStore
    extractor: ExtractorOfProcess
    clock: Callable[[], datetime]
    certain: Certain | None = None  #: which new names are the same as known ones
    chance: Callable[[], float] = field(default=random.random)  #: from 0 to 1, for the jitter

    @property
    def batch(self) -> int:
        """As many as the extractor takes at a time."""
        extractor = self.extractor.configured()
        return min(extractor.batch, BATCH) if extractor else BATCH

    def begin(self) -> bool:
        """From now on memories are read by the configured extractor; False when there is none."""
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
        handled = self._leave([job for job in jobs if job.target != key])
        if extractor is None or not mine:
            return handled
        attempts = Attempts(
            work=self.store, clock=self.clock, done_to_them="read for the graph", chance=self.chance
        )
        allowed, given_up = attempts.allowed(mine)
        read = partial(self._read, extractor)
        tried = attempts.each(_parts(allowed), read, partial(_is_well, extractor), stopping)
        return handled.plus(given_up).plus(tried)

    def settle(self) -> None:
        """Nothing is left to do."""

    def _leave(self, jobs: Sequence[Job]) -> Handled:
        """Another process changed the extractor: its jobs are for whoever has that one."""
        if not jobs:
            return Handled(WorkDone())
        self.store.give_back(jobs, "", self.clock() + timedelta(seconds=_ELSEWHERE))
        return Handled(WorkDone(postponed=len(jobs)), _ELSEWHERE)

    def _read(self, extractor: Extractor, jobs: Sequence[Job]) -> ExtractorFailure | None:
        """Read these and keep what was found, or say why not."""
        try:
            found = extractor([job.memory for job in jobs])
        except ExtractorFailure as exc:
            self._keep_meanwhile(jobs, exc.found)
            return exc
        except Exception as exc:  # noqa: BLE001  whatever a text does to a model ends as its error
            return ExtractorFailure(f"{type(exc).__name__}: {exc}", permanent=True)
        if len(found) != len(jobs):
            told = f"the extractor answered {len(found)} of {len(jobs)} memories"
            return ExtractorFailure(told, permanent=True)
        self._keep(jobs, found)
        return None

    def _keep(self, jobs: Sequence[Job], found: Sequence[Extraction]) -> None:
        joining = self._joining()
        owned = _by_owner(jobs, found)
        completed: dict[int, Extraction] = {}
        for scope, readings in owned.items():
            whole = joining.completed(scope, readings)
            numbers = [reading.job.number for reading in readings]
            completed |= zip(numbers, whole, strict=True)
        self.store.finish_extraction(jobs, [completed[job.number] for job in jobs], self.clock())
        for scope, readings in owned.items():
            joining.look_again(scope, readings)

    def _keep_meanwhile(self, jobs: Sequence[Job], found: Sequence[Extraction]) -> None:
        if found:
            for scope, readings in _by_owner(jobs, found).items():
                self._joining().meanwhile(scope, readings)

    def _joining(self) -> EntityLinking:
        return EntityLinking(store=self.store, clock=self.clock, certain=self.certain)


def _by_owner(jobs: Sequence[Job], found: Sequence[Extraction]) -> dict[Scope, list[Reading]]:
    owned: dict[Scope, list[Reading]] = {}
    for job, extraction in zip(jobs, found, strict=True):
        reading = Reading(job, extraction, Text(job.memory.content))
        owned.setdefault(Scope(user=job.owner), []).append(reading)
    return owned


def _parts(jobs: Sequence[Job]) -> list[list[Job]]:
    """What is tried together: all of them, but each suspect alone."""
    together = [job for job in jobs if job.attempts < SUSPECT]
    alone = [[job] for job in jobs if job.attempts >= SUSPECT]
    return [together, *alone] if together else alone


def _is_well(extractor: Extractor) -> bool:
    """Whether it reads a text that nobody can object to."""
    try:
        extractor([_HARMLESS])
    except Exception:  # noqa: BLE001  an answer to the question, not an error
        return False
    return True


_LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)
_HARMLESS = Memory(
    id=MemoryId("000000000000"),
    owner=UserId("nobody"),
    content="A memory is worth keeping.",
    category="facts",
    tags=(),
    keywords=(),
    importance=0.5,
    sensitive=False,
    created_at=_LONG_AGO,
    updated_at=_LONG_AGO,
    deleted_at=None,
    valid_from=None,
    valid_to=None,
    provenance=Provenance(),
    version=1,
)
