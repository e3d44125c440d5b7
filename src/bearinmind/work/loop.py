"""The worker: one loop over the durable queue, with a handler for each kind of job."""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import NamedTuple, Protocol

from bearinmind.errors import MindError, ModelFailure, StoreFailure
from bearinmind.protocols import Job, Work, WorkState
from bearinmind.work.bell import Bell
from bearinmind.work.done import WorkDone

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
        self._bell = Bell()
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
