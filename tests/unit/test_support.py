"""How much speaks for a memory that nobody asked for."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind import Mind
from bearinmind.recall.adjust import UNASKED, support
from bearinmind.surfaces.hooks.standalone.settings import LEAST_SUPPORT
from bearinmind.types import Placing

Open = Callable[..., Mind]
EVIDENCE = st.floats(0, 3)
MEMORIES = st.integers(0, 1_000_000)


def by_words(score: float, evidence: float) -> dict[str, Placing]:
    return {"lexical": Placing(1, score, 1.0, evidence)}


def by_meaning(evidence: float) -> dict[str, Placing]:
    return {"dense": Placing(1, 0.9, min(1.0, evidence), evidence)}


def test_the_hook_gives_what_recall_says_is_worth_giving() -> None:
    assert LEAST_SUPPORT == UNASKED


@pytest.mark.parametrize("embedder", ["local", "none"])
def test_words_that_many_memories_hold_speak_for_none(open_memory: Open, embedder: str) -> None:
    memory = open_memory(embedder=embedder)
    for number in range(60):
        memory.store(f"Run the tests of service {number} before a commit.")
    memory.store("Gannet draws the labels of all parcels with Inkscape.")
    memory.work.wait()
    common = memory.recall("run the tests").hits[0]
    rare = memory.recall("run the tests of the labels that Gannet draws").hits[0]
    assert common.confidence > rare.confidence  # all of what was asked is covered, and yet
    assert common.support < UNASKED <= rare.support


def test_one_of_a_few_memories_needs_less_than_one_of_many() -> None:
    placings = by_words(12.0, 0.5) | by_meaning(0.1)
    few, many = support(placings, 5), support(placings, 5_000)
    assert few >= UNASKED > many


def test_words_are_enough_for_a_memory_that_is_not_embedded_yet() -> None:
    placings = by_words(18.0, 0.6)
    assert support(placings, 1_000) >= UNASKED
    assert support(placings | by_meaning(0.0), 1_000) < UNASKED


def test_what_only_the_graph_leads_to_is_not_given_unasked() -> None:
    assert support({"graph": Placing(1, 1.1, 1.0, 1.1)}, 1_000) < UNASKED


@given(score=st.floats(0, 100), evidence=EVIDENCE, meaning=EVIDENCE, more=EVIDENCE, among=MEMORIES)
def test_whatever_is_added_never_takes_support_away(
    score: float, evidence: float, meaning: float, more: float, among: int
) -> None:
    found = support(by_words(score, evidence) | by_meaning(meaning), among)
    assert 0 <= found <= 1
    assert support(by_words(score + more, evidence) | by_meaning(meaning), among) >= found
    assert support(by_words(score, evidence + more) | by_meaning(meaning), among) >= found
    assert support(by_words(score, evidence) | by_meaning(meaning + more), among) >= found
    assert support(by_words(score, evidence) | by_meaning(meaning), among + 1) <= found
