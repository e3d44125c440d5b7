"""Known names are found in a text whatever their case, and nowhere else."""

from __future__ import annotations

import pytest

from bearinmind.concepts import ConceptName
from bearinmind.text.names import Text, is_distinctive, may_hold, name_of


def found(content: str, *known: str) -> list[str]:
    return [named.label for named in Text(content).named({name_of(name) for name in known})]


@pytest.mark.parametrize(
    ("content", "known", "labels"),
    [
        ("we restarted the orders cache today", "Orders Cache", ["orders cache"]),
        ("The ORDERS   CACHE's disk is full", "orders cache", ["ORDERS   CACHE's"]),
        ("Müller-Lüdenscheidt called", "muller-ludenscheidt", ["Müller-Lüdenscheidt"]),
        ("he lives in Paris, Texas", "Paris, Texas", ["Paris, Texas"]),
        ("the orders. Cache it", "orders cache", []),  # a sentence ends between them
        ("the orders\ncache", "orders cache", []),
        ("the preorders cache", "orders cache", []),  # not a whole word
        ("orders of the cache", "orders cache", []),
        ("it is up to go", "it", []),
        ("it is up to go", "go", []),  # too short to be told from the word
        ("in 1999 it was", "1999", []),
    ],
)
def test_a_name_is_found_as_a_reader_would(content: str, known: str, labels: list[str]) -> None:
    assert found(content, known) == labels


def test_the_longest_name_at_a_place_counts() -> None:
    content = "from new york we flew to york"

    assert found(content, "New York", "York") == ["new york", "york"]
    assert found("from new york", "New York", "York") == ["new york"]
    assert found("the new york times square", "New York", "York Times Square") == [
        "york times square"
    ]


def test_a_name_twice_in_a_text_is_named_once() -> None:
    assert found("valkey is fast; Valkey is small", "valkey") == ["valkey"]


def test_a_name_stands_alone_where_no_longer_known_one_holds_it() -> None:
    york, new_york = name_of("York"), name_of("New York")
    text = Text("from New York to York")

    assert text.around(york) >= {new_york}
    assert text.alone(york, {new_york}) == (york, "York")
    assert Text("from New York").alone(york, {new_york}) is None
    assert Text("from New York").alone(york, set()) == (york, "York")


@pytest.mark.parametrize(
    ("content", "name"),
    [
        ("Ilse Navrat's desk", "ilse navrat"),
        ("see db-stage-3.", "db-stage-3"),
        ("Brown & Sons, the shop", "brown & sons"),
        ("José came", "jose"),
        ("that is Ilse's", "ilse"),
        ("ILSE\tNAVRAT", "ilse navrat"),
    ],
)
def test_the_quick_look_never_misses_what_is_there(content: str, name: str) -> None:
    assert Text(content).alone(ConceptName(name), set()) is not None
    assert may_hold(content, ConceptName(name))


def test_the_quick_look_saves_reading_most_of_the_rest() -> None:
    assert not may_hold("Navrat met Ilse", name_of("Ilse Navrat"))
    assert not may_hold("preorders", name_of("orders"))


@pytest.mark.parametrize("name", ["it", "go", "1999", "the", "of mice", "up to"])
def test_some_names_cannot_be_told_from_other_words(name: str) -> None:
    assert not is_distinctive(name_of(name))


@pytest.mark.parametrize("name", ["sluice", "the hours", "db-stage-3", "lord of the rings"])
def test_most_names_can(name: str) -> None:
    assert is_distinctive(name_of(name))
