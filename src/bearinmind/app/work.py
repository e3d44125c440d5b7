"""Background work: embedding memories and extracting concepts from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING

from bearinmind.errors import InvalidSetting
from bearinmind.graph.extractors import ConfiguredExtractor
from bearinmind.models.embedders import ActiveSpace, Embedders
from bearinmind.protocols import DeadJob, Embedder, Extractor, Store
from bearinmind.recall.pipeline import LARGEST_POOL, check_number
from bearinmind.types import Scope
from bearinmind.work.status import KINDS, WorkDone, WorkStatus
from bearinmind.work.worker import Background, Progress, Worker

if TYPE_CHECKING:
    from bearinmind.graph.extractors import ExtractionPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class Work:
    """The queue of the store: memories that are not embedded or not in the graph yet."""

    store: Store
    scope: Scope
    clock: Callable[[], datetime]
    background: Background
    embedders: Embedders
    extractors: ConfiguredExtractor
    active_space: ActiveSpace  #: the vector space that answers queries
    socket_places: Sequence[Path]  #: where a background worker lends its models

    def worker(self, *kinds: str) -> Worker:
        """A worker for the whole store, for some kinds of work or for all.

        As it begins, it fills the space of the configured embedder and uses the configured
        extractor.
        """
        return self.background.worker(*kinds)

    def run(self, progress: Progress | None = None) -> WorkDone:
        """Do in this thread what is due in the queue."""
        done = self.background.worker().once(progress)
        self.active_space.look_again()
        return done

    def wait(self, timeout: float | None = None, progress: Progress | None = None) -> WorkStatus:
        """Help with the work until the queue is empty, and return its state.

        A job that failed and is due again in a minute or later is not waited for.
        """
        self.background.worker().finish(progress, timeout=timeout)
        self.active_space.look_again()
        return self.status()

    def status(self) -> WorkStatus:
        """The vector spaces of the store, its extractor, and its queue."""
        now = self.clock()
        return WorkStatus(
            spaces=self.store.spaces(),
            queue=self.store.work_counts(now),
            next_due=self.store.next_due(now),
            extractor=self.store.extractor(),
            meaning_off=self.store.meaning_off(),
        )

    def retry_dead(self) -> int:
        """Try again the jobs that were given up, and those that are missing; how many they are."""
        return sum(map(self.store.revive, KINDS)) + self.store.queue_missing()

    def dead(self, limit: int = 100) -> Sequence[DeadJob]:
        """The jobs that were given up, the youngest first."""
        return self.store.dead_jobs(check_number("limit", limit, LARGEST_POOL))

    def drop_retired(self) -> int:
        """Remove the embeddings of spaces that are not used any more; how many there were."""
        dropped = self.store.drop_retired()
        self.active_space.look_again()
        return dropped

    def embedder(self) -> Embedder | None:
        """The configured embedder; None when recall by meaning is off."""
        return self.embedders.configured()

    def extractor(self) -> Extractor | None:
        """The configured extractor; None when the graph is not built further."""
        return self.extractors.configured()

    def required_extractor(self) -> Extractor:
        """The configured extractor."""
        extractor = self.extractor()
        if extractor is None:
            raise InvalidSetting(
                "extractor = 'none': no memory is read for the graph",
                hint="Set `extractor` to rules, which needs no model.",
            )
        return extractor

    def extract_again(self) -> int:
        """Queue every memory for the graph again; the present edges stay until it is done."""
        return self.store.use_extractor(self.required_extractor().key, again=True)

    def extraction_plan(self, *, again: bool = False) -> ExtractionPlan:
        """What extraction would cost for the memories of this user; nothing is done."""
        from bearinmind.graph.extractors import plan  # noqa: PLC0415  a status needs none of it

        return plan(self.store, self.scope, self.required_extractor(), self.clock(), again=again)
