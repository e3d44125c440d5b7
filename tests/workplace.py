"""A store in memory with workers for it, for tests."""

from __future__ import annotations

from recollect.embed.embedders import Embedders
from recollect.protocols import Embedder, WorkState
from recollect.testing import FixedClock, MemoryStore
from recollect.types import Memory, Scope, UserId
from recollect.work import embed
from recollect.work.embed import Embedding
from recollect.work.loop import Worker

ADA = Scope(user=UserId("ada"))


class Workplace:
    """A store in memory and workers for it."""

    def __init__(self, clock: FixedClock) -> None:
        self.store = MemoryStore()
        self.clock = clock

    def worker(self, configured: Embedder | None, *others: Embedder, batch: int = 128) -> Worker:
        return self.worker_with(Embedders.among(configured, *others), batch=batch)

    def worker_with(self, embedders: Embedders, *, batch: int = 128) -> Worker:
        handler = Embedding(
            store=self.store,
            embedders=embedders,
            clock=self.clock,
            chance=lambda: 0.0,
            batch=batch,
        )
        return Worker(self.store, {embed.KIND: handler}, clock=self.clock)

    def keep(self, *memories: Memory) -> None:
        for memory in memories:
            self.store.put(ADA, memory)

    def counts(self) -> dict[WorkState, int]:
        return {count.state: count.jobs for count in self.store.work_counts(self.clock())}

    @property
    def embedded(self) -> int:
        return sum(known.embedded for known in self.store.spaces())
