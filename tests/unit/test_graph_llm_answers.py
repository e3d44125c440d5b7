"""What a model says is in memories, held against their texts."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.concepts import Extraction, Kind, Role
from bearinmind.graph.llm_answers import (
    MOST_ENTITIES,
    MOST_TRIPLES,
    CheckedAnswer,
    Flaw,
    canonical_type,
    check_answer,
)
from bearinmind.text.names import name_of

TEXT = "Ilse Navrat's boat, the Petrel, has been moored at Lindau since 2024; Ilse Navrat sails it."
NAMES = [{"name": "Ilse Navrat", "kind": "person"}, {"name": "Petrel", "kind": "work"}]
OWNS = {"source": "Ilse Navrat", "type": "owns", "target": "Petrel"}


def _containers(inner: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    keys = st.sampled_from(["id", "name", "kind", "source", "type", "target", "entities"])
    return st.lists(inner, max_size=4) | st.dictionaries(keys, inner, max_size=4)


def answer(entities: object = NAMES, triples: object = (OWNS,), **more: object) -> dict[str, Any]:
    return {"id": "aaaa", "entities": entities, "triples": triples} | more


def reading(*items: object, text: str = TEXT) -> CheckedAnswer:
    return check_answer(json.dumps({"memories": items}), {"aaaa": text, "bbbb": "Nothing here."})


def one(*items: object, text: str = TEXT) -> Extraction:
    return reading(*items, text=text).extractions["aaaa"]


def names(extraction: Extraction) -> list[str]:
    return [mention.name for mention in extraction.mentions]


def test_names_and_triples_become_mentions_and_statements() -> None:
    found = one(answer(about="Petrel"))

    person, boat = found.mentions
    assert person == ("ilse navrat", Role.NAME, Kind.PERSON, "Ilse Navrat")
    assert boat == ("petrel", Role.SUBJECT, Kind.WORK, "Petrel")
    [statement] = found.statements
    assert (statement.source, statement.type, statement.target) == (person, "owns", boat)
    assert 0 < statement.weight < 1


@pytest.mark.parametrize(
    "spelled", ["ILSE NAVRAT", "ilse  navrat", "Ilse Navrat's", '"Ilse Navrat"']
)
def test_a_name_is_the_same_however_the_model_spells_it_and_labelled_as_in_the_text(
    spelled: str,
) -> None:
    found = one(answer([{"name": spelled, "kind": "person"}], []))

    assert [(mention.name, mention.label) for mention in found.mentions] == [
        ("ilse navrat", "Ilse Navrat")
    ]


@pytest.mark.parametrize(
    ("name", "flaw"),
    [
        ("Titanic", Flaw.NOT_IN_TEXT),
        ("Ilse Petrel", Flaw.NOT_IN_TEXT),
        ("Navrat Ilse", Flaw.NOT_IN_TEXT),
        ("Lind", Flaw.NOT_IN_TEXT),  # a part of a word
        ("it", Flaw.NOT_A_NAME),
        ("2024", Flaw.NOT_A_NAME),
        ("", Flaw.NOT_A_NAME),
        ("!?", Flaw.NOT_A_NAME),
        ("Petrel has been moored at Lindau since 2024", Flaw.TOO_LONG),
        ("x" * 10_000, Flaw.TOO_LONG),
        (None, Flaw.MALFORMED),
        (["Petrel"], Flaw.MALFORMED),
    ],
)
def test_what_the_text_does_not_name_is_dropped_and_counted(name: object, flaw: Flaw) -> None:
    found = reading(answer([{"name": name, "kind": "person"}, *NAMES]))

    assert names(found.extractions["aaaa"]) == ["ilse navrat", "petrel"]
    assert +found.flaws == {flaw: 1}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        ("Person", Kind.PERSON),
        ("organization", Kind.ORGANISATION),
        ("vessel", Kind.NAME),
        (None, Kind.NAME),
        ({"a": 1}, Kind.NAME),
    ],
)
def test_a_kind_that_is_none_of_ours_makes_it_a_name(kind: object, expected: Kind) -> None:
    [mention] = one(answer([{"name": "Petrel", "kind": kind}], [])).mentions

    assert mention.kind is expected


@pytest.mark.parametrize(
    ("triple", "flaw"),
    [
        (OWNS | {"target": "Titanic"}, Flaw.LOOSE),
        (OWNS | {"target": "Lindau"}, Flaw.LOOSE),  # in the text, but not among the entities
        (OWNS | {"target": "Ilse Navrat"}, Flaw.LOOSE),
        (OWNS | {"type": "is the owner of the boat"}, Flaw.TOO_LONG),
        (OWNS | {"type": "owns" * 100}, Flaw.TOO_LONG),
        (OWNS | {"type": ""}, Flaw.MALFORMED),
        (OWNS | {"type": 7}, Flaw.MALFORMED),
        ({"source": "Petrel"}, Flaw.MALFORMED),
        (["Ilse Navrat", "owns", "Petrel"], Flaw.MALFORMED),
        ("Ilse owns Petrel", Flaw.MALFORMED),
    ],
)
def test_a_triple_that_cannot_be_used_is_dropped_and_the_others_stay(
    triple: object, flaw: Flaw
) -> None:
    found = reading(answer(triples=[triple, OWNS]))

    assert len(found.extractions["aaaa"].statements) == 1
    assert +found.flaws == {flaw: 1}


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("Runs On", "runs on"),
        ("  works_at ", "works at"),
        ("is-part-of", "is part of"),
        ("was written by\nthe", "was written by the"),
        ("a b c d e f", ""),
        ("…", ""),
    ],
)
def test_a_type_is_a_few_words_in_lower_case(said: str, expected: str) -> None:
    assert canonical_type(said) == expected


def test_the_same_triple_twice_is_one_statement() -> None:
    assert len(one(answer(triples=[OWNS, OWNS | {"type": "OWNS"}])).statements) == 1


@pytest.mark.parametrize(
    ("dates", "begun", "ended"),
    [
        ({"valid_from": "2024"}, (2024, 1, 1), None),
        ({"valid_to": "2024"}, None, (2025, 1, 1)),
        ({"valid_from": "2024-05", "valid_to": "2024-12"}, (2024, 5, 1), (2025, 1, 1)),
        ({"valid_from": "2024-05-31", "valid_to": "2024-05-31"}, (2024, 5, 31), (2024, 6, 1)),
        ({"valid_from": "2024-05-31T10:00:00Z"}, (2024, 5, 31), None),
    ],
)
def test_a_date_that_the_text_gives_is_when_it_held(
    dates: dict[str, str], begun: tuple[int, int, int] | None, ended: tuple[int, int, int] | None
) -> None:
    [statement] = one(answer(triples=[OWNS | dates])).statements

    assert statement.valid_from == (datetime(*begun, tzinfo=UTC) if begun else None)
    assert statement.valid_to == (datetime(*ended, tzinfo=UTC) if ended else None)


@pytest.mark.parametrize(
    "said", ["1999", "2024-13", "2024-02-30", "9999", "last week", "", None, 2024, ["2024"]]
)
def test_any_other_date_is_dropped_and_the_statement_stays(said: object) -> None:
    text = f"{TEXT} 9999" if said == "9999" else TEXT

    [statement] = one(answer(triples=[OWNS | {"valid_to": said}]), text=text).statements

    assert statement.valid_to is None


def test_a_span_that_ends_before_it_begins_is_none() -> None:
    dates = {"valid_from": "2024-06", "valid_to": "2024-05"}

    [statement] = one(answer(triples=[OWNS | dates])).statements

    assert (statement.valid_from, statement.valid_to) == (None, None)


def test_too_many_are_cut_to_a_bound() -> None:
    many = [f"Item{number}" for number in range(100)]
    entities = [{"name": name, "kind": "topic"} for name in many]
    triples = [{"source": "Item0", "type": "likes", "target": name} for name in many[1:]]

    found = reading(answer(entities, triples), text=" ".join(many))

    assert len(found.extractions["aaaa"].mentions) == MOST_ENTITIES
    assert len(found.extractions["aaaa"].statements) <= MOST_TRIPLES
    assert found.flaws[Flaw.TOO_MANY] == 100 - MOST_ENTITIES + 99 - MOST_TRIPLES


def test_an_answer_for_nobody_is_dropped() -> None:
    found = reading(answer() | {"id": "zzzz"}, answer() | {"id": 1}, "aaaa", None, answer())

    assert [*found.extractions] == ["aaaa"]
    assert found.flaws[Flaw.FOREIGN] == 4


def test_of_two_answers_for_one_memory_neither_is_believed_unless_they_are_the_same() -> None:
    assert reading(answer(), answer(triples=[])).extractions == {}
    assert [*reading(answer(), answer()).extractions] == ["aaaa"]


@pytest.mark.parametrize(
    "item",
    [answer("Ilse"), answer(None), answer(triples="none"), {"id": "aaaa"}, answer({"a": 1})],
)
def test_an_answer_of_the_wrong_form_is_none(item: object) -> None:
    assert reading(item).extractions == {}


def test_no_names_at_all_is_an_answer() -> None:
    assert one(answer([], [])) == Extraction()


@pytest.mark.parametrize(
    "wrap",
    [
        "{}",
        "```json\n{}\n```",
        "<think>is it {{1: 2}}?</think> Sure {{here}}: {} Anything else?",
        '{{"note": "first"}}\n{}',
    ],
)
def test_prose_around_the_answer_is_forgiven(wrap: str) -> None:
    said = wrap.format(json.dumps({"memories": [answer()]}))

    assert [*check_answer(said, {"aaaa": TEXT}).extractions] == ["aaaa"]


def test_a_list_without_its_wrapping_is_taken_too() -> None:
    assert [*check_answer(json.dumps([answer()]), {"aaaa": TEXT}).extractions] == ["aaaa"]


def test_of_an_answer_that_is_cut_off_the_whole_memories_are_kept() -> None:
    said = json.dumps({"memories": [answer(), answer([], []) | {"id": "bbbb"}]})

    for end in range(len(said)):
        found = check_answer(said[:end], {"aaaa": TEXT, "bbbb": "b"}).extractions
        assert [*found] == ["aaaa", "bbbb"][: len(found)]
    assert [*check_answer(said[:-3], {"aaaa": TEXT, "bbbb": "b"}).extractions] == ["aaaa"]


@given(st.recursive(st.none() | st.integers() | st.text() | st.just("aaaa"), _containers))
def test_whatever_json_a_model_says_nothing_is_found_that_is_not_in_the_text(value: Any) -> None:
    found = check_answer(
        json.dumps({"memories": [value, answer(value, value), answer(value)]}), {"aaaa": TEXT}
    )

    text = f" {name_of(TEXT)} "
    for extraction in found.extractions.values():
        assert all(f" {mention.name} " in text for mention in extraction.mentions)
        ends = {end for stated in extraction.statements for end in (stated.source, stated.target)}
        assert {end.name for end in ends} <= {mention.name for mention in extraction.mentions}


@pytest.mark.parametrize("said", ["{" * 100_000, "[" * 100_000, '{"a":' * 100_000, "{}" * 100_000])
def test_an_answer_made_to_be_hard_to_read_is_given_up_soon(said: str) -> None:
    assert check_answer(said, {"aaaa": TEXT}).extractions == {}
