"""The graph leg as a part of a recall: what it says of itself, and that it costs no other leg."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Sequence
from contextlib import closing
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.models.embedders import Embedders
from bearinmind.models.local import HashEmbedder
from bearinmind.recall.graph_leg import GraphLeg, Spread
from bearinmind.recall.scores import Calibrated
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import FixedClock
from bearinmind.trace import Answer, LegReport
from bearinmind.types import Candidate, Filter, Hit, MemoryId, Query, Ranking
from bearinmind_bench.audit import faults

Open = Callable[..., Mind]

LABELS = "The labels are drawn by Gannet."
GANNET = "Gannet is looked after by Ilse Navrat."
ASKED = "labels"


@pytest.fixture
def memory(open_memory: Open) -> Mind:
    """Words and the graph alone, where what each finds is plain to see."""
    return open_memory(embedder="none")


def stored(memory: Mind, *contents: str) -> list[MemoryId]:
    """Memories that are read for the graph."""
    made = [memory.store(content).memory.id for content in contents]
    memory.work.run()
    return made


def by_graph(answer: Answer) -> LegReport:
    [report] = [leg for leg in answer.trace.legs if leg.leg == "graph"]
    return report


def hit_of(answer: Answer, id_: MemoryId) -> Hit:
    [hit] = [hit for hit in answer.hits if hit.memory.id == id_]
    return hit


def test_what_the_graph_found_says_how(memory: Mind) -> None:
    labels, gannet = stored(memory, LABELS, GANNET)
    answer = memory.recall(ASKED, all=True)
    hit = hit_of(answer, gannet)
    assert [*hit.placings] == ["graph"]
    assert [(*step,) for step in hit.path] == [(labels, "gannet", "subject", gannet)]
    assert answer.trace.paths == {gannet: hit.path}
    assert hit_of(answer, labels).path == ()
    detail = by_graph(answer).detail
    assert (detail["named"], detail["seeds"], detail["concepts"]) == ([], [labels], 1)
    assert [*faults(answer, memory.settings)] == []


def test_what_the_query_names_is_where_a_way_begins(memory: Mind) -> None:
    _, gannet = stored(memory, LABELS, GANNET)
    answer = memory.recall("who is it that gannet needs?", all=True)
    assert by_graph(answer).detail["named"] == ["gannet"]
    [step] = hit_of(answer, gannet).path
    assert (step.source, step.concept) == (None, "gannet")


def test_a_memory_that_is_served_for_an_older_one_says_how_that_was_found(
    memory: Mind,
) -> None:
    labels, old = stored(memory, LABELS, GANNET)
    new = memory.store("Nobody looks after it any more.", supersedes=[old]).memory.id
    memory.work.run()
    answer = memory.recall(ASKED, all=True)
    hit = hit_of(answer, new)
    assert hit.replaces == (old,)
    assert [(step.source, step.target) for step in hit.path] == [(labels, old)]
    assert [*faults(answer, memory.settings)] == []


# ---- what is missing -----------------------------------------------------------------------------


@pytest.mark.parametrize("extractor", ["rules", "none"])
def test_without_a_graph_the_leg_is_off_and_nothing_is_degraded(
    open_memory: Open, extractor: str
) -> None:
    memory = open_memory(embedder="none", extractor=extractor)
    memory.store(LABELS)
    answer = memory.recall("labels", all=True)
    report = by_graph(answer)
    assert (report.off, report.error, report.partial) == (
        "nothing is read for the graph yet",
        None,
        None,
    )
    assert answer.trace.degraded == ()
    assert len(answer.hits) == 1


@pytest.mark.parametrize(
    ("late", "told"),
    [
        (1, "1 memory is not read for the graph yet"),
        (12, "12 memories are not read for the graph yet"),
        (1_001, "at least 1,000 memories are not read for the graph yet"),
    ],
)
def test_what_is_not_read_yet_is_counted(open_memory: Open, late: int, told: str) -> None:
    memory = open_memory(embedder="none")
    stored(memory, LABELS)
    for n in range(late):
        memory.store(f"late {n}")
    assert memory.recall("labels", all=True).trace.partial == (told,)
    memory.work.run()
    assert memory.recall("labels", all=True).trace.partial == ()


def test_what_another_user_has_not_read_is_not_told(open_memory: Open) -> None:
    ada, eve = (open_memory(embedder="none", user=user) for user in ("ada", "eve"))
    stored(ada, LABELS)
    eve.store(GANNET)
    assert ada.recall("labels").trace.partial == ()
    assert by_graph(eve.recall("gannet")).off == "nothing is read for the graph yet"


def test_a_leg_that_had_nothing_to_start_from_did_not_answer(memory: Mind, path: Path) -> None:
    """Where the only other leg fails, there is no answer to be had from the graph either."""
    stored(memory, LABELS, GANNET)
    assert (
        by_graph(memory.recall("walrus", all=True)).off
        == "no other leg found anything to start from"
    )
    assert memory.recall("walrus", all=True).trace.answered
    with closing(sqlite3.connect(path)) as file:
        file.execute("ALTER TABLE indexed RENAME TO elsewhere")
    broken = memory.recall("labels", all=True)
    assert [told.partition(":")[0] for told in broken.trace.failed] == ["lexical leg failed"]
    assert not broken.trace.answered


@pytest.mark.parametrize("table", ["mentions", "concepts"])
def test_a_broken_graph_costs_the_graph_and_nothing_else(
    memory: Mind, path: Path, table: str
) -> None:
    labels, _ = stored(memory, LABELS, GANNET)
    before = memory.recall(ASKED, all=True)
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"ALTER TABLE {table} RENAME TO elsewhere")
    answer = memory.recall(ASKED, all=True)
    assert [hit.memory.id for hit in answer.hits] == [labels]
    assert answer.hits[0].score == before.hits[0].score
    [told] = answer.trace.degraded
    assert told.startswith("graph leg failed: store_failure: ")
    assert answer.trace.answered
    with closing(sqlite3.connect(path)) as file:
        file.execute(f"ALTER TABLE elsewhere RENAME TO {table}")
    assert len(memory.recall(ASKED, all=True).hits) == 2


# ---- how sure it is ------------------------------------------------------------------------------


def led(
    path: Path, memory: Mind, ask: Callable[..., Query], seed: Candidate
) -> Sequence[Candidate]:
    """What the leg goes on to from one find of another leg."""
    rankings = [Ranking(leg="lexical", candidates=(seed,))]
    filter_ = Filter(scope=memory.scope, now=FixedClock()())
    leg = GraphLeg(SqliteStore(path), Spread())
    ranking, _ = leg(ask(filter=filter_), rankings, Calibrated().scores(rankings))
    return ranking.candidates


@pytest.mark.parametrize("confidence", [0.2, 1.0])
def test_a_memory_is_no_surer_than_the_one_that_led_there(
    memory: Mind, path: Path, ask: Callable[..., Query], confidence: float
) -> None:
    labels, gannet = stored(memory, LABELS, GANNET)
    [found] = led(path, memory, ask, Candidate(labels, 1.0, confidence, 1.2))
    assert found.id == gannet
    assert 0.2 < found.evidence < 1.0
    assert found.confidence == min(found.evidence, confidence)


@pytest.mark.parametrize(
    "changes", [{"hops": 1}, {"seeds": 2}, {"too_common": 1}, {"hops": 2.0, "seeds": 0}]
)
def test_the_weights_of_the_leg_may_be_any_numbers(
    open_memory: Open, changes: dict[str, float]
) -> None:
    memory = open_memory(embedder="none", graph=changes)
    stored(memory, LABELS, GANNET)
    assert memory.recall(ASKED, all=True).trace.degraded == ()


@pytest.mark.parametrize("fusion", ["calibrated", "rrf", "convex"])
def test_answers_of_three_legs_keep_every_promise(
    path: Path, clock: FixedClock, fusion: str
) -> None:
    chosen = Settings(store=path, fusion=fusion)
    hashed = Embedders.among(HashEmbedder())
    memory = Mind(SqliteStore(path), chosen, clock=clock, embedders=hashed)
    stored(memory, LABELS, GANNET, "Ilse Navrat sits in room four.", "The canteen is closed.")
    for text in (ASKED, "gannet", "where does Ilse Navrat sit?", "nothing of this"):
        answer = memory.recall(text, all=True)
        assert [*faults(answer, memory.settings)] == []
    assert {leg for hit in answer.hits for leg in hit.placings} <= {"lexical", "dense", "graph"}
    memory.close()
