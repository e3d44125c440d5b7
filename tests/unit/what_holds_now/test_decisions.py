"""What is decided of two memories, by whom, and what that outweighs; on every store."""

from __future__ import annotations

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.proposals import Proposal, ProposalKind
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from bearinmind.types import (
    AlreadyKnown,
    Decider,
    Judgement,
    Link,
    LinkKind,
    Memory,
    Resolution,
    Stored,
    Trust,
)
from support.states import ADA, OUTDATES, infer, judged, marked


def decided_by(mind: Mind, older: Memory) -> Decider | None:
    """Who decided that a memory is outdated, by its history."""
    chains = mind.history("our builds").chains
    states = [state for chain in chains for state in chain if state.memory.id == older.id]
    return next((x.outdated.decided_by for x in states if x.outdated), None)


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
