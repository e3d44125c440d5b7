"""How a worker is stopped, woken and waited for."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta

import pytest

from bearinmind.errors import Closed, StoreUnavailable
from bearinmind.protocols import Job, WorkState
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Memory
from bearinmind.work import handlers
from bearinmind.work.status import EMBED
from bearinmind.work.worker import MOST_ATTEMPTS, Background
from support.embedders import TroubledEmbedder, WordEmbedder
from support.worker_store import Workplace

Make = Callable[..., Memory]


@pytest.fixture
def place(clock: FixedClock) -> Workplace:
    return Workplace(clock)


def test_a_worker_that_is_told_to_stop_gives_back_what_it_has_not_begun(
    place: Workplace, make: Make
) -> None:
    place.keep(*[make(f"{n} " + "x" * handlers.SLICE) for n in range(4)])
    embedder = TroubledEmbedder(lambda _: worker.stop())
    worker = place.worker(embedder)

    assert worker.once().finished == 1
    assert place.counts() == {WorkState.WAITING: 3}
    assert place.worker(WordEmbedder()).once().finished == 3


def test_being_told_to_stop_is_no_failed_attempt(place: Workplace, make: Make) -> None:
    place.keep(*[make(f"{n} " + "x" * handlers.SLICE) for n in range(2)])
    for _ in range(MOST_ATTEMPTS + 1):
        worker = place.worker(WordEmbedder())
        worker.begin()
        handler = worker._handlers[EMBED]
        jobs = place.store.claim([EMBED], 9, place.clock(), place.clock() + timedelta(seconds=90))
        handler(jobs, lambda: True)

    assert {job.attempts for job in _claimed(place)} == {0}


def _claimed(place: Workplace) -> Sequence[Job]:
    now = place.clock()
    return place.store.claim([EMBED], 9, now, now + timedelta(seconds=90))


def test_a_worker_that_watches_is_woken_and_stopped_from_another_thread(
    place: Workplace, make: Make
) -> None:
    words = WordEmbedder()
    worker = place.worker(words)
    thread = threading.Thread(target=worker.watch)
    thread.start()
    place.keep(make("one"))
    worker.wake()
    _wait_until(lambda: bool(words.seen))
    worker.stop()
    thread.join(60)

    assert not thread.is_alive()
    assert place.embedded == 1


class LostOnce(TemporaryStore):
    """A store whose connection is lost when it is asked when the next job is due, as at a kill."""

    lost = False

    def next_due(self, now: datetime, kinds: Sequence[str] | None = None) -> datetime | None:
        if not self.lost:
            self.lost = True
            raise StoreUnavailable("the server closed the connection")
        return super().next_due(now, kinds)


def test_a_worker_goes_on_when_the_store_was_away_between_two_jobs(
    place: Workplace, make: Make
) -> None:
    place.store = store = LostOnce()
    worker = place.worker(WordEmbedder())
    thread = threading.Thread(target=worker.watch)
    thread.start()
    _wait_until(lambda: store.lost)
    place.keep(make("one"))
    worker.wake()
    _wait_until(lambda: place.embedded == 1)
    worker.stop()
    thread.join(60)


class BrokenOnce(LostOnce):
    """A store that fails once, in a way that does not pass by itself."""

    def next_due(self, now: datetime, kinds: Sequence[str] | None = None) -> datetime | None:
        try:
            return super().next_due(now, kinds)
        except StoreUnavailable as exc:
            raise Closed("the memory is closed") from exc


def test_a_thread_that_an_error_ended_is_started_again_by_the_next_job(
    place: Workplace, make: Make
) -> None:
    place.store = store = BrokenOnce()
    handlers = place.worker(WordEmbedder())._handlers
    background = Background(store, handlers, place.clock)
    background.nudge()
    assert background._running is not None
    background._running[1].join(60)
    assert store.lost
    place.keep(make("one"))
    background.nudge()
    _wait_until(lambda: place.embedded == 1)
    background.close()


def test_a_worker_leaves_when_there_was_nothing_to_do_for_a_while(place: Workplace) -> None:
    place.worker(WordEmbedder()).watch(idle=0.01)


def test_waiting_ends_when_another_worker_has_finished(place: Workplace, make: Make) -> None:
    place.keep(make("one"))
    words = WordEmbedder()
    place.store.use_space(words.space)
    jobs = _claimed(place)
    others = threading.Timer(
        0.1, lambda: place.store.finish_embedding(words.space, jobs, words.embed_memories(["one"]))
    )
    others.start()

    assert place.worker(words).finish().finished == 0
    assert place.embedded == 1
    others.join()


def test_waiting_ends_at_its_time_limit_and_at_an_attempt_that_is_far_off(
    place: Workplace, make: Make
) -> None:
    place.keep(make("one"))
    words = WordEmbedder()
    place.store.use_space(words.space)
    _claimed(place)

    assert place.worker(words).finish(timeout=0.05).finished == 0
    assert place.counts() == {WorkState.RUNNING: 1}
    now = place.clock()
    place.store.give_back(_again(place), "away", now + timedelta(hours=1))
    assert place.worker(words).finish().finished == 0


def _again(place: Workplace) -> Sequence[Job]:
    place.clock.advance(seconds=100)
    return _claimed(place)


def _wait_until(true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline
        time.sleep(0.005)
