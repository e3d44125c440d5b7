"""What tells two texts apart, and what does not."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bearinmind.curate.differences import Kind, compare, key, read
from bearinmind.text import distinguishing_words
from bearinmind.text.analysis import fold

LETTERS = "abcdefghijklmnopqrstuvwxyz"
WORDS = st.text(LETTERS, min_size=1, max_size=8)
#: Whatever somebody may write: words of any script, marks, numbers, line ends.
ANYTHING = st.lists(
    st.one_of(
        WORDS,
        st.sampled_from(["the", "is", "not", "5", "Ada", "in", "because", "and", "we", "use,"]),
        st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6),
    ),
    max_size=8,
).map(lambda words: " ".join(words).split())
PLACE = st.integers(min_value=0, max_value=8)
NUMBER = st.one_of(
    st.integers(min_value=0, max_value=10**6).map(str),
    st.decimals(min_value=0, max_value=1000, places=2).map(str),
    st.sampled_from(["three", "twelve", "hundred", "half", "v1.2.3", "-5", "<5", ">5", "5%", "$5"]),
)
DATE = st.one_of(
    st.dates().map(lambda day: day.isoformat()),
    st.sampled_from(["Monday", "Friday", "January", "July", "today", "tomorrow", "weekly"]),
)
NAME = st.text(LETTERS, min_size=2, max_size=8).map(str.capitalize)
NEGATION = st.sampled_from(["not", "never", "no", "without", "unless", "don't", "cannot", "nobody"])


def _with(words: list[str], place: int, *added: str) -> str:
    place = min(place, len(words))
    return " ".join([*words[:place], *added, *words[place:]])


def _are_apart(one: str, other: str) -> None:
    assert not compare(one, other).is_same
    assert not compare(other, one).is_same


# ---- what is always seen -----------------------------------------------------------------------


@given(ANYTHING, PLACE, NUMBER, NUMBER)
def test_another_number_is_seen_in_any_text(
    words: list[str], place: int, one: str, other: str
) -> None:
    assume({one, other} not in ({"three", "3"}, {"twelve", "12"}) and one != other)
    _are_apart(_with(words, place, one), _with(words, place, other))


@given(ANYTHING, PLACE, DATE, DATE)
def test_another_date_is_seen_in_any_text(
    words: list[str], place: int, one: str, other: str
) -> None:
    assume(one != other)
    _are_apart(_with(words, place, one), _with(words, place, other))


@given(ANYTHING, PLACE, NAME, NAME)
def test_another_name_is_seen_in_any_text(
    words: list[str], place: int, one: str, other: str
) -> None:
    idle = (
        distinguishing_words.IDLE
        | distinguishing_words.STANDS_FOR.keys()
        | distinguishing_words.NAMES.keys()
    )
    assume(fold(one) != fold(other) and idle.isdisjoint({fold(one), fold(other)}))
    _are_apart(_with(["so", *words], place + 1, one), _with(["so", *words], place + 1, other))


@given(ANYTHING, PLACE, NEGATION)
def test_a_negation_more_is_seen_in_any_text(words: list[str], place: int, negation: str) -> None:
    _are_apart(_with(words, place), _with(words, place, negation))


@given(ANYTHING, PLACE, st.sampled_from(["always", "must", "may", "only", "usually", "was"]))
def test_another_strength_is_seen_in_any_text(words: list[str], place: int, word: str) -> None:
    _are_apart(_with(words, place), _with(words, place, word))


@given(ANYTHING, ANYTHING)
def test_it_does_not_matter_which_text_is_held_against_which(
    one: list[str], other: list[str]
) -> None:
    there, back = compare(" ".join(one), " ".join(other)), compare(" ".join(other), " ".join(one))
    assert there.is_same == back.is_same
    assert there.more == -back.more


@given(ANYTHING, ANYTHING)
def test_texts_that_say_the_same_have_the_same_key(one: list[str], more: list[str]) -> None:
    first, second = " ".join(one), " ".join([*one, "Because", *more])
    for other in (first, second, first.capitalize(), f"Note that {first}"):
        if read(first) and compare(first, other).is_same:
            assert key(read(first)) == key(read(other))


@given(ANYTHING)
def test_a_text_says_the_same_as_itself(words: list[str]) -> None:
    assert compare(" ".join(words), " ".join(words)).is_same


# ---- one by one --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "kind"),
    [
        ("the port is 5432", "the port is 5433", Kind.NUMBER),
        ("it takes 5 seconds", "it takes 5 minutes", Kind.NUMBER),
        ("kept for 30 days", "kept for 30 hours", Kind.VALUE),
        ("use version 1.2.3", "use version 1.2.4", Kind.NUMBER),
        ("the flag is -v", "the flag is -V", Kind.VALUE),
        ("the file is /etc/app.yml", "the file is /etc/app.yaml", Kind.VALUE),
        ("call getUserId first", "call getUserID first", Kind.VALUE),
        ("keep at least >5 free", "keep at least <5 free", Kind.VALUE),
        ("10² rows", "102 rows", Kind.NUMBER),
        ("due on Monday", "due on Tuesday", Kind.DATE),
        ("deploy on Fridays", "do not deploy on Fridays", Kind.NEGATION),
        ("it works", "it doesn't work", Kind.NEGATION),
        ("Ada owns it", "Eda owns it", Kind.NAME),
        ("Niels owns it", "Niel owns it", Kind.NAME),
        ("the feature is on", "the feature is off", Kind.OPPOSITE),
        ("run it before the build", "run it after the build", Kind.OPPOSITE),
        ("enable the cache", "disable the cache", Kind.OPPOSITE),
        ("debug is true", "debug is false", Kind.OPPOSITE),
        ("you must sign", "you should sign", Kind.STRENGTH),
        ("the job uses Redis", "the job used Redis", Kind.TENSE),
        ("it works", "it works?", Kind.CONDITION),
        ("delete it", "delete it if it is empty", Kind.CONDITION),
        ("prefer tabs over spaces", "prefer spaces over tabs", Kind.ORDER),
        ("the worker polls the queue", "the queue polls the worker", Kind.ORDER),
        ("likes tabs", "likes spaces", Kind.WORD),
        ("send it to us", "send it to US", Kind.NAME),
    ],
)
def test_a_small_difference_that_tells_is_seen_and_named(one: str, other: str, kind: Kind) -> None:
    _are_apart(one, other)
    assert kind in {each.kind for each in compare(one, other).differences}


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("The tests run in CI.", "tests run in CI"),
        ("Don't use print.", "Do not use print"),
        ("In CI, tests run twice.", "Tests run twice in CI."),
        ("Note that the DB is Postgres.", "The database is PostgreSQL."),
        ("It takes three hours", "it takes 3 hours"),
        ("Tokens expire soon", "the token expires soon"),
        ("Run `make lint` first.", "Run make lint first"),
        ("It starts on Monday", "it starts Monday"),
        ("The worker gets restarted", "the worker is restarted"),
    ],
)
def test_what_says_the_same_in_nearly_the_same_words_is_the_same(one: str, other: str) -> None:
    assert compare(one, other).is_same
    assert compare(one, other).more == 0


def test_a_text_may_say_more_behind_but_nothing_that_tells() -> None:
    short = "Marit owns the payments module."
    assert compare(f"{short} It is large.", short).more == 1
    assert compare(short, f"{short} It is large.").more == -1
    assert compare("Use SQLite because it is small", "Use SQLite").more == 1
    for more in ("Not any more.", "Since 2024.", "So does Ada.", "But only now.", "Unless it is."):
        _are_apart(short, f"{short} {more}")
    _are_apart(short, "Marit owns the payments module of the shop")


def test_a_phrase_is_not_moved_where_it_could_belong_to_something_else() -> None:
    _are_apart("On Mondays deploy web, on Tuesdays api", "deploy web on Tuesdays api on Mondays")


def test_nothing_is_the_same_as_a_text_without_a_word() -> None:
    assert compare("", "").is_same
    _are_apart("the", "the port")
