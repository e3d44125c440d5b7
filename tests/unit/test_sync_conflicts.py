"""A conflict is known on every machine and on the server, once, until somebody resolves it."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bearinmind.app import Mind
from bearinmind.changes import ConflictKind, SubjectKind
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from support.replicas import Machines, machines


@pytest.fixture
def world(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Machines]:
    with machines(new_store, clock) as found:
        yield found


def contradict(world: Machines, here: Mind, there: Mind) -> str:
    """Have two machines change the same memory, in a way that one of them has to merge."""
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    here.update(id_, content="the walrus eats crabs")
    world.clock.advance(hours=1)
    there.update(id_, content="the walrus eats clams")
    world.sync(here, there)
    return id_


def listed(memory: Mind) -> list[tuple[str, str | None, str | None]]:
    """What is in conflict, and what both versions say."""
    return [
        (
            x.conflict.detail,
            x.served.content if x.served else None,
            x.other.content if x.other else None,
        )
        for x in memory.sync.conflicts()
    ]


def test_a_conflict_is_listed_on_the_server_and_on_every_machine_once(world: Machines) -> None:
    here, there, third = (world.replica() for _ in range(3))
    contradict(world, here, there)
    world.sync(third, here, third, there)
    found = [("both changed content", "the walrus eats clams", "the walrus eats crabs")]
    assert [listed(x) for x in (there, world.server, here, third)] == [found] * 4
    assert [x.sync.status().waits for x in (here, there, third)] == [0, 0, 0]


def test_a_conflict_that_is_resolved_on_one_machine_is_resolved_on_all(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    id_ = contradict(world, here, there)
    world.sync(here)
    [found] = here.sync.conflicts()
    here.sync.resolve(found.conflict.number, keep="other")
    world.sync(here, there)
    assert listed(here) == listed(world.server) == listed(there) == []
    assert there.get(id_).content == world.server.get(id_).content == "the walrus eats crabs"


def test_a_conflict_that_is_resolved_on_the_server_is_resolved_on_the_machines(
    world: Machines,
) -> None:
    here, there = world.replica(), world.replica()
    contradict(world, here, there)
    [found] = world.server.sync.conflicts()
    world.server.sync.resolve(found.conflict.number)
    world.sync(here, there)
    assert listed(here) == listed(there) == []


def test_a_conflict_that_two_resolve_at_once_is_resolved_once(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    contradict(world, here, there)
    world.sync(here)
    for machine in (here, there):
        [found] = machine.sync.conflicts()
        machine.sync.resolve(found.conflict.number)
        world.clock.advance(hours=1)
    world.sync(here, there, here)
    assert listed(here) == listed(there) == listed(world.server) == []
    assert [x.sync.status().waits for x in (here, there)] == [0, 0]


def test_a_link_that_was_dropped_is_a_conflict_on_every_machine(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    one, other = (here.store(text).memory.id for text in ("a walrus", "a penguin"))
    world.sync(here, there)
    here.link(one, "supersedes", other)
    there.link(other, "supersedes", one)
    world.sync(here, there, here)
    for memory in (here, there, world.server):
        [found] = memory.sync.conflicts()
        assert (found.conflict.kind, found.conflict.subject.kind) == (
            ConflictKind.LINKED,
            SubjectKind.LINK,
        )


def test_a_server_that_is_numbered_anew_is_told_what_was_decided(world: Machines) -> None:
    here, there = world.replica(), world.replica()
    contradict(world, here, there)
    world.sync(here)
    [found] = here.sync.conflicts()
    here.sync.resolve(found.conflict.number)
    world.sync(here)
    world.server.sync.renumber()
    world.sync(there, here, there)
    assert listed(here) == listed(there) == listed(world.server) == []
