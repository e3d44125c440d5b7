from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind import errors
from bearinmind.remember import admit as rules_of
from bearinmind.remember.admit import Rules, admit
from bearinmind.types import Draft, Provenance

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
RULES = Rules()


def admitted(**fields: Any) -> Draft:
    return admit(Draft(**({"content": "walrus"} | fields)), RULES, NOW)


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"content": ""}, errors.EmptyContent),
        ({"content": " \n\t\u2003"}, errors.EmptyContent),
        ({"content": "x" * 1_401}, errors.ContentTooLong),
        ({"content": "a\x00b"}, errors.InvalidText),
        ({"content": "a\x1bb"}, errors.InvalidText),
        ({"content": "a\x7fb"}, errors.InvalidText),
        ({"content": "a\ud800b"}, errors.InvalidText),
        ({"category": "stuff"}, errors.UnknownCategory),
        ({"category": ""}, errors.UnknownCategory),
        ({"tags": ("",)}, errors.InvalidTag),
        ({"tags": ("a,b",)}, errors.InvalidTag),
        ({"tags": ("x" * 65,)}, errors.InvalidTag),
        ({"tags": tuple(f"t{n}" for n in range(33))}, errors.InvalidTag),
        ({"tags": ("a\x00",)}, errors.InvalidText),
        ({"keywords": ("x" * 65,)}, errors.InvalidKeyword),
        ({"keywords": tuple(f"k{n}" for n in range(65))}, errors.InvalidKeyword),
        ({"keywords": ("\udfff",)}, errors.InvalidText),
        ({"importance": -0.01}, errors.InvalidImportance),
        ({"importance": 1.01}, errors.InvalidImportance),
        ({"importance": float("nan")}, errors.InvalidImportance),
        ({"importance": float("inf")}, errors.InvalidImportance),
        ({"importance": True}, errors.InvalidImportance),
        ({"importance": "0.5"}, errors.InvalidImportance),
        ({"created_at": NOW + timedelta(days=2)}, errors.InvalidTime),
        ({"created_at": datetime.min.replace(tzinfo=UTC)}, errors.InvalidTime),
        (
            {"valid_to": datetime.max.replace(tzinfo=timezone(-timedelta(hours=9)))},
            errors.InvalidTime,
        ),
        ({"valid_from": NOW, "valid_to": NOW}, errors.InvalidTime),
        ({"provenance": Provenance(agent="x" * 301)}, errors.InvalidProvenance),
        ({"provenance": Provenance(session="a\x00")}, errors.InvalidText),
    ],
)
def test_what_breaks_a_rule_is_refused_with_its_own_error(
    fields: dict[str, Any], error: type[errors.InvalidInput]
) -> None:
    with pytest.raises(error) as caught:
        admitted(**fields)
    assert type(caught.value) is error
    assert caught.value.message
    assert caught.value.hint


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"content": "x" * 1_500}, ["1,500", "1,400"]),
        ({"content": "ab\x00"}, ["U+0000", "position 2"]),
        ({"category": "stuff"}, ["'stuff'"]),
        ({"tags": ("a,b",)}, ["'a,b'"]),
        ({"importance": 7}, ["7"]),
        ({"created_at": NOW + timedelta(days=2)}, ["2026-03-03", "future"]),
    ],
)
def test_a_refusal_names_the_value_and_the_limit(fields: dict[str, Any], told: list[str]) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        admitted(**fields)
    assert all(word in caught.value.message for word in told)


def test_an_unknown_category_is_told_the_known_ones() -> None:
    with pytest.raises(errors.UnknownCategory) as caught:
        admitted(category="stuff")
    assert all(name in caught.value.hint for name in RULES.categories)


@pytest.mark.parametrize(
    ("given_", "canonical"),
    [
        ("Fact", "facts"),
        ("FACTS", "facts"),
        ("  people ", "people"),
        ("person", "people"),
        ("Persons", "people"),
        ("project", "projects"),
        ("decision", "decisions"),
    ],
)
def test_the_twins_of_a_category_fold_to_one(given_: str, canonical: str) -> None:
    assert admitted(category=given_).category == canonical


def test_configured_categories_replace_the_base_set() -> None:
    rules = Rules(categories=("Lab Notes", "stories"))
    assert admit(Draft(content="x", category="lab note"), rules, NOW).category == "Lab Notes"
    assert admit(Draft(content="x", category="story"), rules, NOW).category == "stories"
    with pytest.raises(errors.UnknownCategory):
        admit(Draft(content="x", category="facts"), rules, NOW)


def test_text_is_composed_with_one_kind_of_line_end_and_no_edges() -> None:
    assert admitted(content="  cafe\u0301\r\nau\rlait\n ").content == "caf\xe9\nau\nlait"


def test_inner_spaces_tabs_and_lines_are_the_writers() -> None:
    assert admitted(content="a  b\n\n\tc").content == "a  b\n\n\tc"


def test_the_limit_counts_the_canonical_text() -> None:
    rules = Rules(content_limit=4)
    assert admit(Draft(content="  cafe\u0301 "), rules, NOW).content == "caf\xe9"
    with pytest.raises(errors.ContentTooLong):
        admit(Draft(content="cafes"), rules, NOW)


def test_tags_are_lower_case_without_spaces_and_each_once() -> None:
    assert admitted(tags=("Dark Green", "dark-green", " RED ", "red")).tags == ("dark-green", "red")


def test_keywords_are_each_once_and_blank_ones_left_out() -> None:
    assert admitted(keywords=("two  words", "two words", " ", "Word")).keywords == (
        "two words",
        "Word",
    )


def test_a_time_without_a_zone_is_taken_as_utc_and_others_are_turned_into_it() -> None:
    assert admitted(created_at=datetime(2026, 1, 2, 3)).created_at == datetime(  # noqa: DTZ001
        2026, 1, 2, 3, tzinfo=UTC
    )
    east = timezone(timedelta(hours=9))
    moment = admitted(valid_from=datetime(2026, 1, 2, 3, tzinfo=east)).valid_from
    assert moment is not None
    assert moment.tzinfo is UTC
    assert moment == datetime(2026, 1, 1, 18, tzinfo=UTC)


def test_a_clock_a_little_ahead_is_accepted() -> None:
    ahead = NOW + timedelta(hours=23)
    assert admitted(created_at=ahead).created_at == ahead


def test_blank_provenance_is_none() -> None:
    provenance = admitted(provenance=Provenance(agent=" claude ", session="  ")).provenance
    assert provenance == Provenance(agent="claude")


def test_importance_becomes_a_float() -> None:
    assert isinstance(admitted(importance=1).importance, float)


texts = st.text(alphabet=st.characters(exclude_categories=["Cs"]), max_size=60)
times = st.none() | st.timedeltas(timedelta(0), timedelta(days=9_000)).map(lambda age: NOW - age)


@given(
    content=texts,
    tags=st.lists(texts, max_size=4),
    keywords=st.lists(texts, max_size=4),
    importance=st.floats(0, 1),
    created_at=times,
    origins=st.tuples(texts, texts),
)
def test_what_was_admitted_once_is_admitted_unchanged(
    content: str,
    tags: list[str],
    keywords: list[str],
    importance: float,
    created_at: datetime | None,
    origins: tuple[str, str],
) -> None:
    draft = Draft(
        content=content,
        tags=tuple(tags),
        keywords=tuple(keywords),
        importance=importance,
        created_at=created_at,
        provenance=Provenance(agent=origins[0], source=origins[1]),
    )
    try:
        once = admit(draft, RULES, NOW)
    except errors.InvalidInput:
        return
    assert admit(once, RULES, NOW) == once


@given(st.text())
def test_any_text_is_admitted_or_refused_in_words(content: str) -> None:
    try:
        assert rules_of.check_content(content, 1_400)
    except errors.InvalidInput as error:
        assert error.message  # noqa: PT017


@given(texts)
def test_a_tag_made_canonical_stays_so(tag: str) -> None:
    try:
        once = rules_of.check_tag(tag)
    except errors.InvalidInput:
        return
    assert rules_of.check_tag(once) == once


def test_admission_changes_nothing_else() -> None:
    draft = Draft(content="walrus", category="people", valid_to=NOW)
    assert admit(draft, RULES, NOW) == replace(draft)
