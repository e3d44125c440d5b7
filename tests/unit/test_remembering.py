"""The write path from a draft to a durable memory, on a real file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.testing import FixedClock
from bearinmind.types import AlreadyKnown, Link, LinkKind, MemoryId, Provenance, Stored, Trust


def test_a_new_memory_has_the_moment_the_owner_and_the_first_version(
    memory: Mind, clock: FixedClock
) -> None:
    outcome = memory.store(" The walrus ", category="Fact", tags=["A B"], agent=" claude ")
    assert isinstance(outcome, Stored)
    kept = memory.get(outcome.memory.id)
    assert kept == outcome.memory
    assert (kept.content, kept.category, kept.tags) == ("The walrus", "facts", ("a-b",))
    assert (kept.created_at, kept.updated_at, kept.version) == (clock(), clock(), 1)
    assert kept.owner == memory.scope.user == "local"
    assert kept.provenance == Provenance(agent="claude", trust=Trust.AGENT)


def test_what_is_refused_leaves_nothing(memory: Mind) -> None:
    with pytest.raises(errors.InvalidInput):
        memory.store("walrus", importance=3)
    with pytest.raises(errors.MemoryNotFound):
        memory.store("walrus", supersedes=["zz"])
    with pytest.raises(errors.InvalidProvenance):
        memory.store("walrus", trust="gospel")
    assert memory.stats().live == 0


def test_what_is_known_is_named_and_not_stored_again(memory: Mind) -> None:
    first = memory.store("the walrus sings").memory
    assert memory.store("the  walrus\nsings") == AlreadyKnown(memory=first)
    assert memory.stats().live == 1


def test_an_update_changes_what_is_given_and_keeps_the_rest(
    memory: Mind, clock: FixedClock
) -> None:
    first = memory.store("walrus", tags=["a"], keywords=["k"], valid_to=clock()).memory
    clock.advance(hours=1)
    second = memory.update(first.id, content="seal", importance=0.9)
    assert second == replace(
        first,
        content="seal",
        importance=0.9,
        version=2,
        updated_at=first.updated_at + timedelta(hours=1),
    )
    third = memory.update(first.id, tags=[], always_valid=True)
    assert (third.tags, third.valid_to, third.keywords) == ((), None, ("k",))
    assert [*memory.versions(first.id)] == [first, second, third]


def test_an_update_that_changes_nothing_writes_nothing(memory: Mind) -> None:
    first = memory.store("walrus", tags=["a"]).memory
    assert memory.update(first.id, content=" walrus ", tags=["A"]) == first
    assert memory.update(first.id) == first
    assert len(memory.versions(first.id)) == 1


def test_an_update_is_held_to_the_rules_of_a_new_memory(memory: Mind) -> None:
    first, other = memory.store("walrus").memory, memory.store("seal").memory
    with pytest.raises(errors.EmptyContent):
        memory.update(first.id, content=" ")
    with pytest.raises(errors.UnknownCategory):
        memory.update(first.id, category="stuff")
    with pytest.raises(errors.DuplicateContent, match=other.id):
        memory.update(first.id, content="seal")
    assert memory.get(first.id) == first


def test_an_update_of_another_version_is_refused(memory: Mind) -> None:
    first = memory.store("walrus").memory
    memory.update(first.id, content="seal", expected_version=1)
    with pytest.raises(errors.VersionConflict, match="version 2, not 1"):
        memory.update(first.id, content="otter", expected_version=1)


def test_a_clock_that_goes_backwards_cannot_reorder_versions(
    memory: Mind, clock: FixedClock
) -> None:
    first = memory.store("walrus").memory
    clock.advance(hours=-5)
    second = memory.update(first.id, content="seal")
    third = memory.delete(first.id)
    assert first.updated_at < second.updated_at < third.updated_at
    assert third.deleted_at == third.updated_at


def test_deleting_restoring_and_purging_follow_each_other(memory: Mind) -> None:
    first = memory.store("walrus").memory
    with pytest.raises(errors.NotDeleted):
        memory.restore(first.id)
    with pytest.raises(errors.NotDeleted):
        memory.plan_purge([first.id])
    memory.delete(first.id)
    for refused in (memory.delete, memory.update):
        with pytest.raises(errors.AlreadyDeleted):
            refused(first.id)
    restored = memory.restore(first.id)
    assert (restored.deleted_at, restored.version, restored.content) == (None, 3, "walrus")
    assert memory.recall("walrus").hits[0].memory == restored


def test_a_purge_says_what_it_removes_and_removes_that(memory: Mind) -> None:
    first, other = memory.store("walrus").memory, memory.store("seal").memory
    memory.link(first.id, "see-also", other.id)
    memory.update(first.id, importance=1.0)
    memory.delete(first.id)
    plan = memory.plan_purge([first.id])
    assert (plan.versions, plan.links) == (3, 1)
    assert [each.id for each in plan.memories] == [first.id]
    assert memory.purge(plan)
    with pytest.raises(errors.MemoryNotFound):
        memory.get(first.id)
    assert [*memory.transfer.links()] == []
    assert memory.get(other.id) == other


def test_what_was_restored_meanwhile_is_not_purged(memory: Mind) -> None:
    first = memory.store("walrus").memory
    memory.delete(first.id)
    plan = memory.plan_purge([first.id])
    memory.restore(first.id)
    with pytest.raises(errors.NotDeleted):
        memory.purge(plan)
    assert memory.get(first.id).content == "walrus"


def test_restoring_what_somebody_says_again_is_refused(memory: Mind) -> None:
    first = memory.store("walrus").memory
    memory.delete(first.id)
    again = memory.store("walrus").memory
    with pytest.raises(errors.DuplicateContent, match=again.id):
        memory.restore(first.id)


def test_links_are_refused_where_they_make_no_sense(memory: Mind) -> None:
    first, other = memory.store("walrus").memory, memory.store("seal").memory
    with pytest.raises(errors.SelfLink):
        memory.link(first.id, "see-also", first.id)
    with pytest.raises(errors.InvalidLink, match="resembles"):
        memory.link(first.id, "resembles", other.id)
    memory.link(first.id, "see-also", other.id)
    with pytest.raises(errors.DuplicateLink):
        memory.link(first.id, "see-also", other.id)
    with pytest.raises(errors.LinkNotFound):
        memory.unlink(other.id, "see-also", first.id)
    memory.link(first.id, "supersedes", other.id)
    with pytest.raises(errors.SupersedeCycle):
        memory.link(other.id, "supersedes", first.id)
    memory.delete(other.id)
    with pytest.raises(errors.AlreadyDeleted):
        memory.link(first.id, "part-of", other.id)
    with pytest.raises(errors.AlreadyDeleted):
        memory.store("otter", supersedes=[other.id])


def test_a_link_may_be_made_and_ended_again_in_one_tick_of_the_clock(memory: Mind) -> None:
    first, other = memory.store("walrus").memory, memory.store("seal").memory
    for _ in range(3):
        memory.link(first.id, "see-also", other.id)
        memory.unlink(first.id, "see-also", other.id)
    assert memory.links(first.id) == []


def test_a_link_from_elsewhere_needs_both_its_memories(memory: Mind, clock: FixedClock) -> None:
    first = memory.store("walrus").memory
    other = MemoryId("zzzzzzzzzzzz")
    for source, target, error in (
        (first.id, other, errors.MemoryNotFound),
        (other, first.id, errors.MemoryNotFound),
        (first.id, first.id, errors.SelfLink),
    ):
        with pytest.raises(error):
            memory.transfer.add_link(
                Link(source=source, target=target, kind=LinkKind.CAUSES, created_at=clock())
            )
    assert all(finding.good for finding in memory.check())


def test_a_history_from_elsewhere_is_held_to_the_rules(memory: Mind) -> None:
    first = memory.store("walrus").memory
    elsewhere = replace(
        first, id=MemoryId("zzzzzzzzzzzz"), content=" Seal ", owner=memory.scope.user
    )
    second = replace(
        elsewhere, version=2, content="otter", updated_at=first.updated_at + timedelta(hours=1)
    )
    admitted = memory.transfer.admit([elsewhere, second])
    assert [version.content for version in admitted.versions] == ["Seal", "otter"]
    [outcome] = memory.transfer.add([admitted])
    assert isinstance(outcome, Stored)
    assert len(memory.versions("zzz")) == 2
    assert memory.transfer.add([admitted]) == [None]
    with pytest.raises(errors.InvalidRecord, match="does not follow"):
        memory.transfer.admit([second, elsewhere])
    with pytest.raises(errors.EmptyContent):
        memory.transfer.admit([replace(elsewhere, content="")])


def test_users_of_one_file_do_not_see_each_other(open_memory: Callable[..., Mind]) -> None:
    ada, eve = open_memory(user="ada"), open_memory(user="eve")
    hers = ada.store("the walrus of Ada").memory
    theirs = eve.store("the walrus of Ada").memory
    assert hers.id != theirs.id
    assert [hit.memory for hit in ada.recall("walrus").hits] == [hers]
    assert [*eve.list()] == [theirs]
    with pytest.raises(errors.MemoryNotFound):
        eve.get(hers.id)
    with pytest.raises(errors.MemoryNotFound):
        eve.link(theirs.id, "see-also", hers.id)


def test_a_known_memory_takes_the_place_of_what_it_is_to_supersede(memory: Mind) -> None:
    old = memory.store("The cache is Redis.").memory
    known = memory.store("The cache is Valkey.").memory
    for _ in range(2):  # asking again changes nothing
        again = memory.store("The cache is Valkey.", supersedes=[old.id, known.id])
        assert again == AlreadyKnown(memory=known)
        [link] = memory.links(old.id)
        assert (link.source, link.kind) == (known.id, LinkKind.SUPERSEDES)
    assert [hit.memory.id for hit in memory.recall("redis").hits] == [known.id]
