"""The shipped model reads two memories, so that a change is found that no word announces."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import RerankerFailure
from bearinmind.models.cross_encoder import CrossEncoder, PairReader
from bearinmind.models.embedders import Embedders
from bearinmind.models.factory import EmbedderOptions, choose_embedder, pair_reader
from bearinmind.outdates.verdicts import OFFER, judgement_of
from bearinmind.protocols import ReadPairs, Reads, Store
from bearinmind.testing import FixedClock
from bearinmind.trace import Answer
from bearinmind.types import Decider, Judgement, Link, LinkKind, MemoryId, Verdict
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
        "Told the new girl at the till: a loaf of sourdough costs four sixty.",
    )
    price, place = (
        mind.recall(question).hits[0].memory.content
        for question in ("What does a loaf of sourdough cost?", "On which shelf is the rye?")
    )
    assert "four sixty" in price
    assert "lower shelf" in place


@pytest.mark.parametrize("later", [0, 100])
def test_a_question_that_names_a_time_is_found_in_what_held_then(
    mind: Mind, clock: FixedClock, later: int
) -> None:
    """The memory says nothing of that time, and need not have been stored in it."""
    older = mind.store("Jenkins runs our builds.").memory
    mind.store("The office is closed on Fridays in July.")
    clock.advance(days=later)
    month = f"{clock():%B %Y}"
    clock.advance(days=200)
    newer = mind.store("GitHub Actions runs our builds.").memory
    mind.resolve(newer.id, "newer", older.id)
    mind.work.wait()
    answer = mind.recall(f"What ran our builds in {month}?")
    assert (answer.verdict, answer.hits[0].memory.id) == (Verdict.FOUND, older.id)
    unknown = mind.recall(f"What was the name of my dog in {month}?")
    assert unknown.verdict is Verdict.NOTHING


def doubtful(mind: Mind, clock: FixedClock, reads: ReadPairs) -> Answer:
    """The answer about two memories that may be states of one thing, the older nearer to it."""
    older = mind.store("The keys of the boat house are with Hanna.").memory
    clock.advance(days=200)
    newer = mind.store("Ring Piet about the boat house.").memory
    mind.work.wait()
    link = Link(
        source=newer.id,
        target=older.id,
        kind=LinkKind.OUTDATES,
        created_at=clock(),
        judgement=Judgement(probability=0.4, by=Decider.SCORER),
    )
    mind._parts.store.change_links(mind.scope, [], [link])
    recall = replace(mind._parts.recall, pair_reader=lambda: reads)
    mind._open_parts = replace(mind._parts, recall=recall)
    return mind.recall("Who has the keys of the boat house?")


def test_a_question_is_read_with_both_and_the_trace_says_so(mind: Mind, clock: FixedClock) -> None:
    asked: list[tuple[str, str]] = []

    def reads(what: Reads, pairs: Sequence[tuple[str, str]]) -> list[float]:
        if what is Reads.OUTDATES:
            asked.extend(pairs)
        return [0.999] * len(pairs)

    answer = doubtful(mind, clock, reads)
    assert answer.hits[0].memory.content.startswith("Ring Piet")
    [(first, second)] = asked
    assert first.startswith("Who has the keys of the boat house? ")
    assert first.endswith("with Hanna.")
    assert second.startswith("Ring Piet")
    assert answer.trace.read is not None
    # The first, which surely answers, the newer one alone, and both together.
    assert answer.trace.read.pairs == 3


def test_a_reader_that_fails_costs_the_order_and_is_told(mind: Mind, clock: FixedClock) -> None:
    def fails(_reads: Reads, _pairs: Sequence[tuple[str, str]]) -> list[float]:
        raise RerankerFailure("the model is damaged")

    answer = doubtful(mind, clock, fails)
    assert answer.hits[0].memory.content.startswith("The keys")
    [told] = answer.trace.degraded
    assert "the model is damaged" in told


def test_two_things_about_one_subject_are_no_change(mind: Mind, clock: FixedClock) -> None:
    assert outdated(mind, clock, REHEARSAL, CONCERT) == []


def test_what_was_decided_about_a_memory_holds_for_what_supersedes_it(
    mind: Mind, clock: FixedClock
) -> None:
    older = mind.store("Staging DB listens on port 5433.").memory
    clock.advance(days=1)
    newer = mind.store("The staging database listens on port 5432.").memory
    mind.resolve(newer.id, "older", older.id)
    clock.advance(days=1)
    whole = "The staging database listens on port 5433. It is small."
    mind.store(whole, supersedes=[older.id])
    mind.work.wait()
    assert mind.recall("Which port has the staging database?").hits[0].memory.content == whole
    found = [x for x in mind.links(newer.id) if judgement_of(x).by is Decider.SCORER]
    assert found == []


def test_a_store_without_an_encoder_loads_no_model() -> None:
    assert pair_reader(None) is None
    assert pair_reader(WordEmbedder()) is None
    assert pair_reader(choose_embedder("hash", EmbedderOptions())) is None


def test_a_pair_is_read_once() -> None:
    read: list[tuple[str, str]] = []

    class Counting(CrossEncoder):
        def of_pairs(self, pairs: Sequence[tuple[str, str]], seconds: float) -> list[float]:
            assert seconds == 1
            read.extend(pairs)
            return [len(one) / 10 for one, _ in pairs]

    reads = partial(
        PairReader(dict.fromkeys(Reads, Counting(Path("nowhere")))), Reads.OUTDATES, seconds=1
    )
    assert reads([("a", "b"), ("aa", "b")]) == [0.1, 0.2]
    assert reads([("aa", "b"), ("aaa", "b"), ("a", "b")]) == [0.2, 0.3, 0.1]
    assert read == [("a", "b"), ("aa", "b"), ("aaa", "b")]


def test_the_order_of_the_two_texts_matters() -> None:
    read = pair_reader(choose_embedder("local", EmbedderOptions()))
    assert read is not None
    used, ended = "We use Redis for sessions.", "We no longer use Redis for sessions."
    forward, backward = read(Reads.OUTDATES, [(used, ended), (ended, used)])
    assert forward > 0.9
    assert forward > backward
