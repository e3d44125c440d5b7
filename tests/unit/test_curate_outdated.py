"""Which of two memories holds: proposed from links and rules, decided, undone, on every store."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.outdates.verdicts import judgement_of
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.testing import FixedClock
from bearinmind.types import Decider, Judgement, Link, LinkKind, MemoryId
from support.households import KINDS, household, open_kind

JENKINS = "The builds of Atlas are made by Jenkins."
ACTIONS = "We moved the Atlas builds over to GitHub Actions."


class Pair(NamedTuple):
    newer: MemoryId
    older: MemoryId


@pytest.fixture(params=KINDS)
def ada(
    request: pytest.FixtureRequest, clock: FixedClock, migrated_database: Callable[[], str]
) -> Iterator[Mind]:
    store = open_kind(request.param, migrated_database)
    with household(store, clock, embedder="none", extractor="none") as memory:
        yield memory


@pytest.fixture
def pair(ada: Mind, clock: FixedClock) -> Pair:
    """Two states of one thing, of which the scorer has its doubts."""
    older = ada.store(JENKINS).memory.id
    clock.advance(days=30)
    newer = ada.store(ACTIONS).memory.id
    infer(ada, newer, older, 0.6)
    clock.advance(days=1)
    return Pair(newer, older)


def infer(memory: Mind, newer: MemoryId, older: MemoryId, probability: float) -> None:
    judgement = Judgement(probability=probability, by=Decider.SCORER, evidence=("moved",))
    link = Link(
        source=newer,
        target=older,
        kind=LinkKind.OUTDATES,
        created_at=memory.get(newer).updated_at,
        judgement=judgement,
    )
    memory._parts.store.add_link(memory.scope, link)


def proposed(memory: Mind) -> Proposal:
    [found] = memory.curation.review(propose=True).proposals
    return found


def judged(memory: Mind, pair: Pair) -> list[tuple[MemoryId, LinkKind, float, Decider]]:
    return [
        (link.source, link.kind, judgement_of(link).probability, judgement_of(link).by)
        for link in memory.links(pair.newer)
    ]


def test_what_the_finder_doubts_is_proposed_once_with_its_judgement(ada: Mind, pair: Pair) -> None:
    found = proposed(ada)
    assert (found.kind, found.memories) == (ProposalKind.OUTDATE, tuple(pair))
    assert found.evidence == {"probability": 0.6, "judged_by": "scorer"}
    assert ada.curation.review(propose=True).proposals == ()
    said = json.dumps(dataclasses.asdict(found), default=str)
    assert "60% by the scorer" in found.reason
    assert "moved" not in said  # a memory may become sensitive
    assert ada.curation.because(found) == ["moved"]


@pytest.mark.parametrize(
    ("resolution", "source", "kind", "probability"),
    [
        (None, "newer", LinkKind.OUTDATES, 1.0),
        ("newer", "newer", LinkKind.OUTDATES, 1.0),
        ("older", "older", LinkKind.OUTDATES, 1.0),
        ("both", "newer", LinkKind.OUTDATES, 0.0),
    ],
)
def test_a_word_decides_and_undoing_restores_what_was_inferred(
    ada: Mind,
    pair: Pair,
    clock: FixedClock,
    resolution: str | None,
    source: str,
    kind: LinkKind,
    probability: float,
) -> None:
    [before] = ada.links(pair.newer)
    decided = ada.curation.apply(proposed(ada).id, resolution)
    assert decided.state == ("dismissed" if resolution == "both" else "applied")
    assert decided.undo["resolution"] == (resolution or "newer")
    assert judged(ada, pair) == [(getattr(pair, source), kind, probability, Decider.PERSON)]
    clock.advance(hours=1)
    assert ada.curation.undo(decided.id).state is ProposalState.UNDONE
    [after] = ada.links(pair.newer)
    assert dataclasses.replace(after, created_at=before.created_at) == before
    assert ada.curation.review(propose=True).proposals == ()


def test_merge_lets_the_newer_supersede_the_older(ada: Mind, pair: Pair, clock: FixedClock) -> None:
    decided = ada.curation.apply(proposed(ada).id, "merge")
    assert [each.id for each in ada.list()] == [pair.newer]
    clock.advance(hours=1)
    ada.curation.undo(decided.id)
    assert {each.id for each in ada.list()} == {*pair}
    assert judged(ada, pair) == [(pair.newer, LinkKind.OUTDATES, 0.6, Decider.SCORER)]


def test_to_dismiss_is_to_say_that_both_hold(ada: Mind, pair: Pair, clock: FixedClock) -> None:
    dismissed = ada.curation.dismiss(proposed(ada).id)
    assert dismissed.state is ProposalState.DISMISSED
    assert judged(ada, pair) == [(pair.newer, LinkKind.OUTDATES, 0.0, Decider.PERSON)]
    clock.advance(hours=1)
    ada.curation.undo(dismissed.id)
    assert judged(ada, pair) == [(pair.newer, LinkKind.OUTDATES, 0.6, Decider.SCORER)]


@pytest.mark.parametrize("how", ["decide", "supersede", "delete"])
def test_what_was_settled_elsewhere_waits_no_more_and_is_closed(
    ada: Mind, pair: Pair, how: str
) -> None:
    found = proposed(ada)
    match how:
        case "decide":
            ada.resolve(pair.newer, "older", pair.older)
        case "supersede":
            ada.link(pair.newer, "supersedes", pair.older)
        case "delete":
            ada.delete(pair.older)
    assert ada.curation.proposals() == []
    ada.curation.review(propose=True)
    assert ada.curation.proposal(found.id).state is ProposalState.DISMISSED
    assert ada.curation.review(propose=True).proposals == ()


def test_the_ends_of_a_chain_that_is_decided_are_not_asked_about(
    ada: Mind, pair: Pair, clock: FixedClock
) -> None:
    again = ada.store("The Atlas builds are back on Jenkins.").memory.id
    infer(ada, again, pair.newer, 0.95)
    infer(ada, again, pair.older, 0.65)
    ends = again, pair.older
    assert ends in [each.memories for each in ada.curation.review(propose=True).proposals]
    memories = ada.list()
    ada.resolve(pair.newer, "newer", pair.older)
    assert ada.conflicts(memories) == ada.conflicts([ada.get(pair.older)]) == []
    ada.resolve(again, "newer", pair.newer)
    assert ada.curation.proposals() == []
    assert ada.curation.review(since=None).proposals == ()
    ada.resolve(pair.newer, "both", pair.older)
    [conflict] = ada.conflicts(memories)
    assert (conflict.newer, conflict.older) == ends


def test_a_decision_that_comes_late_is_refused_and_changes_nothing(ada: Mind, pair: Pair) -> None:
    found = proposed(ada)
    ada.resolve(pair.newer, "both", pair.older)
    with pytest.raises(errors.ProposalDecided, match="settled"):
        ada.curation.apply(found.id)
    assert judged(ada, pair) == [(pair.newer, LinkKind.OUTDATES, 0.0, Decider.AGENT)]
    assert ada.curation.proposal(found.id).state is ProposalState.DISMISSED


def test_what_was_decided_again_since_is_not_undone(
    ada: Mind, pair: Pair, clock: FixedClock
) -> None:
    applied = ada.curation.apply(proposed(ada).id)
    clock.advance(hours=1)
    ada.unlink(pair.newer, "outdates", pair.older)
    with pytest.raises(errors.CannotUndo, match="decided otherwise"):
        ada.curation.undo(applied.id)


def test_what_is_hardly_probable_or_trusted_less_is_not_proposed(
    ada: Mind, clock: FixedClock
) -> None:
    older = ada.store(JENKINS, trust="user").memory.id
    clock.advance(days=1)
    read = ada.store(ACTIONS, trust="external").memory.id
    other = ada.store("Atlas is built on Tuesdays.", trust="user").memory.id
    infer(ada, read, older, 0.9)
    infer(ada, other, older, 0.04)
    assert ada.curation.review().proposals == ()


def test_a_rule_and_the_finder_propose_one_pair_once(ada: Mind, clock: FixedClock) -> None:
    older = ada.store("The port is 5432 for staging").memory.id
    clock.advance(days=1)
    newer = ada.store("The port is 5433 for staging").memory.id
    found = proposed(ada)
    assert (found.kind, found.memories) == (ProposalKind.OUTDATE, (newer, older))
    infer(ada, newer, older, 0.7)
    assert ada.curation.review(propose=True).proposals == ()
    ada.curation.apply(found.id, "older")
    assert judged(ada, Pair(newer, older)) == [(older, LinkKind.OUTDATES, 1.0, Decider.PERSON)]
    assert ada.curation.review().proposals == ()


def test_a_rule_shows_what_is_trusted_less_for_review_alone(ada: Mind, clock: FixedClock) -> None:
    ada.store("The port is 5432 for staging", trust="user")
    clock.advance(days=1)
    ada.store("The port is 5433 for staging", trust="external")
    assert proposed(ada).kind is ProposalKind.REVIEW


def test_only_what_is_about_two_memories_takes_a_word(ada: Mind) -> None:
    ada.store("Use the fallback host until 2020-03-01.")
    found = proposed(ada)
    with pytest.raises(errors.InvalidInput, match="which of two memories holds"):
        ada.curation.apply(found.id, "newer")
    with pytest.raises(errors.InvalidInput, match="newer, older, both, merge"):
        ada.curation.apply(found.id, "sideways")
