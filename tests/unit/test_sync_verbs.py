"""What syncing makes of memories on two machines: merged, never lost; conflicts kept and listed."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.changes import ConflictKind, SubjectKind
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from bearinmind.types import State
from support.replicas import Machines, contents, machines

SECRET = "the wifi password is kelp9salt"  # noqa: S105  made up


@pytest.fixture
def world(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Machines]:
    with machines(new_store, clock) as found:
        yield found


@pytest.fixture
def pair(world: Machines) -> tuple[Mind, Mind]:
    return world.replica(), world.replica()


def test_what_is_stored_on_one_machine_is_on_the_other_and_on_the_server(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    kept = here.store("the walrus eats fish", tags=["zoo"], importance=0.7).memory
    here.share_tag("zoo", "grace")
    world.sync(here, there)
    assert there.get(kept.id) == world.server.get(kept.id) == kept
    assert there.my_shares() == world.server.my_shares() == here.my_shares()
    assert here.sync.status().waits == there.sync.status().waits == 0


def test_both_machines_change_other_fields_and_neither_change_is_lost(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    here.update(id_, tags=("zoo",))
    there.update(id_, importance=0.9)
    world.sync(here, there, here)
    merged = here.get(id_)
    assert (merged.tags, merged.importance) == (("zoo",), 0.9)
    assert there.versions(id_) == here.versions(id_) == world.server.versions(id_)
    assert [*here.sync.conflicts(), *there.sync.conflicts()] == []


def test_both_machines_change_the_same_field_and_both_versions_are_kept(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    there.update(id_, content="the walrus eats crabs")
    world.clock.advance(hours=1)
    here.update(id_, content="the walrus eats clams")
    world.sync(here, there, here)
    assert contents(here, id_)[-1] == contents(there, id_)[-1] == "the walrus eats clams"
    assert {"the walrus eats crabs", "the walrus eats fish"} < {*contents(here, id_)}
    [found] = there.sync.conflicts()
    assert found.conflict.kind is ConflictKind.EDITED
    assert found.conflict.detail == "both changed content"
    assert found.served is not None
    assert found.other is not None
    assert found.served.content == "the walrus eats clams"
    assert found.other.content == "the walrus eats crabs"


def test_a_clock_that_is_wrong_decides_who_is_served_and_never_what_is_kept(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    world.clock.advance(hours=5)
    here.update(id_, content="written on a fast clock")
    world.sync(here)
    world.clock.advance(hours=-5)
    there.update(id_, content="written later, on a right clock")
    world.sync(there, here)
    assert {"written on a fast clock", "written later, on a right clock"} < {*contents(here, id_)}
    assert contents(here, id_) == contents(there, id_)
    times = [version.updated_at for version in here.versions(id_)]
    assert times == sorted(times)


def test_the_other_version_of_a_conflict_becomes_the_present_one_when_somebody_says_so(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    here.update(id_, content="crabs")
    there.update(id_, content="clams")
    world.sync(here, there)
    [found] = there.sync.conflicts()
    assert found.other is not None
    there.sync.resolve(found.conflict.number, keep="other")
    assert there.get(id_).content == found.other.content
    assert there.sync.conflicts() == []
    world.sync(there, here)
    assert here.get(id_) == there.get(id_)
    with pytest.raises(errors.ConflictNotFound, match="no conflict"):
        there.sync.resolve(found.conflict.number)


def test_an_edit_wins_over_a_deletion_and_the_conflict_says_so(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    here.delete(id_)
    there.update(id_, tags=("zoo",))
    world.sync(here, there, here)
    assert here.get(id_) == there.get(id_)
    assert here.get(id_).deleted_at is None
    [found] = there.sync.conflicts()
    assert "deletion" in found.conflict.detail


def test_a_purge_reaches_the_other_machine(world: Machines, pair: tuple[Mind, Mind]) -> None:
    here, there = pair
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    here.delete(id_)
    here.purge(here.plan_purge([id_]))
    world.sync(here, there)
    for each in (here, there, world.server):
        with pytest.raises(errors.MemoryNotFound):
            each.get(id_)


def test_what_one_machine_purged_and_another_changed_is_kept(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store("the walrus eats fish").memory.id
    world.sync(here, there)
    here.delete(id_)
    here.purge(here.plan_purge([id_]))
    there.update(id_, content="the walrus eats clams")
    world.sync(here, there, here)
    assert here.get(id_).content == "the walrus eats clams"
    assert contents(here, id_) == contents(there, id_)
    [found] = there.sync.conflicts()
    assert found.conflict.kind is ConflictKind.PURGED


def test_the_same_text_from_two_machines_is_served_once_and_kept_twice(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    older = here.store("the walrus eats fish").memory
    world.clock.advance(hours=1)
    younger = there.store("the walrus eats fish").memory
    world.sync(here, there, here)
    for each in (here, there):
        states = each.states([each.get(older.id), each.get(younger.id)])
        assert states == {older.id: State.LIVE, younger.id: State.SUPERSEDED}
    assert [*here.transfer.links()] == [*there.transfer.links()]


def test_links_that_would_make_a_circle_are_told_apart_by_who_was_first(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    one, two = (here.store(text).memory.id for text in ("one", "two"))
    world.sync(here, there)
    here.link(one, "supersedes", two)
    there.link(two, "supersedes", one)
    world.sync(here, there, here, there)
    for each in (here, there, world.server):
        live = [link for link in each.transfer.links() if link.removed_at is None]
        assert [(link.source, link.target) for link in live] == [(one, two)]
    [found] = there.sync.conflicts()
    assert found.conflict.kind is ConflictKind.LINKED


def test_a_memory_sealed_on_one_machine_is_sealed_everywhere_with_all_its_versions(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store("the walrus sleeps at noon").memory.id
    world.sync(here, there)
    here.update(id_, sensitive=True)
    there.update(id_, content="the walrus sleeps at one")
    world.sync(here, there, here)
    for each in (here, there, world.server):
        assert all(version.sensitive for version in each.versions(id_))
        assert "walrus" not in repr(each.versions(id_))
    assert here.secrets.reveal(id_) == there.secrets.reveal(id_) == "the walrus sleeps at one"


def test_a_secret_is_never_in_clear_on_the_way_nor_on_the_server(
    world: Machines, pair: tuple[Mind, Mind]
) -> None:
    here, there = pair
    id_ = here.store(SECRET).memory.id
    world.sync(here, there)
    assert there.secrets.reveal(id_) == SECRET
    assert "kelp9salt" not in repr(world.server.sync.server().pull("", 0, 100))
    with pytest.raises(errors.VaultFailure):
        world.server.secrets.reveal(id_)


def test_a_merge_that_needs_a_missing_key_waits_for_it_and_says_so(world: Machines) -> None:
    here, there = world.replica(), world.replica(vault_key=None)
    id_ = here.store(SECRET).memory.id
    world.sync(here, there)
    here.update(id_, tags=("router",))
    there.update(id_, importance=0.9)  # this needs no key
    world.sync(here, there)
    [waiting] = there.sync.status().listed
    assert "key" in waiting.reason
    assert there.get(id_).importance == 0.9
    assert here.get(id_).tags == ("router",)
    there.secrets.vault.source = here.secrets.vault.source  # it is brought here
    there.secrets.vault.refresh()
    world.sync(there, here)
    assert (here.get(id_).tags, here.get(id_).importance) == (("router",), 0.9)
    assert there.sync.status().waits == 0


def test_a_connection_to_another_server_must_end_first(world: Machines) -> None:
    here = world.replica()
    with pytest.raises(errors.OtherPeer, match=r"memory\.example"):
        here.sync.connect("https://other.example", "ada")
    with pytest.raises(errors.OtherPeer, match="replica"):
        here.sync.server()
    kept = here.store("the walrus eats fish").memory
    here.sync.disconnect()
    assert here.sync.peer() is None
    with pytest.raises(errors.PeerNotFound):
        here.sync.status()
    here.sync.connect("https://other.example", "ada")
    assert here.sync.status().pending == {SubjectKind.MEMORY: 1}
    assert here.get(kept.id) == kept
