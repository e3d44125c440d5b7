"""Which names are one concept: labelled pairs, and how a new name finds its like."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import canonical
from bearinmind.concepts import Concept, ConceptName, Kind, Mention, Merge, Role
from bearinmind.graph import canonical as neighbours
from bearinmind.graph.canonical import certain, propose, review
from bearinmind.graph.rules import kind_of, stated_aliases
from bearinmind.graph.spellings import CERTAIN, Named, are_distinct, judge, variants
from bearinmind.models import factory
from bearinmind.text.names import name_of

NOW = datetime(2026, 5, 1, tzinfo=UTC)
PAIRS = canonical.load()


def named(label: str) -> Named:
    return Named(label, Kind.TOPIC if label.islower() else kind_of(label))


def score(one: str, other: str) -> float:
    verdict = judge(named(one), named(other))
    return verdict.score if verdict else 0.0


def mention(label: str, role: Role = Role.NAME) -> Mention:
    return Mention(name_of(label), role, named(label).kind, label)


def concept(label: str, **fields: Any) -> Concept:
    held = {"memories": 1, "subjects": 0, **fields}
    return Concept(name=name_of(label), label=label, kind=named(label).kind, **held)


class Graph:
    """Concepts by their names, and which names were asked for."""

    def __init__(self, *concepts: Concept) -> None:
        self.concepts = {each.name: each for each in concepts}
        self.asked: set[ConceptName] = set()

    def __call__(self, names: Collection[ConceptName]) -> dict[ConceptName, Concept]:
        self.asked |= {*names}
        return {name: self.concepts[name] for name in names if name in self.concepts}


def pairs_of(merges: list[Merge]) -> list[tuple[str, str]]:
    return [(merge.alias, merge.into) for merge in merges]


# ---- labelled pairs ----------------------------------------------------------------------------


def test_the_labelled_pairs_are_enough_to_mean_something() -> None:
    assert len(PAIRS) >= 300
    assert 0.4 < sum(pair.same for pair in PAIRS) / len(PAIRS) < 0.6
    assert {pair.split for pair in PAIRS} == {"dev", "test"}


@pytest.mark.parametrize("split", ["dev", "test"])
def test_what_is_certain_is_right_and_what_is_proposed_nearly_always(split: str) -> None:
    pairs = [pair for pair in PAIRS if pair.split == split]
    surely = canonical.count(pairs, lambda pair: canonical.by_rules(pair, CERTAIN))
    proposed = canonical.count(pairs, lambda pair: canonical.by_rules(pair, 0.0))
    assert surely.precision >= 0.98
    assert surely.recall >= 0.65
    assert proposed.precision >= 0.95
    assert proposed.recall >= 0.8


def test_what_is_the_same_by_rule_is_found_from_one_side_or_the_other() -> None:
    sure = [pair for pair in PAIRS if score(pair.one, pair.other) >= CERTAIN]
    missed = [
        pair
        for pair in sure
        if name_of(pair.one) not in variants(pair.other) | {name_of(pair.other)}
        and name_of(pair.other) not in variants(pair.one)
    ]
    assert missed == []


def test_the_shipped_threshold_is_the_one_that_the_development_pairs_choose() -> None:
    dev = [pair for pair in PAIRS if pair.split == "dev" and canonical.is_compared(pair)]
    cosines = dict(zip(dev, canonical.cosines(dev, factory.DEFAULT_EMBEDDER), strict=True))
    assert canonical.threshold(dev, cosines) == neighbours.THRESHOLD


@given(st.sampled_from(PAIRS))
def test_it_does_not_matter_which_of_two_names_comes_first(pair: canonical.Pair) -> None:
    assert score(pair.one, pair.other) == score(pair.other, pair.one)
    assert are_distinct(pair.one, pair.other) == are_distinct(pair.other, pair.one)


@given(st.text(max_size=40))
def test_any_label_has_variants_and_none_is_its_own(label: str) -> None:
    assert name_of(label) not in variants(label)
    assert len(variants(label)) < 100
    assert not are_distinct(label, label)


# ---- a new name --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("parseConfig", "parse-config"),
        ("Dr. Ilse Navrat", "Ilse Navrat"),
        ("Initech Inc.", "Initech"),
        ("the billing service", "billing service"),
        ("migrations", "migration"),
        ("Zürich", "Zuerich"),
        ("J.R.R. Tolkien", "JRR Tolkien"),
        ("Brown & Sons", "Brown and Sons"),
        ("Kubernetes", "k8s"),
    ],
)
def test_another_spelling_of_a_known_name_is_merged_for_certain(new: str, known: str) -> None:
    merges = certain([mention(new)], Graph(concept(known)), NOW)
    assert pairs_of(merges) == [(name_of(new), name_of(known))]
    assert merges[0].merged_at == NOW
    assert merges[0].reason


@pytest.mark.parametrize(
    ("new", "known"),
    [
        ("Continuous Integration", "CI"),
        ("Michael Clayton (film)", "Michael Clayton"),
        ("John F. Kennedy", "John Kennedy"),
        ("The Hague", "Hague"),
    ],
)
def test_what_is_only_likely_is_proposed_and_not_certain(new: str, known: str) -> None:
    graph = Graph(concept(known))
    assert certain([mention(new)], graph, NOW) == []
    assert pairs_of(propose([mention(new)], graph, NOW)) == [(name_of(new), name_of(known))]


def test_a_first_name_is_not_taken_for_a_full_name() -> None:
    graph = Graph(concept("Ilse Navrat"))
    assert propose([mention("Ilse")], graph, NOW) == []


def test_two_new_names_of_one_thing_are_merged_once() -> None:
    new = [mention("parseConfig"), mention("parse-config"), mention("Redis")]
    merges = certain(new, Graph(), NOW)
    assert pairs_of(merges) == [("parseconfig", "parse-config")]


def test_a_spelling_of_an_alias_is_merged_into_the_concept() -> None:
    graph = Graph()
    alias = ConceptName("parse-config")
    graph.concepts[alias] = concept("Config Reader", aliases=(alias,))  # as a store answers
    merges = certain([mention("parseConfig")], graph, NOW)
    assert pairs_of(merges) == [("parseconfig", "config reader")]


def test_the_names_asked_for_do_not_depend_on_how_many_are_known() -> None:
    few, many = Graph(concept("Redis")), Graph(*(concept(f"Redis {n}") for n in range(5_000)))
    for graph in (few, many):
        propose([mention("Redis Cache")], graph, NOW)
    assert few.asked == many.asked
    assert len(few.asked) < 60


def test_function_words_and_single_letters_are_never_merged() -> None:
    graph = Graph(concept("it"), concept("United States"), concept("C"))
    assert propose([mention("IT"), mention("C."), mention("US")], graph, NOW) == []


# ---- a review ----------------------------------------------------------------------------------


def test_a_review_finds_what_is_the_same_among_what_is_there() -> None:
    held = [
        concept("billing-api", memories=9, subjects=2),
        concept("BillingAPI"),
        concept("billing-ui"),
        concept("CI", memories=5),
        concept("Continuous Integration", memories=2),
    ]
    merges = review(held, NOW)
    assert pairs_of(merges) == [
        ("billingapi", "billing-api"),
        ("continuous integration", "ci"),
    ]
    assert [merge.score >= CERTAIN for merge in merges] == [True, False]


def test_a_review_proposes_a_first_name_only_where_one_full_name_has_it() -> None:
    ilse = [concept("Ilse"), concept("Ilse Navrat", memories=3)]
    assert pairs_of(review(ilse, NOW)) == [("ilse", "ilse navrat")]
    two = [*ilse, concept("Ilse Novak")]
    assert review(two, NOW) == []


def test_with_an_embedder_a_review_proposes_near_names_and_never_more_than_that() -> None:
    embedder = factory.choose_embedder("minilm", factory.EmbedderOptions())
    assert embedder is not None
    held = [concept("Barcelona FC"), concept("FC Barcelona"), concept("db-03"), concept("db-04")]
    merges = review(held, NOW, embedder)
    assert pairs_of(merges) == [("fc barcelona", "barcelona fc")]
    assert merges[0].score < CERTAIN
    assert review(held, NOW) == []
    embedder.close()


def test_a_block_that_too_many_share_is_not_compared() -> None:
    labels = [f"team{chr(97 + n % 26)}{chr(97 + n // 26)}" for n in range(200)]
    assert [*neighbours.pairs(labels)] == []
    assert [*neighbours.pairs(["Team Atlas", "team-atlas", "Redis"])] == [(0, 1)]


# ---- what a text says itself -------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "alias", "of"),
    [
        ("Our Continuous Integration (CI) is slow.", "ci", "continuous integration"),
        ("the continuous integration (CI) server", "ci", "continuous integration"),
        ("CI stands for continuous integration here.", "ci", "continuous integration"),
        ("We turned single sign-on (SSO) on.", "sso", "single sign-on"),
    ],
)
def test_an_abbreviation_that_a_text_explains_is_an_alias(text: str, alias: str, of: str) -> None:
    aliases, mentions = stated_aliases(text, [])
    assert [(each.name, each.of) for each in aliases] == [(alias, of)]
    assert {each.name for each in mentions} == {alias, of}


def test_a_name_that_somebody_is_also_known_by_is_an_alias() -> None:
    names = [mention("Robert Zimmerman"), mention("Bob Dylan")]
    aliases, _ = stated_aliases("Robert Zimmerman, also known as Bob Dylan, sings.", names)
    assert [(each.name, each.of) for each in aliases] == [("bob dylan", "robert zimmerman")]


@pytest.mark.parametrize(
    "text",
    [
        "It failed (ERR) twice.",
        "The World Health Organization (WHO) said so.",  # "who" is on every other line
        "Ilse Navrat (Turin) called.",
        "See the notes (CI) of the design meeting.",
    ],
)
def test_what_stands_in_brackets_otherwise_is_no_abbreviation(text: str) -> None:
    assert stated_aliases(text, [])[0] == ()
