"""A second look: what the model that reads the question with the first candidates does to them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import RerankerFailure
from bearinmind.models.embedders import Embedders
from bearinmind.models.factory import EmbedderOptions, choose_embedder, pair_reader
from bearinmind.protocols import Reads
from bearinmind.recall.groups import LONGEST
from bearinmind.recall.second_look import (
    ANSWERS,
    FIRST,
    FirstRead,
    passage,
    read_first,
    read_states,
)
from bearinmind.testing import TemporaryStore
from bearinmind.trace import Judged
from bearinmind.types import Memory, MemoryId, Provenance, Trust, UserId, Verdict

QUESTION = "Who has the keys of the boat house?"
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Reader:
    """Reads pairs and remembers which; a memory answers as probably as is said of it."""

    def __init__(self, probable: Mapping[str, float]) -> None:
        self.read: list[str] = []
        self._probable = probable

    def __call__(self, reads: Reads, pairs: Sequence[tuple[str, str]]) -> list[float]:
        assert reads is Reads.ANSWERS
        assert all(question == QUESTION for question, _ in pairs)
        self.read += [text for _, text in pairs]
        return [self._probable[text[:1]] for _, text in pairs]


def memory(name: str, *, sensitive: bool = False) -> Memory:
    return Memory(
        id=MemoryId(name[:1]),
        owner=UserId("ada"),
        content=name,
        category="facts",
        tags=(),
        keywords=(),
        importance=0.5,
        sensitive=sensitive,
        created_at=NOW,
        updated_at=NOW,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(trust=Trust.AGENT),
        version=1,
    )


def look(
    reader: Reader,
    *memories: Memory,
    is_ordered: bool = False,
    step: float = 0.01,
    unlikely: str = "",
) -> FirstRead:
    """Look at candidates, each with a score that is so much lower than the one before.

    Those that are named are unlikely by what the legs found.
    """
    judged = [Judged(x.id, 1 - place * step, 1.0, {}, {}) for place, x in enumerate(memories)]
    by_id = {x.id: x for x in memories}

    def probability(each: Memory, _placings: object) -> float:
        return 0.01 if each.id in unlikely else 0.3

    return read_first(reader, lambda _: QUESTION, judged, by_id, probability, is_ordered=is_ordered)


def order(looked: FirstRead) -> str:
    return "".join(each.id for each in looked.judged)


def test_what_answers_comes_first_and_what_was_not_read_keeps_its_place() -> None:
    reader = Reader({"a": 0.1, "b": 0.2, "c": 0.6, "d": 0.1, "e": 0.1, "f": 0.99})
    looked = look(reader, *map(memory, "abcdef"))
    assert order(looked) == "cbadef"
    assert reader.read == [*"abcde"]
    assert len(reader.read) == FIRST
    scores = [each.score for each in looked.judged]
    assert scores == sorted(scores, reverse=True)
    assert looked.judged[0].factors[ANSWERS] > 1
    assert looked.odds.keys() == {*"abcde"}


@pytest.mark.parametrize("answers", ["a", "b"])
def test_the_first_two_are_read_at_once_and_one_that_answers_makes_the_others_needless(
    answers: str,
) -> None:
    reader = Reader({"a": 0.1, "b": 0.1, "c": 0.99} | {answers: 0.6})
    looked = look(reader, *map(memory, "abc"))
    assert order(looked) == ("abc" if answers == "a" else "bac")
    assert reader.read == ["a", "b"]
    assert looked.report is not None
    assert looked.report.pairs == 2


def test_what_does_not_answer_keeps_its_place_however_much_less_another_one_does() -> None:
    assert order(look(Reader({"a": 0.002, "b": 0.017}), *map(memory, "ab"))) == "ab"
    assert order(look(Reader({"a": 0.002, "b": 0.1}), *map(memory, "ab"))) == "ba"


def test_a_candidate_that_scores_far_below_the_first_is_not_read() -> None:
    reader = Reader({"a": 0.1, "b": 0.1, "c": 0.1})
    look(reader, *map(memory, "abcd"), step=0.25)  # the last one has a quarter of the first
    assert reader.read == ["a", "b", "c"]


@pytest.mark.parametrize(("first", "read"), [(0.01, "abd"), (0.1, "abcd")])
def test_where_the_first_surely_do_not_answer_only_likely_others_are_read(
    first: float, read: str
) -> None:
    reader = Reader({"a": first, "b": 0.01, "c": 0.01, "d": 0.01})
    look(reader, *map(memory, "abcd"), unlikely="c")
    assert reader.read == [*read]


def test_an_order_that_a_reranker_made_stays() -> None:
    reader = Reader({"a": 0.1, "b": 0.99})
    assert order(look(reader, *map(memory, "ab"), is_ordered=True)) == "ab"
    assert reader.read == ["a", "b"]  # the verdict goes by it all the same


def test_of_a_long_text_the_passage_is_read_that_the_question_is_about() -> None:
    about = "Mo has the keys of the boat house."
    long = memory(f"b {'The weather was fine. ' * 40}{about} {'We ate fish. ' * 40}")
    reader = Reader({"a": 0.1, "W": 0.99, "T": 0.99, "M": 0.99})
    looked = look(reader, memory("a"), long)
    assert order(looked) == "ba"
    assert about in reader.read[1]
    assert len(reader.read[1]) <= LONGEST


@pytest.mark.parametrize(
    "text",
    [
        "short",
        "no end of a sentence " * 60,
        "\u5bff\u53f8\u3002" * 300,
        "x" * 2_000,
        "One. Two. " * 100,
    ],
)
def test_a_passage_is_a_part_of_its_text_and_short_enough(text: str) -> None:
    part = passage(text, "Two")
    assert 0 < len(part) <= LONGEST
    assert part.replace(" ", "") in text.replace(" ", "")


class StateReader:
    """Prefers every newer memory; a memory answers as probably as is said of it."""

    def __init__(self, probable: Mapping[str, float]) -> None:
        self.read: list[tuple[Reads, str]] = []
        self._probable = probable

    def __call__(self, reads: Reads, pairs: Sequence[tuple[str, str]]) -> list[float]:
        self.read += [(reads, text) for _, text in pairs]
        is_answer = reads is Reads.ANSWERS
        return [self._probable[text] if is_answer else 0.99 for _, text in pairs]


@pytest.mark.parametrize(
    ("older", "newer", "is_preferred"),
    [
        (0.9, 0.6, True),
        (0.9, 0.05, True),  # it may be mentioned in passing
        (0.2, 0.01, False),  # it answers nothing of what is asked
        (0.999, 0.1, False),  # the older one answers by far
    ],
)
def test_a_newer_memory_that_does_not_answer_is_no_present_state(
    older: float, newer: float, is_preferred: bool
) -> None:
    reader, pair = StateReader({"a": older, "b": newer}), (memory("a"), memory("b"))
    preferences, report = read_states(reader, QUESTION, [pair], {})
    assert (preferences == {frozenset("ab"): 0.99}) is is_preferred
    assert report is not None
    assert report.pairs == 2 + is_preferred


def test_an_older_memory_that_does_not_answer_is_no_earlier_state() -> None:
    reader = StateReader({"a": 0.04, "b": 0.9})
    preferences, _ = read_states(reader, QUESTION, [(memory("a"), memory("b"))], {})
    assert preferences == {}
    assert reader.read == [(Reads.ANSWERS, "a")]  # the newer one need not be read


def test_what_was_read_as_an_answer_is_not_read_again() -> None:
    reader, pair = StateReader({"b": 0.9}), (memory("a"), memory("b"))
    read_states(reader, QUESTION, [pair], {MemoryId("a"): 3.0, MemoryId("b"): 2.0})
    assert reader.read == [(Reads.OUTDATES, "b")]


def test_a_sensitive_memory_is_not_read() -> None:
    reader = Reader({"b": 0.1})
    assert look(reader, memory("a", sensitive=True), memory("b")).odds.keys() == {"b"}
    assert reader.read == ["b"]


def test_a_reader_that_fails_changes_nothing_and_says_so() -> None:
    def fails(_reads: Reads, _pairs: Sequence[tuple[str, str]]) -> list[float]:
        raise RerankerFailure("the model is damaged")

    judged = [Judged(MemoryId("a"), 1.0, 1.0, {}, {})]
    by_id = {MemoryId("a"): memory("a")}
    looked = read_first(fails, lambda _: QUESTION, judged, by_id, lambda *_: 0.3, is_ordered=False)
    assert looked.judged == judged
    assert not looked.odds
    assert looked.report is not None
    assert "damaged" in (looked.report.error or "")


# ---- the shipped model ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def embedders() -> Embedders:
    return Embedders.among(choose_embedder("local", EmbedderOptions()))


def test_the_shipped_model_tells_an_answer_from_the_same_subject(embedders: Embedders) -> None:
    read = pair_reader(embedders.configured())
    assert read is not None
    answers, near_miss, other = read(
        Reads.ANSWERS,
        [
            ("Who looks after the heating?", "If the boiler fails, ring Mr Osei."),
            ("When was the boiler bought?", "If the boiler fails, ring Mr Osei."),
            ("What is the capital of Peru?", "If the boiler fails, ring Mr Osei."),
        ],
    )
    assert answers > 0.7
    assert max(near_miss, other) < 0.1


def test_what_nobody_stored_is_not_found_though_its_words_are_there(embedders: Embedders) -> None:
    with Mind(TemporaryStore(), Settings(user="ada"), embedders=embedders) as mind:
        for text in (
            "The plumber for the flat in Lisbon is Mr Duarte, 21 555 0134.",
            "The flat in Lisbon has two keys, one is with Inês.",
            "Rent for the flat in Lisbon is due on the third.",
        ):
            mind.store(text)
        mind.work.wait()
        known = mind.recall("Whom do I call about a leaking pipe in the Lisbon flat?")
        unknown = mind.recall("How many square metres has the flat in Lisbon?")
    assert known.hits[0].memory.content.startswith("The plumber")
    assert known.hits[0].probability > max((x.probability for x in unknown.hits), default=0.0)
    assert unknown.verdict is not Verdict.FOUND


def test_without_a_second_look_nothing_is_read_and_nothing_is_lost(embedders: Embedders) -> None:
    settings = Settings(user="ada", second_look="off")
    with Mind(TemporaryStore(), settings, embedders=embedders) as mind:
        mind.store("If the boiler fails, ring Mr Osei.")
        mind.work.wait()
        answer = mind.recall("Who looks after the heating?")
    assert answer.trace.read is None
    assert [hit.memory.content for hit in (*answer.hits, *answer.weak)] == [
        "If the boiler fails, ring Mr Osei."
    ]


def test_the_history_of_a_thing_shows_a_change_that_was_only_mentioned(
    embedders: Embedders,
) -> None:
    was, is_now = (
        "Nightly database dumps go to Backblaze, the last nine are kept.",
        "Restore drill: fetched last night's database dump from Wasabi, 41 minutes to a replica.",
    )
    with Mind(TemporaryStore(), Settings(user="ada"), embedders=embedders) as mind:
        mind.store(was, created_at="2025-03-01")
        mind.store(is_now, created_at="2025-09-01")
        mind.store("The nightly build starts at two and takes an hour.", created_at="2025-10-01")
        mind.work.wait()
        [chain] = mind.history("where do our database dumps go?").chains
    assert [state.memory.content for state in chain] == [was, is_now]


def test_a_small_limit_changes_no_verdict(embedders: Embedders) -> None:
    """What was put first for its older state is as probable as that, also without it."""
    with Mind(TemporaryStore(), Settings(user="ada"), embedders=embedders) as mind:
        for day, text in {
            "2025-10-19": "feature flags live in launchdarkly, sdk key in ssm",
            "2026-04-08": "cost review: sentry 210/mo stays, datadog cancelled. flags come from "
            "our own unleash box, saves 400/mo. ci minutes ok.",
            "2025-09-03": "kestrel: db is postgres 14 on rds",
            "2025-09-20": "plover: npm, lockfile committed",
        }.items():
            mind.store(text, created_at=day)
        mind.work.wait()
        one, ten = (mind.recall("where do feature flags come from?", limit=x) for x in (1, 10))
    assert one.verdict is ten.verdict is Verdict.FOUND
    assert one.hits[0].memory == ten.hits[0].memory
    assert one.hits[0].probability == ten.hits[0].probability


def test_what_nothing_is_known_about_has_no_history(embedders: Embedders) -> None:
    with Mind(TemporaryStore(), Settings(user="ada"), embedders=embedders) as mind:
        mind.store("Jenkins runs our builds.", created_at="2024-05-12")
        mind.store("GitHub Actions runs our builds.", created_at="2025-06-03")
        mind.work.wait()
        [[was, _]] = mind.history("our builds").chains
        assert was.outdated is not None
        assert mind.history("xyzzy").chains == ()
