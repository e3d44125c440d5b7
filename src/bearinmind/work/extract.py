"""The jobs of kind `extract`: they extract concepts from memories."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Protocol

from bearinmind.concepts import Extraction
from bearinmind.errors import ExtractorFailure
from bearinmind.protocols import Extractor, Job, Store
from bearinmind.text.names import Text
from bearinmind.types import Scope
from bearinmind.work.entity_linking import Certain, EntityLinking, ExtractedMemory
from bearinmind.work.status import EXTRACT, WorkDone
from bearinmind.work.worker import HARMLESS, SUSPECT, Attempts, Handled

KIND = EXTRACT
BATCH = 200  # jobs of one claim, unless the extractor takes fewer at a time
_ELSEWHERE = 60.0  # seconds for which jobs of another extractor are left to another process

_log = logging.getLogger(__name__)


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
        return min(extractor.batch, BATCH) if extractor else BATCH

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
        harmless = replace(mine[0].memory, content=HARMLESS, tags=(), keywords=())
        tried = attempts.each(_parts(allowed), read, partial(extractor, [harmless]), stopping)
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


def _parts(jobs: Sequence[Job]) -> list[list[Job]]:
    """The jobs to try together: all of them, but each suspect alone."""
    together = [job for job in jobs if job.attempts < SUSPECT]
    alone = [[job] for job in jobs if job.attempts >= SUSPECT]
    return [together, *alone] if together else alone
