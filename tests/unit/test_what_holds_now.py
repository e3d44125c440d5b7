"""What is true now: decisions, history, what a brief begins with; on every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.proposals import Proposal, ProposalKind
from bearinmind.protocols import Store
from bearinmind.surfaces.verbs.verb import memories_of
from bearinmind.testing import FixedClock
from bearinmind.types import (
    AlreadyKnown,
    Decider,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outdated,
    Resolution,
    Scope,
    Stored,
    Trust,
    UserId,
)
from support.households import household

OUTDATES = LinkKind.OUTDATES
ADA = Scope(user=UserId("ada"))


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Store:
    return new_store()


@pytest.fixture
def ada(store: Store, clock: FixedClock) -> Iterator[Mind]:
    with household(store, clock, embedder="none") as memory:
        yield memory


@pytest.fixture
def states(ada: Mind, clock: FixedClock) -> list[Memory]:
    """Three states of one thing, a month apart, without links."""
    texts = ("Jenkins runs our builds", "our builds run on Actions", "our builds run on GitLab CI")
    memories = []
    for text in texts:
        memories.append(ada.store(text).memory)
        clock.advance(days=30)
    return memories


def infer(store: Store, newer: Memory, older: Memory, probability: float = 0.95) -> None:
    """Link two memories as the scorer does."""
    link = Link(
        source=newer.id,
        target=older.id,
        kind=OUTDATES,
        created_at=newer.updated_at,
        judgement=Judgement(probability=probability, by=Decider.SCORER),
    )
    store.add_link(ADA, link)


def test_what_is_compared_while_somebody_decides_costs_no_decision(
    ada: Mind, store: Store, states: list[Memory], monkeypatch: pytest.MonkeyPatch
) -> None:
    older, newer, _ = states
    change = store.change_links

    def compared_first(*arguments: object) -> object:
        monkeypatch.undo()
        infer(store, newer, older)
        return change(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(type(store), "change_links", lambda _, *rest: compared_first(*rest))
    resolved = ada.resolve(newer.id, "newer", older.id)

    assert [(x.source, x.target) for x in resolved.links] == [(newer.id, older.id)]
    assert judged(ada, newer)[-1] == (newer.id, older.id, 1.0, Decider.AGENT)


def judged(mind: Mind, memory: Memory) -> list[tuple[str, str, float, Decider]]:
    """The judgements at a memory."""
    return [
        (link.source, link.target, link.judgement.probability, link.judgement.by)
        for link in mind.links(memory.id)
        if link.judgement
    ]


def decided_by(mind: Mind, older: Memory) -> Decider | None:
    """Who decided that a memory is outdated, by its history."""
    chains = mind.history("our builds").chains
    states = [state for chain in chains for state in chain if state.memory.id == older.id]
    return next((x.outdated.decided_by for x in states if x.outdated), None)


def marked(mind: Mind, *memories: Memory) -> dict[MemoryId, MemoryId]:
    """Which of these are outdated, and by which."""
    return {id_: each.by for id_, each in mind.outdated(memories).items()}


# ---- resolve -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("trust", "by"), [(Trust.AGENT, Decider.AGENT), (Trust.USER, Decider.PERSON)]
)
def test_what_is_decided_replaces_what_was_inferred(
    ada: Mind, store: Store, states: list[Memory], trust: Trust, by: Decider
) -> None:
    old, new, _ = states
    infer(store, new, old, 0.6)
    ada.resolve(new.id, "newer", old.id, trust=trust)
    assert judged(ada, new) == [(new.id, old.id, 1.0, by)]
    ada.resolve(new.id, "older", old.id, trust=trust)
    assert judged(ada, new) == [(old.id, new.id, 1.0, by)]
    ada.resolve(new.id, "both", [old.id], trust=trust)
    assert judged(ada, new) == [(new.id, old.id, 0.0, by)]
    assert marked(ada, *states) == {}


def test_merged_memories_are_served_as_the_later_one(ada: Mind, states: list[Memory]) -> None:
    old, new, _ = states
    ada.resolve(new.id, "newer", old.id)
    for id_, other in ((new.id, old.id), (old.id, new.id)):
        resolved = ada.resolve(id_, "merge", other)
        [link] = resolved.links
        assert resolved.resolution is Resolution.MERGE
        assert (link.source, link.kind, link.target) == (new.id, LinkKind.SUPERSEDES, old.id)
        assert [*ada.links(old.id)] == [link]


def test_what_holds_again_is_stored_again_and_may_replace_what_held_meanwhile(
    ada: Mind, states: list[Memory]
) -> None:
    old, new, _ = states
    ada.resolve(new.id, "newer", old.id)
    again = ada.store(old.content)
    assert isinstance(again, Stored)
    assert old.id not in [offer.memory.id for offer in again.may_replace]
    ada.resolve(again.memory.id, "newer", new.id)
    [chain] = ada.history("our builds").chains
    assert [state.memory.id for state in chain][:2] == [old.id, new.id]
    assert again.memory.id in [state.memory.id for state in chain]
    assert marked(ada, again.memory) == {}
    assert isinstance(ada.store(old.content), AlreadyKnown)


def test_without_another_id_all_are_meant_that_the_memory_may_replace(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    first, second, third = states
    infer(store, third, first)
    infer(store, third, second)
    infer(store, second, first)
    resolved = ada.resolve(third.id[:9], "newer")
    assert {link.target for link in resolved.links} == {first.id, second.id}
    assert {by for *_, by in judged(ada, third)} == {Decider.AGENT}
    assert (second.id, first.id, 0.95, Decider.SCORER) in judged(ada, second)


def test_a_link_of_another_kind_decides_nothing(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    old, new, _ = states
    infer(store, new, old)
    ada.link(old.id, LinkKind.CAUSES, new.id)
    [link] = ada.resolve(new.id, "newer").links
    assert (link.source, link.target) == (new.id, old.id)


def test_where_nothing_waits_for_a_decision_the_error_says_what_to_do(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    first, second, _ = states
    alone = ada.store("Lunch is at noon").memory
    with pytest.raises(errors.NothingToResolve, match=alone.id) as raised:
        ada.resolve(alone.id, "newer")
    assert "--other" in (raised.value.hint or "")
    infer(store, second, first)
    resolved = ada.resolve(second.id, "both")
    assert ada.resolve(second.id, "both") == resolved
    with pytest.raises(errors.NothingToResolve):
        ada.resolve(second.id, "newer")


def test_deciding_the_same_again_writes_nothing(
    ada: Mind, clock: FixedClock, states: list[Memory]
) -> None:
    old, new, _ = states
    for resolution in ("newer", "both", "merge"):
        first = ada.resolve(new.id, resolution, old.id, trust="user")
        clock.advance(minutes=1)
        assert ada.resolve(new.id, resolution, old.id, trust="user") == first
        assert ada.resolve(new.id, resolution, old.id).links == first.links


def test_what_another_decision_outweighs_is_decided_anew(
    ada: Mind, store: Store, states: list[Memory], clock: FixedClock
) -> None:
    old, new, _ = states
    ada.resolve(new.id, "newer", old.id, trust=Trust.USER)
    opposite = Judgement(probability=1.0, by=Decider.PERSON)  # made on another machine, and synced
    clock.advance(days=1)
    store.add_link(
        ADA,
        Link(
            source=old.id,
            target=new.id,
            kind=OUTDATES,
            created_at=clock(),
            judgement=opposite,
        ),
    )
    assert marked(ada, old, new) == {new.id: old.id}
    with pytest.raises(errors.PersonDecides):
        ada.resolve(new.id, "newer", old.id)
    clock.advance(days=1)
    ada.resolve(new.id, "newer", old.id, trust=Trust.USER)
    assert marked(ada, old, new) == {old.id: new.id}
    assert judged(ada, new) == [(new.id, old.id, 1.0, Decider.PERSON)]


def test_a_person_confirms_what_an_agent_decided(ada: Mind, states: list[Memory]) -> None:
    old, new, _ = states
    ada.resolve(new.id, "newer", old.id)
    ada.resolve(new.id, "newer", old.id, trust="user")
    assert judged(ada, new) == [(new.id, old.id, 1.0, Decider.PERSON)]


def test_an_agent_does_not_overturn_a_person(ada: Mind, states: list[Memory]) -> None:
    old, new, other = states
    ada.resolve(new.id, "both", old.id, trust="user")
    ada.link(other.id, "outdates", new.id)
    for id_, another in ((new.id, old.id), (new.id, other.id)):
        with pytest.raises(errors.PersonDecides, match="a person has decided otherwise"):
            ada.resolve(id_, "newer", another)
    ada.resolve(new.id, "newer", old.id, trust="user")


@pytest.mark.parametrize("resolution", ["older", "both"])
def test_no_link_and_no_text_of_an_agent_replaces_what_a_person_said_to_hold(
    ada: Mind, states: list[Memory], resolution: str
) -> None:
    old, new, _ = states
    ada.resolve(new.id, resolution, old.id, trust="user")
    with pytest.raises(errors.PersonDecides, match="a person has decided otherwise") as raised:
        ada.link(new.id, "supersedes", old.id, trust="agent")
    assert "bearinmind resolve" in (raised.value.hint or "")
    with pytest.raises(errors.PersonDecides):
        ada.store(f" {new.content}", supersedes=[old.id])
    assert [each.id for each in ada.list(states=["live"])].count(old.id) == 1
    ada.store("our builds run on Buildkite", supersedes=[old.id])


def test_an_agent_does_not_undo_what_a_person_merged(ada: Mind, states: list[Memory]) -> None:
    old, new, _ = states
    ada.resolve(new.id, "merge", old.id, trust="user")
    for resolution in ("both", "older", "newer"):
        with pytest.raises(errors.PersonDecides):
            ada.resolve(new.id, resolution, old.id)
    with pytest.raises(errors.PersonDecides):
        ada.store(old.content, supersedes=[new.id])
    ada.resolve(new.id, "both", old.id, trust="user")


@pytest.mark.parametrize(
    ("trust", "by"), [(Trust.AGENT, Decider.AGENT), (Trust.USER, Decider.PERSON)]
)
def test_what_is_stored_to_supersede_is_the_word_of_whoever_stores_it(
    ada: Mind, states: list[Memory], trust: Trust, by: Decider
) -> None:
    ada.store("our builds run on Buildkite", supersedes=[states[2].id], trust=trust)
    assert decided_by(ada, states[2]) is by


@pytest.mark.parametrize(
    ("trust", "by"), [(Trust.AGENT, Decider.AGENT), (Trust.USER, Decider.PERSON)]
)
def test_what_is_merged_is_the_word_of_whoever_merges(
    ada: Mind, states: list[Memory], trust: Trust, by: Decider
) -> None:
    old, new, other = states
    ada.resolve(new.id, "merge", old.id, trust=trust)
    assert decided_by(ada, old) is by
    ada.link(other.id, "supersedes", new.id, trust=trust)
    assert decided_by(ada, new) is by


def test_a_memory_that_is_trusted_less_replaces_another_only_by_a_persons_word(
    ada: Mind, store: Store
) -> None:
    stated = ada.store("the walrus eats fish", trust="user").memory
    read = ada.store("the walrus eats clams now", trust="external").memory
    infer(store, read, stated)
    assert marked(ada, stated) == {}
    for resolution in ("newer", "merge"):
        with pytest.raises(errors.PersonDecides, match="trusted less"):
            ada.resolve(read.id, resolution, stated.id)
    ada.resolve(read.id, "older", stated.id)
    assert marked(ada, stated, read) == {read.id: stated.id}
    ada.resolve(read.id, "newer", stated.id, trust="user")
    assert marked(ada, stated, read) == {stated.id: read.id}


def test_only_a_person_merges_what_a_less_trusted_memory_claims_to_replace(ada: Mind) -> None:
    stated = ada.store("the walrus eats fish", trust="user").memory
    read = ada.store("the walrus eats clams", trust="external", supersedes=[stated.id]).memory
    [claim] = ada.curation.proposals()
    with pytest.raises(errors.PersonDecides, match="trusted less"):
        ada.resolve(read.id, "merge", stated.id)
    with pytest.raises(errors.PersonDecides, match="trusted less"):
        ada.curation.apply(claim.id, "merge", trust="agent")
    assert [each.id for each in ada.curation.proposals()] == [claim.id]
    ada.curation.apply(claim.id, "merge")
    assert [each.id for each in ada.list(states=["live"])] == [read.id]


def test_nothing_is_decided_about_a_deleted_memory_or_one_memory_alone(
    ada: Mind, states: list[Memory]
) -> None:
    old, new, _ = states
    with pytest.raises(errors.SelfLink):
        ada.resolve(new.id, "newer", new.id)
    ada.delete(old.id)
    with pytest.raises(errors.AlreadyDeleted):
        ada.resolve(new.id, "newer", old.id)
    with pytest.raises(errors.InvalidLink, match="newest"):
        ada.resolve(new.id, "newest", old.id)


def test_a_sealed_memory_is_not_said_to_outdate_another_but_replaces_it_by_a_link(
    ada: Mind, states: list[Memory]
) -> None:
    old, new, _ = states
    ada.update(new.id, sensitive=True)
    for id_, word, other in ((new.id, "newer", old.id), (old.id, "older", new.id)):
        with pytest.raises(errors.InvalidLink, match=f"memory {new.id} is sealed") as raised:
            ada.resolve(id_, word, other, trust="user")
    assert f"link {new.id} supersedes {old.id}" in (raised.value.hint or "")
    ada.resolve(new.id, "older", old.id, trust="user")
    assert marked(ada, old, new) == {new.id: old.id}
    ada.resolve(new.id, "both", old.id, trust="user")
    ada.link(new.id, "supersedes", old.id)
    assert [*ada.states([old]).values()] == ["superseded"]


def test_a_decision_about_several_is_made_whole_or_not_at_all(
    ada: Mind, states: list[Memory]
) -> None:
    first, second, third = states
    ada.resolve(third.id, "both", second.id, trust="user")
    with pytest.raises(errors.PersonDecides):
        ada.resolve(third.id, "newer", [first.id, second.id])
    assert judged(ada, first) == []


def test_a_proposal_that_names_two_memories_is_decided_by_its_id(
    ada: Mind, store: Store, states: list[Memory], clock: FixedClock
) -> None:
    old, new, _ = states
    proposal = Proposal(
        id="zz0000000001",
        kind=ProposalKind.REVIEW,
        origin="contradiction",
        memories=(new.id, old.id),
        reason="only one of them can hold",
        digest="1",
        created_at=clock(),
    )
    store.propose(ADA, [proposal])
    ada.resolve(proposal.id, "newer", trust="user")
    assert judged(ada, new) == [(new.id, old.id, 1.0, Decider.PERSON)]
    with pytest.raises(errors.MemoryNotFound):
        ada.resolve("zz0000000002", "newer")


def test_where_a_link_is_ended_both_hold_so_that_it_is_not_inferred_again(
    ada: Mind, store: Store, states: list[Memory]
) -> None:
    old, new, _ = states
    infer(store, new, old)
    ended = ada.unlink(new.id, "outdates", old.id)
    assert ended.removed_at is not None
    assert judged(ada, new) == [(new.id, old.id, 0.0, Decider.PERSON)]
    with pytest.raises(errors.LinkNotFound):
        ada.unlink(new.id, "outdates", old.id)
    ada.link(new.id, "outdates", old.id)
    assert marked(ada, old) == {old.id: new.id}


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
