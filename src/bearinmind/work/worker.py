"""The worker: one loop over the durable queue, with a handler for each kind of job."""

from __future__ import annotations

import logging
import queue
import random
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from bearinmind.errors import MindError, ModelFailure, StoreFailure, WorkFailure
from bearinmind.protocols import Job, Work, WorkState
from bearinmind.work.status import WorkDone


class Wakeup:
    """Rung from any thread, and from a signal handler: a `threading.Event` could lock up there."""

    def __init__(self) -> None:
        self._rings: queue.SimpleQueue[None] = queue.SimpleQueue()

    def ring(self) -> None:
        """Wake whoever waits, or whoever will wait next."""
        self._rings.put(None)

    def wait(self, seconds: float) -> bool:
        """Sleep until it rings, or so long; whether it rang."""
        try:
            self._rings.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return False
        while not self._rings.empty():  # rung more than once is still one waking
            self._rings.get_nowait()
        return True


Progress = Callable[[int], None]

#: A killed worker's jobs come back after this; no handler may take longer for what it claimed.
CLAIM = timedelta(seconds=90)
#: Seconds between two looks at what other processes did, at most and at first.
LOOK = 2.0
FIRST_LOOK = 0.05
#: Seconds that a worker who is waited for waits for another attempt.
SOON = 60.0
#: A worker that lingers waits this many seconds for another attempt rather than leaving it.
PATIENCE = 600.0
#: Seconds after which it is another kind's turn: a long row of slow jobs holds up no other kind.
TURN = 5.0
_TROUBLED = 10.0  # seconds after which a busy store or an absent model is tried again

_log = logging.getLogger(__name__)


class Handled(NamedTuple):
    """What a handler did with its jobs, and how long trying more of its kind is of no use."""

    done: WorkDone
    rest: float = 0.0  #: seconds

    def plus(self, other: Handled) -> Handled:
        """Both together."""
        return Handled(self.done.plus(other.done), max(self.rest, other.rest))


class Handler(Protocol):
    """Does the jobs of one kind."""

    @property
    def batch(self) -> int:
        """How many jobs it takes at a time."""

    def begin(self) -> bool:
        """Get ready, before the first job is taken; False when it has nothing to do here."""

    def __call__(self, jobs: Sequence[Job], stopping: Callable[[], bool]) -> Handled:
        """Do these jobs, each of which is finished or given back when it returns."""

    def settle(self) -> None:
        """What there is to do once no job of its kind is due."""


class Worker:
    """Does what is in the queue. Any number of them may work on one store.

    `stop` and `wake` may be called from any thread and from a signal handler.
    """

    def __init__(
        self,
        work: Work,
        handlers: Mapping[str, Handler],
        *,
        clock: Callable[[], datetime],
        claim: timedelta = CLAIM,
    ) -> None:
        self._work = work
        self._handlers = handlers
        self._begun: dict[str, bool] = {}  # kind -> whether it has something to do here
        self._turns: deque[str] = deque(handlers)  # the kind whose turn it is first
        self._clock = clock
        self._claim = claim
        self._bell = Wakeup()
        self._stopping = False
        self._rested: dict[str, datetime] = {}  # kind -> when it may be tried again

    def stop(self) -> None:
        """End after the jobs in hand, or before; what is left stays in the queue."""
        self._stopping = True
        self._bell.ring()

    def wake(self) -> None:
        """Look at the queue now."""
        self._bell.ring()

    @property
    def has_work(self) -> bool:
        """Whether there is something to do now or before long."""
        pause = self._pause()
        return pause is not None and pause < PATIENCE

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping

    def begin(self) -> None:
        """Get ready; the first job does so too.

        Raises:
            MindError: a handler cannot begin.
        """
        trouble = self._ready()
        if trouble:
            raise trouble

    # ---- how long it goes on -------------------------------------------------------------------

    def once(self, progress: Progress | None = None) -> WorkDone:
        """Do what is due now. A kind that cannot begin keeps no other from its work.

        Raises:
            MindError: a handler cannot begin, or the store cannot do its work.
        """
        total = WorkDone()
        trouble = self._ready()
        turn_ends = time.monotonic() + TURN
        while not self._stopping and (claimed := self._claimed()):
            kind, jobs = claimed
            handled = self._handlers[kind](jobs, lambda: self._stopping)
            total = total.plus(handled.done.of_kind(kind))
            if handled.rest:
                self._rested[kind] = self._clock() + timedelta(seconds=handled.rest)
            if progress:
                progress(handled.done.finished + handled.done.given_up)
            if time.monotonic() > turn_ends:
                self._turns.rotate(-1)
                turn_ends = time.monotonic() + TURN
        if not self._stopping:
            for kind in self._at_work:
                self._handlers[kind].settle()
        if trouble:
            raise trouble
        return total

    def finish(
        self,
        progress: Progress | None = None,
        *,
        timeout: float | None = None,
        patience: float = SOON,
    ) -> WorkDone:
        """Go on until nothing waits, whoever does it, or for so many seconds.

        What failed is tried again when that is due within `patience` seconds, else left.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        total = self.once(progress)
        look = FIRST_LOOK
        while not self._stopping and (pause := self._pause()) is not None:
            left = LOOK if deadline is None else deadline - time.monotonic()
            if left <= 0 or (pause > patience and not self._others_are_at_work()):
                break
            self._bell.wait(min(pause, look, left))
            done = self.once(progress)
            look = FIRST_LOOK if done.finished else min(2 * look, LOOK)
            total = total.plus(done)
        return total

    def watch(self, progress: Progress | None = None, *, idle: float | None = None) -> WorkDone:
        """Stay until stopped, or until there was nothing to do for so many seconds."""
        total = WorkDone()
        busy = time.monotonic()
        while not self._stopping:
            done = self._once_or_later(progress)
            total = total.plus(done)
            pause = self._pause()
            now = time.monotonic()
            if done.finished or (pause is not None and pause < PATIENCE):
                busy = now
            if idle is not None and now - busy >= idle:
                break
            left = LOOK if idle is None else busy + idle - now
            self._bell.wait(min(LOOK, max(left, 0.01), LOOK if pause is None else pause))
        return total

    def _once_or_later(self, progress: Progress | None) -> WorkDone:
        """What keeps a worker from its work just now is no reason for it to leave."""
        try:
            return self.once(progress)
        except (StoreFailure, ModelFailure) as exc:
            _log.warning("%s", exc.message, extra={"action": "work_postponed"})
            self._bell.wait(_TROUBLED)
            return WorkDone()

    # ---- the queue -----------------------------------------------------------------------------

    def _ready(self) -> MindError | None:
        """Have every handler begin; why one of them cannot, if so."""
        trouble = None
        for kind, handler in self._handlers.items():
            if kind not in self._begun:
                try:
                    self._begun[kind] = handler.begin()
                except MindError as exc:
                    trouble = trouble or exc
        return trouble

    @property
    def _at_work(self) -> list[str]:
        """The kinds that have something to do here, the one whose turn it is first."""
        return [kind for kind in self._turns if self._begun.get(kind)]

    def _claimed(self) -> tuple[str, list[Job]] | None:
        """Jobs to do now, of the first kind that has any."""
        now = self._clock()
        for kind in self._at_work:
            if self._rested.get(kind, now) > now:
                continue
            batch = self._handlers[kind].batch
            jobs = self._work.claim([kind], batch, now, now + self._claim)
            if jobs:
                return kind, jobs
        return None

    def _pause(self) -> float | None:
        """Seconds until there may be something to do; None when nothing waits."""
        now = self._clock()
        dues = [
            max(due, self._rested.get(kind, due))
            for kind in self._at_work
            if (due := self._work.next_due(now, [kind])) is not None
        ]
        return max(0.0, (min(dues) - now).total_seconds()) if dues else None

    def _others_are_at_work(self) -> bool:
        counts = self._work.work_counts(self._clock())
        return any(count.state is WorkState.RUNNING for count in counts)


#: A job that failed so often is given up. The pauses between add up to about ten hours, longer than
#: a server is usually away.
MOST_ATTEMPTS = 8
SUSPECT = 3  #: attempts after which a memory is tried alone, lest it take others down with it
_FIRST_PAUSE = 15.0  # seconds
_PAUSE_GROWTH = 3.0
_LONGEST_PAUSE = 6 * 3_600.0
_LONGEST_REST = 600.0  # of all jobs of the kind, whatever a server asks for

#: An attempt that fails is given back; one that is not has ended its process.
_FATAL = f"the worker ended {MOST_ATTEMPTS} times while it was at this memory"


#: Does the work of these jobs, or says why it cannot.
Try = Callable[[Sequence[Job]], WorkFailure | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Tries the jobs of one kind."""

    work: Work
    clock: Callable[[], datetime]
    done_to_them: str  #: what a memory is after such a job, such as "embedded"
    chance: Callable[[], float] = field(default=random.random)  #: from 0 to 1, for the jitter

    def allowed(self, jobs: Sequence[Job]) -> tuple[list[Job], Handled]:
        """The jobs that may be tried; the others are given up.

        The store queues none of what is sensitive or deleted; were it to, the text must not get
        out.
        """
        hidden = [job for job in jobs if job.memory.sensitive or job.memory.deleted_at]
        fatal = [job for job in jobs if job.attempts >= MOST_ATTEMPTS and job not in hidden]
        secret = f"a sensitive or deleted memory is never {self.done_to_them}"
        handled = self.give_up(hidden, secret).plus(self.give_up(fatal, _FATAL))
        return [job for job in jobs if job not in hidden and job not in fatal], handled

    def each(
        self,
        parts: Sequence[Sequence[Job]],
        work: Try,
        is_well: Callable[[], bool],
        stopping: Callable[[], bool],
    ) -> Handled:
        """Try jobs part by part; what is not begun is given back when others fared badly."""
        handled = Handled(WorkDone())
        for number, part in enumerate(parts):
            if stopping() or handled.rest:  # the rest would fare no better just now
                untried = [job for rest in parts[number:] for job in rest]
                self.work.give_back(untried, "", self.clock())
                break
            failure = work(part)
            if failure and failure.permanent and not is_well():
                failure = passing(failure)  # a wrong key, say: no text is to blame for that
            handled = handled.plus(self._came_to(part, failure, work))
        return handled

    def failed(self, jobs: Sequence[Job], failure: WorkFailure) -> Handled:
        """Put jobs back for later, or give them up."""
        last = not failure.untried
        dead = [
            job for job in jobs if failure.permanent or (last and job.attempts + 1 >= MOST_ATTEMPTS)
        ]
        later = [job for job in jobs if job not in dead]
        handled = self.give_up(dead, failure.message)
        return handled.plus(self._postponed(later, failure)) if later else handled

    def give_up(self, jobs: Sequence[Job], error: str) -> Handled:
        """Make dead letters of jobs."""
        if not jobs:
            return Handled(WorkDone())
        self.work.give_back(jobs, error, self.clock(), dead=True)
        _log.warning(
            "%d memories are not %s: %s",
            len(jobs),
            self.done_to_them,
            error,
            extra={"action": "work_given_up"},
        )
        return Handled(WorkDone(given_up=len(jobs), last_error=error))

    def _came_to(self, jobs: Sequence[Job], failure: WorkFailure | None, work: Try) -> Handled:
        """What was refused together is tried in two parts, until the one at fault is left."""
        if failure is None:
            return Handled(WorkDone(finished=len(jobs)))
        if not failure.permanent or len(jobs) == 1:
            return self.failed(jobs, failure)
        handled = Handled(WorkDone())
        for part in _parted(jobs, failure.refused):
            handled = handled.plus(self._came_to(part, work(part), work))
        return handled

    def _postponed(self, jobs: Sequence[Job], failure: WorkFailure) -> Handled:
        """Put jobs back, each for as long as its attempts so far suggest."""
        error = "" if failure.untried else failure.message
        for attempts in sorted({job.attempts for job in jobs}):
            pause = pause_before_retry(attempts, failure.retry_after, self.chance())
            alike = [job for job in jobs if job.attempts == attempts]
            self.work.give_back(alike, error, self.clock() + timedelta(seconds=pause))
        _log.info(
            "%d memories are %s later: %s",
            len(jobs),
            self.done_to_them,
            failure.message,
            extra={"action": "work_put_back"},
        )
        rest = min(max(_FIRST_PAUSE, failure.retry_after or 0.0), _LONGEST_REST)
        return Handled(WorkDone(postponed=len(jobs), last_error=failure.message), rest)


def pause_before_retry(attempts: int, asked: float | None, chance: float) -> float:
    """Seconds until the next attempt: longer each time, as long as asked, never all at once."""
    own = min(_FIRST_PAUSE * _PAUSE_GROWTH**attempts, _LONGEST_PAUSE)
    return max(own, min(asked or 0.0, _LONGEST_PAUSE)) * (1 + chance / 4)


def passing(failure: WorkFailure) -> WorkFailure:
    """A failure after which the same is worth another attempt."""
    return type(failure)(failure.message, hint=failure.hint, retry_after=failure.retry_after)


def _parted(jobs: Sequence[Job], refused: Sequence[int]) -> tuple[list[Job], list[Job]]:
    """Jobs in two parts: those whose texts were named as at fault and the others, or two halves."""
    named = [job for place, job in enumerate(jobs) if place in refused]
    others = [job for place, job in enumerate(jobs) if place not in refused]
    if named and others:
        return named, others
    middle = len(jobs) // 2
    return [*jobs[:middle]], [*jobs[middle:]]
