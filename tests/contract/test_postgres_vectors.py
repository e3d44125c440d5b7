"""Large owners of a Postgres store are searched by an index, and lose nothing by it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from bearinmind.protocols import DenseAnswer, History
from bearinmind.store.postgres.indexes import VectorIndexes
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.search_plan import MOST_DIMENSIONS, Costs
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.store.postgres.vectors import VectorSearch
from bearinmind.types import Filter, Memory, Provenance, Scope, Space, UserId
from support.extractors import HOUR, Make, after

SPACE = Space(model="made-up", revision="1", dimensions=24)
OTHER = Space(model="made-up", revision="1", dimensions=40)
HUGE = Space(model="made-up", revision="1", dimensions=4_096)
MANY = 900
LIMIT = 50
#: With these an index is always the fastest, however small the owner is.
BY_INDEX = Costs(short=0, beginning=0, visit=0, visited_dimension=0, astray=10**6, furthest=10**6)
#: With these nobody is small, and an index costs what it costs.
NOBODY_IS_SMALL = Costs(short=0)
#: With these what a filter admits is looked at, and nothing else.
BY_FILTER = Costs(short=0, astray=0, memory=0, lookup=0)


def vector_of(memory: Memory, dimensions: int) -> np.ndarray:
    """Where a memory points: near one of nine directions, as its content says."""
    seed = int(memory.content.split()[1])
    topic = np.random.default_rng(seed % 9).normal(size=dimensions)
    own = np.random.default_rng(1_000 + seed).normal(size=dimensions)
    return (topic + 0.7 * own).astype(np.float32)


def query(topic: int, dimensions: int = 24) -> np.ndarray:
    """Something near one of the directions."""
    asked = np.random.default_rng(topic).normal(size=dimensions)
    return (asked + 0.2 * np.random.default_rng(77).normal(size=dimensions)).astype(np.float32)


@pytest.fixture
def store(migrated_database: Callable[[], str]) -> Iterator[PostgresStore]:
    """An empty store, of which every read is by one connection."""
    made = PostgresStore(migrated_database(), connections=1)
    yield made
    made.close()


@pytest.fixture
def pool(store: PostgresStore) -> Pool:
    return store._pool


@pytest.fixture
def embed(store: PostgresStore, noon: datetime) -> Callable[..., None]:
    """Does every job of a space."""

    def embed_all(space: Space = SPACE) -> None:
        jobs = store.claim(["embed"], 9_999, noon, noon + HOUR)
        mine = [job for job in jobs if job.target == space.key]
        vectors = np.array([vector_of(job.memory, space.dimensions) for job in mine])
        store.finish_embedding(space, mine, vectors)
        store.give_back([job for job in jobs if job.target != space.key], "", noon, dead=False)

    return embed_all


@pytest.fixture
def fill(
    store: PostgresStore, scope: Scope, make: Make, embed: Callable[..., None]
) -> Callable[..., list[Memory]]:
    """Stores and embeds many memories; every thirtieth is about people."""

    def fill_with(count: int, owner: Scope = scope, space: Space = SPACE) -> list[Memory]:
        store.use_space(space)
        memories = [
            make(
                f"memory {number} of {owner.user}",
                owner=owner.user,
                category="people" if number % 30 == 0 else "facts",
                provenance=Provenance(project=str(number % 9)),
            )
            for number in range(count)
        ]
        store.put_many(owner, [History(versions=(memory,)) for memory in memories])
        embed(space)
        return memories

    return fill_with


@pytest.fixture
def index(pool: Pool) -> Callable[[], None]:
    """Builds the index of every space that can have one."""

    def build() -> None:
        indexes = VectorIndexes(pool)
        for each in indexes.known():
            assert each.dimensions > MOST_DIMENSIONS or indexes.build(each)

    return build


def recall(answer: DenseAnswer, exact: DenseAnswer) -> float:
    """How much of the one is in the other."""
    found = {near.id for near in answer.nearest}
    return len(found & {near.id for near in exact.nearest}) / len(exact.nearest)


Fill = Callable[..., list[Memory]]


def test_a_large_owner_is_searched_by_the_index(
    store: PostgresStore, pool: Pool, fill: Fill, index: Callable[[], None], everything: Filter
) -> None:
    fill(MANY)
    index()
    for topic in range(9):
        exact = store.nearest(everything, SPACE, query(topic), LIMIT)
        found = VectorSearch(pool, BY_INDEX).nearest(everything, SPACE, query(topic), LIMIT)
        assert found.how.startswith("HNSW with ef 400: about 0 ms, exact")
        assert exact.how == "exact"
        assert recall(found, exact) >= 0.98
        cosines = {near.id: near.cosine for near in exact.nearest}
        assert all(cosines[x.id] == x.cosine for x in found.nearest if x.id in cosines)
        assert found.nearest == sorted(found.nearest, key=lambda x: (-x.cosine, x.id))
        assert (found.searched, found.population) == (MANY, MANY)
        assert found.mean == pytest.approx(exact.mean, abs=0.01)
        assert found.deviation == pytest.approx(exact.deviation, rel=0.05)


def test_a_filter_never_leaves_fewer_than_there_are(
    store: PostgresStore, pool: Pool, fill: Fill, index: Callable[[], None], everything: Filter
) -> None:
    memories = fill(MANY)
    index()
    people = replace(everything, categories=frozenset({"people"}))
    assert sum(memory.category == "people" for memory in memories) == 30
    for limit in (1, 10, 30):
        exact = store.nearest(people, SPACE, query(3), limit)
        for costs in (BY_INDEX, BY_FILTER, NOBODY_IS_SMALL):
            found = VectorSearch(pool, costs).nearest(people, SPACE, query(3), limit)
            assert len(found.nearest) == limit
            assert recall(found, exact) >= 0.9
            assert found.mean == pytest.approx(exact.mean, abs=0.01), "as without the filter"


def test_what_an_index_cannot_fill_is_searched_exactly(
    store: PostgresStore, pool: Pool, fill: Fill, index: Callable[[], None], everything: Filter
) -> None:
    fill(MANY)
    index()
    people = replace(everything, categories=frozenset({"people"}))
    found = VectorSearch(pool, BY_INDEX).nearest(people, SPACE, query(3), LIMIT)
    assert found.how == "exact over what the filter admits: the index gave 30"
    assert found.nearest == store.nearest(people, SPACE, query(3), LIMIT).nearest
    assert (len(found.nearest), found.searched, found.population) == (30, 30, MANY)


def test_filters_that_keep_out_what_is_near_are_seen_before(
    pool: Pool, fill: Fill, index: Callable[[], None], everything: Filter
) -> None:
    fill(MANY)
    index()
    search = VectorSearch(pool, replace(BY_INDEX, astray=500))
    near, far = (replace(everything, project=project) for project in ("3", "4"))
    assert search.nearest(near, SPACE, query(3), 70).how.startswith("HNSW")
    assert "the index would pass" in search.nearest(far, SPACE, query(3), 70).how


def test_nobody_is_given_what_others_own(
    pool: Pool, fill: Fill, index: Callable[[], None], everything: Filter
) -> None:
    eve = Scope(user=UserId("eve"))
    hers = fill(MANY, eve)
    mine = {memory.id for memory in fill(60)}
    index()
    search = VectorSearch(pool, BY_INDEX)
    found = search.nearest(everything, SPACE, query(1), LIMIT)
    assert {near.id for near in found.nearest} <= mine
    assert len(found.nearest) == LIMIT
    of_eve = search.nearest(replace(everything, scope=eve), SPACE, query(1), LIMIT)
    assert {near.id for near in of_eve.nearest} <= {memory.id for memory in hers}


def test_past_versions_take_nobodys_place_in_the_index(
    store: PostgresStore,
    pool: Pool,
    fill: Fill,
    index: Callable[[], None],
    scope: Scope,
    everything: Filter,
) -> None:
    memories = fill(300)
    nearest = store.nearest(everything, SPACE, query(3), 1).nearest[0].id
    [restless] = [memory for memory in memories if memory.id == nearest]
    for _ in range(80):
        restless = after(restless, importance=0.75)
        store.replace(scope, restless)  # says the same, so each version has the same vector
    index()
    found = VectorSearch(pool, BY_INDEX).nearest(everything, SPACE, query(3), LIMIT)
    assert found.how.startswith("HNSW")
    assert len({near.id for near in found.nearest}) == LIMIT
    assert found.nearest[0].id == restless.id
    assert found.population == pytest.approx(300, abs=30), "the past is not counted"


def test_settings_of_a_search_end_with_it(
    pool: Pool, fill: Fill, index: Callable[[], None], everything: Filter
) -> None:
    fill(120)
    index()
    asked = "SELECT name, setting FROM pg_settings WHERE name ^@ 'hnsw.' OR name = ANY(%s)"

    def settings() -> list[tuple[str, str]]:
        with pool.connections.connection() as connection:  # the only one that there is
            connection.execute("LOAD 'vector'")
            plan = ["enable_sort", "jit", "plan_cache_mode"]
            return connection.execute(asked, [plan]).fetchall()

    before = settings()
    assert VectorSearch(pool, BY_INDEX).nearest(everything, SPACE, query(1), 9).how[:4] == "HNSW"
    assert settings() == before
    assert dict(before)["hnsw.ef_search"] == "40"


def test_spaces_of_different_dimensions_have_an_index_each(
    store: PostgresStore,
    pool: Pool,
    fill: Fill,
    embed: Callable[..., None],
    index: Callable[[], None],
    everything: Filter,
) -> None:
    fill(300)
    store.use_space(OTHER)
    embed(OTHER)
    index()
    assert [(x.dimensions, x.vectors, x.complete) for x in VectorIndexes(pool).known()] == [
        (24, 300, True),
        (40, 300, True),
    ]
    for space in (SPACE, OTHER):
        asked = query(5, space.dimensions)
        found = VectorSearch(pool, BY_INDEX).nearest(everything, space, asked, LIMIT)
        exact = store.nearest(everything, space, asked, LIMIT)
        assert found.how.startswith("HNSW")
        assert recall(found, exact) >= 0.98


def test_more_dimensions_than_can_be_indexed_are_searched_exactly(
    store: PostgresStore, pool: Pool, fill: Fill, everything: Filter
) -> None:
    memories = fill(12, space=HUGE)
    indexes = VectorIndexes(pool, BY_INDEX)
    assert [each.dimensions <= MOST_DIMENSIONS for each in indexes.known()] == [False]
    assert indexes.due() == []
    found = VectorSearch(pool, BY_INDEX).nearest(everything, HUGE, query(1, 4_096), 5)
    assert "4,096 dimensions cannot be indexed" in found.how
    exact = store.nearest(everything, HUGE, query(1, 4_096), 12)
    assert found.nearest == exact.nearest[:5]
    assert {near.id for near in exact.nearest} == {memory.id for memory in memories}


def test_a_query_or_a_memory_without_direction_is_at_right_angles_to_everything(
    store: PostgresStore, pool: Pool, fill: Fill, index: Callable[[], None], everything: Filter
) -> None:
    memories = fill(60)
    index()
    nowhere = np.zeros(24, np.float32)
    for found in (
        store.nearest(everything, SPACE, nowhere, 9),
        VectorSearch(pool, BY_INDEX).nearest(everything, SPACE, nowhere, 9),
    ):
        assert [near.cosine for near in found.nearest] == [0.0] * 9
        assert [near.id for near in found.nearest] == sorted(x.id for x in memories)[:9]
        assert (found.mean, found.deviation) == (0.0, 0.0)


def test_without_the_extension_nothing_is_near(
    store: PostgresStore, pool: Pool, everything: Filter, make: Make, scope: Scope
) -> None:
    store.use_space(SPACE)
    pool.alone("DROP EXTENSION vector CASCADE")
    memory = make()
    store.put(scope, memory)
    assert store.nearest(everything, SPACE, query(1), 9) == DenseAnswer([], 0, 0.0, 0.0, 0)
    assert store.cosines(everything, SPACE, query(1), [memory.id]) == {}
    assert VectorIndexes(pool).due() == []
