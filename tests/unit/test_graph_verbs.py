"""The verbs of the graph from Python: what they refuse, and what they take from elsewhere."""

from __future__ import annotations

import json
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.graph.importer import Line
from bearinmind.outdates.verdicts import MARK
from bearinmind.testing import FixedClock
from bearinmind.types import Decider, Judgement, Link, LinkKind


def given(**fields: Any) -> str:
    return json.dumps(fields)


@pytest.fixture
def id_(memory: Mind) -> str:
    """A memory that mentions three concepts and relates two."""
    stored = memory.store("Kestrel runs on db-1; ask Dana.", category="facts").memory.id
    lines = [given(memory=stored, triples=[["Kestrel", "runs on", "db-1"]], entities=["Dana"])]
    memory.graph.import_lines(enumerate(lines, 1))
    return stored


def test_ids_of_elsewhere_are_given_beside_the_lines(memory: Mind) -> None:
    here = memory.store("Kestrel runs on db-1.").memory.id
    line = given(id=17, triples=[["Kestrel", "runs on", "db-1"]])

    done = memory.graph.import_lines([(1, line)], same_as={"17": here})

    assert (done.relations, done.mentions, done.bad) == (1, 2, 0)
    assert memory.graph.of_memory(here).relations[0].evidence == (here,)


def test_what_an_import_cannot_take_is_told_line_by_line(memory: Mind, id_: str) -> None:
    gone = memory.store("Gone tomorrow.").memory.id
    memory.delete(gone)
    lines: list[Line] = [
        (3, given(memory=gone, entities=["Dana"])),
        (5, errors.InvalidRecord("the file is damaged from here on")),
    ]

    done = memory.graph.import_lines(lines)

    assert [(problem.line, problem.code) for problem in done.problems] == [
        (3, "invalid_record"),
        (5, "invalid_record"),
    ]
    assert f"memory {gone} is deleted" in done.problems[0].message


def test_an_import_changes_nothing_as_of_before(memory: Mind, id_: str, clock: FixedClock) -> None:
    before = clock()
    clock.advance(hours=1)
    memory.graph.import_lines([(1, given(source="Kestrel", type="uses", target="Valkey"))])

    then = memory.graph.concept("Kestrel", as_of=before)
    now = memory.graph.concept("Kestrel")

    assert [relation.type for relation in then.relations] == ["runs on"]
    assert {relation.type for relation in now.relations} == {"runs on", "uses"}


@pytest.mark.parametrize(
    ("verb", "arguments"),
    [
        ("neighbours", {"concept": "Kestrel", "limit": 0}),
        ("concept", {"concept": "Kestrel", "limit": 10**9}),
        ("path", {"start": "Kestrel", "goal": "Dana", "longest": 99}),
        ("subgraph", {"centre": "Kestrel", "hops": 99}),
        ("hubs", {"containing": "!"}),
        ("hubs", {"categories": ["nonsense"]}),
        ("export", {"to": "dot"}),
    ],
)
def test_what_cannot_be_done_is_refused(
    memory: Mind, id_: str, verb: str, arguments: dict[str, Any]
) -> None:
    with pytest.raises(errors.InvalidInput):
        getattr(memory.graph, verb)(**arguments)


def test_numbers_that_are_no_relation_are_refused(memory: Mind, id_: str) -> None:
    with pytest.raises(errors.RelationNotFound, match="999"):
        memory.graph.retract(999)
    with pytest.raises(errors.RelationNotFound, match="999"):
        memory.graph.resolve(999)


def test_a_concept_cannot_be_merged_with_itself_or_twice(memory: Mind, id_: str) -> None:
    with pytest.raises(errors.AlreadyMerged):
        memory.graph.merge("Dana", "DANA'S")
    memory.graph.merge("Dana", "Kestrel")
    for alias, into in (("Dana", "Kestrel"), ("Kestrel", "Dana"), ("Dana", "db-1")):
        with pytest.raises(errors.Conflict):
            memory.graph.merge(alias, into)


def test_the_graph_of_a_memory_follows_its_merges(memory: Mind, id_: str) -> None:
    memory.graph.merge("Dana", "Kestrel")

    card = memory.graph.of_memory(id_)

    assert {concept.name for found in card.concepts.values() for concept in found} == {
        "kestrel",
        "db-1",
    }


def test_what_is_trusted_less_contradicts_nothing_unless_a_person_says_so(memory: Mind) -> None:
    texts = ("Atlas uses Redis.", "user"), ("Atlas uses Valkey.", "external")
    older, newer = (memory.store(text, trust=trust).memory.id for text, trust in texts)
    memory.work.wait()
    judgement = Judgement(probability=MARK, by=Decider.SCORER)
    link = Link(
        source=newer,
        target=older,
        kind=LinkKind.OUTDATES,
        created_at=memory.get(newer).updated_at,
        judgement=judgement,
    )
    memory._parts.store.add_link(memory.scope, link)
    assert memory.graph.contradictions() == []
    memory.resolve(newer, "newer", older, trust="user")
    [found] = memory.graph.contradictions()
    assert (found.older.target, found.newer.target) == ("redis", "valkey")
