"""Reading relations and mentions that were found elsewhere."""

from __future__ import annotations

import contextlib
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.concepts import Role
from bearinmind.errors import InvalidRecord
from bearinmind.graph import importer


def read(**fields: Any) -> importer.ParsedLine:
    return importer.parse_line(json.dumps(fields))


def test_a_line_of_a_memory_gives_its_relations_and_every_concept_once() -> None:
    given = read(
        memory="k7f29qmxt4hd",
        triples=[["Orders", "runs on", "db-1"], ["orders", "owned by", "Dana Okafor"]],
        entities=["Dana Okafor", "Valkey"],
    )

    assert given.memories == ("k7f29qmxt4hd",)
    assert [(s.source.name, s.type, s.target.name) for s in given.statements] == [
        ("orders", "runs on", "db-1"),
        ("orders", "owned by", "dana okafor"),
    ]
    mentioned = {mention.name: mention.label for mention in given.mentions}
    assert mentioned == {
        "orders": "Orders",
        "db-1": "db-1",
        "dana okafor": "Dana Okafor",
        "valkey": "Valkey",
    }
    assert {mention.role for mention in given.mentions} == {Role.NAME}


def test_a_line_may_say_what_the_memory_is_about() -> None:
    given = read(memory="a", subjects=["Orders"], triples=[["orders", "runs on", "db-1"]])

    roles = {mention.name: mention.role for mention in given.mentions}
    assert roles == {"orders": Role.SUBJECT, "db-1": Role.NAME}


def test_the_key_of_a_memory_may_be_id_and_a_number() -> None:
    assert read(id=0, entities=["Carl Rogers"]).memories == ("0",)


def test_a_line_may_be_one_relation_with_its_times_and_evidence() -> None:
    given = read(
        source="orders",
        type="Runs  On",
        target="db-1",
        valid_from="2026-01-01",
        valid_to="2026-03-01T10:00:00+02:00",
        weight=0.5,
        evidence=["aaaa", "bbbb", "aaaa"],
    )

    [stated] = given.statements
    assert stated.type == "runs on"
    assert stated.valid_from == datetime(2026, 1, 1, tzinfo=UTC)
    assert stated.valid_to == datetime(2026, 3, 1, 8, tzinfo=UTC)
    assert stated.weight == 0.5
    assert given.memories == ("aaaa", "bbbb")


def test_among_many_triples_one_that_says_nothing_is_left_out_and_counted() -> None:
    given = read(
        memory="a",
        triples=[
            ["India", "is named", "india"],
            ["India", "borders", "Nepal"],
            ["x" * 201, "is", "y"],
        ],
        entities=["$", "India"],
    )

    assert [statement.type for statement in given.statements] == ["borders"]
    assert given.unusable == 3


def test_a_relation_ends_after_it_begins() -> None:
    with pytest.raises(InvalidRecord, match="is not after valid_from"):
        read(source="a", type="is", target="b", valid_from="2026-02-01", valid_to="2026-01-01")


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("{", "not JSON"),
        (b"\xff\xfe{}", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[1]", "not a JSON object"),
        ("{}", "names no memory"),
        ('{"memory": true, "triples": []}', "names no memory"),
        ('{"memory": "a"}', "no triples, subjects or entities"),
        ('{"memory": "a", "triples": {"a": 1}}', "triples is not a list"),
        ('{"memory": "a", "triples": [["x", "y"]]}', "a list of source, type and target"),
        ('{"memory": "a", "triples": [["x", "is", 3]]}', "the target of a triple is not a text: 3"),
        ('{"memory": "a", "entities": [null]}', "an entity is not a text"),
        ('{"source": "a", "target": "b"}', "the type is not a text"),
        ('{"source": "a", "type": "is"}', "the target is not a text"),
        ('{"source": "a", "type": "is", "target": "A"}', "'a' is itself"),
        ('{"source": "!", "type": "is", "target": "A"}', "the source '!' has no word"),
        ('{"source": "a\\u0000b", "type": "is", "target": "A"}', "control character"),
        ('{"source": "a", "type": "is", "target": "b", "weight": 2}', "the weight 2"),
        ('{"source": "a", "type": "is", "target": "b", "weight": NaN}', "the weight nan"),
        ('{"source": "a", "type": "is", "target": "b", "valid_from": "soon"}', "'soon' is not a"),
        (
            '{"source": "a", "type": "is", "target": "b", "valid_from": "2026", "valid_to": 1}',
            "'2026' is not a time",
        ),
        (
            '{"source": "a", "type": "is", "target": "b", "evidence": "k7"}',
            "evidence is not a list",
        ),
    ],
)
def test_what_is_wrong_with_a_line_is_named(line: str | bytes, said: str) -> None:
    with pytest.raises(InvalidRecord, match=r".") as caught:
        importer.parse_line(line)

    assert said in caught.value.message


_JSON = st.recursive(
    st.none() | st.booleans() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)
_KEYS = st.sampled_from(
    ["memory", "id", "triples", "entities", "source", "type", "target", "valid_from", "weight"]
)


@given(st.dictionaries(_KEYS, _JSON, max_size=6))
def test_no_line_does_more_harm_than_an_error(value: dict[str, Any]) -> None:
    with contextlib.suppress(InvalidRecord):
        assert all(mention.name for mention in importer.parse_line(json.dumps(value)).mentions)
