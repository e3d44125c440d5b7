"""The background work finds what a memory outdates, and recall goes by it; on every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest

from bearinmind.app import Mind
from bearinmind.outdates.verdicts import MARK, OFFER
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from bearinmind.types import Decider, Group, Link, LinkKind, Memory
from support.households import household

USED = "We use Redis for sessions."
ENDED = "We no longer use Redis for sessions."
JENKINS = "Our CI runs on Jenkins."
ACTIONS = "We switched our CI from Jenkins to GitHub Actions."


@pytest.fixture
def ada(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Mind]:
    with household(new_store(), clock, embedder="none") as memory:
        yield memory


def stored(mind: Mind, clock: FixedClock, *texts: str, **fields: object) -> list[Memory]:
    """Memories a year apart, compared with each other."""
    memories = []
    for text in texts:
        memories.append(mind.store(text, **fields).memory)  # type: ignore[arg-type]
        clock.advance(days=365)
    mind.work.wait()
    return memories


def inferred(mind: Mind, memory: Memory) -> list[Link]:
    return [link for link in mind.links(memory.id) if link.kind is LinkKind.OUTDATES]


def test_what_a_memory_outdates_is_found_without_being_said(ada: Mind, clock: FixedClock) -> None:
    old, new, _ = stored(ada, clock, USED, ENDED, "Ben is on holiday.")
    [link] = inferred(ada, old)
    assert (link.source, link.target) == (new.id, old.id)
    assert link.judgement is not None
    assert (link.judgement.by, link.judgement.probability >= MARK) == (Decider.SCORER, True)


def test_a_memory_that_arrives_late_is_placed_by_its_time(ada: Mind, clock: FixedClock) -> None:
    [new] = stored(ada, clock, ENDED)
    [old] = stored(ada, clock, USED, created_at=new.created_at - timedelta(days=300))
    assert [(x.source, x.target) for x in inferred(ada, old)] == [(new.id, old.id)]


def test_of_two_memories_with_one_date_neither_outdates_the_other(
    ada: Mind, clock: FixedClock
) -> None:
    [new] = stored(ada, clock, ENDED)
    [old] = stored(ada, clock, USED, created_at=new.created_at)
    assert inferred(ada, old) == []


def test_comparing_again_neither_doubles_nor_drops_a_link(ada: Mind, clock: FixedClock) -> None:
    old, new = stored(ada, clock, USED, ENDED)
    before = inferred(ada, old)
    ada.update(old.id, content=USED.replace(".", " and carts."))
    ada.work.wait()
    assert [(x.source, x.target) for x in inferred(ada, old)] == [(new.id, old.id)]
    ada.update(old.id, content="The mail server is called heron.")
    ada.work.wait()
    assert (len(before), inferred(ada, old)) == (1, [])


def test_what_more_neighbours_share_than_are_kept_ends_no_link(
    ada: Mind, clock: FixedClock
) -> None:
    """A memory keeps six links of its own; those that others found to it stay."""
    states = [
        f"We no longer use Redis for sessions, since release {number}." for number in range(9)
    ]
    old, *_ = stored(ada, clock, USED, *states)
    found = {link.source for link in inferred(ada, old)}
    ada.update(old.id, tags=["redis"], content=USED + " ")
    ada.work.wait()
    assert found
    assert {link.source for link in inferred(ada, old)} == found


def test_what_is_trusted_less_outdates_nothing(ada: Mind, clock: FixedClock) -> None:
    [old] = stored(ada, clock, USED, trust="user")
    stored(ada, clock, ENDED, trust="external")
    assert inferred(ada, old) == []


def test_a_marked_state_stands_under_the_current_one(ada: Mind, clock: FixedClock) -> None:
    old, new = stored(ada, clock, USED, ENDED)
    [hit] = ada.recall("Do we use Redis for sessions?").hits
    assert (hit.memory, [state.memory for state in hit.earlier]) == (new, [old])
    assert hit.earlier[0].outdated.by == new.id
    plain = ada.recall("Do we use Redis for sessions?", group=Group.OFF).hits
    assert [(x.memory.id, bool(x.outdated)) for x in plain] == [(new.id, False), (old.id, True)]


def test_a_question_about_the_past_gets_the_past_first(ada: Mind, clock: FixedClock) -> None:
    old, new = stored(ada, clock, JENKINS, ACTIONS)
    for question, first in (("What is our CI?", new), ("What was our CI before?", old)):
        assert ada.recall(question).hits[0].memory.id == first.id


TUESDAY = "The grocer brings vegetables on Tuesday."
FRIDAY = "Vegetables: the grocer now brings them on Friday, late in the morning."


def ranked(mind: Mind, question: str) -> list[str]:
    return [hit.memory.content for hit in mind.recall(question, all=True).hits]


def test_of_two_answers_that_no_link_connects_the_newer_comes_first(
    ada: Mind, clock: FixedClock
) -> None:
    ada.store(TUESDAY)
    clock.advance(days=200)
    new = ada.store(FRIDAY).memory  # nothing is compared: no worker runs
    question = "When does the grocer bring the vegetables?"
    first = ada.recall(question, all=True).hits[0]
    assert (first.memory.id, "current" in first.factors) == (new.id, True)
    assert ranked(ada, "How did the grocer bring the vegetables before?")[0] == TUESDAY


def test_what_is_put_before_another_is_at_least_as_probable(ada: Mind, clock: FixedClock) -> None:
    ada.store(TUESDAY)
    clock.advance(days=200)
    ada.store(FRIDAY)
    first, second = ada.recall("When does the grocer bring the vegetables?", all=True).hits
    assert "current" in first.factors
    assert first.probability >= second.probability


def test_an_answer_that_was_stored_on_the_same_day_is_not_taken_for_a_newer_state(
    ada: Mind, clock: FixedClock
) -> None:
    ada.store(TUESDAY)
    clock.advance(hours=2)
    ada.store(FRIDAY)
    assert ranked(ada, "When does the grocer bring the vegetables?")[0] == TUESDAY


def test_an_answer_that_is_trusted_less_is_not_taken_for_a_newer_state(
    ada: Mind, clock: FixedClock
) -> None:
    ada.store(TUESDAY, trust="user")
    clock.advance(days=200)
    ada.store(FRIDAY, trust="external")
    assert ranked(ada, "When does the grocer bring the vegetables?")[0] == TUESDAY


def test_two_answers_of_which_somebody_said_that_both_hold_keep_their_order(
    ada: Mind, clock: FixedClock
) -> None:
    old = ada.store(TUESDAY).memory
    clock.advance(days=200)
    ada.resolve(ada.store(FRIDAY).memory.id, "both", old.id)
    assert ranked(ada, "When does the grocer bring the vegetables?")[0] == TUESDAY


def test_what_a_stored_memory_may_replace_is_said_at_once(ada: Mind, clock: FixedClock) -> None:
    [old] = stored(ada, clock, JENKINS)
    [offer] = ada.store(ACTIONS).may_replace
    assert (offer.memory.id, offer.probability >= OFFER) == (old.id, True)
    assert not ada.store("Ben is on holiday.").may_replace
