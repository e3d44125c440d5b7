"""The shipped model reads two memories, so that a change is found that no word announces."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.models.embedders import Embedders
from bearinmind.models.factory import EmbedderOptions, choose_embedder, pair_reader
from bearinmind.outdates.verdicts import OFFER, judgement_of
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from bearinmind.types import Decider, LinkKind, MemoryId, Space
from support.embedders import WordEmbedder

KEYS = "Ask Hanna for the keys of the boat house."
KEYS_NOW = "Keys of the boat house: Piet has them, ring him before ten."
REHEARSAL = "The choir rehearses on Tuesdays at seven."
CONCERT = "The choir sings in Utrecht on 3 May."


@pytest.fixture
def mind(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Mind]:
    embedders = Embedders.among(choose_embedder("local", EmbedderOptions()))
    with Mind(new_store(), Settings(user="ada"), clock=clock, embedders=embedders) as opened:
        yield opened


def outdated(mind: Mind, clock: FixedClock, older: str, newer: str) -> list[tuple[MemoryId, bool]]:
    """What outdates the older of two memories, and whether somebody would be asked about it."""
    first = mind.store(older).memory
    clock.advance(days=200)
    mind.store(newer)
    mind.work.wait()
    links = [x for x in mind.links(first.id) if x.kind is LinkKind.OUTDATES]
    assert {judgement_of(x).by for x in links} <= {Decider.SCORER}
    return [(x.source, judgement_of(x).probability >= OFFER) for x in links]


def test_a_change_that_no_word_announces_is_found(mind: Mind, clock: FixedClock) -> None:
    [(_, is_offered)] = outdated(mind, clock, KEYS, KEYS_NOW)
    assert is_offered
    first = mind.recall("Who has the keys of the boat house?").hits[0]
    assert first.memory.content == KEYS_NOW


def test_a_question_about_what_did_not_change_gets_the_older_memory(
    mind: Mind, clock: FixedClock
) -> None:
    """The newer one states another price, and says nothing of where the bread is."""
    outdated(
        mind,
        clock,
        "Sourdough is 4.20 a loaf, on the shelf beside the till; rye is on the lower shelf.",
        "Told the new girl at the till: a sourdough is four sixty.",
    )
    price, place = (
        mind.recall(question).hits[0].memory.content
        for question in ("What does a loaf of sourdough cost?", "On which shelf is the rye?")
    )
    assert "four sixty" in price
    assert "lower shelf" in place


def test_what_was_read_is_in_the_trace(mind: Mind, clock: FixedClock) -> None:
    outdated(mind, clock, KEYS, KEYS_NOW)
    trace = mind.recall("Whom do I ask for the keys of the boat house?").trace
    assert trace.read is None or (trace.read.pairs == 1 and trace.read.error is None)


def test_two_things_about_one_subject_are_no_change(mind: Mind, clock: FixedClock) -> None:
    assert outdated(mind, clock, REHEARSAL, CONCERT) == []


def space_of(name: str) -> Space | None:
    embedder = choose_embedder(name, EmbedderOptions())
    return embedder.space if embedder else None


def test_a_store_without_an_encoder_loads_no_model() -> None:
    assert pair_reader(None) is None
    assert pair_reader(WordEmbedder().space) is None
    assert pair_reader(space_of("hash")) is None


def test_the_order_of_the_two_texts_matters() -> None:
    read = pair_reader(space_of("local"))
    assert read is not None
    used, ended = "We use Redis for sessions.", "We no longer use Redis for sessions."
    forward, backward = read([(used, ended), (ended, used)])
    assert forward > 0.9
    assert forward > backward
