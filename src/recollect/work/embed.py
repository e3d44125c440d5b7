"""The jobs of kind `embed`: a memory's text becomes a vector of a space."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Protocol

from recollect.embedded_text import embedded_text
from recollect.errors import EmbedderFailure
from recollect.protocols import Embedder, Job, Spaces, SpaceState, Work
from recollect.types import Space
from recollect.work.done import WorkDone
from recollect.work.loop import Handled

KIND = "embed"
BATCH = 128  # jobs of one claim
#: Characters that go to a model on this machine at once: it answers within about a second, so that
#: a worker told to stop soon does.
SLICE = 8_000
#: A job that failed so often is given up. The pauses between add up to about ten hours, longer than
#: a server is usually away.
MOST_ATTEMPTS = 8
_FIRST_PAUSE = 15.0  # seconds
_PAUSE_GROWTH = 3.0
_LONGEST_PAUSE = 6 * 3_600.0
_LONGEST_REST = 600.0  # of the whole worker, whatever a server asks for

#: The store queues no such job; were it to, the text must not get out.
_SENSITIVE = "a sensitive memory is never embedded"
#: An attempt that fails is given back; one that is not has ended its process.
_FATAL = f"the worker ended {MOST_ATTEMPTS} times while it was at this memory"
_HARMLESS = "A memory is worth keeping."
_SUSPECT = 3  # attempts after which a memory is embedded alone, lest it take others down with it

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
        sensitive = [job for job in jobs if job.memory.sensitive]
        fatal = [job for job in jobs if job.attempts >= MOST_ATTEMPTS and job not in sensitive]
        handled = self._give_up(sensitive, _SENSITIVE).plus(self._give_up(fatal, _FATAL))
        by_space: dict[str, list[Job]] = {}
        for job in jobs:
            if job not in sensitive and job not in fatal:
                by_space.setdefault(job.target, []).append(job)
        for key, group in by_space.items():
            if key in spaces:  # else it was dropped since, and its jobs with it
                handled = handled.plus(self._of_space(spaces[key], group, stopping))
        return handled

    def settle(self) -> None:
        """A space that is filled begins to answer."""
        filling = [x for x in self.store.spaces() if x.state is SpaceState.FILLING]
        if filling and self.store.activate_filled():
            _log.info(
                "the space of %s is filled and answers now",
                filling[0].space.model,
                extra={"action": "space_activated"},
            )

    def _give_up(self, jobs: Sequence[Job], error: str) -> Handled:
        if not jobs:
            return Handled(WorkDone())
        self.store.give_back(jobs, error, self.clock(), dead=True)
        _log.warning(
            "%d memories are not embedded: %s",
            len(jobs),
            error,
            extra={"action": "embedding_given_up"},
        )
        return Handled(WorkDone(given_up=len(jobs), last_error=error))

    def _of_space(self, space: Space, jobs: list[Job], stopping: Callable[[], bool]) -> Handled:
        try:
            embedder = self.embedders.of(space)
        except EmbedderFailure as exc:
            # Another space's embedder may be well, so the worker need not rest.
            return Handled(self._failed(jobs, _passing(exc)).done)
        slices = [jobs] if embedder.leaves_machine else [*_slices(jobs, space)]
        handled = Handled(WorkDone())
        for number, part in enumerate(slices):
            if stopping() or handled.rest:  # the rest would fare no better just now
                untried = [job for rest in slices[number:] for job in rest]
                self.store.give_back(untried, "", self.clock())
                break
            failure = self._embed(embedder, part)
            if failure and failure.permanent and not _is_well(embedder):
                failure = _passing(failure)  # a wrong key, say: no text is to blame for that
            handled = handled.plus(self._came_to(embedder, part, failure))
        return handled

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

    def _came_to(
        self, embedder: Embedder, jobs: Sequence[Job], failure: EmbedderFailure | None
    ) -> Handled:
        """What was refused together is tried in two parts, until the one at fault is left."""
        if failure is None:
            return Handled(WorkDone(finished=len(jobs)))
        if not failure.permanent or len(jobs) == 1:
            return self._failed(jobs, failure)
        handled = Handled(WorkDone())
        for part in _parted(jobs, failure.refused):
            handled = handled.plus(self._came_to(embedder, part, self._embed(embedder, part)))
        return handled

    def _failed(self, jobs: Sequence[Job], failure: EmbedderFailure) -> Handled:
        """Put jobs back for later, or give them up."""
        dead = [job for job in jobs if failure.permanent or job.attempts + 1 >= MOST_ATTEMPTS]
        later = [job for job in jobs if job not in dead]
        handled = self._give_up(dead, failure.message)
        return handled.plus(self._postponed(later, failure)) if later else handled

    def _postponed(self, jobs: Sequence[Job], failure: EmbedderFailure) -> Handled:
        """Put jobs back, each for as long as its attempts so far suggest."""
        for attempts in sorted({job.attempts for job in jobs}):
            pause = pause_before_retry(attempts, failure.retry_after, self.chance())
            alike = [job for job in jobs if job.attempts == attempts]
            due = self.clock() + timedelta(seconds=pause)
            self.store.give_back(alike, failure.message, due)
        _log.info(
            "%d memories are embedded later: %s",
            len(jobs),
            failure.message,
            extra={"action": "embedding_postponed"},
        )
        rest = min(max(_FIRST_PAUSE, failure.retry_after or 0.0), _LONGEST_REST)
        return Handled(WorkDone(postponed=len(jobs), last_error=failure.message), rest)


def pause_before_retry(attempts: int, asked: float | None, chance: float) -> float:
    """Seconds until the next attempt: longer each time, as long as asked, never all at once."""
    own = min(_FIRST_PAUSE * _PAUSE_GROWTH**attempts, _LONGEST_PAUSE)
    return max(own, min(asked or 0.0, _LONGEST_PAUSE)) * (1 + chance / 4)


def _passing(failure: EmbedderFailure) -> EmbedderFailure:
    """A failure after which the same is worth another attempt."""
    return EmbedderFailure(failure.message, hint=failure.hint, retry_after=failure.retry_after)


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


def _parted(jobs: Sequence[Job], refused: Sequence[int]) -> tuple[list[Job], list[Job]]:
    """Jobs in two parts: those whose texts were named as at fault and the others, or two halves."""
    named = [job for place, job in enumerate(jobs) if place in refused]
    others = [job for place, job in enumerate(jobs) if place not in refused]
    if named and others:
        return named, others
    middle = len(jobs) // 2
    return [*jobs[:middle]], [*jobs[middle:]]


def _slices(jobs: Sequence[Job], space: Space) -> Iterator[list[Job]]:
    """Jobs of about the same length together, so that a model pads little, a few at a time."""
    part: list[Job] = []
    size = 0
    for job in sorted(jobs, key=lambda job: len(embedded_text(job.memory, space.text))):
        length = len(embedded_text(job.memory, space.text))
        alone = job.attempts >= _SUSPECT
        if part and (alone or size + length > SLICE):
            yield part
            part, size = [], 0
        part.append(job)
        size += SLICE if alone else length
    if part:
        yield part
