"""How near given memories are to a query, without a search."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.protocols import Store
from bearinmind.types import Filter, Memory, MemoryId, Scope, Space, UserId
from support.extractors import Make, after, deleted

SPACE = Space(model="compass", revision="1", dimensions=2)
NORTH = np.array([1.0, 0.0], np.float32)


@pytest.fixture
def pointing(store: Store, make: Make, noon: datetime) -> Callable[..., Memory]:
    """Stores and embeds a memory that points so many degrees away from north."""
    store.use_space(SPACE)

    def point(degrees: float, **fields: object) -> Memory:
        memory = make(f"{degrees}", **fields)
        store.put(Scope(user=memory.owner), memory)
        angle = math.radians(degrees)
        vector = np.array([[math.cos(angle), math.sin(angle)]], np.float32)
        store.finish_embedding(SPACE, store.claim(["embed"], 1, noon, noon), vector)
        return memory

    return point


def test_the_cosines_are_those_of_the_search(
    store: Store, everything: Filter, pointing: Callable[..., Memory]
) -> None:
    ids = [pointing(degrees).id for degrees in (0, 30, 60, 180)]
    found = store.cosines(everything, SPACE, NORTH * 7, [*ids, ids[0]])
    assert found == pytest.approx(dict(zip(ids, (1, 3**0.5 / 2, 0.5, -1), strict=True)), abs=1e-3)
    assert found == {x.id: x.cosine for x in store.nearest(everything, SPACE, NORTH, 9).nearest}
    assert store.cosines(everything, SPACE, NORTH, ids[1:2]) == {ids[1]: found[ids[1]]}


def test_only_what_is_admitted_and_embedded_has_one(
    store: Store, scope: Scope, everything: Filter, make: Make, pointing: Callable[..., Memory]
) -> None:
    fact, person = pointing(0), pointing(10, category="people")
    gone, hers = pointing(20), pointing(30, owner=UserId("eve"))
    waiting = make("waiting")
    store.put(scope, waiting)
    store.replace(scope, deleted(gone))
    ids = [x.id for x in (fact, person, gone, hers, waiting)] + [MemoryId("none")]
    assert {*store.cosines(everything, SPACE, NORTH, ids)} == {fact.id, person.id}
    people = replace(everything, categories=frozenset({"people"}))
    assert {*store.cosines(people, SPACE, NORTH, ids)} == {person.id}
    then = replace(everything, as_of=gone.updated_at)
    assert gone.id in store.cosines(then, SPACE, NORTH, ids)


def test_a_version_has_the_cosine_of_its_own_text(
    store: Store, scope: Scope, everything: Filter, pointing: Callable[..., Memory], noon: datetime
) -> None:
    memory = pointing(0)
    store.replace(scope, after(memory, content="180"))
    assert store.cosines(everything, SPACE, NORTH, [memory.id]) == {}
    south = np.array([[-1, 0]], np.float32)
    store.finish_embedding(SPACE, store.claim(["embed"], 1, noon, noon), south)
    assert store.cosines(everything, SPACE, NORTH, [memory.id]) == {memory.id: -1}
    then = replace(everything, as_of=noon)
    assert store.cosines(then, SPACE, NORTH, [memory.id]) == {memory.id: 1}


def test_of_a_space_that_is_not_there_nothing_is_known(
    store: Store, everything: Filter, pointing: Callable[..., Memory]
) -> None:
    memory = pointing(0)
    assert store.cosines(everything, replace(SPACE, revision="2"), NORTH, [memory.id]) == {}
    assert store.cosines(everything, SPACE, NORTH, []) == {}
    with pytest.raises(EmbedderFailure, match=r"dimensions|shape"):
        store.cosines(everything, SPACE, np.ones(3, np.float32), [memory.id])
