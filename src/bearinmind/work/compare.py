"""The jobs of kind `compare`: they find which earlier memories a memory outdates."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bearinmind.errors import StoreFailure, WorkFailure
from bearinmind.protocols import Job, SpaceState, Store
from bearinmind.types import Link, Memory, MemoryId, Scope
from bearinmind.work.status import EMBED, WorkDone
from bearinmind.work.worker import CLAIM, Attempts, Handled

BATCH = 50  # jobs of one claim
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
    batch: int = BATCH

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
