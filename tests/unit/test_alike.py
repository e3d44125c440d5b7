"""When two texts say nearly the same, and when a small difference tells."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bearinmind.recall.selection import differ_in_meaning, word_overlap, wording_of

WORDS = ["deploys", "run", "after", "the", "nightly", "backup", "and", "take", "long", "here"]
texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)


def alike(one: str, other: str) -> float:
    return word_overlap(wording_of(one), wording_of(other))


def distinct(one: str, other: str) -> bool:
    return differ_in_meaning(wording_of(one), wording_of(other))


@given(one=texts, other=texts)
def test_neither_question_depends_on_which_text_comes_first(one: str, other: str) -> None:
    assert alike(one, other) == alike(other, one)
    assert distinct(one, other) == distinct(other, one)


@given(one=texts, other=texts)
def test_the_share_lies_between_nothing_and_all(one: str, other: str) -> None:
    share = alike(one, other)
    assert 0.0 <= share <= 1.0
    assert (share == 1.0) == (sorted(one.split()) == sorted(other.split()))


@given(st.text(max_size=60))
def test_a_text_is_not_distinct_from_itself(text: str) -> None:
    assert not distinct(text, text)
    assert alike(text, text) in {0.0, 1.0}  # 0 where there is no word


def test_repeated_words_count_as_often_as_both_have_them() -> None:
    assert alike("tea tea tea", "tea") == pytest.approx(2 * 1 / 4)
    assert alike("tea and milk", "tea with milk") == pytest.approx(2 * 2 / 6)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the backup runs at night here", "the backup runs, at night, here!"),
        ("the café opens late", "The CAFE opens late"),
        ("deploys run late", "deploys usually run late"),
        ("we use tabs", "(we use `tabs`)"),
        ("it doesn't run here", "it does not run here"),
        ("Deploys run late", "usually deploys run late"),
    ],
)
def test_form_and_filling_words_do_not_tell(one: str, other: str) -> None:
    assert alike(one, other) > 0.6
    assert not distinct(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the port is 8080", "the port is 8081"),
        ("it takes .5 litres", "it takes 5 litres"),
        ("it takes two hours", "it takes three hours"),
        ("version 3.11 is used", "version 3.12 is used"),
        ("retry once", "retry twice"),
        ("all tests pass", "some tests pass"),
    ],
)
def test_a_number_tells(one: str, other: str) -> None:
    assert distinct(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("you must deploy on the weekend", "you must not deploy on the weekend"),
        ("it works here", "it doesn't work here"),
        ("it works here", "it doesn\u2019t work here"),
        ("tea with sugar", "tea without sugar"),
        ("she always answers", "she never answers"),
    ],
)
def test_a_negation_tells(one: str, other: str) -> None:
    assert distinct(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the talk is on monday", "the talk is on tuesday"),
        ("Monday we ship", "Tuesday we ship"),
        ("due 2026-05-01", "due 2026-05-02"),
        ("invoices are due in March", "invoices are due in May"),
        ("call her tomorrow", "call her today"),
    ],
)
def test_a_date_tells(one: str, other: str) -> None:
    assert distinct(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("the key is with Anna", "the key is with Lena"),
        ("Anna has the key", "Lena has the key"),  # at the beginning too: it may be a name
        ("call parseConfig first", "call parseOptions first"),
        ("written in C++", "written in C#"),
        ("the lead is Dr. Smith", "the lead is Dr. Jones"),
    ],
)
def test_a_name_tells(one: str, other: str) -> None:
    assert distinct(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("she prefers tabs over spaces", "she prefers spaces over tabs"),
        ("Anna pays Bob", "Bob pays Anna"),
        ("from 3 to 5", "from 5 to 3"),
    ],
)
def test_another_order_tells(one: str, other: str) -> None:
    assert alike(one, other) == 1.0
    assert distinct(one, other)


@given(
    before=texts,
    after=texts,
    pair=st.lists(
        st.sampled_from(["17", "18.5", "never", "Anna", "Oslo", "friday", "2026-01-02", "seven"]),
        min_size=2,
        max_size=2,
        unique=True,
    ),
)
def test_whatever_surrounds_it_a_telling_word_is_never_lost(
    before: str, after: str, pair: list[str]
) -> None:
    one, other = (f"{before} {word} {after}" for word in pair)
    assert distinct(one, other)
    assert distinct(one, f"{before} {after}")


@given(words=st.lists(st.sampled_from(WORDS), min_size=2, unique=True), data=st.data())
def test_swapping_two_words_tells(words: list[str], data: st.DataObject) -> None:
    first, second = data.draw(
        st.lists(st.integers(0, len(words) - 1), min_size=2, max_size=2, unique=True)
    )
    swapped = [*words]
    swapped[first], swapped[second] = words[second], words[first]
    assume(swapped != words)
    assert distinct(" ".join(words), " ".join(swapped))
