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
from bearinmind.types import Decider, LinkKind, MemoryId
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


def test_two_things_about_one_subject_are_no_change(mind: Mind, clock: FixedClock) -> None:
    assert outdated(mind, clock, REHEARSAL, CONCERT) == []


def test_a_store_without_an_encoder_loads_no_model() -> None:
    assert pair_reader(None) is None
    assert pair_reader(WordEmbedder()) is None
    assert pair_reader(choose_embedder("hash", EmbedderOptions())) is None


def test_the_order_of_the_two_texts_matters() -> None:
    read = pair_reader(choose_embedder("local", EmbedderOptions()))
    assert read is not None
    used, ended = "We use Redis for sessions.", "We no longer use Redis for sessions."
    forward, backward = read([(used, ended), (ended, used)])
    assert forward > 0.9
    assert forward > backward
