"""Memories are found by the direction of their vectors, as far as a filter admits them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime, timedelta

import numpy as np
import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.protocols import DenseAnswer, Store
from bearinmind.types import Filter, Link, LinkKind, Memory, Provenance, Scope, Space, UserId

HOUR = timedelta(hours=1)
Make = Callable[..., Memory]
SPACE = Space(model="compass", revision="1", dimensions=2)
OTHER = Space(model="globe", revision="1", dimensions=2)
ROUGHLY = 5e-3  # mean and deviation may come from rounded vectors


def at(degrees: float) -> np.ndarray:
    """The vector that points there."""
    angle = math.radians(degrees)
    return np.array([math.cos(angle), math.sin(angle)], np.float32)


def after(memory: Memory, **changes: object) -> Memory:
    """The next version of a memory, written an hour later."""
    later = memory.updated_at + HOUR
    return replace(memory, version=memory.version + 1, updated_at=later, **changes)  # type: ignore[arg-type]


def embed(store: Store, now: datetime, space: Space = SPACE) -> None:
    """Do every job: a memory points where its content says."""
    jobs = store.claim(["embed"], 999, now, now)
    mine = [job for job in jobs if job.target == space.key]
    if mine:
        vectors = np.array([at(float(job.memory.content.split()[0])) for job in mine])
        store.finish_embedding(space, mine, vectors)


@pytest.fixture
def pointing(store: Store, scope: Scope, make: Make, noon: datetime) -> Callable[..., Memory]:
    """Stores and embeds a memory that points somewhere."""
    store.use_space(SPACE)

    def point(degrees: float, words: str = "", **fields: object) -> Memory:
        memory = make(f"{degrees} {words}".strip(), **fields)
        store.put(Scope(user=memory.owner), memory)
        embed(store, noon)
        return memory

    return point


@pytest.fixture
def ask(store: Store, scope: Scope, noon: datetime) -> Callable[..., DenseAnswer]:
    """Asks for what is nearest to a direction; the keywords are those of the filter."""

    def nearest(degrees: float, limit: int = 9, **fields: object) -> DenseAnswer:
        plain: dict[str, object] = {"scope": scope, "now": noon}
        filter_ = Filter(**(plain | fields))  # type: ignore[arg-type]
        return store.nearest(filter_, SPACE, at(degrees), limit)

    return nearest


def ids(answer: DenseAnswer) -> list[str]:
    return [near.id for near in answer.nearest]


Point = Callable[..., Memory]
Ask = Callable[..., DenseAnswer]


def test_the_nearest_come_first_with_their_cosines(pointing: Point, ask: Ask) -> None:
    far, near, opposite = pointing(80), pointing(10), pointing(180)
    answer = ask(0)
    assert ids(answer) == [near.id, far.id, opposite.id]
    expected = [math.cos(math.radians(x)) for x in (10, 80, 180)]
    assert [found.cosine for found in answer.nearest] == pytest.approx(expected, abs=1e-3)


def test_no_more_come_than_are_wanted(pointing: Point, ask: Ask) -> None:
    for degrees in range(0, 90, 5):
        pointing(degrees)
    answer = ask(0, limit=3)
    assert len(answer.nearest) == 3
    assert answer.searched == 18
    assert ids(ask(0, limit=18))[:3] == ids(answer)
    assert ids(ask(0, limit=0)) == []


def test_equal_cosines_come_by_id(store: Store, pointing: Point, ask: Ask, make: Make) -> None:
    made = [make() for _ in range(12)]
    for memory in reversed(made):
        pointing(30, f"twin {memory.id}", id=memory.id)
    pointing(20)
    expected = sorted(memory.id for memory in made)
    assert ids(ask(20, limit=5))[1:] == expected[:4]
    assert ids(ask(20, limit=99))[1:] == expected


def test_the_length_of_a_query_does_not_matter(
    store: Store, pointing: Point, ask: Ask, scope: Scope, noon: datetime
) -> None:
    pointing(10)
    pointing(70)
    longer = store.nearest(Filter(scope=scope, now=noon), SPACE, 7 * at(0), 9)
    assert longer.nearest == ask(0).nearest


def test_mean_and_deviation_are_those_of_everything_present(pointing: Point, ask: Ask) -> None:
    for degrees in (0, 60, 90, 180):
        pointing(degrees, tags=("east",) if degrees < 90 else ())
    cosines = [1.0, 0.5, 0.0, -1.0]
    for answer in (ask(0), ask(0, limit=1), ask(0, tags=frozenset({"east"}))):
        assert answer.mean == pytest.approx(np.mean(cosines), abs=ROUGHLY)
        assert answer.deviation == pytest.approx(np.std(cosines), abs=ROUGHLY)


def test_nothing_is_near_in_an_empty_store(store: Store, ask: Ask) -> None:
    assert ask(0) == DenseAnswer([], 0, 0.0, 0.0, 0)
    store.use_space(SPACE)
    assert ask(0) == DenseAnswer([], 0, 0.0, 0.0, 0)


def test_vectors_of_different_spaces_are_never_compared(
    store: Store, pointing: Point, ask: Ask, scope: Scope, noon: datetime
) -> None:
    here = pointing(0)
    store.use_space(OTHER)
    filter_ = Filter(scope=scope, now=noon)
    assert store.nearest(filter_, OTHER, at(0), 9).searched == 0
    embed(store, noon, OTHER)
    there = pointing(10)  # into the first only
    assert ids(ask(0)) == [here.id, there.id]
    assert ids(store.nearest(filter_, OTHER, at(0), 9)) == [here.id]


def test_a_space_that_was_dropped_and_made_again_begins_empty(
    store: Store, pointing: Point, ask: Ask, scope: Scope, noon: datetime
) -> None:
    first = pointing(0)
    filter_ = Filter(scope=scope, now=noon)
    store.use_space(OTHER)
    embed(store, noon, OTHER)
    assert ids(store.nearest(filter_, OTHER, at(0), 9)) == [first.id]
    store.use_space(SPACE)
    assert ids(store.nearest(filter_, OTHER, at(0), 9)) == []
    store.use_space(OTHER)
    assert ids(store.nearest(filter_, OTHER, at(0), 9)) == []
    embed(store, noon, OTHER)
    assert ids(store.nearest(filter_, OTHER, at(0), 9)) == [first.id]


@pytest.mark.parametrize("query", [np.ones(3, np.float32), np.ones((1, 2), np.float32)])
def test_a_query_of_another_shape_is_refused(
    store: Store, pointing: Point, scope: Scope, noon: datetime, query: np.ndarray
) -> None:
    pointing(0)
    with pytest.raises(EmbedderFailure):
        store.nearest(Filter(scope=scope, now=noon), SPACE, query, 9)


# ---- filters -----------------------------------------------------------------------------------

DAY = timedelta(days=1)


@pytest.mark.parametrize(
    ("fields", "asked"),
    [
        ({"category": "people"}, {"categories": frozenset({"people", "projects"})}),
        ({"tags": ("red", "blue")}, {"tags": frozenset({"red", "blue"})}),
        ({"provenance": Provenance(session="s")}, {"session": "s"}),
        ({"provenance": Provenance(project="p")}, {"project": "p"}),
        ({"provenance": Provenance(agent="a")}, {"agent": "a"}),
    ],
)
def test_only_what_the_filter_admits_is_found(
    pointing: Point, ask: Ask, fields: dict[str, object], asked: dict[str, object]
) -> None:
    pointing(0, "nearest", tags=("red",))
    meant = pointing(50, **fields)
    pointing(10)
    answer = ask(0, **asked)
    assert ids(answer) == [meant.id]
    assert answer.searched == 1


def test_the_same_filter_sees_what_has_changed_since(
    store: Store, scope: Scope, pointing: Point, ask: Ask, noon: datetime
) -> None:
    asked = {"categories": frozenset({"people"})}
    assert ids(ask(0, **asked)) == []
    first = pointing(0, category="people")
    assert ids(ask(0, **asked)) == [first.id]
    second = pointing(10, category="people")
    assert ids(ask(0, **asked)) == [first.id, second.id]
    store.replace(scope, after(first, category="facts"))
    assert ids(ask(0, **asked)) == [second.id]
    store.purge(scope, [second.id])
    assert (ids(ask(0, **asked)), ask(0, **asked).searched) == ([], 0)
    assert ids(ask(0, **asked, as_of=noon)) == [first.id]


def test_times_of_creation_are_honoured(pointing: Point, ask: Ask, noon: datetime) -> None:
    early, middle, late = (pointing(n, created_at=noon + n * DAY) for n in (0, 1, 2))
    assert ids(ask(0, created_from=noon + DAY)) == [middle.id, late.id]
    assert ids(ask(0, created_to=noon + DAY)) == [early.id]
    assert ids(ask(0, created_from=noon + DAY, created_to=noon + 2 * DAY)) == [middle.id]


def test_nobody_finds_the_memories_of_others(store: Store, pointing: Point, ask: Ask) -> None:
    eve = UserId("eve")
    hers = [pointing(degrees, owner=eve) for degrees in range(20)]
    mine = [pointing(degrees) for degrees in (40, 60)]
    answer = ask(0)
    assert ids(answer) == [memory.id for memory in mine]
    assert answer.searched == 2
    assert answer.mean == pytest.approx((math.cos(math.radians(40)) + 0.5) / 2, abs=ROUGHLY)
    assert ids(ask(0, limit=30, scope=Scope(user=eve))) == [memory.id for memory in hers]
    assert ids(ask(0, scope=Scope(user=UserId("nobody")))) == []


def test_superseded_and_expired_memories_are_admitted(
    store: Store, scope: Scope, pointing: Point, ask: Ask, link: Callable[..., Link], noon: datetime
) -> None:
    old, new = pointing(0), pointing(10)
    store.add_link(scope, link(new, LinkKind.SUPERSEDES, old))
    expired = pointing(20, valid_to=noon - HOUR)
    assert ids(ask(0)) == [old.id, new.id, expired.id]


# ---- what changes ------------------------------------------------------------------------------


def test_a_memory_is_found_by_its_present_version_only(
    store: Store, scope: Scope, pointing: Point, ask: Ask, noon: datetime
) -> None:
    memory, other = pointing(0), pointing(40)
    ask(0)
    store.replace(scope, after(memory, content="90 moved"))
    waiting = ask(0)
    assert ids(waiting) == [other.id], "the version before is past, the present one not embedded"
    assert waiting.searched == 1
    embed(store, noon)
    moved = ask(0)
    assert ids(moved) == [other.id, memory.id]
    assert moved.nearest[1].cosine == pytest.approx(0.0, abs=1e-3)
    assert moved.searched == 2
    assert moved.mean == pytest.approx(math.cos(math.radians(40)) / 2, abs=ROUGHLY)


def test_a_version_that_is_embedded_after_it_was_replaced_is_past(
    store: Store, scope: Scope, make: Make, ask: Ask, noon: datetime
) -> None:
    store.use_space(SPACE)
    memory = make("0 first")
    store.put(scope, memory)
    store.replace(scope, after(memory, content="60 second"))
    ask(0)
    embed(store, noon)
    answer = ask(0)
    assert [found.cosine for found in answer.nearest] == pytest.approx([0.5], abs=1e-3)
    assert answer.searched == 1
    assert answer.mean == pytest.approx(0.5, abs=ROUGHLY)


def test_a_changed_importance_leaves_a_memory_where_it_was(
    store: Store, scope: Scope, pointing: Point, ask: Ask
) -> None:
    memory = pointing(10)
    before = ask(0)
    for _ in range(20):
        memory = after(memory, importance=0.75)
        store.replace(scope, memory)
        assert ask(0) == before


def test_what_was_true_then_is_found_as_of_then(
    store: Store, scope: Scope, pointing: Point, ask: Ask, noon: datetime
) -> None:
    memory = pointing(0)
    later = pointing(40, created_at=noon + 3 * HOUR)
    store.replace(scope, after(memory, content="90 moved"))
    embed(store, noon)
    assert ids(ask(0, as_of=noon - HOUR)) == []
    then = ask(0, as_of=noon)
    assert ids(then) == [memory.id]
    assert then.nearest[0].cosine == pytest.approx(1.0, abs=1e-3)
    assert then.searched == 1
    assert ids(ask(0, as_of=noon + 4 * HOUR)) == [later.id, memory.id]


def test_a_deleted_memory_is_found_only_as_of_before(
    store: Store, scope: Scope, pointing: Point, ask: Ask, noon: datetime
) -> None:
    memory, other = pointing(0), pointing(40)
    ask(0)
    gone = after(memory, deleted_at=noon + HOUR)
    store.replace(scope, gone)
    assert (ids(ask(0)), ask(0).searched) == ([other.id], 1)
    assert ids(ask(0, as_of=noon)) == [memory.id, other.id]
    assert ids(ask(0, as_of=noon + HOUR)) == [other.id]
    store.replace(scope, after(gone, deleted_at=None))
    assert ids(ask(0)) == [memory.id, other.id]


def test_nothing_is_near_once_everything_is_deleted(
    store: Store, scope: Scope, pointing: Point, ask: Ask, noon: datetime
) -> None:
    memory = pointing(0)
    store.replace(scope, after(memory, deleted_at=noon + HOUR))
    assert ask(0) == DenseAnswer([], 0, 0.0, 0.0, 0)
    assert ids(ask(0, as_of=noon)) == [memory.id]


def test_a_purged_memory_is_never_found_again(
    store: Store, scope: Scope, pointing: Point, ask: Ask, noon: datetime
) -> None:
    other, memory = pointing(40), pointing(0)
    ask(0)
    store.purge(scope, [memory.id])
    assert (ids(ask(0)), ask(0).searched) == ([other.id], 1)
    assert ids(ask(0, as_of=noon)) == [other.id]
    # A file may give the place of a purged memory to the next one.
    eves = pointing(0, "hers", owner=UserId("eve"))
    mine = pointing(90)
    answer = ask(0)
    assert [(found.id, round(found.cosine, 2)) for found in answer.nearest] == [
        (other.id, 0.77),
        (mine.id, 0.0),
    ]
    assert ids(ask(0, scope=Scope(user=UserId("eve")))) == [eves.id]


def test_many_past_versions_hide_nothing(
    store: Store, scope: Scope, pointing: Point, ask: Ask, noon: datetime
) -> None:
    far = [pointing(60 + n) for n in range(5)]
    restless = pointing(0)
    for n in range(60):
        restless = after(restless, content=f"{n % 7} again {n}")
        store.replace(scope, restless)
        embed(store, noon)
    store.replace(scope, after(restless, content="120 finally"))
    embed(store, noon)
    assert ids(ask(0, limit=5)) == [memory.id for memory in far]
    assert ask(0).searched == 6
