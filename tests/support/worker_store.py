"""A temporary store with workers for it, for tests."""

from __future__ import annotations

from bearinmind.graph.extractors import ConfiguredExtractor
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Embedder, Extractor, Store, WorkCount, WorkState
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Filter, Memory, Scope, UserId
from bearinmind.work.entity_linking import Certain
from bearinmind.work.handlers import Embedding, Extracting
from bearinmind.work.status import COMPARE, EMBED, EXTRACT
from bearinmind.work.worker import Worker

ADA = Scope(user=UserId("ada"))


class Workplace:
    """A temporary store and workers for it."""

    def __init__(self, clock: FixedClock) -> None:
        self.store: Store = TemporaryStore()
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
        return Worker(self.store, {EMBED: handler}, clock=self.clock)

    def reader(
        self,
        extractor: Extractor | None,
        *,
        certain: Certain | None = None,
    ) -> Worker:
        """A worker that reads for the graph."""
        handler = Extracting(
            store=self.store,
            extractor=ConfiguredExtractor(lambda: extractor),
            clock=self.clock,
            certain=certain,
            chance=lambda: 0.0,
        )
        return Worker(self.store, {EXTRACT: handler}, clock=self.clock)

    def keep(self, *memories: Memory) -> None:
        for memory in memories:
            self.store.put(ADA, memory)

    def jobs(self) -> list[WorkCount]:
        """The jobs of its workers: those of comparing are left alone."""
        counts = self.store.work_counts(self.clock())
        return [count for count in counts if count.kind != COMPARE]

    def counts(self) -> dict[WorkState, int]:
        return {count.state: count.jobs for count in self.jobs()}

    @property
    def embedded(self) -> int:
        return sum(known.embedded for known in self.store.spaces())


class ReadingPlace(Workplace):
    """A store that is read for the graph."""

    def __init__(self, store: Store, clock: FixedClock) -> None:
        super().__init__(clock)
        self.store = store

    def edges(self, scope: Scope = ADA) -> set[tuple[str, str, str]]:
        """Every mention: the content of the memory, the role and the concept."""
        everything = Filter(scope=scope, now=self.clock())
        found = [*self.store.all_mentions(everything)]
        memories = self.store.get_many(scope, [mention.id for mention in found])
        return {(memories[m.id].content, str(m.role), str(m.concept)) for m in found}

    def names(self, content: str) -> set[str]:
        """What a memory names that is about something else."""
        return {name for said, role, name in self.edges() if said == content and role == "name"}
