"""What is true now: what is outdated, briefs, recalls, history; on every store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.protocols import Store
from bearinmind.surfaces.verbs.verb import memories_of
from bearinmind.testing import FixedClock
from bearinmind.types import (
    Decider,
    Memory,
    Outdated,
)
from support.states import infer, judged, marked

# ---- which memories are outdated ---------------------------------------------------------------


def test_an_outdated_memory_names_its_next_state_and_since_when(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    first, second, third = states
    infer(store, second, first)
    infer(store, third, second, 0.3)
    expected = Outdated(
        by=second.id, until=second.created_at, probability=0.95, decided_by=Decider.SCORER
    )
    assert ada.outdated(states) == {first.id: expected}
    assert ada.outdated([third]) == {}


def test_at_an_earlier_moment_what_held_then_is_not_outdated(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    first, second, _ = states
    infer(store, second, first)
    assert ada.outdated([first], as_of=first.created_at) == {}
    assert {*ada.outdated([first], as_of=second.created_at)} == {first.id}


def test_a_successor_that_was_superseded_gives_its_place_to_the_newer_one(
    ada: Mind, states: list[Memory]
) -> None:
    first, second, third = states
    ada.link(second.id, "outdates", first.id)
    ada.link(third.id, "supersedes", second.id)
    assert marked(ada, first) == {first.id: third.id}


def test_a_successor_that_is_deleted_sealed_or_expired_leaves_no_mark(
    ada: Mind, clock: FixedClock, states: list[Memory]
) -> None:
    old, new, _ = states
    ada.link(new.id, "outdates", old.id)
    ada.delete(new.id)
    assert marked(ada, old) == {}
    ada.restore(new.id)
    assert marked(ada, old) == {old.id: new.id}
    ada.update(new.id, valid_to=clock())
    assert marked(ada, old) == {}
    ada.update(new.id, always_valid=True)
    ada.update(new.id, sensitive=True)
    assert marked(ada, old) == {}


def test_what_outdates_a_deleted_memory_outdates_what_that_outdated(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    first, second, third = states
    infer(store, second, first)
    ada.resolve(third.id, "newer", second.id, trust="user")
    ada.delete(second.id)
    assert marked(ada, first) == {first.id: third.id}
    assert judged(ada, first)[-1] == (third.id, first.id, 0.95, Decider.SCORER)


def test_a_reader_learns_of_a_successor_only_if_it_is_shared(
    ada: Mind, states: list[Memory]
) -> None:
    grace = ada.for_user("grace")
    old, new, _ = states
    ada.link(new.id, "outdates", old.id)
    ada.share(old.id, "grace")
    assert marked(grace, *grace.list()) == {}
    ada.share(new.id, "grace")
    assert marked(grace, *grace.list()) == {old.id: new.id}
    ada.unshare(new.id, "grace")
    assert marked(grace, *grace.list()) == {}


# ---- a brief -----------------------------------------------------------------------------------


def test_a_brief_has_what_holds_now_in_place_of_what_is_outdated(
    ada: Mind, states: list[Memory]
) -> None:
    first, second, third = states
    ada.update(first.id, importance=1.0)
    ada.resolve(second.id, "newer", first.id)
    ada.resolve(third.id, "newer", second.id)
    for limit in (1, 10):
        assert [each.id for each in ada.brief(limit=limit)] == [third.id]


def test_a_brief_tells_neither_state_when_the_newer_is_of_another_project(ada: Mind) -> None:
    old = ada.store("the shop builds on Jenkins", project="shop").memory
    new = ada.store("the builds run on Actions", project="tools").memory
    other = ada.store("the shop sells walrus food", project="shop").memory
    ada.resolve(new.id, "newer", old.id)
    assert [each.id for each in ada.brief(project="shop")] == [other.id]
    assert [each.id for each in ada.brief(project="tools")] == [new.id]


# ---- a question about the past -------------------------------------------------------------------


def test_a_question_about_a_time_gets_what_held_then_before_what_had_ended(
    ada: Mind, clock: FixedClock
) -> None:
    old = ada.store("the builds run on Jenkins", importance=0.5).memory
    clock.advance(days=59)  # 1 March
    new = ada.store("the builds run on Actions", importance=0.6).memory
    ada.resolve(new.id, "newer", old.id)
    clock.advance(days=99)
    for month, expected in (("February", old), ("April", new)):
        hits = ada.recall(f"what did the builds run on in {month} 2026?", all=True).hits
        assert hits[0].memory.id == expected.id


# ---- a recall with a filter ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "only",
    [
        {"tags": ["old"]},
        {"categories": ["people"]},
        {"session": "one"},
        {"project": "shop"},
        {"created_to": "2026-01-15"},
    ],
)
def test_a_filter_that_keeps_out_the_current_state_gives_the_outdated_one_with_it(
    ada: Mind, clock: FixedClock, only: Mapping[str, Any]
) -> None:
    old = ada.store(
        "Jenkins runs our builds", tags=["old"], category="people", session="one", project="shop"
    ).memory
    clock.advance(days=30)
    new = ada.store("Actions runs our builds", tags=["new"]).memory
    ada.resolve(new.id, "newer", old.id, trust="user")
    for group in ("states", "off"):
        [hit] = ada.recall("what runs our builds?", group=group, **only).hits
        assert (hit.memory.id, hit.outdated and hit.outdated.by) == (old.id, new.id)
        assert [each.id for each in hit.attached] == [new.id]


def test_the_latest_state_that_a_filter_admits_stands_for_those_before_it(
    ada: Mind, states: list[Memory]
) -> None:
    first, second, third = states
    ada.resolve(second.id, "newer", first.id)
    ada.resolve(third.id, "newer", second.id)
    [hit] = ada.recall("our builds", created_to=third.created_at).hits
    assert (hit.memory.id, [each.memory.id for each in hit.earlier]) == (second.id, [first.id])
    assert [each.id for each in hit.attached] == [third.id]


# ---- each state as a hit of its own -------------------------------------------------------------


@pytest.mark.parametrize("limit", [1, 5])
def test_without_groups_the_current_state_is_a_hit_before_the_outdated_one(
    ada: Mind, clock: FixedClock, limit: int
) -> None:
    old = ada.store("the walrus of the harbour eats herring").memory
    clock.advance(days=30)
    found = ada.store("our walrus is fond of clams by now, whatever it may cost us").memory
    ada.resolve(found.id, "newer", old.id, trust="user")
    clock.advance(days=30)
    unfound = ada.store("it is on a diet").memory
    for new in (found, unfound):
        ada.resolve(new.id, "newer", old.id, trust="user")
        hits = ada.recall("what does the walrus of the harbour eat?", group="off", limit=limit).hits
        expected = [(new.id, None), (old.id, new.id)]
        assert [(x.memory.id, x.outdated and x.outdated.by) for x in hits] == expected[:limit]
        assert hits[0].probability >= hits[-1].probability
        ada.delete(new.id)


def test_a_person_that_said_both_hold_changes_no_order(ada: Mind, clock: FixedClock) -> None:
    old = ada.store("the walrus of the harbour eats herring").memory
    clock.advance(days=30)
    other = ada.store("it is on a diet").memory
    ada.resolve(other.id, "both", old.id, trust="user")
    hits = ada.recall("what does the walrus of the harbour eat?", group="off").hits
    assert [hit.memory.id for hit in hits] == [old.id]


# ---- a recall with a budget ----------------------------------------------------------------------


def test_a_budget_counts_every_text_that_is_given_and_the_current_state_comes_first(
    ada: Mind, states: list[Memory]
) -> None:
    first, second, third = states
    ada.resolve(second.id, "newer", first.id)
    ada.resolve(third.id, "newer", second.id)
    whole = sum(len(each.content) for each in states)
    for asked in ({}, {"group": "off"}, {"created_to": third.created_at}):
        for budget in range(whole + 1):
            answer = ada.recall("our builds", budget_bytes=budget, all=True, **asked)
            given = {x.id: x.content for hit in answer.hits for x in memories_of(hit)}
            assert sum(map(len, given.values())) <= budget
            for hit in answer.hits:
                assert not hit.outdated or hit.outdated.by in given
            left_out = {each.id for each in answer.trace.dropped}
            assert left_out | {*given} >= {first.id, second.id}
        assert {*given} == {each.id for each in states}
    [hit] = ada.recall("our builds", budget_bytes=len(third.content) + len(second.content)).hits
    assert (hit.memory.id, [each.memory.id for each in hit.earlier]) == (third.id, [second.id])


# ---- the history of a thing ----------------------------------------------------------------------


def test_a_history_has_the_states_in_order_with_their_spans(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    first, second, third = states
    ada.store("the walrus eats fish")
    infer(store, second, first)
    ada.link(third.id, "supersedes", second.id)
    [chain] = ada.history("where do our builds run").chains
    assert [each.memory.id for each in chain] == [first.id, second.id, third.id]
    times = [each.created_at for each in states]
    assert [(each.since, each.until) for each in chain] == [
        (times[0], times[1]),
        (times[1], times[2]),
        (times[2], None),
    ]
    assert [each.outdated and each.outdated.decided_by for each in chain] == [
        Decider.SCORER,
        Decider.PERSON,
        None,
    ]


def test_a_memory_about_the_past_that_was_stored_late_has_no_known_beginning(
    ada: Mind, states: list[Memory]
) -> None:
    now, late, _ = states
    ada.resolve(late.id, "older", now.id)
    [chain] = ada.history("our builds", limit=1).chains
    assert [(each.memory.id, each.since, each.until) for each in chain] == [
        (late.id, None, now.created_at),
        (now.id, now.created_at, None),
    ]


def test_a_thing_that_never_changed_has_one_state_and_an_unknown_one_none(
    ada: Mind, states: list[Memory]
) -> None:
    ada.store("the walrus eats fish")
    [[only]] = ada.history("the walrus").chains
    assert (only.memory.content, only.until) == ("the walrus eats fish", None)
    assert ada.history("zeppelin").chains == ()
    with pytest.raises(errors.InvalidQuery):
        ada.history("walrus", limit=0)


def test_a_history_tells_nothing_of_deleted_and_sealed_states(
    ada: Mind, states: list[Memory]
) -> None:
    first, second, third = states
    ada.resolve(second.id, "newer", first.id)
    ada.resolve(third.id, "newer", second.id)
    ada.update(first.id, sensitive=True)
    ada.delete(second.id)
    [[only]] = ada.history("our builds").chains
    assert only.memory.id == third.id
