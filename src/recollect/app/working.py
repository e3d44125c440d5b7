"""The verbs about background work."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

from recollect.embed.embedders import ActiveSpace, Embedders
from recollect.protocols import Embedder, Store
from recollect.work.background import Background
from recollect.work.done import WorkDone
from recollect.work.embed import KIND as EMBED
from recollect.work.loop import Progress, Worker
from recollect.work.status import WorkStatus


class WorkVerbs:
    """What a Recollect does about memories that are not embedded yet."""

    _store: Store
    _clock: Callable[[], datetime]
    _embedders: Embedders
    _background: Background
    active_space: ActiveSpace

    def worker(self) -> Worker:
        """A worker for the whole store; as it begins, the configured embedder's space is filled."""
        return self._background.worker()

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
        """The vector spaces of the store and what is in its queue."""
        now = self._clock()
        return WorkStatus(
            spaces=self._store.spaces(),
            queue=self._store.work_counts(now),
            next_due=self._store.next_due(now),
        )

    def retry_dead(self) -> int:
        """Have what was given up tried again; how many jobs that is."""
        return self._store.revive(EMBED)

    def drop_retired(self) -> int:
        """Remove the embeddings of spaces that answer no more; how many there were."""
        dropped = self._store.drop_retired()
        self.active_space.look_again()
        return dropped

    def embedder(self) -> Embedder | None:
        """The configured embedder; None when semantic recall is off.

        Raises:
            RecollectError: it cannot be made.
        """
        return self._embedders.configured()
