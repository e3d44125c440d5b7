"""Relations that a text states in so many words, held to labelled sentences."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.concepts import Kind, Mention, Role
from bearinmind.graph.patterns import FUNCTIONAL, TABLE, statements
from bearinmind.text.names import name_of

LABELLED = Path(__file__).parent / "labelled" / "relations.jsonl"
ROWS: list[dict[str, Any]] = [json.loads(line) for line in LABELLED.read_text("utf-8").splitlines()]

Triple = tuple[str, str, str]


def mention(label: str, role: Role = Role.NAME, kind: Kind = Kind.NAME) -> Mention:
    return Mention(name_of(label), role, kind, label)


def found(text: str, subject: str | None, *names: str) -> set[Triple]:
    about = mention(subject, Role.SUBJECT) if subject else None
    said = statements(text, about, [mention(name) for name in names])
    return {(each.source.label, each.type, each.target.label) for each in said}


def of_row(row: dict[str, Any]) -> set[Triple]:
    return found(row["text"], row["subject"], *row["mentions"])


def test_the_labelled_set_is_large_enough_and_half_of_it_states_nothing() -> None:
    stating = [row for row in ROWS if row["relations"]]
    assert len(ROWS) >= 120
    assert 0.4 < len(stating) / len(ROWS) < 0.6
    assert {row["split"] for row in ROWS} == {"dev", "test"}
    types = {type_ for row in ROWS for _, type_, _ in row["relations"]}
    assert types <= {wording.type for wording in TABLE}
    assert len(types) > 25


@pytest.mark.parametrize("split", ["dev", "test"])
def test_what_is_found_is_nearly_always_right_and_little_is_missed(split: str) -> None:
    right = wrong = missed = 0
    for row in (row for row in ROWS if row["split"] == split):
        said, wanted = of_row(row), {tuple(triple) for triple in row["relations"]}
        right += len(said & wanted)
        wrong += len(said - wanted)
        missed += len(wanted - said)
    assert right / (right + wrong) >= 0.98
    assert right / (right + missed) >= 0.9


@pytest.mark.parametrize("row", [row for row in ROWS if not row["relations"]])
def test_what_is_denied_asked_wished_or_over_is_not_stated(row: dict[str, Any]) -> None:
    assert of_row(row) == set()


def test_the_kind_of_a_subject_decides_what_a_pronoun_may_stand_for() -> None:
    person = mention("Ilse Navrat", Role.SUBJECT, Kind.PERSON)
    host = mention("db-03", Role.SUBJECT, Kind.HOST)
    turin = mention("Turin")

    assert statements("It is located in Turin.", person, [turin]) == []
    assert statements("She lives in Turin.", host, [turin]) == []
    assert len(statements("She lives in Turin.", person, [turin])) == 1
    assert len(statements("It is located in Turin.", host, [turin])) == 1


def test_a_surname_stands_for_the_person_whom_a_memory_is_about() -> None:
    text = "Ilse Navrat is a painter. Navrat lives in Turin."
    assert found(text, "Ilse Navrat", "Turin") == {("Ilse Navrat", "lives in", "Turin")}


def test_a_pronoun_after_a_sentence_about_something_else_stands_for_nothing_known() -> None:
    text = "billing-api is new. Nobody was on call. It runs on db-03."
    assert found(text, "billing-api", "db-03") == set()


def test_names_are_found_in_whatever_case_and_with_accents() -> None:
    assert found("BILLING-API runs on Dünlin.", None, "billing-api", "dunlin") == {
        ("billing-api", "runs on", "dunlin")
    }


def test_a_relation_is_stated_once_however_often_it_is_said() -> None:
    text = "sluice uses Redis. As said, sluice uses Redis."
    assert len(statements(text, None, [mention("sluice"), mention("Redis")])) == 1


def test_nothing_is_related_to_itself() -> None:
    assert found("Redis uses redis.", None, "Redis") == set()


def test_functional_types_are_types_of_the_table() -> None:
    assert {wording.type for wording in TABLE} >= FUNCTIONAL


def test_a_turned_wording_says_the_same_as_its_counterpart() -> None:
    names = ("Team Atlas", "Kepler")
    active = found("Team Atlas owns Kepler.", None, *names)
    passive = found("Kepler is owned by Team Atlas.", None, *names)
    assert active == passive != set()


NAMES = ["X", "Y Z"]
WORDS = [
    "runs on",
    "is a",
    "film directed by",
    "was born on 4 May 1950 in",
    "The host",
    "it",
    "not",
]
MARKS = ["not", "(", ")", ",", ".", "\n", "and", "\ue000", "\ue001", "7", "\u2019s", "?", ";"]
PIECES = st.sampled_from([*NAMES, *WORDS, *MARKS])


@given(st.lists(PIECES, max_size=60))
def test_any_text_is_read_and_only_given_names_are_related(pieces: list[str]) -> None:
    said = statements(" ".join(pieces), mention("X"), [mention("X"), mention("Y Z")])
    assert {name for each in said for name in (each.source.label, each.target.label)} <= {
        "X",
        "Y Z",
    }


def test_a_long_text_without_end_is_read_in_no_time() -> None:
    # Were a pattern to try every way of splitting this, the test would not end.
    text = "X is a " + "new, old and " * 200 + "thing, who, which, " * 200 + "directed by Y"
    assert found(text, "X", "Y") == set()
    assert re.search("directed by", text)
