"""What the verbs list, place in time and count of the memories of others."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.surfaces import transfer
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Memory
from bearinmind_bench.own import sources
from support.households import household


@pytest.fixture
def ada(clock: FixedClock) -> Iterator[Mind]:
    with household(TemporaryStore(), clock, embedder="none") as memory:
        yield memory


@pytest.fixture
def grace(ada: Mind) -> Mind:
    return ada.for_user("grace")


@pytest.fixture
def line(ada: Mind, grace: Mind, clock: FixedClock) -> list[Memory]:
    """An hour apart: hers, Ada's that she sees, hers, and one of Ada's that she does not see."""
    made: list[Memory] = []
    for user, tags in ((grace, ()), (ada, ("team",)), (grace, ()), (ada, ())):
        said = f"number {len(made)} of {user.scope.user}"
        made.append(user.store(said, tags=tags, session="monday").memory)
        clock.advance(hours=1)
    ada.share_tag("team", "grace")
    return made


def test_a_list_goes_on_behind_a_memory_of_another(grace: Mind, line: list[Memory]) -> None:
    first, shared, last, unseen = line
    assert grace.list(newest_first=False) == [first, shared, last]
    assert grace.list(after=shared.id) == [first]
    assert grace.list(after=shared.id[:11], newest_first=False) == [last]
    with pytest.raises(errors.MemoryNotFound):
        grace.list(after=unseen.id)


def test_whose_memories_are_listed_can_be_said(grace: Mind, line: list[Memory]) -> None:
    first, shared, last, _ = line
    for owner, expected in (
        ("me", [last, first]),
        ("grace", [last, first]),
        ("others", [shared]),
        ("ada", [shared]),
        ("somebody", []),
        (None, [last, shared, first]),
    ):
        assert grace.list(owner=owner) == expected
    for wrong in ("../etc", "", "*"):
        with pytest.raises(errors.InvalidUser, match="cannot be the name of a user"):
            grace.list(owner=wrong)


def test_an_owner_does_not_see_in_a_list_what_readers_have(ada: Mind, line: list[Memory]) -> None:
    assert {each.id for each in ada.list()} == {line[1].id, line[3].id}
    assert ada.list(owner="grace") == []


def test_a_timeline_has_what_others_share_and_stands_at_their_memories(
    grace: Mind, line: list[Memory]
) -> None:
    first, shared, last, unseen = line
    around = grace.timeline(shared.id)
    assert (around.before, around.anchor, around.after) == ((first,), shared, (last,))
    assert grace.timeline(last.id).before == (first, shared)
    assert grace.timeline(shared.created_at).after == (shared, last)
    assert grace.timeline(last.id, owner="me").before == (first,)
    assert grace.timeline(last.id, owner="others").before == (shared,)
    with pytest.raises(errors.MemoryNotFound):
        grace.timeline(unseen.id)


def test_of_a_session_of_another_only_the_shared_memories_are_seen(
    grace: Mind, line: list[Memory]
) -> None:
    first, shared, last, unseen = line
    found = [*grace.timeline(first.id, session="monday").after]
    assert found == [shared, last]
    assert unseen not in grace.list(session="monday", owner="ada")


def test_counts_are_of_the_own_memories_and_tell_those_of_others_apart(
    ada: Mind, grace: Mind, line: list[Memory]
) -> None:
    counts = grace.stats()
    assert (counts.live, counts.held, counts.shared, counts.sharers) == (2, 2, 1, 1)
    assert set(grace.states(line[:3]).values()) == {"live"}
    assert counts.tags == {}
    ada.for_user("carl").share_tag("nothing has it", "grace")
    assert (grace.stats().shared, grace.stats().sharers) == (1, 1)
    assert (ada.stats().live, ada.stats().shared, ada.stats().sharers) == (2, 0, 0)
    ada.delete(line[1].id)
    assert (grace.stats().shared, grace.stats().sharers) == (0, 0)


def test_an_export_has_nothing_of_others_and_says_how_much_that_is(
    grace: Mind, line: list[Memory]
) -> None:
    written: list[bytes] = []
    done = transfer.export(grace, written.append, "1", lambda _: None)

    header, *records = map(json.loads, written)
    assert (done.memories, done.shared) == (header["memories"], header["shared"]) == (2, 1)
    assert [each["id"] for each in records] == [line[0].id, line[2].id]


def test_what_is_learned_looked_through_and_begun_with_stays_the_own(
    grace: Mind, line: list[Memory]
) -> None:
    own = {line[0].id, line[2].id}
    assert {each.id for each in sources.holdings_of(grace).live} == own
    assert {each.id for each in grace.brief(session="monday", query="number")} == own
    grace.store("NUMBER 1 of ada")  # nearly what Ada says
    proposed = grace.curation.review().proposals
    assert line[1].id not in {id_ for each in proposed for id_ in each.memories}
