"""The worker of a store: a loop over its durable queue, on a thread or in a process of its own.

A handler does the jobs of one kind; `Attempts` tries them, and puts failed ones back or gives them
up.
"""

from __future__ import annotations

import logging
import os
import queue
import random
import threading
import time
import weakref
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from bearinmind.errors import MindError, ModelFailure, StoreFailure, WorkFailure
from bearinmind.models import forks
from bearinmind.protocols import Job, Work, WorkState
from bearinmind.trace import OBSERVER, Observer
from bearinmind.work.status import WorkDone

Progress = Callable[[int], None]

#: A killed worker's jobs come back after this; no handler may take longer for what it claimed.
CLAIM = timedelta(seconds=90)
#: Seconds between two looks at what other processes did, at most and at first.
LOOK = 2.0
FIRST_LOOK = 0.05
#: Seconds that `finish` waits for another attempt: somebody waits for it.
SOON = 60.0
#: Seconds that `watch` waits for another attempt rather than leaving it.
PATIENCE = 600.0
#: Seconds after which it is another kind's turn: a long row of slow jobs holds up no other kind.
TURN = 5.0
#: Seconds between two sweeps for jobs that a crash has lost; each looks at every memory.
SWEEP = 600.0
_RETRY_SECONDS = 10.0  # after which a busy store or an absent model is tried again
_LONGEST_STOP = 5.0  # seconds that closing waits for the jobs in hand; a server may take longer

#: A job that failed so often is given up. The pauses between add up to about ten hours, longer than
#: a server is usually away.
MOST_ATTEMPTS = 8
HARMLESS = "A memory is worth keeping."  #: no model can refuse this text
SUSPECT = 3  #: attempts after which a memory is tried alone, lest it take others down with it
_FIRST_PAUSE = 15.0  # seconds
_PAUSE_GROWTH = 3.0
_LONGEST_PAUSE = 6 * 3_600.0
_LONGEST_REST = 600.0  # of all jobs of the kind, however long a server asks for
#: A failed attempt is given back; a claim that ran out has ended its process.
_FATAL = f"the worker ended {MOST_ATTEMPTS} times while it was at this memory"

_log = logging.getLogger(__name__)


class Handled(NamedTuple):
    """The result of some jobs, and how long their kind is to rest."""

    done: WorkDone
    rest: float = 0.0  #: seconds

    def plus(self, other: Handled) -> Handled:
        """The sum of both."""
        return Handled(self.done.plus(other.done), max(self.rest, other.rest))


class Handler(Protocol):
    """Does the jobs of one kind."""

    @property
    def batch(self) -> int:
        """How many jobs it takes at a time."""

    def begin(self) -> bool:
        """Get ready before the first job; False when there is nothing to do here."""

    def __call__(self, jobs: Sequence[Job], stopping: Callable[[], bool]) -> Handled:
        """Finish these jobs or give them back."""

    def settle(self) -> None:
        """Clean up once no job of its kind is due."""


class Worker:
    """Does the jobs of the queue. Any number of workers may serve one store.

    `stop` and `wake` may be called from any thread and from a signal handler.
    """

    def __init__(
        self,
        work: Work,
        handlers: Mapping[str, Handler],
        *,
        clock: Callable[[], datetime],
    ) -> None:
        self._work = work
        self._handlers = handlers
        self._begun: dict[str, bool] = {}  # kind -> whether it has something to do here
        self._turns: deque[str] = deque(handlers)  # the kind whose turn it is first
        self._clock = clock
        self._wakeup = Wakeup()
        self._stopping = False
        self._rested: dict[str, datetime] = {}  # kind -> when it may be tried again
        self._sweep_due = time.monotonic()
        self.observer: Observer | None = None  #: is told what is done

    def stop(self) -> None:
        """Stop after the jobs in hand at the latest; the other jobs stay in the queue."""
        self._stopping = True
        self._wakeup.set()

    def wake(self) -> None:
        """Look at the queue now."""
        self._wakeup.set()

    @property
    def has_work(self) -> bool:
        """Whether a job is due now or within `PATIENCE`."""
        pause = self._pause()
        return pause is not None and pause < PATIENCE

    @property
    def stopping(self) -> bool:
        """Whether it was told to stop."""
        return self._stopping

    def begin(self) -> None:
        """Let every handler begin now, and raise the first error; `once` does it too."""
        error = self._begin()
        if error:
            raise error

    def once(self, progress: Progress | None = None) -> WorkDone:
        """Do the jobs that are due now. A kind that cannot begin does not stop the others."""
        total = WorkDone()
        error = self._begin()
        self._sweep()
        turn_ends = time.monotonic() + TURN
        while not self._stopping and (claimed := self._claimed()):
            kind, jobs = claimed
            handled = self._handlers[kind](jobs, lambda: self._stopping)
            done = handled.done
            total = total.plus(done.of_kind(kind))
            if observer := OBSERVER.get():
                observer.worked(kind, done.finished, done.postponed, done.given_up)
            if handled.rest:
                self._rested[kind] = self._clock() + timedelta(seconds=handled.rest)
            if progress:
                progress(done.finished + done.given_up)
            if time.monotonic() > turn_ends:
                self._turns.rotate(-1)
                turn_ends = time.monotonic() + TURN
        if not self._stopping:
            for kind in self._active_kinds:
                self._handlers[kind].settle()
        if error:
            raise error
        return total

    def finish(
        self,
        progress: Progress | None = None,
        *,
        timeout: float | None = None,
        patience: float = SOON,
    ) -> WorkDone:
        """Work until the queue is empty, or for `timeout` seconds.

        Failed jobs are tried again when they are due within `patience` seconds, else left.
        """
        deadline = None if timeout is None else time.monotonic() + timeout
        total = self.once(progress)
        look = FIRST_LOOK
        while not self._stopping and (pause := self._pause()) is not None:
            left = LOOK if deadline is None else deadline - time.monotonic()
            if left <= 0 or (pause > patience and not self._others_are_running()):
                break
            self._wakeup.wait(min(pause, look, left))
            done = self.once(progress)
            look = FIRST_LOOK if done.finished else min(2 * look, LOOK)
            total = total.plus(done)
        return total

    def watch(self, progress: Progress | None = None, *, idle: float | None = None) -> WorkDone:
        """Work until stopped, or until the queue was empty for `idle` seconds."""
        total = WorkDone()
        busy = time.monotonic()
        while not self._stopping:
            if self.observer is not None:
                OBSERVER.set(self.observer)
            try:
                done = self.once(progress)
            except (StoreFailure, ModelFailure) as exc:  # no reason to end: it may pass
                _log.warning("%s", exc.message, extra={"action": "work_postponed"})
                self._wakeup.wait(_RETRY_SECONDS)
                done = WorkDone()
            total = total.plus(done)
            try:
                pause = self._pause()
            except StoreFailure:
                pause = None  # the store went away just now: the next look meets it again
            now = time.monotonic()
            if done.finished or (pause is not None and pause < PATIENCE):
                busy = now
            if idle is not None and now - busy >= idle:
                break
            left = LOOK if idle is None else busy + idle - now
            self._wakeup.wait(min(LOOK, max(left, 0.01), LOOK if pause is None else pause))
        return total

    def _begin(self) -> MindError | None:
        """Let every handler begin; the first error, if any."""
        error = None
        for kind, handler in self._handlers.items():
            if kind not in self._begun:
                try:
                    self._begun[kind] = handler.begin()
                except MindError as exc:
                    error = error or exc
        return error

    def _sweep(self) -> None:
        """Queue what a crash has left without a job, where that can happen."""
        if not self._work.may_lose_jobs or time.monotonic() < self._sweep_due:
            return
        self._sweep_due = time.monotonic() + SWEEP
        try:
            found = self._work.queue_missing()
        except StoreFailure as exc:  # a machine is away; the others have work
            _log.warning("no sweep: %s", exc.message, extra={"action": "sweep_failed"})
            return
        if found:
            _log.info("queued %d lost jobs", found, extra={"action": "jobs_found"})

    @property
    def _active_kinds(self) -> list[str]:
        """The kinds that have something to do here, the one whose turn it is first."""
        return [kind for kind in self._turns if self._begun.get(kind)]

    def _claimed(self) -> tuple[str, list[Job]] | None:
        """Claim due jobs of the first kind that has any."""
        now = self._clock()
        for kind in self._active_kinds:
            if self._rested.get(kind, now) > now:
                continue
            batch = self._handlers[kind].batch
            jobs = self._work.claim([kind], batch, now, now + CLAIM)
            if jobs:
                return kind, jobs
        return None

    def _pause(self) -> float | None:
        """Seconds until a job is due; None when none waits."""
        now = self._clock()
        dues = [
            max(due, self._rested.get(kind, due))
            for kind in self._active_kinds
            if (due := self._work.next_due(now, [kind])) is not None
        ]
        return max(0.0, (min(dues) - now).total_seconds()) if dues else None

    def _others_are_running(self) -> bool:
        counts = self._work.work_counts(self._clock())
        return any(count.state is WorkState.RUNNING for count in counts)


class Background:
    """Makes the workers of a store, and runs one on a thread of this process.

    The first `nudge` starts a thread that stays until `close`. The jobs that are not done by then
    stay in the queue.
    """

    def __init__(
        self,
        work: Work,
        handlers: Mapping[str, Handler],
        clock: Callable[[], datetime],
    ) -> None:
        self._work = work
        self._handlers = handlers
        self._clock = clock
        self._is_closed = False
        self._lock = forks.Lock()
        self._running: tuple[Worker, threading.Thread] | None = None
        self._process = os.getpid()
        self._observer: Observer | None = None

    def observe(self, observer: Observer) -> None:
        """Tell an observer what the workers do from now on, the one on the thread included."""
        with self._lock:
            self._observer = observer
            if self._running is not None:
                self._running[0].observer = observer

    def worker(self, *kinds: str) -> Worker:
        """A worker for this store, for all kinds of jobs or for these."""
        handlers = {kind: x for kind, x in self._handlers.items() if not kinds or kind in kinds}
        worker = Worker(self._work, handlers, clock=self._clock)
        worker.observer = self._observer
        return worker

    def nudge(self) -> None:
        """Tell the thread that a job was queued; start it if there is none, or none any more."""
        with self._lock:
            if self._is_closed:
                return
            if (
                self._running is None
                or not self._running[1].is_alive()  # an error ended it
                or self._process != os.getpid()
            ):
                self._process = os.getpid()  # the thread of a parent is not here
                worker = self.worker()
                thread = threading.Thread(
                    target=_watch, args=(worker,), name="bearinmind-worker", daemon=True
                )
                thread.start()
                self._running = worker, thread
                # A program that ends without closing stops it too: a thread cut off in the middle
                # of a model's work may take the process down with it.
                weakref.finalize(self, _stop, worker, thread)
            self._running[0].wake()

    def close(self) -> None:
        """Stop the thread after the jobs in hand."""
        with self._lock:
            running, self._running = self._running, None
            self._is_closed = True
        if running is not None and self._process == os.getpid():
            _stop(*running)


def _watch(worker: Worker) -> None:
    try:
        worker.watch()
    except MindError as exc:
        _log.warning("background work ended: %s", exc.message, extra={"action": "work_ended"})


def _stop(worker: Worker, thread: threading.Thread) -> None:
    worker.stop()
    thread.join(_LONGEST_STOP)


class Wakeup:
    """An event for threads and signal handlers, in which a `threading.Event` could lock up."""

    def __init__(self) -> None:
        self._events: queue.SimpleQueue[None] = queue.SimpleQueue()

    def set(self) -> None:
        """Wake the thread that waits, or the next one that will."""
        self._events.put(None)

    def wait(self, seconds: float) -> bool:
        """Wait for an event, or so long; return whether one came."""
        try:
            self._events.get(timeout=max(0.0, seconds))
        except queue.Empty:
            return False
        while not self._events.empty():  # several events wake once
            self._events.get_nowait()
        return True


#: Does these jobs, or returns why it cannot.
Try = Callable[[Sequence[Job]], WorkFailure | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempts:
    """Tries the jobs of one kind."""

    work: Work
    clock: Callable[[], datetime]
    outcome: str  #: what a memory is after such a job, such as "embedded"
    chance: Callable[[], float] = field(default=random.random)  #: from 0 to 1, for the jitter

    def allowed(self, jobs: Sequence[Job]) -> tuple[list[Job], Handled]:
        """The jobs that may be tried; the others are given up.

        The store queues no sensitive or deleted memory; if it did, its text must not get out.
        """
        hidden = [job for job in jobs if job.memory.sensitive or job.memory.deleted_at]
        fatal = [job for job in jobs if job.attempts >= MOST_ATTEMPTS and job not in hidden]
        secret = f"a sensitive or deleted memory is never {self.outcome}"
        handled = self.give_up(hidden, secret).plus(self.give_up(fatal, _FATAL))
        return [job for job in jobs if job not in hidden and job not in fatal], handled

    def each(
        self,
        parts: Sequence[Sequence[Job]],
        work: Try,
        harmless: Callable[[], object],  # the same work on a text that is not to blame
        stopping: Callable[[], bool],
    ) -> Handled:
        """Try jobs part by part; after a failure that passes, the other parts are given back."""
        handled = Handled(WorkDone())
        for number, part in enumerate(parts):
            if stopping() or handled.rest:  # the others would fail too just now
                untried = [job for rest in parts[number:] for job in rest]
                self.work.give_back(untried, "", self.clock())
                break
            failure = work(part)
            if failure and failure.permanent and not _succeeds(harmless):
                failure = passing(failure)  # a wrong key, say: no text is to blame for that
            handled = handled.plus(self._result(part, failure, work))
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
            self.outcome,
            error,
            extra={"action": "work_given_up"},
        )
        return Handled(WorkDone(given_up=len(jobs), last_error=error))

    def _result(self, jobs: Sequence[Job], failure: WorkFailure | None, work: Try) -> Handled:
        """Split jobs that were refused together, until the one at fault is left."""
        if failure is None:
            return Handled(WorkDone(finished=len(jobs)))
        if not failure.permanent or len(jobs) == 1:
            return self.failed(jobs, failure)
        handled = Handled(WorkDone())
        for part in _parted(jobs, failure.refused):
            handled = handled.plus(self._result(part, work(part), work))
        return handled

    def _postponed(self, jobs: Sequence[Job], failure: WorkFailure) -> Handled:
        """Put jobs back, each for a pause that grows with its attempts."""
        error = "" if failure.untried else failure.message
        for attempts in sorted({job.attempts for job in jobs}):
            pause = pause_before_retry(attempts, failure.retry_after, self.chance())
            alike = [job for job in jobs if job.attempts == attempts]
            self.work.give_back(alike, error, self.clock() + timedelta(seconds=pause))
        _log.info(
            "%d memories are %s later: %s",
            len(jobs),
            self.outcome,
            failure.message,
            extra={"action": "work_put_back"},
        )
        rest = min(max(_FIRST_PAUSE, failure.retry_after or 0.0), _LONGEST_REST)
        return Handled(WorkDone(postponed=len(jobs), last_error=failure.message), rest)


def pause_before_retry(attempts: int, wanted: float | None, chance: float) -> float:
    """Seconds until the next attempt: longer each time, at least as wanted, with jitter."""
    own = min(_FIRST_PAUSE * _PAUSE_GROWTH**attempts, _LONGEST_PAUSE)
    return max(own, min(wanted or 0.0, _LONGEST_PAUSE)) * (1 + chance / 4)


def passing(failure: WorkFailure) -> WorkFailure:
    """The failure as one that may pass: the same jobs are worth another attempt."""
    return type(failure)(failure.message, hint=failure.hint, retry_after=failure.retry_after)


def _succeeds(work: Callable[[], object]) -> bool:
    try:
        work()
    except Exception:  # noqa: BLE001  an answer to the question, not an error
        return False
    return True


def _parted(jobs: Sequence[Job], refused: Sequence[int]) -> tuple[list[Job], list[Job]]:
    """Jobs in two parts: those that were refused and the others, or two halves."""
    named = [job for position, job in enumerate(jobs) if position in refused]
    others = [job for position, job in enumerate(jobs) if position not in refused]
    if named and others:
        return named, others
    middle = len(jobs) // 2
    return [*jobs[:middle]], [*jobs[middle:]]
