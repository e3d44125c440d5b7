"""Vectors that were made elsewhere are taken for the versions that they were made of."""

from __future__ import annotations

from datetime import datetime

import numpy as np
import pytest

from bearinmind.changes import digest
from bearinmind.errors import EmbedderFailure
from bearinmind.protocols import SpaceState, Store
from bearinmind.types import Filter, Memory, Scope, Space, UserId
from support.extractors import HOUR, Make, after, deleted

SPACE = Space(model="first", revision="1", dimensions=3)
OTHER = Space(model="other", revision="1", dimensions=3)
EAST, NORTH = (np.array(each, np.float32) for each in ([1, 0, 0], [0, 0.6, 0.8]))


@pytest.fixture
def two(store: Store, scope: Scope, make: Make) -> list[Memory]:
    store.use_space(SPACE)
    memories = [make("heron"), make("gannet")]
    for memory in memories:
        store.put(scope, memory)
    return memories


def embed(store: Store, noon: datetime) -> None:
    while jobs := store.claim(["embed"], 1, noon, noon + HOUR):
        vector = EAST if jobs[0].memory.content == "heron" else NORTH
        store.finish_embedding(SPACE, jobs, vector[np.newaxis])


def test_the_vectors_of_present_versions_are_told_as_far_as_there_are_any(
    store: Store, scope: Scope, two: list[Memory], noon: datetime
) -> None:
    heron, gannet = two
    embed(store, noon)
    store.replace(scope, after(gannet, content="otter"))

    found = store.vectors_of(scope, SPACE, [heron.id, gannet.id])
    assert [*found] == [heron.id]
    assert np.allclose(found[heron.id], EAST, atol=1e-3)
    bea = Scope(user=UserId("bea"))
    assert store.vectors_of(bea, SPACE, [heron.id]) == {}
    assert store.vectors_of(scope, OTHER, [heron.id]) == {}
    assert store.vectors_of(scope, SPACE, []) == {}


def test_a_vector_from_elsewhere_is_taken_and_its_job_leaves_the_queue(
    store: Store, scope: Scope, two: list[Memory], noon: datetime, everything: Filter
) -> None:
    heron, gannet = two
    carried = {heron.id: (digest(heron), NORTH), gannet.id: (digest(heron), EAST)}
    assert store.carry_vectors(scope, SPACE, carried) == 1
    assert store.nearest(everything, SPACE, NORTH, 9).nearest == [(heron.id, 1.0)]
    [waiting] = store.claim(["embed"], 9, noon, noon + HOUR)
    assert waiting.memory == gannet
    assert store.carry_vectors(scope, SPACE, {heron.id: (digest(heron), EAST)}) == 0
    assert store.nearest(everything, SPACE, NORTH, 9).nearest == [(heron.id, 1.0)]
    [known] = store.spaces()
    assert (known.embedded, known.waiting) == (1, 1)
    assert store.finish_embedding(SPACE, [waiting], EAST[np.newaxis]) == 1


def test_vectors_are_taken_for_what_belongs_into_the_active_space_alone(
    store: Store, scope: Scope, two: list[Memory], make: Make, noon: datetime
) -> None:
    heron, gannet = two
    embed(store, noon)
    assert store.use_space(OTHER) is SpaceState.FILLING
    carried = {heron.id: (digest(heron), EAST)}
    assert store.carry_vectors(scope, OTHER, carried) == 0
    gone = deleted(gannet)
    secret = make("[sensitive]", sensitive=True)
    store.replace(scope, gone)
    store.put(scope, secret)
    assert store.carry_vectors(scope, SPACE, {x.id: (digest(x), EAST) for x in (gone, secret)}) == 0
    assert store.carry_vectors(scope, SPACE, {}) == 0


def test_a_vector_that_does_not_fit_its_space_is_refused(
    store: Store, scope: Scope, two: list[Memory]
) -> None:
    heron = two[0]
    for wrong in (EAST[:2], np.array([1, np.nan, 0], np.float32)):
        with pytest.raises(EmbedderFailure):
            store.carry_vectors(scope, SPACE, {heron.id: (digest(heron), wrong)})
    assert store.vectors_of(scope, SPACE, [heron.id]) == {}
