"""The queue of background work loses nothing, does nothing twice, and says how it stands."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.protocols import History, Job, Store, WorkCount, WorkState
from bearinmind.types import Filter, Memory, Scope, Space, UserId

MINUTE = timedelta(minutes=1)
Make = Callable[..., Memory]
SPACE = Space(model="compass", revision="1", dimensions=2)
ONE = np.array([[1.0, 0.0]], np.float32)


@pytest.fixture(autouse=True)
def _in_use(store: Store) -> None:
    store.use_space(SPACE)


@pytest.fixture
def claim(store: Store, noon: datetime) -> Callable[..., list[Job]]:
    """Claims for a minute, so many minutes after noon."""

    def take(minutes: float = 0, limit: int = 99) -> list[Job]:
        now = noon + minutes * MINUTE
        return store.claim(["embed"], limit, now, now + MINUTE)

    return take


Claim = Callable[..., list[Job]]


def counts(store: Store, now: datetime) -> list[WorkCount]:
    """How many jobs of embedding there are."""
    return [count for count in store.work_counts(now) if count.kind == "embed"]


def contents(jobs: list[Job]) -> list[str]:
    return [job.memory.content for job in jobs]


def after(memory: Memory, **changes: object) -> Memory:
    """The next version of a memory, written a minute later."""
    later = memory.updated_at + MINUTE
    return replace(memory, version=memory.version + 1, updated_at=later, **changes)  # type: ignore[arg-type]


# ---- claiming ----------------------------------------------------------------------------------


def test_a_job_carries_all_that_the_work_needs(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    memory = make("walrus", tags=("sea",))
    store.put(scope, memory)
    [job] = claim()
    assert job == Job(job.number, "embed", SPACE.key, scope.user, memory, 0)


def test_work_is_done_for_every_user(store: Store, make: Make, claim: Claim) -> None:
    for user in ("ada", "eve"):
        store.put(Scope(user=UserId(user)), make(f"of {user}"))
    assert [job.owner for job in claim()] == ["ada", "eve"]
    assert contents(claim(2)) == ["of ada", "of eve"]


def test_a_claimed_job_is_claimed_again_only_when_the_claim_has_run_out(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    store.put(scope, make("walrus"))
    assert len(claim()) == 1
    assert claim() == []
    assert claim(0.99) == []
    [again] = claim(1)
    assert again.attempts == 1


def test_the_oldest_jobs_come_first_and_present_versions_before_past_ones(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    first, second = make("first"), make("second")
    store.put(scope, first)
    store.put(scope, second)
    old = make("old")
    store.put_many(scope, [History(versions=(old, after(old, content="newer")))])
    store.replace(scope, after(first, content="first, changed"))
    order = ["second", "newer", "first, changed", "first", "old"]
    assert contents(claim(limit=2)) == order[:2]
    assert contents(claim()) == order[2:]
    assert contents(claim(1)) == order


def test_a_new_memory_does_not_wait_behind_a_space_that_is_being_filled(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    store.put(scope, make("one"))
    store.finish_embedding(SPACE, claim(), ONE)
    other = replace(SPACE, model="another")
    store.use_space(other)
    store.put(scope, make("two"))
    turns = [(job.memory.content, job.target) for job in claim()]
    assert turns == [("two", SPACE.key), ("one", other.key), ("two", other.key)]


def test_a_space_is_filled_with_present_versions_first(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    old = make("old")
    store.put_many(scope, [History(versions=(old, after(old, content="newer")))])
    store.use_space(replace(SPACE, model="another"))
    late = make("late")
    store.put(scope, late)
    assert contents(claim()) == ["newer", "late", "newer", "late", "old", "old"]


def test_what_is_given_back_untried_counts_as_no_attempt(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.put(scope, make())
    store.give_back(claim(), "away", noon)
    for _ in range(3):
        [job] = claim()
        assert job.attempts == 1
        store.give_back([job], "", noon)
    assert [count.last_error for count in counts(store, noon)] == ["away"]


def test_a_job_given_up_while_its_space_was_filled_has_its_turn_when_it_answers(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.put(scope, make("one"))
    store.put(scope, make("odd"))
    store.finish_embedding(SPACE, claim(), np.ones((2, 2), np.float32))
    other = replace(SPACE, model="another")
    store.use_space(other)
    one, odd = claim()
    store.finish_embedding(other, [one], ONE)
    store.give_back([odd], "refused", noon, dead=True)
    assert store.activate_filled() is True
    store.put(scope, make("new"))
    store.revive("embed")
    assert contents(claim()) == ["odd", "new"]


def test_only_the_kinds_asked_for_are_claimed(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    store.put(scope, make())
    assert store.claim(["extract"], 9, noon, noon + MINUTE) == []
    assert store.claim([], 9, noon, noon + MINUTE) == []
    assert len(store.claim(["extract", "embed"], 9, noon, noon + MINUTE)) == 1


def test_a_job_whose_memory_was_purged_is_gone(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    gone, kept = make("gone"), make("kept")
    store.put(scope, gone)
    store.put(scope, kept)
    [job] = claim(limit=1)
    store.purge(scope, [gone.id])
    assert contents(claim(1)) == ["kept"]
    assert store.finish_embedding(SPACE, [job], ONE) == 0
    # The same id may come back from elsewhere, and says something else by now.
    store.put(scope, replace(gone, content="something else"))
    assert store.finish_embedding(SPACE, [job], ONE) == 0
    assert store.spaces()[0].embedded == 0


# ---- finishing ---------------------------------------------------------------------------------


def test_a_finished_job_is_gone_and_its_vector_there(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    memory = make()
    store.put(scope, memory)
    assert store.finish_embedding(SPACE, claim(), ONE) == 1
    assert counts(store, noon) == []
    answer = store.nearest(Filter(scope=scope, now=noon), SPACE, ONE[0], 9)
    assert [near.id for near in answer.nearest] == [memory.id]


def test_a_vector_is_kept_once_whoever_does_the_job(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.put(scope, make())
    slow, fast = claim(), claim(1)
    assert store.finish_embedding(SPACE, fast, ONE) == 1
    assert store.finish_embedding(SPACE, slow, -ONE) == 0
    assert store.finish_embedding(SPACE, fast, ONE) == 0
    assert store.spaces()[0].embedded == 1
    answer = store.nearest(Filter(scope=scope, now=noon), SPACE, ONE[0], 9)
    assert answer.nearest[0].cosine == pytest.approx(1.0)


def test_a_claim_that_ran_out_may_still_be_finished(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    store.put(scope, make())
    slow, fast = claim(), claim(1)
    assert store.finish_embedding(SPACE, slow, ONE) == 1
    assert store.finish_embedding(SPACE, fast, ONE) == 0
    assert claim(9) == []


@pytest.mark.parametrize(
    "vectors",
    [
        np.ones((1, 3), np.float32),
        np.ones((2, 2), np.float32),
        np.ones(2, np.float32),
        np.array([[np.nan, 1.0]], np.float32),
        np.array([[np.inf, 1.0]], np.float32),
    ],
)
def test_vectors_that_cannot_be_are_refused_and_the_job_stays(
    store: Store, scope: Scope, make: Make, claim: Claim, vectors: np.ndarray
) -> None:
    store.put(scope, make())
    with pytest.raises(EmbedderFailure):
        store.finish_embedding(SPACE, claim(), vectors)
    assert store.spaces()[0].embedded == 0
    assert len(claim(1)) == 1


# ---- giving back -------------------------------------------------------------------------------


def test_a_job_that_is_given_back_waits_until_it_is_due(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.put(scope, make())
    store.give_back(claim(), "no answer", noon + 10 * MINUTE)
    assert counts(store, noon) == [WorkCount("embed", SPACE.key, WorkState.WAITING, 1, "no answer")]
    assert claim(9) == []
    [again] = claim(10)
    assert again.attempts == 1


def test_a_dead_job_is_not_claimed_until_it_is_revived(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.put(scope, make())
    store.give_back(claim(), "x" * 9_999, noon, dead=True)
    assert claim(99) == []
    [count] = counts(store, noon)
    assert (count.state, count.jobs) == (WorkState.DEAD, 1)
    assert count.last_error == "x" * 500
    assert store.spaces()[0].dead == 1
    assert store.next_due(noon, ["embed"]) is None
    assert store.revive("extract") == 0
    assert store.revive("embed") == 1
    assert store.revive("embed") == 0
    [again] = claim()
    assert again.attempts == 0, "it has all its attempts before it again"


def test_giving_back_does_not_disturb_whoever_claimed_the_job_since(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    store.put(scope, make())
    slow, fast = claim(), claim(1)
    store.give_back(slow, "too late", noon, dead=True)
    [count] = counts(store, noon + MINUTE)
    assert (count.state, count.last_error) == (WorkState.RUNNING, None)
    assert store.finish_embedding(SPACE, fast, ONE) == 1
    store.give_back(fast, "done already", noon)
    assert counts(store, noon) == []


# ---- how it stands -----------------------------------------------------------------------------


def test_the_queue_is_counted_by_space_and_state(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    for n in range(6):
        store.put(scope, make(f"memory {n}"))
    store.give_back(claim(limit=1), "first", noon + 9 * MINUTE)
    store.give_back(claim(limit=2), "second", noon, dead=True)
    claim(limit=1)
    other = replace(SPACE, revision="2")
    store.use_space(other)
    expected = {
        WorkCount("embed", SPACE.key, WorkState.WAITING, 3, "first"),
        WorkCount("embed", SPACE.key, WorkState.DEAD, 2, "second"),
        WorkCount("embed", SPACE.key, WorkState.RUNNING, 1, None),
        WorkCount("embed", other.key, WorkState.WAITING, 6, None),
    }
    assert {*counts(store, noon)} == expected
    later = {count.state: count.jobs for count in counts(store, noon + MINUTE)[:2]}
    assert WorkState.RUNNING not in later


def test_the_next_job_is_due_when_it_can_be_claimed(
    store: Store, scope: Scope, make: Make, claim: Claim, noon: datetime
) -> None:
    assert store.next_due(noon, ["embed"]) is None
    store.put(scope, make())
    assert store.next_due(noon, ["embed"]) == noon
    [job] = claim()
    assert store.next_due(noon, ["embed"]) == noon + MINUTE
    store.give_back([job], "no", noon + 5 * MINUTE)
    assert store.next_due(noon, ["embed"]) == noon + 5 * MINUTE
    assert store.next_due(noon + 7 * MINUTE, ["embed"]) == noon + 7 * MINUTE
    store.finish_embedding(SPACE, claim(5), ONE)
    assert store.next_due(noon, ["embed"]) is None


# ---- what is missing ---------------------------------------------------------------------------


def test_a_memory_that_has_lost_its_job_is_queued_again_once(
    store: Store, scope: Scope, make: Make, claim: Claim
) -> None:
    store.put(scope, make("done"))
    [job] = claim()
    store.finish_embedding(SPACE, [job], ONE)
    store.put(scope, make("lost"))
    with store._database.writing(alone=True) as transaction:  # type: ignore[attr-defined]
        transaction.change("drop_jobs", {"key": SPACE.key})
    assert claim() == []

    assert store.queue_missing() == 1
    assert store.queue_missing() == 0
    assert contents(claim()) == ["lost"]
