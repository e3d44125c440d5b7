"""Recall over what others share, on every store."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.errors import MemoryNotFound, StoreUnavailable
from bearinmind.protocols import Store
from bearinmind.recall import shared
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.scores import Adjustments, ConvexCombination
from bearinmind.recall.selection import Selection
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.types import Filter, Memory, MemoryId, Query, Right, Scope, Share, UserId
from support.households import household, told

LABELS = "The labels are drawn by Gannet."
GANNET = "Gannet is looked after by Ilse Navrat."
MANY = 100  # more than there is


@pytest.fixture
def ada(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Mind]:
    with household(new_store(), clock) as memory:
        yield memory


@pytest.fixture
def grace(ada: Mind) -> Mind:
    return ada.for_user("grace")


def keep(memory: Mind, *contents: str, **fields: Any) -> list[MemoryId]:
    """Memories that are embedded and read."""
    made = [memory.store(content, **fields).memory.id for content in contents]
    memory.work.run()
    return made


def found(memory: Mind, text: str, **fields: Any) -> list[MemoryId]:
    return [hit.memory.id for hit in memory.recall(text, all=True, **fields).hits]


def test_shared_memories_are_recalled_in_one_list_with_their_owners(ada: Mind, grace: Mind) -> None:
    near, far = keep(ada, "the walrus eats fish at noon", "walrus statues stand in the park")
    [own] = keep(grace, "the walrus eats at noon")
    for id_ in (near, far):
        ada.share(id_, "grace")
    answer = grace.recall("walrus eats fish at noon")
    assert [hit.memory.id for hit in answer.hits] == [near, own, far]
    assert [hit.memory.owner for hit in answer.hits] == ["ada", "grace", "ada"]
    assert answer.trace.degraded == ()
    assert found(ada, "walrus eats fish at noon") == [near, far]


def test_what_is_split_among_people_and_shared_is_judged_as_if_one_had_it_all(
    ada: Mind,
) -> None:
    """By words and by meaning. Names are read by what each of them knows already."""
    words = ["walrus", "seal", "fish", "noon", "park", "Oslo", "harbour", "boat", "fog", "ice"]
    chance = random.Random(7)
    contents = {" ".join(chance.choices(words, k=chance.randint(3, 9))) for _ in range(40)}
    people = [ada, ada.for_user("bob"), ada.for_user("cleo")]
    solo, reader = ada.for_user("solo"), ada.for_user("reader")
    for content in sorted(contents):
        chance.choice(people).store(content, tags=["team"])
        solo.store(content, tags=["team"])
    ada.work.run()
    for person in people:
        person.share_tag("team", "reader")
    for _ in range(15):
        text = " ".join(chance.choices(words, k=3))
        whole, split = (
            {
                hit.memory.content: hit
                for hit in each.recall(text, limit=MANY, pool=MANY, all=True).hits
            }
            for each in (solo, reader)
        )
        assert split.keys() == whole.keys()
        for content, hit in split.items():
            for leg in ("lexical", "dense"):
                mine, theirs = (each.placings.get(leg) for each in (hit, whole[content]))
                assert (mine is None) == (theirs is None)
                if mine and theirs:
                    assert mine[1:] == pytest.approx(theirs[1:]), (text, content)


def test_what_others_match_better_is_not_cut_off_by_own_matches(ada: Mind, grace: Mind) -> None:
    filler = "with many other words that nobody asked for just now and here at all " * 3
    keep(grace, *(f"walrus {filler} {n}" for n in range(12)))
    best, *others = keep(ada, "walrus", *(f"walrus {filler} of ada {n}" for n in range(12)))
    for id_ in (best, *others):
        ada.share(id_, "grace")
    answer = grace.recall("walrus", limit=5, pool=5)
    [lexical] = [leg for leg in answer.trace.legs if leg.leg == "lexical"]
    assert lexical.found == 5
    assert answer.hits[0].memory.id == best


def test_own_memories_answer_when_nobody_can_say_who_shares_what(
    ada: Mind, grace: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    [own] = keep(grace, "the walrus eats fish")

    def out_of_reach(_: UserId) -> list[UserId]:
        raise StoreUnavailable("the server does not answer")

    monkeypatch.setattr(ada._parts.store, "sharers", out_of_reach)
    answer = grace.recall("walrus")
    assert [hit.memory.id for hit in answer.hits] == [own]
    assert answer.trace.degraded == (
        "shared leg failed: store_unavailable: the server does not answer",
    )


def test_a_shared_tag_is_a_rule_that_follows_the_memories(ada: Mind, grace: Mind) -> None:
    ada.share_tag("Zoo", "grace")
    [later] = keep(ada, "the walrus came later", tags=["zoo"])
    assert found(grace, "walrus") == [later]
    ada.update(later, tags=("private",))
    assert found(grace, "walrus") == []
    ada.update(later, tags=("zoo",))
    assert found(grace, "walrus") == [later]


@pytest.mark.parametrize("by", ["memory", "tag"])
def test_a_share_that_ended_shows_nothing_from_the_next_recall_on(
    ada: Mind, grace: Mind, by: str
) -> None:
    [walrus] = keep(ada, "the walrus eats fish", tags=["zoo"])
    share, end = (ada.share, ada.unshare) if by == "memory" else (ada.share_tag, ada.unshare_tag)
    what = walrus if by == "memory" else "zoo"
    share(what, "grace")
    assert found(grace, "walrus") == [walrus]
    end(what, "grace")
    answer = grace.recall("walrus")
    assert answer.hits == ()
    assert walrus not in told(answer)
    with pytest.raises(MemoryNotFound):
        grace.get(walrus)


def test_what_is_sensitive_deleted_or_superseded_is_never_seen(ada: Mind, grace: Mind) -> None:
    ada.share_tag("zoo", "grace")
    secret = ada.store("the walrus key", tags=["zoo"], keywords=["walrus"], sensitive=True).memory
    old, gone = keep(ada, "the walrus is in Oslo", "the walrus is in Rome", tags=["zoo"])
    new = ada.store("it is in Bergen, the walrus", supersedes=[old]).memory
    ada.delete(gone)
    ada.work.run()
    assert found(grace, "walrus Oslo Rome Bergen") == []
    ada.update(new.id, tags=("zoo",))
    ada.work.run()
    assert found(grace, "walrus Oslo Rome Bergen") == [new.id]
    for id_ in (secret.id, old, gone):
        with pytest.raises(MemoryNotFound):
            grace.get(id_)


def test_of_others_only_what_is_live_now_is_asked_for(
    ada: Mind, grace: Mind, clock: FixedClock
) -> None:
    [walrus] = keep(ada, "the walrus eats fish")
    ada.share(walrus, "grace")
    clock.advance(days=1)
    assert found(grace, "walrus") == [walrus]
    assert found(grace, "walrus", states=["live", "superseded"]) == [walrus]
    assert found(grace, "walrus", states=["superseded"]) == []
    assert found(grace, "walrus", as_of=clock()) == []
    reason = grace.why_not("walrus", walrus, as_of=clock())
    assert "ada" in reason.reason
    assert reason.remedy == "ask without as_of"


def test_the_filters_of_a_recall_hold_for_what_others_share(ada: Mind, grace: Mind) -> None:
    [zoo] = keep(ada, "a walrus in the zoo", tags=["zoo"], category="facts")
    [wild] = keep(ada, "a walrus in the wild", tags=["wild"], category="decisions")
    for id_ in (zoo, wild):
        ada.share(id_, "grace")
    assert found(grace, "walrus", tags=["zoo"]) == [zoo]
    assert found(grace, "walrus", categories=["decisions"]) == [wild]
    assert found(grace, "walrus", project="elsewhere") == []


def test_meaning_finds_what_others_share_and_counts_only_what_is_seen(
    ada: Mind, grace: Mind
) -> None:
    seen, *hidden = keep(ada, "harbour fog", *(f"number{n} things" for n in range(30)))
    ada.share(seen, "grace")
    [dense] = [leg for leg in grace.recall("harbour fog").trace.legs if leg.leg == "dense"]
    assert (dense.found, dense.detail["searched"]) == (1, 1)
    assert dense.detail["mean"] == pytest.approx(1.0, abs=1e-3)
    assert len(hidden) == 30


def test_the_graph_leads_from_own_memories_to_shared_ones(ada: Mind, grace: Mind) -> None:
    [labels] = keep(grace, LABELS)
    [gannet] = keep(ada, GANNET)
    assert gannet not in told(grace.recall("labels", limit=2, all=True))
    ada.share(gannet, "grace")
    answer = grace.recall("labels", limit=2, all=True)
    [hit] = [hit for hit in answer.hits if hit.memory.id == gannet]
    assert [(*step,) for step in hit.path] == [(labels, "gannet", "subject", gannet)]
    ada.unshare(gannet, "grace")
    assert gannet not in told(grace.recall("labels", limit=2, all=True))


def test_the_graph_leads_from_shared_memories_to_own_ones(ada: Mind, grace: Mind) -> None:
    [gannet] = keep(grace, GANNET)
    [labels] = keep(ada, LABELS)
    ada.share(labels, "grace")
    answer = grace.recall("labels", all=True)
    [hit] = [hit for hit in answer.hits if hit.memory.id == gannet]
    assert [(step.source, step.concept) for step in hit.path] == [(labels, "gannet")]


def test_names_that_each_side_merged_are_one_concept_to_the_reader(ada: Mind, grace: Mind) -> None:
    keep(grace, LABELS, "Sulidae is another word here.")
    [gannet] = keep(ada, "Sulidae is looked after by Ilse Navrat.")
    ada.share(gannet, "grace")
    grace.graph.merge("Sulidae", "Gannet")
    answer = grace.recall("labels", all=True)
    [hit] = [hit for hit in answer.hits if hit.memory.id == gannet]
    assert "gannet" in [step.concept for step in hit.path]


def test_why_not_explains_a_memory_that_can_be_seen(ada: Mind, grace: Mind) -> None:
    keep(grace, *(f"walrus number{n}" for n in range(12)))
    [theirs] = keep(ada, "walrus " + "and other animals that are not asked for " * 5)
    ada.share(theirs, "grace")
    reason = grace.why_not("walrus", theirs, limit=3)
    assert reason.rank is None
    assert reason.reason == "below the limit of 3"
    assert "a limit of 13" in reason.remedy
    assert grace.why_not("walrus", theirs, limit=20).rank == 13


def test_why_not_says_the_same_of_what_cannot_be_seen_as_of_what_is_not_there(
    ada: Mind, grace: Mind
) -> None:
    [hidden] = keep(ada, "walrus")
    messages = []
    for id_ in (hidden, "zzzzzzzzzzzz"):
        with pytest.raises(MemoryNotFound) as raised:
            grace.why_not("walrus", id_)
        messages.append((raised.value.message.replace(id_, "ID"), raised.value.hint))
    assert messages[0] == messages[1]


def test_nobody_is_asked_for_what_they_do_not_share(
    ada: Mind, grace: Mind, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every recall asks once who shares anything; without shares it asks nothing else of others."""
    asked: list[UserId] = []
    real = ada._parts.store.sharers

    def watched(reader: UserId) -> list[UserId]:
        asked.append(reader)
        return real(reader)

    monkeypatch.setattr(ada._parts.store, "sharers", watched)
    [walrus] = keep(ada, "the walrus eats fish")
    keep(grace, "the seal eats fish")
    grace.recall("fish")
    assert asked == ["grace"]
    ada.share(walrus, "grace")
    grace.recall("fish")
    assert asked == ["grace", "grace"]


def test_what_others_share_is_never_read_from_a_copy_that_is_behind(
    make: Callable[..., Memory], clock: FixedClock
) -> None:
    grace, bob = Scope(user=UserId("grace")), Scope(user=UserId("bob"))
    leader, behind = TemporaryStore(), TemporaryStore()
    own, theirs = make("the walrus of grace", owner="grace"), make("bob's walrus", owner="bob")
    share = Share(
        owner=bob.user,
        reader=grace.user,
        right=Right.READ,
        memory=theirs.id,
        created_at=clock(),
        ended_at=None,
    )
    for store in (leader, behind):
        store.put(grace, own)
        store.put(bob, theirs)
        store.add_share(bob, share)
    with ThreadPoolExecutor() as executor:
        recall = Recall(
            store=behind,
            legs=(LexicalLeg(behind),),
            fusion=ConvexCombination(),
            adjustments=Adjustments(),
            selection=Selection(),
            executor=executor,
        )
        query = Query(text="walrus", filter=Filter(scope=grace, now=clock()))
        before = shared.recalled(recall, leader, query)
        leader.end_share(bob, replace(share, ended_at=clock()))
        after = shared.recalled(recall, leader, query)
    assert {hit.memory.id for hit in before.hits} == {own.id, theirs.id}
    assert {hit.memory.id for hit in after.hits} == {own.id}
