"""What the extractor without a model reads in a memory."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from bearinmind.concepts import Kind, Role
from bearinmind.graph import rules
from bearinmind.text.names import name_of
from bearinmind.types import Memory

MakeMemory = Callable[..., Memory]


@pytest.mark.parametrize(
    ("content", "about"),
    [
        ("Gannet: at most 6 replicas.", ["Gannet"]),
        ("Ilse Navrat wants requests as a ticket.", ["Ilse Navrat"]),
        ("Brannagh & Daughter send paper statements only.", ["Brannagh & Daughter"]),
        ("zenith.py must stay importable without pyarrow.", ["zenith.py"]),
        ("Lumo 11 hangs about once a month.", ["Lumo 11"]),
        # Who begins a sentence in lower case writes a name as it is spelled.
        ("sluice aborts unless a key is plugged in.", ["sluice"]),
        ("The Mole harbour office opens at nine.", ["Mole"]),
        ("We moved everything to the new office.", []),
        ("Someone wrote a letter.", []),
        ("Deploys to the search service happen on Tuesdays.", ["Deploys"]),
        ("Booked the night train.", []),
        ("Code reviews are due within a day.", ["Code reviews", "Code"]),
        ("The search service falls over at night.", ["search service"]),
        ("Ask Wei Zhang about the pricing model.", ["Wei Zhang"]),
        ("Audrey has four dogs: Pepper and Panda among them.", ["Audrey"]),
        ("", []),
    ],
)
def test_a_memory_is_about_its_label_or_the_name_it_begins_with(
    content: str, about: list[str]
) -> None:
    assert rules.subjects(content) == about


def test_a_title_line_is_what_the_memory_is_about_with_and_without_its_bracket() -> None:
    content = "Theodred II (Bishop of Elmham)\nTheodred II was a medieval bishop."

    assert rules.subjects(content) == ["Theodred II (Bishop of Elmham)", "Theodred II"]


def test_a_place_is_known_without_what_it_lies_in() -> None:
    assert rules.subjects("Darial, Pakistan\nDarial is a town.")[-1] == "Darial"


def test_a_first_line_that_is_a_sentence_is_no_title() -> None:
    assert rules.subjects("It rained.\nGannet was down.") == []


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("our crash reports land in Sundew.", ["Sundew"]),
        ("codes are signed with the key osprey-2.", ["osprey-2"]),
        ("It runs on db-stage-3.internal.example.", ["db-stage-3.internal.example"]),
        ("fixed by parseConfig in src/app/main.py", ["parseConfig", "src/app/main.py"]),
        ("A film by Edwin L. Marin.", ["Edwin L. Marin"]),
        ("the tablet I take; Code was frozen, Dima and Jonas left.", ["Dima", "Jonas"]),
        ("Deploys work. Nobody liked Deploys.", ["Deploys", "Deploys"]),
        ("it is on branch `stable-eu`", ["stable-eu"]),
        ("I. V. Sasi directed it.", ["I. V. Sasi"]),
        (
            "It was written by Ada Lovelace and Charles Babbage.",
            ["Ada Lovelace", "Charles Babbage"],
        ),
        ("The Department of Trade and Industry pays.", ["Department of Trade and Industry"]),
        ("Dead Mine\nDead Mine is a film.", ["Dead Mine", "Dead Mine"]),
        ("we will come tomorrow and stay.", []),
        ("When it rains, everything stops.", []),
    ],
)
def test_names_are_runs_of_capitals_and_identifiers(content: str, named: list[str]) -> None:
    assert list(rules.names(content)) == named


def test_a_date_is_no_concept(make: MakeMemory) -> None:
    found = rules.read(make("Perrin leaves on Monday 15 November 2025."))

    assert [mention.name for mention in found.mentions] == ["perrin"]


def test_tags_and_keywords_are_topics(make: MakeMemory) -> None:
    found = rules.read(make("it is late", tags=("museum",), keywords=("opening hours",)))

    topics = [(m.name, m.role) for m in found.mentions if m.kind is Kind.TOPIC]
    assert topics == [("museum", Role.TAG), ("opening hours", Role.KEYWORD)]


def test_what_a_memory_is_about_it_does_not_merely_name(make: MakeMemory) -> None:
    found = rules.read(make("Gannet draws labels, as Petra says of Gannet."))

    roles = {mention.name: mention.role for mention in found.mentions}
    assert roles == {"gannet": Role.SUBJECT, "petra": Role.NAME}


def test_what_is_stated_in_plain_words_becomes_a_relation(make: MakeMemory) -> None:
    [stated] = rules.read(make("Gannet runs on Kestrel.")).statements

    assert (stated.source.name, stated.type, stated.target.name) == ("gannet", "runs on", "kestrel")


def test_an_abbreviation_that_is_explained_is_an_alias(make: MakeMemory) -> None:
    [alias] = rules.read(make("We use Continuous Integration (CI) everywhere.")).aliases

    assert (alias.name, alias.of) == ("ci", "continuous integration")


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("cache-01.example.org", Kind.HOST),
        ("10.0.0.12", Kind.HOST),
        ("E11000", Kind.IDENTIFIER),
        ("parseConfig", Kind.IDENTIFIER),
        ("Gannet", Kind.NAME),
        ("Ilse Navrat", Kind.NAME),
    ],
)
def test_a_kind_is_told_by_the_looks_of_a_name(text: str, kind: Kind) -> None:
    assert rules.kind_of(text) is kind


@pytest.mark.parametrize("text", ["Ilse Navrat", "ILSE NAVRAT", "Ilse Navrat's", "ilse  navrat"])
def test_spellings_that_readers_take_for_the_same_are_one_name(text: str) -> None:
    assert name_of(text) == "ilse navrat"


def test_a_thing_that_two_memories_call_the_same_is_one_concept(make: MakeMemory) -> None:
    texts = (
        "Deploys to the search service happen on Tuesdays.",
        "Who restarts our search service?",
    )
    found = [{mention.name for mention in rules.read(make(text)).mentions} for text in texts]

    assert found[0] & found[1] == {"search service"}


def test_an_ordinary_word_that_a_memory_begins_with_is_its_topic_and_no_name(
    make: MakeMemory,
) -> None:
    found = rules.read(make("Deploys happen on Tuesdays. Code is frozen, I think.")).mentions

    assert {(mention.name, mention.kind) for mention in found} == {
        ("deploys happen", Kind.TOPIC),
        ("deploys", Kind.TOPIC),
    }


def test_amounts_are_no_concepts(make: MakeMemory) -> None:
    memory = make("It took 22.50 for 512 GB, and 0.9 more in 2026.")

    assert rules.read(memory).mentions == ()
