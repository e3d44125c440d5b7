"""Why-not with words and meaning: where both legs have a memory, and the smallest change."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import EmbedderFailure
from bearinmind.models.embedders import Embedders
from bearinmind.models.local import HashEmbedder
from bearinmind.recall.dense import DEPTH
from bearinmind.recall.explain import least_budget
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import FixedClock, counting_ids
from bearinmind.trace import LegPosition, WhyNot
from bearinmind.types import MemoryId, State

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors

Open = Callable[..., Mind]
WORDS = ["walrus", "seal", "otter", "whale", "fish", "ice", "snow", "boat", "harbour", "captain"]


class Watched(HashEmbedder):
    """Counts the queries that it embeds, and fails when it is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.queries: list[str] = []
        self.fails = False

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        return HashEmbedder().embed_memories(texts)

    def embed_query(self, text: str) -> Vector:
        self.queries.append(text)
        if self.fails:
            raise EmbedderFailure("the model is gone")
        return super().embed_query(text)


@pytest.fixture
def embedder() -> Watched:
    return Watched()


@pytest.fixture
def open_both(path: Path, clock: FixedClock, embedder: Watched) -> Iterator[Open]:
    """Opens the store at `path` with both legs and no third; settings are keywords."""
    opened: list[Mind] = []
    new_id = counting_ids()

    def open_(**fields: object) -> Mind:
        alone = {"store": path, "leg_weights": {"graph": 0}}
        chosen = Settings.model_validate(alone | fields)
        among = Embedders.among(embedder)
        opened.append(Mind(SqliteStore(path), chosen, clock=clock, new_id=new_id, embedders=among))
        return opened[-1]

    yield open_
    for memory in opened:
        memory.close()


def filled(memory: Mind, count: int, seed: int = 1) -> list[MemoryId]:
    """So many embedded memories, told at random."""
    chance = random.Random(seed)
    made = []
    for n in range(count):
        said = " ".join(chance.choices(WORDS, k=chance.randint(2, 9)))
        made.append(memory.store(f"{said} n{n}", importance=chance.random()).memory.id)
    memory.work.run()
    return made


def follow(open_both: Open, text: str, answer: WhyNot, **asked: Any) -> list[MemoryId]:
    """Who is recalled when the remedy is followed to the letter."""
    settings, asked = changed(answer, asked)
    return [hit.memory.id for hit in open_both(**settings).recall(text, **asked).hits]


def changed(answer: WhyNot, asked: dict[str, Any]) -> tuple[dict[str, float], dict[str, Any]]:
    """The settings and the question that a remedy asks for."""
    settings, asked = {}, {**asked}
    for name, number in re.findall(r"a (limit|pool|budget) of (\d+)", answer.remedy):
        asked["budget_bytes" if name == "budget" else name] = int(number)
    if "no budget" in answer.remedy:
        asked.pop("budget_bytes")
    if "ask for all" in answer.remedy:
        asked["all"] = True
    if match := re.search(r"near_duplicates = ([\d.]+)", answer.remedy):
        settings["near_duplicates"] = float(match[1])
    if match := re.search(r"ask for the states ([a-z, ]+)", answer.remedy):
        asked["states"] = [word for word in re.split(r", | and ", match[1]) if word in [*State]]
    return settings, asked


def leg_of(answer: WhyNot, name: str) -> LegPosition:
    [position] = [each for each in answer.positions if each.leg == name]
    return position


def test_a_weak_guess_without_evidence_is_told_to_be_asked_for(open_both: Open) -> None:
    memory = open_both()
    filled(memory, 60)
    weak = memory.recall("walrus seal", limit=60).weak
    lonely = [hit for hit in weak if not any(x.evidence > 0 for x in hit.placings.values())]
    assert lonely
    answer = memory.why_not("walrus seal", lonely[-1].memory.id, limit=60)
    assert answer.reason.startswith("unlikely to answer: ")
    assert answer.remedy == "ask for all hits"
    assert lonely[-1].memory.id in follow(open_both, "walrus seal", answer, limit=60)


def test_both_legs_say_where_they_have_the_memory_and_how_sure_they_are(open_both: Open) -> None:
    memory = open_both()
    filled(memory, 60)
    given_ = memory.recall("walrus seal", limit=60, all=True).hits
    below = given_[20]
    answer = memory.why_not("walrus seal", below.memory.id, limit=5, all=True)
    assert answer.remedy == "a limit of 21"
    for name in ("lexical", "dense"):
        position, placing = leg_of(answer, name), below.placings[name]
        assert (position.rank, position.score) == (placing.rank, placing.score)
        assert (position.confidence, position.evidence) == (placing.confidence, placing.evidence)
    note = leg_of(answer, "dense").note
    assert re.fullmatch(
        r"cosine 0\.\d\d, \d\.\d deviations above the mean; the last that was given has \d\.\d",
        note,
    )


def test_the_pool_that_the_dense_leg_needs_is_a_quarter_of_the_rank(open_both: Open) -> None:
    memory = open_both(leg_weights={"lexical": 0, "graph": 0})
    filled(memory, 60)
    hits = memory.recall("walrus seal", pool=60, limit=60, all=True).hits
    deep = next(hit for hit in hits if hit.placings["dense"].rank > 2 * DEPTH)
    rank = deep.placings["dense"].rank
    answer = memory.why_not("walrus seal", deep.memory.id, limit=2, pool=2)
    assert (
        answer.reason
        == f"beyond the pool of 2: place {rank} in the dense leg, which looks at {2 * DEPTH}"
    )
    assert f"a pool of {-(-rank // DEPTH)}" in answer.remedy


def test_a_memory_that_is_not_embedded_yet_says_so(open_both: Open) -> None:
    memory = open_both()
    filled(memory, 12)
    late = memory.store("a ptarmigan").memory
    memory.work.active_space.look_again()
    answer = memory.why_not("walrus", late.id)
    assert answer.reason == "no leg connects it with the query"
    assert leg_of(answer, "dense").note == "not embedded yet"
    assert answer.remedy == "ask with a word it holds (ptarmigan), or give it keywords"
    memory.work.run()
    assert "cosine" in leg_of(memory.why_not("walrus", late.id, limit=1), "dense").note


def test_a_sensitive_memory_is_never_embedded_and_says_so(open_both: Open) -> None:
    memory = open_both()
    filled(memory, 12)
    secret = memory.store("the password of the boat is hunter22", sensitive=True).memory
    memory.work.run()
    answer = memory.why_not("walrus", secret.id)
    assert leg_of(answer, "dense").note == "sensitive memories are never embedded"
    assert "hunter22" not in repr(answer)


def test_a_leg_that_fails_says_so_and_the_other_one_explains(
    open_both: Open, embedder: Watched
) -> None:
    memory = open_both()
    made = filled(memory, 12)
    stored = memory.store("a ptarmigan").memory
    embedder.fails = True
    answer = memory.why_not("walrus", stored.id)
    assert answer.reason == "no leg that could answer connects it with the query"
    assert leg_of(answer, "dense").note.startswith("failed: embedder_failure")
    assert "ptarmigan" in answer.remedy
    assert embedder.queries == ["walrus"]  # whoever fails slowly does so once
    assert any(memory.why_not("walrus", id_, limit=1).remedy for id_ in made)


def test_the_query_is_embedded_once_however_much_is_tried(
    open_both: Open, embedder: Watched
) -> None:
    memory = open_both()
    for id_ in filled(memory, 80)[:10]:
        memory.why_not("walrus seal", id_, limit=1, pool=3, budget_bytes=30)
    assert embedder.queries.count("walrus seal") == 1


def test_of_two_near_duplicates_the_other_one_is_told_who_speaks_for_it(open_both: Open) -> None:
    memory = open_both(near_duplicates=0.8)
    pair = [
        memory.store("the walrus sleeps on the ice all winter long").memory.id,
        memory.store("the walrus sleeps on the cold ice all winter long").memory.id,
    ]
    memory.work.run()
    [hit] = memory.recall("walrus on the ice").hits
    [other] = {*pair} - {hit.memory.id}
    answer = memory.why_not("walrus on the ice", other)
    assert answer.reason == f"says nearly the same as {hit.memory.id}: 95% of the words"
    assert answer.remedy == "near_duplicates = 0.95"
    assert {*follow(open_both, "walrus on the ice", answer)} == {*pair}


@pytest.mark.parametrize("state", [State.EXPIRED, State.SUPERSEDED])
def test_only_the_state_that_is_needed_is_asked_for(
    open_both: Open, clock: FixedClock, state: State
) -> None:
    memory = open_both()
    until = clock() if state is State.EXPIRED else None
    stored = memory.store("walrus in Oslo", valid_to=until).memory
    if state is State.SUPERSEDED:
        memory.store("seal in Bergen", supersedes=[stored.id])
    memory.work.run()
    answer = memory.why_not("walrus", stored.id)
    assert answer.remedy == f"ask for the states {', '.join(sorted(['live', state]))}"
    assert stored.id in follow(open_both, "walrus", answer)


def test_a_live_memory_is_told_to_ask_for_live_ones(open_both: Open) -> None:
    memory = open_both()
    stored = memory.store("walrus").memory
    answer = memory.why_not("walrus", stored.id, states=["superseded"])
    assert answer.remedy == "ask for the states live, superseded"


@pytest.mark.parametrize("seed", range(4))
def test_every_remedy_admits_and_none_smaller_does(open_both: Open, seed: int) -> None:
    chance = random.Random(seed)
    chosen: dict[str, Any] = {
        "near_duplicates": chance.choice([0.0, 0.7]),
        "fusion": chance.choice(["calibrated", "rrf", "convex"]),
    }
    memory = open_both(**chosen)
    made = filled(memory, 40, seed)
    told = 0
    for _ in range(12):
        text = " ".join(chance.sample(WORDS, k=chance.randint(1, 3)))
        asked: dict[str, Any] = {"limit": chance.randint(1, 5), "pool": chance.choice([5, 50])}
        if chance.random() < 0.5:
            asked["budget_bytes"] = chance.randint(10, 120)
        id_ = chance.choice(made)
        answer = memory.why_not(text, id_, **asked)
        if answer.rank is not None or re.match("none|ask with|give", answer.remedy):
            continue
        told += 1
        settings, better = changed(answer, asked)
        loose = open_both(**(chosen | settings))
        assert id_ in [hit.memory.id for hit in loose.recall(text, **better).hits], answer
        smaller = [
            better | {name: better[name] - 1}
            for name in ("limit", "pool", "budget_bytes")
            if " and " not in answer.remedy and better.get(name) != asked.get(name)
        ]
        for less in smaller:  # where one change is enough, one less of it is not
            assert id_ not in [hit.memory.id for hit in loose.recall(text, **less).hits], answer
    assert told


@given(
    sizes=st.lists(st.integers(1, 12), min_size=1, max_size=7),
    budget=st.integers(0, 30),
)
def test_the_least_budget_is_what_trying_every_budget_finds(sizes: list[int], budget: int) -> None:
    def fits(tried: int) -> bool:
        left = tried
        for size in sizes[:-1]:
            left -= size if size <= left else 0
        return sizes[-1] <= left

    assert least_budget(sizes, budget) == next(b for b in range(budget, 200) if fits(b))
