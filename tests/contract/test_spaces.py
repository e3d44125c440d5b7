"""Spaces live side by side, and every version that belongs into one is queued for it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from bearinmind.protocols import History, Job, KnownSpace, SpaceState, Store
from bearinmind.types import Memory, Scope, Space

HOUR = timedelta(hours=1)
Make = Callable[..., Memory]
FIRST = Space(model="first", revision="1", dimensions=4, query_prompt="query: ", text="content")
OTHER = Space(model="other", revision="1", dimensions=3)
THIRD = replace(OTHER, revision="2")


def after(memory: Memory, **changes: object) -> Memory:
    """The next version of a memory, written an hour later."""
    later = memory.updated_at + HOUR
    return replace(memory, version=memory.version + 1, updated_at=later, **changes)  # type: ignore[arg-type]


def deleted(memory: Memory) -> Memory:
    return after(memory, deleted_at=memory.updated_at + HOUR)


@pytest.fixture
def claim(store: Store, noon: datetime) -> Callable[..., list[Job]]:
    """Claims everything that waits, for an hour."""
    return lambda limit=99: store.claim(["embed"], limit, noon, noon + HOUR)


@pytest.fixture
def embed_all(store: Store, noon: datetime) -> Callable[[], int]:
    """Does every job that waits; the vectors are of no interest."""

    def do() -> int:
        done = 0
        spaces = {known.space.key: known.space for known in store.spaces()}
        while jobs := store.claim(["embed"], 1, noon, noon + HOUR):
            space = spaces[jobs[0].target]
            vector = np.ones((1, space.dimensions), np.float32)
            done += store.finish_embedding(space, jobs, vector)
        return done

    return do


def targets(jobs: list[Job]) -> list[tuple[str, str, int]]:
    return sorted((job.target, job.memory.content, job.memory.version) for job in jobs)


def states(store: Store) -> list[tuple[Space, SpaceState]]:
    return [(known.space, known.state) for known in store.spaces()]


# ---- the life of a space -----------------------------------------------------------------------


def test_a_new_store_has_no_space_and_queues_nothing(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    store.put(scope, make("walrus"))
    assert store.spaces() == []
    assert claim() == []
    assert store.activate_filled() is False
    assert store.drop_retired() == 0


def test_the_first_space_becomes_the_active_one_and_takes_in_what_is_there(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    store.put(scope, make("walrus"))
    assert store.use_space(FIRST) is SpaceState.ACTIVE
    assert store.spaces() == [KnownSpace(FIRST, SpaceState.ACTIVE, 0, 1, 0)]
    [job] = claim()
    assert (job.kind, job.target, job.memory.content) == ("embed", FIRST.key, "walrus")


def test_a_space_comes_back_with_every_field(store: Store) -> None:
    space = Space(
        model="mödel/x",
        revision="a b",
        dimensions=7,
        query_prompt="Frage: „",
        memory_prompt="\n",
        text="content",
    )
    store.use_space(space)
    assert store.spaces()[0].space == space


def test_using_the_active_space_again_changes_nothing(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    embed_all()
    store.put(scope, make())
    assert store.use_space(FIRST) is SpaceState.ACTIVE
    assert store.spaces() == [KnownSpace(FIRST, SpaceState.ACTIVE, 1, 1, 0)]


def test_another_space_is_filled_while_the_first_goes_on(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    store.put(scope, make("early"))
    embed_all()
    assert store.use_space(OTHER) is SpaceState.FILLING
    assert store.use_space(OTHER) is SpaceState.FILLING
    store.put(scope, make("late"))
    assert store.spaces() == [
        KnownSpace(FIRST, SpaceState.ACTIVE, 1, 1, 0),
        KnownSpace(OTHER, SpaceState.FILLING, 0, 2, 0),
    ]


def test_a_filled_space_takes_over_once_nothing_waits_for_it(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int], noon: datetime
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    embed_all()
    store.use_space(OTHER)
    assert store.activate_filled() is False
    held = store.claim(["embed"], 9, noon, noon + HOUR)
    assert store.activate_filled() is False, "what is being done is not done"
    store.finish_embedding(OTHER, held, np.ones((1, 3), np.float32))
    assert store.activate_filled() is True
    assert states(store) == [(OTHER, SpaceState.ACTIVE), (FIRST, SpaceState.RETIRED)]
    assert store.activate_filled() is False


@pytest.mark.parametrize("dead", [1, 2, 3, 4])
def test_what_could_not_be_embedded_holds_a_space_back_only_if_it_is_most(
    store: Store,
    scope: Scope,
    make: Make,
    embed_all: Callable[[], int],
    noon: datetime,
    dead: int,
) -> None:
    store.use_space(FIRST)
    store.put_many(scope, [History(versions=(make(),)) for _ in range(4)])
    embed_all()
    store.use_space(OTHER)
    jobs = store.claim(["embed"], 99, noon, noon + HOUR)
    store.finish_embedding(OTHER, jobs[dead:], np.ones((4 - dead, 3), np.float32))
    store.give_back(jobs[:dead], "refused", noon, dead=True)
    assert store.activate_filled() is (dead <= 2)


def test_a_space_for_an_empty_store_takes_over_at_once(store: Store) -> None:
    store.use_space(FIRST)
    store.use_space(OTHER)
    assert store.activate_filled() is True
    assert states(store) == [(OTHER, SpaceState.ACTIVE), (FIRST, SpaceState.RETIRED)]


def test_asking_for_a_third_space_drops_the_one_being_filled(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    store.use_space(OTHER)
    assert store.use_space(THIRD) is SpaceState.FILLING
    assert states(store) == [(FIRST, SpaceState.ACTIVE), (THIRD, SpaceState.FILLING)]
    assert {job.target for job in claim()} == {FIRST.key, THIRD.key}


def test_asking_for_the_active_space_drops_the_one_being_filled(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    store.use_space(OTHER)
    assert store.use_space(FIRST) is SpaceState.ACTIVE
    assert states(store) == [(FIRST, SpaceState.ACTIVE)]
    assert {job.target for job in claim()} == {FIRST.key}


def test_what_is_finished_for_a_dropped_space_is_ignored(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int], noon: datetime
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    embed_all()
    store.use_space(OTHER)
    held = store.claim(["embed"], 9, noon, noon + HOUR)
    store.use_space(FIRST)
    assert store.finish_embedding(OTHER, held, np.ones((1, 3), np.float32)) == 0
    store.use_space(OTHER)
    assert store.finish_embedding(OTHER, held, np.ones((1, 3), np.float32)) == 0
    assert store.spaces()[1] == KnownSpace(OTHER, SpaceState.FILLING, 0, 1, 0)


def test_a_retired_space_keeps_its_vectors_until_they_are_dropped(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    store.put(scope, make())
    embed_all()
    store.use_space(OTHER)
    embed_all()
    store.activate_filled()
    store.put(scope, make())
    assert store.spaces()[1] == KnownSpace(FIRST, SpaceState.RETIRED, 2, 0, 0)
    assert store.drop_retired() == 2
    assert store.drop_retired() == 0
    assert states(store) == [(OTHER, SpaceState.ACTIVE)]


def test_jobs_left_for_a_space_that_retires_are_gone(
    store: Store, scope: Scope, make: Make, noon: datetime
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    store.use_space(OTHER)
    jobs = [job for job in store.claim(["embed"], 9, noon, noon) if job.target == OTHER.key]
    store.finish_embedding(OTHER, jobs, np.ones((1, 3), np.float32))
    assert store.activate_filled() is True
    assert store.claim(["embed"], 9, noon, noon + HOUR) == []


def test_a_retired_space_that_is_asked_for_again_needs_only_what_is_new(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    store.put(scope, make())
    embed_all()
    store.use_space(OTHER)
    embed_all()
    store.activate_filled()
    store.put(scope, make())
    assert store.use_space(FIRST) is SpaceState.FILLING
    assert store.spaces()[1] == KnownSpace(FIRST, SpaceState.FILLING, 1, 1, 0)


# ---- what belongs into a space -----------------------------------------------------------------


def test_every_version_is_queued_unless_it_is_deleted_or_sensitive(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    store.use_space(FIRST)
    told, secret, gone = make("told"), make("hidden", sensitive=True), make("gone")
    for memory in (told, secret, gone):
        store.put(scope, memory)
    store.replace(scope, after(told, content="told again"))
    store.replace(scope, deleted(gone))
    expected = [("gone", 1), ("told", 1), ("told again", 2)]
    assert [(content, version) for _, content, version in targets(claim())] == expected


def test_a_space_that_comes_later_finds_the_same_versions(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    told, secret, gone = make("told"), make("hidden", sensitive=True), make("gone")
    for memory in (told, secret, gone):
        store.put(scope, memory)
    store.replace(scope, after(told, content="told again"))
    store.replace(scope, deleted(gone))
    store.use_space(FIRST)
    expected = [("gone", 1), ("told", 1), ("told again", 2)]
    assert [(content, version) for _, content, version in targets(claim())] == expected


def test_a_history_is_queued_version_by_version(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    store.use_space(FIRST)
    one = make("one")
    two = after(one, content="two")
    three = deleted(two)
    store.put_many(scope, [History(versions=(one, two, three, after(three, deleted_at=None)))])
    assert [(content, version) for _, content, version in targets(claim())] == [
        ("one", 1),
        ("two", 2),
        ("two", 4),
    ]


def test_a_memory_that_is_refused_queues_nothing(
    store: Store, scope: Scope, make: Make, claim: Callable[[], list[Job]]
) -> None:
    store.use_space(FIRST)
    store.put(scope, make("the same"))
    store.put(scope, make("the same"))
    store.put_many(scope, [History(versions=(make("the same"),))])
    assert len(claim()) == 1


def test_a_version_with_the_same_text_takes_the_vector_over(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    memory = make("walrus")
    store.put(scope, memory)
    embed_all()
    store.replace(scope, after(memory, importance=0.9))
    assert store.spaces() == [KnownSpace(FIRST, SpaceState.ACTIVE, 2, 0, 0)]


def test_a_version_with_another_text_is_embedded_anew(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    memory = make("walrus")
    store.put(scope, memory)
    embed_all()
    store.replace(scope, after(memory, content="seal"))
    assert store.spaces() == [KnownSpace(FIRST, SpaceState.ACTIVE, 1, 1, 0)]


def test_a_restored_memory_has_its_vector_at_once(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    memory = make("walrus")
    store.put(scope, memory)
    embed_all()
    gone = deleted(memory)
    store.replace(scope, gone)
    store.replace(scope, after(gone, deleted_at=None))
    assert store.spaces() == [KnownSpace(FIRST, SpaceState.ACTIVE, 2, 0, 0)]


def test_a_purge_takes_vectors_and_jobs_along(
    store: Store, scope: Scope, make: Make, embed_all: Callable[[], int]
) -> None:
    store.use_space(FIRST)
    embedded, waiting, other = make("embedded"), make("waiting"), make("other")
    store.put(scope, embedded)
    embed_all()
    store.put(scope, waiting)
    store.put(scope, other)
    store.purge(scope, [embedded.id, waiting.id])
    assert store.spaces() == [KnownSpace(FIRST, SpaceState.ACTIVE, 0, 1, 0)]
    assert all(finding.good for finding in store.check())
