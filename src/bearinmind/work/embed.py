"""The jobs of kind `embed`: they make the vectors of memories."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from bearinmind.errors import EmbedderFailure, StoreFailure
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Embedder, Job, SpaceState, Store
from bearinmind.text.embedded_text import embedded_text
from bearinmind.types import Space
from bearinmind.work.status import EMBED
from bearinmind.work.worker import HARMLESS, SUSPECT, Attempts, Handled, passing

KIND = EMBED
BATCH = 256  # jobs of one claim
#: Characters that go to a model on this machine at once: it answers within about a second, so that
#: a worker told to stop soon does.
SLICE = 20_000

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The handler of these jobs."""

    store: Store
    embedders: Embedders
    clock: Callable[[], datetime]
    chance: Callable[[], float] = field(default=random.random)  #: from 0 to 1, for the jitter
    batch: int = BATCH

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
