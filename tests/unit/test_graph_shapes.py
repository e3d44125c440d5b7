"""Other shapes of the graph in recall, on graphs small enough to know the answer."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import networkx as nx
import pytest

import arms
from bearinmind.concepts import ConceptName, Kind, Mention, Mentioned, Role, Statement
from bearinmind.protocols import Following
from bearinmind.recall.graph_leg import GraphLeg, Spread
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.recall.scores import Calibrated
from bearinmind.store.sqlite import SqliteStore
from bearinmind.text.names import name_of
from bearinmind.types import (
    Candidate,
    Memory,
    MemoryId,
    Query,
    Ranking,
    Scope,
    UserId,
)
from bearinmind_bench.corpus import EmbeddersOfRun, StoredCorpus
from bearinmind_bench.evaluation import EvaluationSet
from bearinmind_bench.product import Product
from research.graph_legs import (
    MentionGraph,
    MentionGraphs,
    OnlyProposed,
    PageRankLeg,
    RecallAgain,
    RelatedView,
    pagerank,
    plainly,
)
from research.graph_shapes import SHAPES, SHIPPED, WITHOUT, Flat, Shape
from support.bench_sets import Row, write_set

ADA = Scope(user=UserId("ada"))
Ask = Callable[..., Query]


@dataclass
class Made:
    """A graph that a test builds memory by memory."""

    store: SqliteStore
    make: Callable[..., Memory]

    def say(self, content: str, *names: str, about: str | None = None) -> MemoryId:
        """A memory that names these, and may be about something."""
        memory = self.make(content)
        self.store.put(ADA, memory)
        named = [_mention(name) for name in names]
        subject = [_mention(about, Role.SUBJECT)] if about else []
        self.store.add_mentions(ADA, {memory.id: [*named, *subject]})
        return memory.id

    def relate(self, source: str, target: str, evidence: MemoryId) -> None:
        stated = Statement(_mention(source), "runs on", _mention(target))
        self.store.add_statements(ADA, [(stated, [evidence])], datetime.now().astimezone(), "test")


def _mention(label: str, role: Role = Role.NAME) -> Mention:
    return Mention(name=name_of(label), role=role, kind=Kind.NAME, label=label)


@pytest.fixture
def graph(path: Path, make: Callable[..., Memory]) -> Iterator[Made]:
    store = SqliteStore(path)
    yield Made(store, make)
    store.close()


def dense(**scores: float) -> Ranking:
    """What the dense leg answers, with a judge that finds everything half alike."""
    found = [Candidate(MemoryId(id_), score, score, score) for id_, score in scores.items()]
    return Ranking(
        leg="dense",
        candidates=tuple(sorted(found, key=lambda each: -each.score)),
        judge=lambda ids: {id_: Candidate(id_, 0.5, 0.5, 0.5) for id_ in ids},
    )


def follow(leg: Following, query: Query, ranking: Ranking) -> dict[MemoryId, float]:
    """The evidence of what a leg leads to."""
    scores = {each.id: each.evidence for each in ranking.candidates}
    found, report = leg(query, [ranking], scores)
    assert report.found == len(found.candidates)
    assert found.follows
    return {candidate.id: candidate.evidence for candidate in found.candidates}


# ---- PageRank ----------------------------------------------------------------------------------


def mentioned(memory: str, concept: str, memories: int = 2) -> Mentioned:
    return Mentioned(MemoryId(memory), ConceptName(concept), Role.NAME, memories, 0)


@pytest.mark.parametrize("damping", [0.5, 0.85])
def test_scores_are_those_of_another_implementation(damping: float) -> None:
    chance = random.Random(5)
    pairs = {(f"m{chance.randrange(40)}", f"c{chance.randrange(15)}") for _ in range(120)}
    edges = [(*pair, 1 + chance.randrange(9)) for pair in sorted(pairs)]
    seeds = {MemoryId("m3"): 3.0, MemoryId("m7"): 1.0, MemoryId("alone"): 0.5}
    theirs = nx.Graph()
    theirs.add_nodes_from(seeds)
    theirs.add_weighted_edges_from(edges)
    expected = nx.pagerank(theirs, damping, personalization=seeds, tol=1e-12, max_iter=500)

    ours = pagerank(
        MentionGraph.build(
            [mentioned(memory, concept, count) for memory, concept, count in edges],
            lambda each: float(each.memories),
        ),
        seeds,
        damping,
    )

    assert ours == pytest.approx({id_: x for id_, x in expected.items() if id_ in ours}, abs=1e-8)
    assert {id_ for id_, x in expected.items() if x > 1e-9 and id_[0] != "c"} == {*ours}


def test_nothing_is_reached_from_nowhere() -> None:
    graph = MentionGraph.build([mentioned("a", "x"), mentioned("b", "x")], plainly)

    assert pagerank(graph, {}) == {}
    assert pagerank(MentionGraph.build([], plainly), {MemoryId("a"): 1.0}).keys() == {"a"}


def test_a_concept_without_weight_joins_nobody() -> None:
    graph = MentionGraph.build(
        [mentioned("a", "x", 100), mentioned("b", "x", 100)],
        lambda each: Spread().specificity(each.memories),
    )

    assert pagerank(graph, {MemoryId("a"): 1.0}).keys() == {"a"}


def test_the_leg_reaches_what_the_nearest_memories_are_joined_with(graph: Made, ask: Ask) -> None:
    near = graph.say("Gannet draws the labels", "Gannet")
    bridged = graph.say("Gannet is restarted by Ilse", "Gannet")
    apart = graph.say("Sluice opens at noon", "Sluice")
    leg = PageRankLeg(graphs=MentionGraphs(graph.store, plainly))

    found = follow(leg, ask("labels"), dense(**{near: 0.8}))

    assert [*found] == [near, bridged]
    assert apart not in found
    assert found[near] == 1.0 > found[bridged] > 0.0


def test_the_leg_goes_no_deeper_than_the_pool_and_may_leave_out_what_is_known(
    graph: Made, ask: Ask
) -> None:
    near = graph.say("Gannet draws the labels", "Gannet")
    others = [graph.say(f"Gannet, number {number}", "Gannet") for number in range(5)]
    graphs = MentionGraphs(graph.store, plainly)

    assert len(follow(PageRankLeg(graphs=graphs), ask(pool=3), dense(**{near: 0.8}))) == 3
    new = follow(PageRankLeg(graphs=graphs, new_alone=True), ask(), dense(**{near: 0.8}))
    assert {*new} == {*others}


def test_a_graph_is_made_once_for_all_moments_and_anew_for_another_time(
    graph: Made, ask: Ask, noon: datetime
) -> None:
    graph.say("Gannet draws the labels", "Gannet")
    graphs, filter_ = MentionGraphs(graph.store, plainly), ask().filter

    assert graphs(filter_) is graphs(replace(filter_, now=noon + timedelta(hours=1)))
    assert graphs(replace(filter_, as_of=noon - timedelta(days=1))).ids == ()


# ---- wrappers of the shipped leg ---------------------------------------------------------------


def test_a_reranker_brings_nothing_in(graph: Made, ask: Ask) -> None:
    near = graph.say("Gannet draws the labels", "Gannet")
    known = graph.say("Gannet: restarted by Ilse", about="Gannet")
    unknown = graph.say("Gannet: bought in May", about="Gannet")
    proposed = dense(**{near: 0.8, known: 0.1})
    leg = GraphLeg(graph.store)

    assert {known, unknown} <= follow(leg, ask("labels"), proposed).keys()
    kept = follow(OnlyProposed(leg), ask("labels"), proposed)
    assert kept[known] == follow(leg, ask("labels"), proposed)[known]
    assert unknown not in kept


def test_over_relations_alone_a_memory_leads_to_what_it_relates(graph: Made, ask: Ask) -> None:
    near = graph.say("Orders runs on Basalt, says Ilse", "Orders", "Basalt", "Ilse")
    related = graph.say("Basalt: a machine", about="Basalt")
    named = graph.say("Ilse: third floor", about="Ilse")
    graph.relate("Orders", "Basalt", near)
    graph.relate("Ilse", "Orders", named)  # another memory says so
    over_relations = GraphLeg(RelatedView(graph.store).as_search())

    assert {related, named} <= follow(GraphLeg(graph.store), ask("?"), dense(**{near: 0.8})).keys()
    found = follow(over_relations, ask("?"), dense(**{near: 0.8}))
    assert related in found
    assert named not in found


def test_related_concepts_lead_on_more_strongly_and_the_others_as_before(
    graph: Made, ask: Ask
) -> None:
    near = graph.say("Orders runs on Basalt, says Ilse", "Orders", "Basalt", "Ilse")
    related = graph.say("Basalt: a machine", about="Basalt")
    named = graph.say("Ilse: third floor", about="Ilse")
    graph.relate("Orders", "Basalt", near)
    query, ranking, uncapped = ask("?"), dense(**{near: 0.8}), Spread(below=0.0)
    view = RelatedView(graph.store, alone=False).as_search()

    plain = follow(GraphLeg(graph.store, uncapped), query, ranking)
    weighted = follow(GraphLeg(view, uncapped), query, ranking)
    assert weighted[related] > plain[related]
    assert weighted[named] == plain[named]


def test_where_every_concept_counts_the_same_only_a_common_one_does_not() -> None:
    assert [Flat(too_common=50).specificity(count) for count in (1, 49, 50)] == [1.0, 1.0, 0.0]


# ---- recalled again ----------------------------------------------------------------------------


@pytest.mark.parametrize(("rounds", "reached"), [(1, 1), (2, 2)])
def test_each_round_finds_what_the_names_of_the_one_before_lead_to(
    graph: Made, ask: Ask, rounds: int, reached: int
) -> None:
    first = graph.say("Gannet draws our labels", "Gannet")
    second = graph.say("Only Navrat may touch Gannet", "Gannet", "Navrat")
    third = graph.say("Navrat sits beside Tolliver", "Navrat", "Tolliver")
    graph.say("Tolliver is away")
    leg = LexicalLeg(graph.store)
    query = ask("who draws labels")
    ranking, _ = leg(query)
    again = RecallAgain(
        search=graph.store, legs=(leg,), fusion=Calibrated(), rounds=rounds, finds=1
    )

    found, report = again(query, [ranking], Calibrated().scores([ranking]))

    gained = [candidate.id for candidate in found.candidates]
    assert [id_ for id_ in (second, third) if id_ in gained] == [second, third][:reached]
    assert first in gained
    assert report.detail["added"] == ["gannet", "navrat"][:reached]


def test_a_query_whose_finds_name_nothing_new_is_not_put_again(graph: Made, ask: Ask) -> None:
    graph.say("Gannet draws our labels", "Gannet")
    graph.say("Only Navrat may touch Gannet", "Gannet")
    leg = LexicalLeg(graph.store)
    query = ask("what does Gannet draw")
    ranking, _ = leg(query)
    again = RecallAgain(search=graph.store, legs=(leg,), fusion=Calibrated())

    assert again(query, [ranking], Calibrated().scores([ranking]))[0].candidates == ()


# ---- every shape in the product ----------------------------------------------------------------

SYSTEMS = ("Gannet", "Sluice", "Marlin", "Osprey", "Tern", "Puffin")
PEOPLE = ("Ilse Navrat", "Odile Brandt", "Jonas Veit", "Mira Tolland", "Pia Corvin", "Ben Ashby")
CHORES = ("labels", "invoices", "payroll", "backups", "alarms", "tickets")


Filled = tuple[EvaluationSet, StoredCorpus]


@pytest.fixture(scope="module")
def bridges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    """Questions whose answer shares nothing with them but a system that another memory names."""
    corpus: list[Row] = []
    queries: list[Row] = []
    for number, (system, person, chore) in enumerate(zip(SYSTEMS, PEOPLE, CHORES, strict=True)):
        corpus += [
            {"id": f"a{number}", "content": f"Our {chore} are made by {system}."},
            {"id": f"b{number}", "content": f"{system}: restarted only with leave of {person}."},
            {"id": f"c{number}", "content": f"Lunch was served at {number} again."},
        ]
        ids = [f"a{number}", f"b{number}"]
        queries.append({"query_id": chore, "text": f"who makes {chore}", "relevant_ids": ids})
    folder = tmp_path_factory.mktemp("sets") / "bridges"
    with arms.filled(write_set(folder, corpus=corpus, queries=queries)) as filled:
        yield filled


def first_three(shape: Shape, filled: Filled) -> list[set[str]]:
    """The three best memories for each query."""
    data, stored = filled
    settings = {**shape.settings, "embedder": "hash"}
    with closing(EmbeddersOfRun()) as embedders:
        product = Product(stored, settings, embedders, following=shape.following)
        product.embed()
        answers = [product.ask(query) for query in data.queries]
    assert product.faults == ()
    assert [answer.degraded for answer in answers] == [()] * len(answers)
    return [{*answer.ranked[:3]} for answer in answers]


@pytest.mark.parametrize("shape", SHAPES, ids=lambda shape: shape.name)
def test_every_shape_answers_soundly(bridges: Filled, shape: Shape) -> None:
    assert all(first_three(shape, bridges))


def test_what_is_shipped_crosses_the_bridge(bridges: Filled) -> None:
    shapes = {shape.name: shape for shape in SHAPES}

    def crossed(name: str) -> int:
        found = first_three(shapes[name], bridges)
        return sum(f"b{number}" in ids for number, ids in enumerate(found))

    assert crossed(WITHOUT) + 2 < crossed(SHIPPED)
