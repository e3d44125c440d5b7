"""Why-not with the graph: the way that leads to a memory, why none does, and remedies that hold."""

from __future__ import annotations

import random
import re
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.recall.leg_positions import CachedLeg
from bearinmind.trace import LegPosition, LegReport, WhyNot
from bearinmind.types import MemoryId, Query, Ranking

Open = Callable[..., Mind]

LABELS = "The labels are drawn by Gannet."
GANNET = "Gannet is looked after by Ilse Navrat."
NAVRAT = "Ilse Navrat sits in room four."
ASKED = "labels"


@pytest.fixture
def by_words(open_memory: Open) -> Open:
    """Opens the store with words and the graph alone, where what each finds is plain to see."""

    def open_(**fields: object) -> Mind:
        return open_memory(embedder="none", **fields)

    return open_


def stored(memory: Mind, *contents: str) -> list[MemoryId]:
    """Memories that are read for the graph."""
    made = [memory.store(content).memory.id for content in contents]
    memory.work.run()
    return made


def by_graph(answer: WhyNot) -> LegPosition:
    [position] = [each for each in answer.positions if each.leg == "graph"]
    return position


def test_the_way_that_led_to_a_memory_is_told(by_words: Open) -> None:
    memory = by_words()
    labels, gannet = stored(memory, LABELS, GANNET)
    answer = memory.why_not(ASKED, gannet, limit=1)
    position = by_graph(answer)
    assert (answer.reason, answer.remedy) == ("below the limit of 1", "a limit of 2")
    assert (position.rank, position.searched) == (1, 1)
    assert position.note.startswith(
        f'via "Gannet": {labels} mentions it, this memory is about it; the surest to start from has'
    )
    [hit] = [hit for hit in memory.recall(ASKED).hits if hit.memory.id == gannet]
    assert position.path == hit.path
    assert position.evidence == hit.placings["graph"].evidence


def test_a_way_of_two_steps_is_told_in_both(by_words: Open) -> None:
    memory = by_words(graph={"hops": 2})
    labels, gannet, navrat = stored(memory, LABELS, GANNET, NAVRAT)
    note = by_graph(memory.why_not(ASKED, navrat, limit=1)).note
    assert note.startswith(
        f'via "Gannet": {labels} mentions it, {gannet} is about it; '
        f'via "Ilse Navrat": {gannet} mentions it, this memory is about it'
    )


def test_what_is_not_read_yet_says_so(by_words: Open) -> None:
    memory = by_words()
    stored(memory, LABELS)
    late = memory.store(GANNET).memory.id
    assert by_graph(memory.why_not(ASKED, late)).note == "not read for the graph yet"
    memory.work.run()
    assert memory.why_not(ASKED, late).rank == 2


def test_a_memory_without_a_concept_says_so(by_words: Open) -> None:
    memory = by_words()
    _, canteen = stored(memory, LABELS, "it closes at three")
    assert by_graph(memory.why_not(ASKED, canteen)).note == "it mentions no concept"


def test_a_memory_of_other_concepts_names_its_own(by_words: Open) -> None:
    memory = by_words()
    *_, other = stored(memory, LABELS, GANNET, "Osprey runs on db-7, near Kestrel.")
    answer = memory.why_not(ASKED, other)
    assert answer.reason == "no leg connects it with the query"
    note = by_graph(answer).note
    assert note.startswith("shares no concept with the 1 it starts from; it mentions ")
    assert '"Osprey"' in note


def test_a_concept_that_too_many_mention_is_told_with_its_number(by_words: Open) -> None:
    memory = by_words(graph={"too_common": 4})
    *_, last = stored(
        memory,
        LABELS,
        *(f"Gannet was restarted on day {n}." for n in range(4)),
        "Gannet has room 4.",
    )
    note = by_graph(memory.why_not(ASKED, last)).note
    assert note.startswith('shares "Gannet" with ')
    assert note.endswith("which 6 memories mention: from 4 on a concept leads nowhere")


def test_a_name_in_the_query_leads_to_what_is_about_it_and_no_further(by_words: Open) -> None:
    memory = by_words()
    about, names = stored(memory, GANNET, "The parcels wait for Gannet.")
    memory.resolve(names, "both", about)  # else the later one may be put first, as the newer state
    answer = memory.recall("gannet")
    assert {hit.memory.id for hit in answer.hits} == {about, names}
    position = by_graph(memory.why_not("gannet", names, limit=1))
    assert position.rank is None
    assert position.note == (
        'the query names "Gannet", which leads to the memories about it, and this one is not'
    )


def test_a_memory_does_not_lead_on_by_what_it_is_about(by_words: Open) -> None:
    memory = by_words()
    about, names = stored(memory, "Gannet draws the labels.", "The parcels wait for Gannet.")
    assert by_graph(memory.why_not("labels", names)).note == (
        f'shares "Gannet" with {about}, which is about it, and leads on only by what else it '
        "mentions"
    )


def test_a_memory_that_stands_as_high_as_its_seed_is_not_lifted(by_words: Open) -> None:
    memory = by_words(graph={"below": 0.8})
    labels, also = stored(memory, LABELS, "Gannet always draws so many labels.")
    position = by_graph(memory.why_not(ASKED, also, limit=1))
    assert position.rank is None
    assert position.note == (
        f'shares "Gannet" with {labels}, which lifts nothing above 80% of its own score'
    )


def test_a_sensitive_memory_is_never_read_and_says_so(by_words: Open) -> None:
    memory = by_words()
    stored(memory, LABELS)
    secret = memory.store("the password of Gannet is hunter22", sensitive=True).memory.id
    memory.work.run()
    answer = memory.why_not(ASKED, secret)
    assert by_graph(answer).note == "sensitive memories are never read for the graph"
    assert "hunter22" not in repr(answer)


def test_a_graph_that_fails_says_so_and_the_others_explain(by_words: Open, path: Path) -> None:
    memory = by_words()
    _, gannet = stored(memory, LABELS, GANNET)
    with closing(sqlite3.connect(path)) as file:
        file.execute("ALTER TABLE mentions RENAME TO elsewhere")
    answer = memory.why_not(ASKED, gannet)
    assert answer.reason == "no leg that could answer connects it with the query"
    assert by_graph(answer).note.startswith("failed: store_failure: ")
    assert re.match(r"ask with a word it holds \(.*gannet.*\), or give it keywords", answer.remedy)


def test_a_graph_that_is_turned_off_has_no_standing(by_words: Open) -> None:
    memory = by_words(leg_weights={"graph": 0})
    _, gannet = stored(memory, LABELS, GANNET)
    assert [each.leg for each in memory.why_not(ASKED, gannet).positions] == ["lexical"]


class Counted:
    """A following leg that counts how often it is asked."""

    name = "counted"

    def __init__(self) -> None:
        self.asked = 0

    def __call__(
        self, query: Query, rankings: Sequence[Ranking], scores: Mapping[MemoryId, float]
    ) -> tuple[Ranking, LegReport]:
        self.asked += 1
        found = len(rankings) + len(scores)
        report = LegReport(leg=self.name, found=found, milliseconds=0, detail={"q": query.text})
        return Ranking(leg=self.name, candidates=()), report


def test_a_limit_or_a_budget_costs_the_graph_nothing(ask: Callable[..., Query]) -> None:
    counted = Counted()
    once = CachedLeg(counted)
    for limit in (1, 2, 3):
        once(ask("walrus", limit=limit, budget_bytes=100 * limit), (), {})
    assert counted.asked == 1
    once(ask("walrus", pool=99), (), {})
    once(ask("seal"), (), {})
    assert counted.asked == 3


def changed(answer: WhyNot, asked: dict[str, Any]) -> dict[str, Any]:
    """The question that a remedy asks for."""
    numbers = re.findall(r"a (limit|pool) of (\d+)", answer.remedy)
    every = {"all": True} if "all hits" in answer.remedy else {}
    return asked | every | {name: int(number) for name, number in numbers}


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("fusion", ["calibrated", "rrf", "convex"])
def test_every_remedy_admits_and_none_smaller_does(by_words: Open, fusion: str, seed: int) -> None:
    """What is tried again goes through the graph again."""
    chance = random.Random(seed)
    names = ["Gannet", "Osprey", "Kestrel", "Merlin", "Ilse Navrat", "Tern"]
    things = ["labels", "parcels", "stickers", "stamps", "boxes"]
    memory = by_words(fusion=fusion)
    made = stored(
        memory,
        *(
            f"{chance.choice(names)} hands the {chance.choice(things)} of lot {n} to "
            f"{chance.choice(names)}."
            for n in range(30)
        ),
    )
    told = 0
    for _ in range(10):
        asked: dict[str, Any] = {"limit": chance.randint(1, 4), "pool": chance.choice([4, 50])}
        text, id_ = chance.choice(things), chance.choice(made)
        answer = memory.why_not(text, id_, **asked)
        if answer.rank is not None or re.match("none|ask with|give", answer.remedy):
            continue
        told += by_graph(answer).rank is not None
        better = changed(answer, asked)
        assert id_ in [hit.memory.id for hit in memory.recall(text, **better).hits], answer
        for name in better.keys() & {"limit", "pool"}:
            if better[name] > asked[name]:
                smaller = better | {name: better[name] - 1}
                given = [hit.memory.id for hit in memory.recall(text, **smaller).hits]
                assert id_ not in given, (name, answer)
    assert told
