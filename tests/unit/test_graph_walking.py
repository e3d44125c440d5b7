"""Walks over a graph in a real file: neighbours, paths, what lies around, hubs."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from itertools import combinations, pairwise
from pathlib import Path
from typing import Any

import networkx as nx
import pytest

from bearinmind.concepts import Concept, Kind, Mention, Role, Statement
from bearinmind.errors import ConceptNotFound
from bearinmind.graph import lookup, walk
from bearinmind.graph.walk import MEMORIES_EACH
from bearinmind.store.sqlite import SqliteStore
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, MemoryId, Scope, UserId

ADA = Scope(user=UserId("ada"))


def mention(label: str, role: Role = Role.NAME) -> Mention:
    return Mention(name=name_of(label), role=role, kind=Kind.NAME, label=label)


@dataclass
class Made:
    """A graph that a test builds memory by memory."""

    store: SqliteStore
    make: Callable[..., Memory]
    noon: datetime

    @property
    def filter(self) -> Filter:
        return Filter(scope=ADA, now=self.noon + timedelta(days=30))

    def say(self, *labels: str, scope: Scope = ADA, **fields: Any) -> MemoryId:
        """A memory that mentions these."""
        memory = self.make(**fields)
        self.store.put(scope, memory)
        self.store.add_mentions(scope, {memory.id: [mention(label) for label in labels]})
        return memory.id

    def relate(self, source: str, type_: str, target: str, *ids: MemoryId, **times: Any) -> None:
        stated = Statement(mention(source), type_, mention(target), **times)
        self.store.add_statements(ADA, [(stated, ids)], self.noon, "import")

    def concept(self, label: str) -> Concept:
        return lookup.find(self.store, self.filter, label)

    def neighbours(self, label: str, limit: int = 10, **filters: Any) -> walk.Neighbours:
        meant = replace(self.filter, **filters)
        return walk.neighbours(self.store, meant, self.concept(label), limit)

    def path(self, start: str, goal: str, longest: int = 4, **filters: Any) -> walk.Path:
        ends = self.concept(start), self.concept(goal)
        return walk.path(self.store, replace(self.filter, **filters), *ends, longest)


@pytest.fixture
def graph(path: Path, make: Callable[..., Memory], noon: datetime) -> Iterator[Made]:
    store = SqliteStore(path)
    yield Made(store, make, noon)
    store.close()


def labels(found: walk.Neighbours) -> list[str]:
    return [each.concept.label for each in found.found]


def stations(found: walk.Path) -> Sequence[str]:
    return [step.target for step in found.steps]


# ---- neighbours --------------------------------------------------------------------------------


def test_neighbours_are_related_ones_first_then_the_most_specific(graph: Made) -> None:
    for _ in range(20):
        graph.say("Postgres")
    both = graph.say("orders", "Postgres", "Dana")
    graph.say("orders", "Valkey")
    graph.relate("orders", "runs on", "db-1", both)

    found = graph.neighbours("Orders")

    assert labels(found) == ["db-1", "Dana", "Valkey", "Postgres"]
    assert found.found[0].relations[0].type == "runs on"
    assert found.found[1].memories == (both,)


def test_a_neighbour_that_shares_more_memories_comes_before(graph: Made) -> None:
    graph.say("orders", "Dana")
    graph.say("orders", "Valkey")
    graph.say("orders", "Valkey")

    assert labels(graph.neighbours("orders")) == ["Valkey", "Dana"]


def test_what_has_no_room_is_counted(graph: Made) -> None:
    graph.say("orders", "a1", "b1", "c1")

    found = graph.neighbours("orders", limit=2)

    assert labels(found) == ["a1", "b1"]
    assert found.left_out == 1


def test_a_relation_that_ended_joins_nothing_any_more(graph: Made) -> None:
    graph.say("orders")
    graph.relate("orders", "runs on", "db-1", valid_to=graph.noon + timedelta(days=2))

    assert labels(graph.neighbours("orders")) == []
    assert labels(graph.neighbours("orders", now=graph.noon + timedelta(days=1))) == ["db-1"]


def test_only_memories_that_the_filter_admits_join(graph: Made) -> None:
    graph.say("orders", "Dana", category="people")
    graph.say("orders", "Valkey", category="decisions")

    assert labels(graph.neighbours("orders", categories=frozenset({"people"}))) == ["Dana"]


# ---- paths -------------------------------------------------------------------------------------


def test_the_shortest_path_goes_over_memories_and_relations_either_way(graph: Made) -> None:
    seen = graph.say("Dana", "orders")
    graph.relate("cache-01", "serves", "orders")
    graph.relate("cache-01", "runs", "Valkey")

    found = graph.path("Dana", "Valkey")

    assert stations(found) == ["orders", "cache-01", "valkey"]
    assert found.steps[0].memories == (seen,)
    assert found.steps[1].relations[0].source == "cache-01"
    assert [step.source for step in found.steps] == ["dana", "orders", "cache-01"]
    assert stations(graph.path("Valkey", "Dana")) == ["cache-01", "orders", "dana"]


def test_of_equally_short_paths_the_one_over_the_rarer_concept_is_taken(graph: Made) -> None:
    for _ in range(5):
        graph.say("Python")
    graph.say("Dana", "Python", "E4017")
    graph.say("Yuki", "Python", "E4017")

    assert stations(graph.path("Dana", "Yuki")) == ["e4017", "yuki"]


@pytest.mark.parametrize("seed", range(4))
def test_every_path_is_as_short_as_networkx_says(graph: Made, seed: int) -> None:
    chance = random.Random(seed)
    names = [f"c{number}" for number in range(16)]
    known = nx.Graph()
    known.add_nodes_from(names)
    for name in names:
        graph.say(name)
    for _ in range(9):
        together = chance.sample(names, chance.choice([2, 2, 3]))
        graph.say(*together)
        known.add_edges_from(combinations(together, 2))
    for _ in range(4):
        source, target = chance.sample(names, 2)
        graph.relate(source, "uses", target)
        known.add_edge(source, target)
    lengths = dict(nx.all_pairs_shortest_path_length(known, cutoff=4))

    for start, goal in combinations(names, 2):
        found = graph.path(start, goal)
        assert found.is_found == (goal in lengths[start])
        assert len(found.steps) == lengths[start].get(goal, 0)
        assert all(known.has_edge(step.source, step.target) for step in found.steps)


def test_a_path_longer_than_allowed_is_not_found(graph: Made) -> None:
    chain = [f"c{number}" for number in range(6)]
    for one, other in pairwise(chain):
        graph.say(one, other)

    assert not graph.path("c0", "c5", longest=4).is_found
    assert stations(graph.path("c0", "c5", longest=5)) == ["c1", "c2", "c3", "c4", "c5"]


def test_two_names_of_one_concept_need_no_step(graph: Made) -> None:
    graph.say("Dana")

    found = graph.path("Dana", "dana's")

    assert found.is_found
    assert not found.steps


def test_a_path_says_which_hubs_it_did_not_look_at_whole(graph: Made) -> None:
    for number in range(MEMORIES_EACH + 5):
        graph.say("orders", f"x{number}")
    graph.say("Dana", "far away")

    found = graph.path("orders", "Dana")

    assert not found.is_found
    assert found.partly == ("orders",)


def test_hubs_of_a_wide_level_are_passed_over_and_named(graph: Made) -> None:
    spread = [f"x{number}" for number in range(walk.WIDEST)]
    for _ in range(3):
        graph.say("Python")
    graph.say("Dana", "Python", *spread)
    graph.say("Python", "Yuki")
    graph.say("Yuki", "Mira", "y1", *[f"z{number}" for number in range(walk.WIDEST)])

    found = graph.path("Dana", "Mira", longest=3)

    assert "python" in found.passed_over


def test_no_path_leads_over_another_users_memories(graph: Made) -> None:
    bob = Scope(user=UserId("bob"))
    graph.say("Dana")
    graph.say("Valkey")
    graph.say("Dana", "Valkey", scope=bob, owner=UserId("bob"))

    assert not graph.path("Dana", "Valkey").is_found
    assert labels(graph.neighbours("Dana")) == []


# ---- all around --------------------------------------------------------------------------------


def test_a_subgraph_holds_what_joins_any_two_of_its_concepts(graph: Made) -> None:
    graph.say("orders", "Dana")
    graph.say("Dana", "Yuki")
    graph.say("Yuki", "payments")
    graph.relate("orders", "runs on", "db-1")
    graph.relate("db-1", "is backed up by", "Dana")

    one = walk.subgraph(graph.store, graph.filter, graph.concept("orders"), 1, 10)
    two = walk.subgraph(graph.store, graph.filter, graph.concept("orders"), 2, 10)

    assert [each.label for each in one.concepts] == ["orders", "db-1", "Dana"]
    assert {relation.type for relation in one.relations} == {"runs on", "is backed up by"}
    assert [(pair.one, pair.other) for pair in one.together] == [("dana", "orders")]
    assert [each.label for each in two.concepts] == ["orders", "db-1", "Dana", "Yuki"]


def test_a_subgraph_keeps_to_its_limit_and_counts_the_rest(graph: Made) -> None:
    graph.say("orders", "a1", "b1", "c1")

    found = walk.subgraph(graph.store, graph.filter, graph.concept("orders"), 2, 3)

    assert len(found.concepts) == 3
    assert found.left_out == 1


def test_hubs_are_counted_among_the_memories_that_are_meant(graph: Made) -> None:
    graph.say("orders", "Dana", category="people")
    graph.say("orders", category="facts")

    every = walk.hubs(graph.store, graph.filter, 10)
    people = walk.hubs(graph.store, replace(graph.filter, categories=frozenset({"people"})), 10)

    assert [(each.label, each.memories) for each in every] == [("orders", 2), ("Dana", 1)]
    assert [(each.label, each.memories) for each in people] == [("Dana", 1), ("orders", 1)]
    assert [each.label for each in walk.hubs(graph.store, graph.filter, 10, containing="an")] == [
        "Dana"
    ]


# ---- names -------------------------------------------------------------------------------------


def test_an_unknown_name_is_answered_with_near_spellings(graph: Made) -> None:
    graph.say("Dana Okafor", "orders cache", "Postgres")

    for typed, meant in {"dana okafr": "Dana Okafor", "cache": "orders cache"}.items():
        with pytest.raises(ConceptNotFound) as caught:
            graph.concept(typed)
        assert f"`{meant}`" in caught.value.hint


def test_a_name_like_no_other_is_answered_with_where_to_look(graph: Made) -> None:
    graph.say("Dana Okafor")

    for typed in ("zzzzqqq", "!!", ""):
        with pytest.raises(ConceptNotFound, match="no memory mentions") as caught:
            graph.concept(typed)
        assert "hubs" in caught.value.hint


def test_a_concept_is_counted_among_the_memories_that_are_meant(graph: Made) -> None:
    graph.say("Dana", category="people")
    graph.say("Dana", category="facts")
    facts = replace(graph.filter, categories=frozenset({"facts"}))

    assert graph.concept("Dana").memories == 2
    assert lookup.find(graph.store, facts, "Dana").memories == 1


def test_a_concept_of_memories_that_are_not_meant_is_not_found(graph: Made) -> None:
    graph.say("Dana", category="people")
    facts = replace(graph.filter, categories=frozenset({"facts"}))

    with pytest.raises(ConceptNotFound, match="no memory that is meant"):
        lookup.find(graph.store, facts, "Dana")
