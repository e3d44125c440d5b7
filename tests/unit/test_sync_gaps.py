"""Histories with gaps in their numbers, as an import may have them, are synced like any other."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bearinmind.app import Mind
from bearinmind.protocols import History
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Memory, MemoryId, Scope, UserId
from support.replicas import Machines, machines

ADA = Scope(user=UserId("ada"))
#: Which versions an import holds: rising numbers, from any on.
NUMBERS = st.lists(st.integers(1, 40), min_size=1, max_size=5, unique=True).map(sorted)


@pytest.fixture
def world(clock: FixedClock) -> Iterator[Machines]:
    with machines(TemporaryStore, clock) as found:
        yield found


@pytest.fixture
def first(make: Callable[..., Memory]) -> Memory:
    """What an import begins with."""
    return make("a walrus", created_at=datetime(2025, 12, 1, tzinfo=UTC))


def bring(memory: Mind, first: Memory, numbers: Sequence[int], *, secret: bool) -> MemoryId:
    """Have a memory with versions of these numbers, as an import leaves them."""
    versions = [
        replace(
            first,
            version=number,
            content=f"{first.content} {number}",
            updated_at=first.created_at + timedelta(minutes=number),
        )
        for number in numbers
    ]
    kept = [memory._parts.remember.boundary.guard(replace(x, sensitive=secret)) for x in versions]
    sealed = tuple(record for _, records in kept for record in records)
    history = History(versions=tuple(x for x, _ in kept), sealed=sealed)
    memory._parts.store.put_many(ADA, [history])
    return first.id


def said(memory: Mind, id: MemoryId) -> list[tuple[int, str]]:
    """The versions of a memory with their numbers, also when they are sealed."""
    return [
        (x.version, memory._parts.remember.reveal(ADA, x) if x.sensitive else x.content)
        for x in memory.versions(id)
    ]


@pytest.mark.parametrize("secret", [False, True])
def test_a_history_with_gaps_is_pushed_pulled_and_continued(
    world: Machines, first: Memory, *, secret: bool
) -> None:
    here, there = world.replica(), world.replica()
    id_ = bring(here, first, [2, 5, 9], secret=secret)
    world.sync(here, there)
    assert here.sync.status().waits == 0
    assert said(here, id_) == said(there, id_)
    assert [x.version for x in world.server.versions(id_)] == [2, 5, 9]
    there.update(id_, content="a walrus, changed")
    world.sync(there, here)
    assert said(here, id_) == said(there, id_)
    assert said(here, id_)[-1] == (10, "a walrus, changed")


@settings(max_examples=40)
@given(
    ours=NUMBERS, theirs=NUMBERS, secret=st.booleans(), edits=st.lists(st.booleans(), max_size=3)
)
def test_whatever_the_gaps_both_machines_and_the_server_come_to_the_same_and_lose_nothing(
    first: Memory, ours: list[int], theirs: list[int], edits: list[bool], *, secret: bool
) -> None:
    with ExitStack() as opened:
        clock = FixedClock()
        world = opened.enter_context(machines(TemporaryStore, clock))
        here, there = world.replica(), world.replica()
        id_ = bring(here, first, ours, secret=secret)
        bring(there, first, theirs, secret=secret)
        for is_here in edits:
            clock.advance(minutes=99)
            (here if is_here else there).update(id_, content=f"a walrus, changed {is_here}")
        written = {text for x in (here, there) for _, text in said(x, id_)}
        world.sync(here, there, here, there)
        assert said(here, id_) == said(there, id_)
        versions = [x.version for x in here.versions(id_)]
        assert versions == sorted({*versions})
        assert [x.version for x in world.server.versions(id_)] == versions
        assert written <= {text for _, text in said(here, id_)}
        assert [x.sync.status().waits for x in (here, there)] == [0, 0]
