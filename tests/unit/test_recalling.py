"""The read path from a question to hits, on a real file."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.protocols import Leg
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.scores import Adjustments, ConvexCombination
from bearinmind.recall.selection import Selection
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.trace import LegReport, Superseded
from bearinmind.types import Memory, MemoryId, Query, Ranking, Scope, UserId

SCOPE = Scope(user=UserId("ada"))
Make = Callable[..., Memory]
Ask = Callable[..., Query]


def ids(memory: Mind, text: str, **fields: object) -> list[MemoryId]:
    return [hit.memory.id for hit in memory.recall(text, **fields).hits]  # type: ignore[arg-type]


class BrokenLeg:
    """A leg that cannot answer."""

    name = "dense"

    def __init__(self, error: Exception) -> None:
        self.error = error

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        assert query.text
        raise self.error


def pipeline(store: TemporaryStore, legs: tuple[Leg, ...], executor: ThreadPoolExecutor) -> Recall:
    return Recall(
        store=store,
        legs=legs,
        fusion=ConvexCombination(),
        adjustments=Adjustments(),
        selection=Selection(),
        executor=executor,
    )


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (RuntimeError("secret detail"), "dense leg failed: RuntimeError"),
        (errors.StoreBusy("the model is busy"), "dense leg failed: store_busy: the model is busy"),
    ],
)
def test_a_leg_that_fails_costs_only_its_leg_and_is_named(
    make: Make, ask: Ask, error: Exception, told: str
) -> None:
    store = TemporaryStore()
    memory = make("walrus")
    store.put(SCOPE, memory)
    with ThreadPoolExecutor() as executor:
        legs: tuple[Leg, ...] = (BrokenLeg(error), LexicalLeg(store))
        answer = pipeline(store, legs, executor)(ask("walrus"))
        alone = pipeline(store, (BrokenLeg(error),), executor)(ask("walrus"))
    assert [hit.memory for hit in answer.hits] == [memory]
    assert answer.trace.degraded == alone.trace.degraded == (told,)
    assert alone.hits == ()
    assert [leg.leg for leg in answer.trace.legs] == ["dense", "lexical"]


def test_recall_never_writes(path: Path, memory: Mind) -> None:
    for n in range(20):
        memory.store(f"walrus number{n}")
    memory.link(ids(memory, "walrus")[0], "see-also", ids(memory, "walrus")[1])
    with closing(sqlite3.connect(path)) as watcher:
        before = watcher.execute("PRAGMA data_version").fetchone()
        files = {file.name: file.read_bytes() for file in path.parent.glob(f"{path.name}*")}
        for text in ("walrus", "number7", "", "unknown words", "'; DROP TABLE memories; --"):
            memory.recall(text, states=["live", "superseded"])
        memory.why_not("walrus", ids(memory, "number3")[0], limit=1)
        memory.list()
        memory.stats()
        memory.check()
        assert watcher.execute("PRAGMA data_version").fetchone() == before
        for name in (path.name, f"{path.name}-wal"):
            assert (path.parent / name).read_bytes() == files[name], name


def test_a_time_in_the_question_lifts_what_is_from_it(
    open_memory: Callable[..., Mind], clock: FixedClock
) -> None:
    question = "what was decided about the walrus last week?"
    memory = open_memory()
    earlier = memory.store("decided about the walrus: more fish").memory
    clock.advance(days=60)
    last_week = memory.store("about the walrus it was decided at length: a pool").memory
    memory.resolve(last_week.id, "both", earlier.id)  # two decisions, not two states of one
    clock.advance(days=7)

    assert ids(memory, question) == [last_week.id, earlier.id]
    assert ids(open_memory(time_bonus=0), question) == [earlier.id, last_week.id]


def test_with_the_lexical_leg_alone_the_order_is_the_lexical_order(
    open_memory: Callable[..., Mind],
) -> None:
    memory = open_memory(importance_weight=0)
    for n in range(12):
        memory.store(f"walrus {'seal ' * (n % 5)}{'fish ' * (n % 3)}{n}", importance=n / 12)
    answer = memory.recall("walrus seal fish", limit=12)
    places = [hit.placings["lexical"].rank for hit in answer.hits]
    assert places == [*range(1, 13)]


def test_a_memory_stored_after_it_was_asked_for_is_found(memory: Mind) -> None:
    """What was not there yesterday may be there today, in a store of any size."""
    for n in range(250):
        memory.store(f"memory number{n}")
    assert ids(memory, "zebra") == []
    stored = memory.store("a zebra came").memory
    assert ids(memory, "zebra") == [stored.id]
    memory.delete(stored.id)
    memory.purge(memory.plan_purge([stored.id]))
    again = memory.store("a quagga came").memory
    assert ids(memory, "quagga") == [again.id]


def test_the_newest_of_a_chain_is_served_in_place_of_the_old(memory: Mind) -> None:
    old = memory.store("the walrus office is in Oslo").memory
    new = memory.store("moved to Bergen", supersedes=[old.id]).memory
    answer = memory.recall("walrus office Oslo")
    [hit] = answer.hits
    assert hit.memory == new
    assert hit.replaces == (old.id,)
    assert [(d.id, d.reason) for d in answer.trace.dropped] == [
        (old.id, Superseded(by=new.id, served=True))
    ]


def test_a_superseded_memory_is_recalled_when_it_is_asked_for(memory: Mind) -> None:
    old = memory.store("the walrus is in Oslo").memory
    new = memory.store("the walrus is in Bergen", supersedes=[old.id]).memory
    assert ids(memory, "walrus") == [new.id]
    assert {*ids(memory, "walrus", states=["live", "superseded"])} == {old.id, new.id}


def test_a_successor_that_the_filter_excludes_hides_the_old_one_too(memory: Mind) -> None:
    old = memory.store("walrus one", tags=["red"]).memory
    new = memory.store("walrus two", supersedes=[old.id]).memory
    answer = memory.recall("walrus", tags=["red"])
    assert answer.hits == ()
    [dropped] = answer.trace.dropped
    assert (dropped.id, dropped.reason) == (old.id, Superseded(by=new.id, served=False))


def test_deleting_the_middle_of_a_chain_does_not_bring_the_oldest_back(memory: Mind) -> None:
    first = memory.store("walrus one").memory
    second = memory.store("walrus two", supersedes=[first.id]).memory
    third = memory.store("walrus three", supersedes=[second.id]).memory
    memory.delete(second.id)
    assert ids(memory, "walrus") == [third.id]
    memory.delete(third.id)
    memory.restore(second.id)
    assert ids(memory, "walrus") == [second.id]


def test_an_expired_memory_is_left_out_unless_asked_for(memory: Mind, clock: FixedClock) -> None:
    ended = memory.store("walrus gone", valid_to=clock()).memory
    coming = memory.store("walrus soon", valid_from=clock() + timedelta(days=1)).memory
    here = memory.store("walrus here").memory
    assert ids(memory, "walrus") == [here.id]
    assert {*ids(memory, "walrus", states=["live", "expired"])} == {ended.id, coming.id, here.id}
    clock.advance(days=1)
    assert {*ids(memory, "walrus")} == {coming.id, here.id}


def test_a_moment_of_the_past_is_recalled_as_it_was(memory: Mind, clock: FixedClock) -> None:
    changed = memory.store("the walrus is in Oslo").memory
    gone = memory.store("a second walrus").memory
    then = clock()
    clock.advance(days=1)
    memory.update(changed.id, content="the seal is in Oslo")
    memory.delete(gone.id)
    new = memory.store("a third walrus", supersedes=[changed.id]).memory
    assert ids(memory, "walrus") == [new.id]
    assert {*ids(memory, "walrus", as_of=then)} == {changed.id, gone.id}
    [hit] = memory.recall("Oslo", as_of=then).hits
    assert hit.memory == changed
    assert ids(memory, "walrus", as_of=then - timedelta(days=1)) == []


def test_the_trace_accounts_for_every_candidate(memory: Mind) -> None:
    for n in range(30):
        memory.store(f"walrus {'seal ' * (n % 4)}{n}", importance=(n % 3) / 2)
    twin = memory.store("WALRUS seal 1").memory
    old = memory.store("walrus old").memory
    memory.store("walrus new", supersedes=[old.id])
    answer = memory.recall("walrus seal 1", limit=5, budget_bytes=60)
    served = [hit.memory.id for hit in answer.hits]
    dropped = [each.id for each in answer.trace.dropped]
    assert sorted([*served, *dropped]) == sorted(each.id for each in answer.trace.fused)
    assert all(str(each.reason) for each in answer.trace.dropped)
    assert twin.id in dropped or twin.id in served
    assert [hit.rank for hit in answer.hits] == [*range(1, len(served) + 1)]
    assert {"legs", "fuse"} <= {*answer.trace.milliseconds}


def test_adjustment_may_lift_a_memory_from_far_below(memory: Mind) -> None:
    """Whoever can still come first is considered, however many rank before it."""
    for n in range(40):
        memory.store(f"walrus {n}", importance=0.0)
    vital = memory.store("walrus walrus and a few more words", importance=1.0).memory
    [hit] = memory.recall("walrus", limit=1).hits
    deep = {hit.memory.id: hit for hit in memory.recall("walrus", limit=41).hits}
    assert hit.memory.id == max(deep.values(), key=lambda each: each.score).memory.id
    assert deep[vital.id].factors == {"importance": 1.0}


def test_with_chains_of_memories_a_short_answer_is_the_beginning_of_a_long_one(
    memory: Mind,
) -> None:
    """What cannot come first is not read; that must not show, wherever the old memories rank."""
    stored = [
        memory.store(
            f"walrus {'seal ' * (n % 5)}{'and ' * (n % 7)}{n}", importance=n % 4 / 3
        ).memory
        for n in range(120)
    ]
    for n in range(0, 120, 4):
        memory.store(f"seal {n}" if n % 3 else f"a fish {n}", supersedes=[stored[n].id])
    short, long = (memory.recall("walrus seal", limit=n, all=True) for n in (5, 200))
    assert [(x.memory.id, x.replaces) for x in short.hits] == [
        (x.memory.id, x.replaces) for x in long.hits[:5]
    ]
    dropped = [each.id for each in short.trace.dropped]
    assert len({*dropped}) == len(dropped)
    assert {*dropped}.isdisjoint(each.memory.id for each in short.hits)
    superseded = {x.id for x in short.trace.dropped if isinstance(x.reason, Superseded)}
    candidates = {each.id for each in short.trace.fused}
    assert superseded == candidates & {each.id for each in stored[::4]} != set()


def test_focus_brings_its_memories_forward(memory: Mind) -> None:
    memory.store("walrus one", tags=["desert"])
    focused = memory.store("walrus two", tags=["arctic"]).memory
    assert ids(memory, "walrus")[0] != focused.id
    assert ids(memory, "walrus", focus=["Arctic"])[0] == focused.id


def test_a_filter_is_made_canonical_like_what_was_stored(memory: Mind) -> None:
    stored = memory.store("walrus", category="Person", tags=["Dark Green"], session=" s ").memory
    assert ids(memory, "walrus", session=" s ", tags=["dark green"], categories=["PEOPLE"]) == [
        stored.id
    ]
    with pytest.raises(errors.InvalidInput):
        memory.recall("walrus", session="\ud800")


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"pool": 0},
        {"sort_by": "age"},
        {"states": ["lively"]},
        {"categories": ["stuff"]},
        {"budget_bytes": -1},
    ],
)
def test_a_question_that_makes_no_sense_is_refused(memory: Mind, wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidInput) as caught:
        memory.recall("walrus", **wrong)  # type: ignore[arg-type]
    assert caught.value.message


@pytest.mark.parametrize("limit", [-1, 0, 2**63])
def test_a_list_has_a_limit_that_makes_sense(memory: Mind, limit: int) -> None:
    with pytest.raises(errors.InvalidQuery):
        memory.list(limit=limit)


@pytest.mark.parametrize("piece", ["1.", "Ana's ", "Ana and ", "in May 2025 ", "a walrus. "])
def test_the_time_for_a_question_grows_with_its_length_and_not_faster(
    memory: Mind, piece: str
) -> None:
    memory.store("Ana saw a walrus in May 2025")

    def seconds(characters: int) -> float:
        text = (piece * characters)[:characters]
        began = time.process_time()
        memory.recall(text)
        return time.process_time() - began

    seconds(1_000)  # loads what is needed
    short, long = min(seconds(5_000) for _ in range(3)), seconds(80_000)
    assert long < 64 * short + 0.1  # 16 times the text; 256 if squared
