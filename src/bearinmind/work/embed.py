"""The jobs of kind `embed`: a memory's text becomes a vector of a space."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from typing import Protocol

from bearinmind.errors import EmbedderFailure, StoreFailure
from bearinmind.protocols import Embedder, Job, Spaces, SpaceState, Work
from bearinmind.text.embedded_text import embedded_text
from bearinmind.types import Space
from bearinmind.work.status import EMBED
from bearinmind.work.worker import SUSPECT, Attempts, Handled, passing

KIND = EMBED
BATCH = 128  # jobs of one claim
#: Characters that go to a model on this machine at once: it answers within about a second, so that
#: a worker told to stop soon does.
SLICE = 8_000
_HARMLESS = "A memory is worth keeping."

_log = logging.getLogger(__name__)


class EmbeddingStore(Work, Spaces, Protocol):
    """What the handler asks of a store."""


class EmbeddersOfProcess(Protocol):
    """What the handler asks of the embedders."""

    def configured(self) -> Embedder | None:
        """The embedder of the settings; None when there is to be none."""

    def of(self, space: Space) -> Embedder:
        """The embedder of a space; raises `EmbedderFailure` when there is none here."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Embedding:
    """The handler."""

    store: EmbeddingStore
    embedders: EmbeddersOfProcess
    clock: Callable[[], datetime]
    chance: Callable[[], float] = field(default=random.random)  #: from 0 to 1, for the jitter
    batch: int = BATCH

    def begin(self) -> bool:
        """From now on memories are embedded into the configured space; False when there is none."""
        embedder = self.embedders.configured()
        if embedder is None:
            return False
        self.store.use_space(_space_of(embedder))
        return True

    def __call__(self, jobs: Sequence[Job], stopping: Callable[[], bool]) -> Handled:
        """Embed the memories of these jobs, space by space."""
        spaces = {known.space.key: known.space for known in self.store.spaces()}
        allowed, handled = self._attempts.allowed(jobs)
        by_space: dict[str, list[Job]] = {}
        for job in allowed:
            by_space.setdefault(job.target, []).append(job)
        for key, group in by_space.items():
            if key in spaces:  # else it was dropped since, and its jobs with it
                handled = handled.plus(self._of_space(spaces[key], group, stopping))
        return handled

    def settle(self) -> None:
        """A space that is filled begins to answer; one that has grown large gets an index."""
        filling = [x for x in self.store.spaces() if x.state is SpaceState.FILLING]
        if filling and self.store.activate_filled():
            _log.info(
                "the space of %s is filled and answers now",
                filling[0].space.model,
                extra={"action": "space_activated"},
            )
        self._index_spaces()

    def _index_spaces(self) -> None:
        try:
            built = self.store.index_spaces()
        except StoreFailure as exc:  # recalls are right without an index, if slower
            _log.warning("no vector index: %s", exc, extra={"action": "spaces_not_indexed"})
            return
        if built:
            _log.info("built %d vector indexes", built, extra={"action": "spaces_indexed"})

    @property
    def _attempts(self) -> Attempts:
        return Attempts(
            work=self.store, clock=self.clock, done_to_them="embedded", chance=self.chance
        )

    def _of_space(self, space: Space, jobs: list[Job], stopping: Callable[[], bool]) -> Handled:
        try:
            embedder = self.embedders.of(space)
        except EmbedderFailure as exc:
            # Another space's embedder may be well, so the worker need not rest.
            return Handled(self._attempts.failed(jobs, passing(exc)).done)
        parts = [jobs] if embedder.leaves_machine else [*_slices(jobs, space)]
        return self._attempts.each(
            parts, partial(self._embed, embedder), partial(_is_well, embedder), stopping
        )

    def _embed(self, embedder: Embedder, jobs: Sequence[Job]) -> EmbedderFailure | None:
        """Embed these and keep their vectors, or say why not."""
        texts = [embedded_text(job.memory, embedder.space.text) for job in jobs]
        try:
            vectors = embedder.embed_memories(texts)
        except EmbedderFailure as exc:
            return exc
        except Exception as exc:  # noqa: BLE001  whatever a text does to a model ends as its error
            return EmbedderFailure(f"{type(exc).__name__}: {exc}", permanent=True)
        try:
            self.store.finish_embedding(embedder.space, jobs, vectors)
        except EmbedderFailure as exc:  # they are not vectors of the space
            return exc
        return None


def _space_of(embedder: Embedder) -> Space:
    """What its vectors are; a model that is to be downloaded may know only once it has made one."""
    try:
        return embedder.space
    except EmbedderFailure:
        if embedder.leaves_machine:
            raise
        embedder.embed_memories([_HARMLESS])
        return embedder.space


def _is_well(embedder: Embedder) -> bool:
    """Whether it embeds a text that nobody can object to."""
    try:
        embedder.embed_memories([_HARMLESS])
    except Exception:  # noqa: BLE001  an answer to the question, not an error
        return False
    return True


def _slices(jobs: Sequence[Job], space: Space) -> Iterator[list[Job]]:
    """Jobs of about the same length together, so that a model pads little, a few at a time."""
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
