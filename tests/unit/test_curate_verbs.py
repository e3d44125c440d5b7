"""Looking, proposing, applying and undoing, on every store."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.curate.candidates import PAGE, Finding, proposal
from bearinmind.proposals import CONCEALED, Proposal, ProposalKind, ProposalState
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import MemoryId
from support.households import KINDS, household, open_kind

LONG = "The staging database listens on port 5433. It is small."
SHORT = "Staging DB listens on port 5433"


@pytest.fixture
def ada(clock: FixedClock) -> Iterator[Mind]:
    with household(TemporaryStore(), clock, embedder="none", extractor="none") as memory:
        yield memory


@pytest.fixture(params=KINDS)
def anywhere(
    request: pytest.FixtureRequest,
    clock: FixedClock,
    migrated_database: Callable[[], str],
) -> Iterator[Mind]:
    """A memory whose meanings follow from its words."""
    store = open_kind(request.param, migrated_database)
    with household(store, clock, extractor="none", curate_cosine=0.6) as memory:
        yield memory


@pytest.fixture
def pair(ada: Mind) -> tuple[MemoryId, MemoryId]:
    """The one that says more, and the other."""
    return ada.store(LONG).memory.id, ada.store(SHORT).memory.id


def _proposed(memory: Mind) -> Proposal:
    [found] = memory.curation.review(propose=True).proposals
    return found


def _live(memory: Mind) -> set[MemoryId]:
    return {each.id for each in memory.list(limit=100)}


# ---- looking -----------------------------------------------------------------------------------


def test_looking_changes_nothing_and_proposing_only_fills_the_inbox(
    ada: Mind, pair: tuple[MemoryId, MemoryId]
) -> None:
    [found] = ada.curation.review().proposals
    assert (found.kind, found.memories) == (ProposalKind.SUPERSEDE, pair)
    assert ada.curation.proposals() == []
    assert _proposed(ada).id == found.id
    assert ada.curation.review(propose=True).proposals == ()
    assert ada.curation.review().known == {found.id}
    assert _live(ada) == {*pair}


def test_a_dismissed_proposal_is_not_made_again(ada: Mind, pair: tuple[MemoryId, MemoryId]) -> None:
    ada.curation.dismiss(_proposed(ada).id)
    assert ada.curation.review(propose=True).proposals == ()
    assert ada.curation.proposals() == []
    ada.update(pair[1], content="The staging DB listens on port 5433")
    assert len(ada.curation.review(propose=True).proposals) == 1  # of another text


def test_the_newest_is_kept_of_those_that_say_the_same(ada: Mind, clock: FixedClock) -> None:
    old = ada.store("The staging database listens on port 5433.").memory.id
    clock.advance(days=1)
    new = ada.store(SHORT).memory.id
    assert _proposed(ada).memories == (new, old)


def test_only_what_is_new_is_looked_at_when_so_asked(
    ada: Mind, pair: tuple[MemoryId, MemoryId], clock: FixedClock
) -> None:
    clock.advance(days=1)
    assert ada.curation.review(since=clock.now).proposals == ()
    newer = ada.store("Note that the staging database listens on port 5433.").memory.id
    [found] = ada.curation.review(since=clock.now).proposals
    assert found.memories == (pair[0], newer)


def test_proposals_are_their_owners_alone(ada: Mind, pair: tuple[MemoryId, MemoryId]) -> None:
    grace = ada.for_user("grace")
    grace.store("The staging database listens on port 5433.")
    found = _proposed(ada)
    assert {*found.memories} == {*pair}
    assert grace.curation.review().proposals == ()
    with pytest.raises(errors.ProposalNotFound):
        grace.curation.apply(found.id)


def test_a_proposal_says_nothing_of_what_its_memories_say(
    ada: Mind, pair: tuple[MemoryId, MemoryId]
) -> None:
    ada.store("The staging database listens on port 5999.")
    ada.store("Staging is down for now, until 2020-01-01.")
    found = ada.curation.review(propose=True).proposals
    ada.curation.apply(next(x.id for x in found if x.kind is ProposalKind.SUPERSEDE))
    kept = [dataclasses.asdict(each) for each in ada.curation.proposals([*ProposalState])]
    written = json.dumps(kept, default=str).lower()
    assert not [word for word in ("5433", "5999", "staging", "down") if word in written]


def test_words_and_meaning_find_what_is_near_on_every_store(anywhere: Mind) -> None:
    port = "staging database listens on port 5433"
    same = [anywhere.store(text).memory.id for text in (f"The {port}.", port)]
    passive = [
        anywhere.store(text).memory.id
        for text in ("Ada reviews the parser", "the parser is something that Ada reviews")
    ]
    other = anywhere.store("The staging database listens on port 1.").memory.id
    anywhere.work.wait()
    look = anywhere.curation.review(propose=True)
    assert (look.by_meaning, look.memories) == (True, 5)
    found = {(each.kind, each.origin): each for each in look.proposals}
    merged = found[ProposalKind.SUPERSEDE, "consolidation"]
    assert {*merged.memories} == {*same}
    assert merged.evidence["cosine"] >= 0.6
    assert {*found[ProposalKind.REVIEW, "consolidation"].memories} == {*passive}
    assert other in found[ProposalKind.OUTDATE, "contradiction"].memories
    anywhere.curation.apply(merged.id)
    assert len(_live(anywhere)) == 4
    anywhere.curation.undo(merged.id)
    assert len(_live(anywhere)) == 5


def test_every_memory_is_looked_at_in_a_large_store(clock: FixedClock) -> None:
    with household(TemporaryStore(), clock, embedder="none", extractor="none") as memory:
        first = memory.store(LONG).memory.id
        for number in range(PAGE):
            memory.store(f"memory {number} says something about {number}")
        last = memory.store(SHORT).memory.id
        [found] = memory.curation.review().proposals
        assert found.memories == (first, last)


# ---- what is never merged ----------------------------------------------------------------------


@pytest.mark.parametrize(
    "fields",
    [
        {"category": "projects"},
        {"tags": ["ops"]},
        {"project": "shop"},
        {"trust": "user"},
        {"sensitive": True},
    ],
)
def test_a_memory_that_somebody_would_miss_is_not_superseded(
    ada: Mind, fields: dict[str, object]
) -> None:
    ada.store(LONG)
    ada.store(SHORT, **fields)  # type: ignore[arg-type]
    assert ada.curation.review().proposals == ()


def test_a_shared_memory_is_not_superseded_by_one_that_its_reader_cannot_see(
    ada: Mind, pair: tuple[MemoryId, MemoryId]
) -> None:
    found = _proposed(ada)
    ada.share(pair[1], "grace")
    assert ada.curation.review().proposals == ()
    with pytest.raises(errors.WouldLoseFact, match="others could not see it"):
        ada.curation.apply(found.id)
    ada.share(pair[0], "grace", "write")
    ada.curation.apply(found.id)
    grace = ada.for_user("grace")
    assert grace.get(pair[0]).content == LONG


# ---- deciding ----------------------------------------------------------------------------------


def test_what_is_applied_is_served_in_place_of_the_other_and_undone_exactly(
    ada: Mind, pair: tuple[MemoryId, MemoryId]
) -> None:
    before = [*map(ada.get, pair)]
    applied = ada.curation.apply(_proposed(ada).id[:6])
    assert applied.state is ProposalState.APPLIED
    assert _live(ada) == {pair[0]}
    [hit] = ada.recall("staging port").hits
    assert (hit.memory.id, hit.replaces) == (pair[0], (pair[1],))
    undone = ada.curation.undo(applied.id)
    assert undone.state is ProposalState.UNDONE
    assert [*map(ada.get, pair)] == before
    assert _live(ada) == {*pair}
    assert ada.links(pair[0]) == []
    assert ada.curation.review(propose=True).proposals == ()
    assert dict(ada.curation.counts()) == {ProposalState.UNDONE: 1}


def test_a_proposal_is_decided_on_once(ada: Mind, pair: tuple[MemoryId, MemoryId]) -> None:
    id_ = _proposed(ada).id
    with pytest.raises(errors.CannotUndo):
        ada.curation.undo(id_)
    ada.curation.apply(id_)
    for verb in (ada.curation.apply, ada.curation.dismiss):
        with pytest.raises(errors.ProposalDecided, match="applied"):
            verb(id_)
    ada.curation.undo(id_)
    with pytest.raises(errors.CannotUndo, match="undone"):
        ada.curation.undo(id_)


def test_what_was_undone_is_decided_again_unless_a_memory_of_it_is_gone_for_good(
    ada: Mind, pair: tuple[MemoryId, MemoryId]
) -> None:
    id_ = _proposed(ada).id
    ada.curation.dismiss(id_)
    assert ada.curation.undo(id_).state is ProposalState.UNDONE
    assert ada.curation.apply(id_).state is ProposalState.APPLIED
    assert _live(ada) == {pair[0]}
    ada.curation.undo(id_)
    ada.delete(pair[1])
    ada.purge(ada.plan_purge([pair[1]]))
    [left] = ada.curation.proposals(["undone"])
    assert left.id != id_  # which was made from what the memories said
    for verb in (ada.curation.apply, ada.curation.dismiss):
        with pytest.raises(errors.ProposalDecided):
            verb(left.id)


def test_what_a_proposal_says_is_gone_when_its_memory_becomes_sensitive(
    ada: Mind, pair: tuple[MemoryId, MemoryId]
) -> None:
    ada.curation.apply(_proposed(ada).id)
    ada.update(pair[1], sensitive=True)
    [left] = ada.curation.proposals(["applied"])
    assert (left.reason, left.evidence, left.change) == (CONCEALED, {}, {})
    with pytest.raises(errors.CannotUndo, match="became sensitive"):
        ada.curation.undo(left.id)


def test_what_was_changed_since_is_not_undone(ada: Mind, pair: tuple[MemoryId, MemoryId]) -> None:
    applied = ada.curation.apply(_proposed(ada).id)
    ada.update(pair[0], importance=0.9)
    with pytest.raises(errors.CannotUndo, match=f"memory {pair[0]} has version 2"):
        ada.curation.undo(applied.id)
    assert ada.curation.proposal(applied.id).state is ProposalState.APPLIED
    assert _live(ada) == {pair[0]}


@pytest.mark.parametrize("change", ["update", "delete", "shorten"])
def test_what_would_lose_a_fact_by_now_is_refused(
    ada: Mind, pair: tuple[MemoryId, MemoryId], change: str
) -> None:
    found = _proposed(ada)
    if change == "delete":
        ada.delete(pair[0])
    else:
        port = "The staging database listens on port 5432."
        ada.update(pair[0] if change == "update" else pair[1], content=port)
    with pytest.raises(errors.WouldLoseFact):
        ada.curation.apply(found.id)
    assert ada.curation.proposal(found.id).state is ProposalState.OPEN
    assert pair[1] in _live(ada)


def test_what_stands_for_another_memory_cannot_go_to_one_that_does_not_say_it(
    ada: Mind,
) -> None:
    first = ada.store("Token expires at noon").memory.id
    middle = ada.store("the token expires at noon").memory.id
    last = ada.store("Tokens expire at noon").memory.id
    for keeper, other in ((middle, first), (last, middle)):
        find = Finding(
            kind=ProposalKind.SUPERSEDE,
            origin="consolidation",
            memories=(ada.get(keeper), ada.get(other)),
            reason="they say the same",
        )
        made = proposal(find, ada._parts.clock())
        ada._parts.store.propose(ada.scope, [made])
        if keeper == middle:
            ada.curation.apply(made.id)
        else:
            with pytest.raises(errors.WouldLoseFact, match=f"stands for {first} as well"):
                ada.curation.apply(made.id)


def test_when_what_is_kept_says_something_else_later_the_other_can_come_back(
    ada: Mind, pair: tuple[MemoryId, MemoryId]
) -> None:
    ada.curation.apply(_proposed(ada).id)
    ada.update(pair[0], content="The staging database listens on port 6000.")
    found = _proposed(ada)
    assert (found.kind, found.memories) == (ProposalKind.UNLINK, pair)
    ada.curation.apply(found.id)
    assert _live(ada) == {*pair}
    ada.curation.undo(found.id)
    assert _live(ada) == {pair[0]}


def test_what_ended_by_its_own_words_is_expired_and_brought_back(
    ada: Mind, clock: FixedClock
) -> None:
    id_ = ada.store("Use the fallback host until 2020-03-01.").memory.id
    found = _proposed(ada)
    assert found.kind is ProposalKind.EXPIRE
    ada.curation.apply(found.id)
    assert _live(ada) == set()
    ada.curation.undo(found.id)
    assert ada.get(id_).valid_to is None
    assert _live(ada) == {id_}


@pytest.mark.parametrize(
    "changes",
    [
        {"valid_to": datetime(2031, 1, 1, tzinfo=UTC)},
        {"content": "Use the fallback host until 2030-03-01."},
    ],
)
def test_an_end_that_somebody_changed_is_not_set_back(ada: Mind, changes: dict[str, Any]) -> None:
    id_ = ada.store("Use the fallback host until 2020-03-01.").memory.id
    found = _proposed(ada)
    changed = ada.update(id_, **changes)
    assert ada.curation.proposals() == []
    with pytest.raises(errors.ProposalDecided, match="settled"):
        ada.curation.apply(found.id)
    assert ada.get(id_).valid_to == changed.valid_to


def test_a_new_memory_is_stored_in_place_of_another_and_taken_back(ada: Mind) -> None:
    old = ada.store("Ada prefers tabs", category="preferences").memory
    find = Finding(
        kind=ProposalKind.STORE,
        origin="learning",
        memories=(old,),
        reason="the user said so",
        change={
            "content": "Ada prefers spaces",
            "category": "preferences",
            "tags": ["learned"],
            "trust": "user",
            "valid_to": "2030-01-01T00:00:00+00:00",
        },
    )
    made = proposal(find, ada._parts.clock())
    ada._parts.store.propose(ada.scope, [made])
    ada.curation.apply(made.id)
    [new] = ada.list()
    assert (new.content, new.tags, new.provenance.trust) == (
        "Ada prefers spaces",
        ("learned",),
        "user",
    )
    ada.curation.undo(made.id)
    assert _live(ada) == {old.id}
    ada.curation.apply(made.id)  # decided again
    assert [each.content for each in ada.list()] == ["Ada prefers spaces"]


def test_a_text_is_only_rewritten_by_one_that_says_the_same(ada: Mind) -> None:
    old = ada.store(SHORT).memory
    for content, is_fine in ((LONG, True), ("Staging DB listens on port 1", False)):
        find = Finding(
            kind=ProposalKind.UPDATE,
            origin="learning",
            memories=(old,),
            reason="it says more",
            change={"content": content},
        )
        made = proposal(find, ada._parts.clock())
        ada._parts.store.propose(ada.scope, [made])
        if is_fine:
            ada.curation.apply(made.id)
            assert ada.get(old.id).content == LONG
            ada.curation.undo(made.id)
            assert ada.get(old.id).content == SHORT
        else:
            with pytest.raises(errors.WouldLoseFact):
                ada.curation.apply(made.id)


def test_a_beginning_after_the_stored_end_says_how_to_take_that_away(ada: Mind) -> None:
    ended = ada.store("The fair is open.", valid_to="2025-05-01").memory
    with pytest.raises(errors.InvalidTime) as refused:
        ada.update(ended.id, valid_from="2025-06-01")
    assert "always_valid" in refused.value.hint
    changed = ada.update(ended.id, valid_from="2025-06-01", always_valid=True)
    assert (str(changed.valid_from)[:10], changed.valid_to) == ("2025-06-01", None)
