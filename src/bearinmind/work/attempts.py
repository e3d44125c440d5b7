"""What becomes of jobs whose work fails: another attempt later, smaller parts, or a dead letter."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bearinmind.errors import WorkFailure
from bearinmind.protocols import Job, Work
from bearinmind.work.done import WorkDone
from bearinmind.work.loop import Handled

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

_log = logging.getLogger(__name__)

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
