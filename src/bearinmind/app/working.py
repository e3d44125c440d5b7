"""The verbs about background work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from bearinmind.app import reading
from bearinmind.app.reading import ReadingPlan
from bearinmind.embed.embedders import ActiveSpace, Embedders
from bearinmind.errors import InvalidSetting
from bearinmind.graph.configured import ConfiguredExtractor
from bearinmind.protocols import Embedder, Extractor, Store
from bearinmind.types import Scope
from bearinmind.work.background import Background
from bearinmind.work.done import WorkDone
from bearinmind.work.kinds import KINDS
from bearinmind.work.loop import Progress, Worker
from bearinmind.work.status import WorkStatus


class WorkVerbs:
    """What a Bear in Mind does about memories that are not embedded or not read yet."""

    _store: Store
    _clock: Callable[[], datetime]
    _embedders: Embedders
    _extractor: ConfiguredExtractor
    scope: Scope
    _background: Background
    active_space: ActiveSpace

    def worker(self, *kinds: str) -> Worker:
        """A worker for the whole store, perhaps for some kinds of work alone.

        As it begins, the configured embedder's space is the one to fill, and the configured
        extractor the one that reads.
        """
        return self._background.worker(*kinds)

    def work(self, progress: Progress | None = None) -> WorkDone:
        """Do here and now what is due in the background."""
        done = self._background.once(progress)
        self.active_space.look_again()
        return done

    def wait_for_work(
        self, timeout: float | None = None, progress: Progress | None = None
    ) -> WorkStatus:
        """Help with the work until nothing waits, and say how it stands.

        What failed and is tried again in a minute or later is not waited for.
        """
        self._background.finish(progress, timeout=timeout)
        self.active_space.look_again()
        return self.work_status()

    def work_status(self) -> WorkStatus:
        """The vector spaces of the store, who reads it, and what is in its queue."""
        now = self._clock()
        return WorkStatus(
            spaces=self._store.spaces(),
            queue=self._store.work_counts(now),
            next_due=self._store.next_due(now),
            extractor=self._store.extractor(),
            meaning_off=self._store.meaning_off(),
        )

    def retry_dead(self) -> int:
        """Have what was given up tried again; how many jobs that is."""
        return sum(map(self._store.revive, KINDS))

    def drop_retired(self) -> int:
        """Remove the embeddings of spaces that answer no more; how many there were."""
        dropped = self._store.drop_retired()
        self.active_space.look_again()
        return dropped

    def embedder(self) -> Embedder | None:
        """The configured embedder; None when semantic recall is off.

        Raises:
            MindError: it cannot be made.
        """
        return self._embedders.configured()

    def extractor(self) -> Extractor | None:
        """The configured extractor; None when the graph is not built further.

        Raises:
            MindError: it cannot be made.
        """
        return self._extractor.configured()

    def read_again(self) -> int:
        """Have every memory read anew for the graph, while the edges that there are serve.

        Raises:
            InvalidSetting: there is no extractor.
        """
        return self._store.use_extractor(self.reader().key, again=True)

    def reading_plan(self, *, again: bool = False) -> ReadingPlan:
        """What reading the memories of this user for the graph would take; nothing is read.

        Raises:
            InvalidSetting: there is no extractor.
        """
        return reading.plan(self._store, self.scope, self.reader(), self._clock(), again=again)

    def reader(self) -> Extractor:
        """The configured extractor.

        Raises:
            InvalidSetting: there is none.
        """
        found = self.extractor()
        if found is None:
            raise InvalidSetting(
                "extractor = 'none': no memory is read for the graph",
                hint="Set `extractor` to rules, which needs no model.",
            )
        return found
