"""What a worker does with jobs: embed, retry, give up, and let a filled space answer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime, timedelta

import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.protocols import Job, SpaceState, WorkState
from bearinmind.testing import FixedClock
from bearinmind.types import Memory
from bearinmind.work import handlers
from bearinmind.work.status import EMBED
from bearinmind.work.worker import MOST_ATTEMPTS, pause_before_retry
from support.embedders import TroubledEmbedder, WordEmbedder, refusing
from support.worker_store import Workplace

Make = Callable[..., Memory]


@pytest.fixture
def place(clock: FixedClock) -> Workplace:
    return Workplace(clock)


def test_what_was_stored_before_there_was_an_embedder_is_embedded_too(
    place: Workplace, make: Make
) -> None:
    place.keep(make("before"))
    words = WordEmbedder()
    worker = place.worker(words)

    assert worker.once().finished == 1
    place.keep(make("after"))
    assert worker.once().finished == 1
    assert words.seen == ["before", "after"]
    assert place.embedded == 2
    assert place.counts() == {}


def test_without_an_embedder_nothing_is_touched(place: Workplace, make: Make) -> None:
    place.keep(make("one"))

    assert place.worker(None).once().finished == 0
    assert place.worker(None).finish().finished == 0
    assert place.store.spaces() == []


def test_progress_is_told_as_it_is_made(place: Workplace, make: Make) -> None:
    place.keep(*[make(f"memory {n}") for n in range(5)])
    told: list[int] = []

    place.worker(WordEmbedder(), batch=2).once(told.append)

    assert told == [2, 2, 1]


def test_a_server_gets_a_whole_batch_and_a_local_model_a_second_s_worth(
    place: Workplace, make: Make
) -> None:
    place.keep(*[make(f"{n} " + "x" * (handlers.SLICE // 4)) for n in range(8)])
    local, hosted = WordEmbedder("local"), WordEmbedder("hosted", leaves_machine=True)

    place.worker(local).once()
    place.worker(hosted, local).once()

    assert max(local.batches) <= 4
    assert hosted.batches == [8]


# ---- failures ----------------------------------------------------------------------------------


def test_a_failure_puts_jobs_back_and_lets_the_worker_rest(
    place: Workplace, make: Make, clock: FixedClock
) -> None:
    def down(_: Sequence[str]) -> None:
        raise EmbedderFailure("the server is away")

    place.keep(*[make(f"memory {n}") for n in range(6)])
    embedder = TroubledEmbedder(down)
    worker = place.worker(embedder, batch=2)

    done = worker.once()

    assert (done.finished, done.postponed, done.last_error) == (0, 2, "the server is away")
    assert place.counts() == {WorkState.WAITING: 6}
    assert worker.once().postponed == 0  # it rests: four jobs were not tried in vain
    embedder.trouble = lambda _: None
    clock.advance(seconds=16)
    assert worker.once().finished == 6


def test_a_server_is_left_alone_as_long_as_it_asks(
    place: Workplace, make: Make, clock: FixedClock
) -> None:
    def limited(_: Sequence[str]) -> None:
        raise EmbedderFailure("too many requests", retry_after=300)

    place.keep(make("one"))
    embedder = TroubledEmbedder(limited, leaves_machine=True)
    worker = place.worker(embedder)
    worker.once()
    embedder.trouble = lambda _: None

    clock.advance(seconds=299)
    assert worker.once().finished == 0
    clock.advance(seconds=2)
    assert worker.once().finished == 1


def test_a_job_that_keeps_failing_is_given_up_with_its_error_and_can_be_revived(
    place: Workplace, make: Make, clock: FixedClock
) -> None:
    def down(_: Sequence[str]) -> None:
        raise EmbedderFailure("the server is away")

    place.keep(make("one"))
    embedder = TroubledEmbedder(down)
    worker = place.worker(embedder)
    tries = 0
    while place.counts() != {WorkState.DEAD: 1}:
        tries += 1
        worker.once()
        clock.advance(hours=7)

    assert tries == MOST_ATTEMPTS
    assert place.jobs()[0].last_error == "the server is away"
    embedder.trouble = lambda _: None
    assert place.store.revive(EMBED) == 1
    assert worker.once().finished == 1


def test_one_refused_text_is_given_up_and_the_others_are_embedded(
    place: Workplace, make: Make
) -> None:
    place.keep(*[make(f"memory {n}") for n in range(20)], make("poison"), make("another"))
    embedder = TroubledEmbedder(refusing("poison"), leaves_machine=True)

    done = place.worker(embedder).once()

    assert (done.finished, done.given_up, done.postponed) == (21, 1, 0)
    assert place.counts() == {WorkState.DEAD: 1}
    assert "poison" not in embedder.seen


def test_texts_that_are_named_as_refused_are_told_apart_in_one_step(
    place: Workplace, make: Make
) -> None:
    def named(texts: Sequence[str]) -> None:
        if places := [n for n, text in enumerate(texts) if "poison" in text]:
            raise EmbedderFailure("refused", permanent=True, refused=places)

    place.keep(*[make(f"memory {n}") for n in range(20)], make("poison"))
    embedder = TroubledEmbedder(named, leaves_machine=True)

    assert place.worker(embedder).once()[:3] == (20, 0, 1)
    assert sorted(embedder.batches) == [1, 20]  # the one is a harmless text that was tried


def test_no_text_is_blamed_for_an_embedder_that_refuses_everything(
    place: Workplace, make: Make
) -> None:
    def wrong_key(_: Sequence[str]) -> None:
        raise EmbedderFailure("the key is wrong", permanent=True)

    place.keep(*[make(f"memory {n}") for n in range(20)])

    done = place.worker(TroubledEmbedder(wrong_key, leaves_machine=True)).once()

    assert (done.postponed, done.given_up) == (20, 0)


def test_what_a_text_does_to_a_model_is_its_own_dead_letter(place: Workplace, make: Make) -> None:
    def crash(texts: Sequence[str]) -> None:
        if "odd" in texts:
            raise ZeroDivisionError("by nought")

    place.keep(make("odd"), make("even"))

    assert place.worker(TroubledEmbedder(crash)).once()[:3] == (1, 0, 1)
    [count] = place.jobs()
    assert count.last_error == "ZeroDivisionError: by nought"


def test_vectors_of_the_wrong_shape_are_not_kept(place: Workplace, make: Make) -> None:
    words = WordEmbedder()
    words.embed_memories = lambda texts: WordEmbedder.embed_memories(words, texts)[:, :3]  # type: ignore[method-assign]
    place.keep(make("one"))

    assert place.worker(words).once().finished == 0
    assert place.embedded == 0


def test_a_memory_that_ends_its_worker_again_and_again_is_given_up(
    place: Workplace, make: Make, clock: FixedClock
) -> None:
    """An attempt that is never given back has taken its process with it."""
    place.keep(make("deadly"), make("harmless"))
    place.store.use_space(WordEmbedder().space)
    for _ in range(MOST_ATTEMPTS):
        place.store.claim([EMBED], 1, clock(), clock() + timedelta(seconds=1))
        clock.advance(seconds=2)

    done = place.worker(WordEmbedder()).once()

    assert (done.finished, done.given_up) == (1, 1)
    [count] = place.jobs()
    assert "the worker ended 8 times" in str(count.last_error)


def test_a_suspect_is_embedded_alone(place: Workplace, make: Make, clock: FixedClock) -> None:
    place.keep(*[make(f"memory {n}") for n in range(4)])
    words = WordEmbedder()
    place.store.use_space(words.space)
    for _ in range(3):
        place.store.claim([EMBED], 2, clock(), clock() + timedelta(seconds=1))
        clock.advance(seconds=2)

    place.worker(words).once()

    assert sorted(words.batches) == [1, 1, 2]


def test_pauses_grow_keep_to_what_was_asked_and_are_never_the_same() -> None:
    pauses = [pause_before_retry(attempts, None, 0.0) for attempts in range(8)]

    assert pauses == sorted(pauses)
    assert pauses[0] == 15
    assert pauses[-1] == 6 * 3_600
    assert sum(pauses) > 8 * 3_600
    assert pause_before_retry(0, 120.0, 0.0) == 120
    assert pause_before_retry(0, None, 1.0) > pause_before_retry(0, None, 0.0)


def test_a_sensitive_memory_never_reaches_an_embedder(
    place: Workplace, make: Make, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The store queues none; even if it did, the handler would not let it out."""
    place.keep(make("plain"))
    words = WordEmbedder()
    worker = place.worker(words)
    claim = place.store.claim

    def careless(kinds: Sequence[str], limit: int, now: datetime, until: datetime) -> list[Job]:
        jobs = claim(kinds, limit, now, until)
        return [job._replace(memory=replace(job.memory, sensitive=True)) for job in jobs]

    monkeypatch.setattr(place.store, "claim", careless)

    assert worker.once()[:3] == (0, 0, 1)
    assert words.seen == []


# ---- spaces ------------------------------------------------------------------------------------


def states(place: Workplace) -> dict[str, SpaceState]:
    return {known.space.model: known.state for known in place.store.spaces()}


def test_another_embedder_takes_over_once_everything_is_embedded(
    place: Workplace, make: Make
) -> None:
    old, new = WordEmbedder("old"), WordEmbedder("new")
    place.keep(*[make(f"memory {n}") for n in range(4)])
    place.worker(old).once()
    changed = place.worker(new, old, batch=2)
    changed.begin()

    assert states(place) == {"old": SpaceState.ACTIVE, "new": SpaceState.FILLING}
    place.keep(make("meanwhile"))
    changed.once()
    assert states(place) == {"new": SpaceState.ACTIVE, "old": SpaceState.RETIRED}
    assert "meanwhile" in old.seen
    assert sorted(new.seen) == sorted({*new.seen})
    assert len(new.seen) == 5


def test_a_space_whose_embedder_is_gone_does_not_hold_up_the_other(
    place: Workplace, make: Make
) -> None:
    old, new = WordEmbedder("old"), WordEmbedder("new")
    place.worker(old).once()
    place.keep(make("one"))

    done = place.worker(new).once()

    assert done.finished == 1
    assert done.postponed == 1
    assert states(place) == {"new": SpaceState.ACTIVE, "old": SpaceState.RETIRED}
