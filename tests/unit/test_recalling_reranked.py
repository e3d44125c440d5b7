"""A recall with a reranker, from the question to the audited answer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from bearinmind.config import Settings
from bearinmind.errors import RerankerFailure
from bearinmind.protocols import Reranker
from bearinmind.recall.explain import why_not
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.recall.pipeline import Recall
from bearinmind.recall.rerank import Rerank
from bearinmind.recall.scores import Adjustments, ConvexCombination
from bearinmind.recall.selection import Selection
from bearinmind.testing import TemporaryStore
from bearinmind.trace import Answer
from bearinmind.types import Hit, Link, LinkKind, Memory, MemoryId, Query, Scope, UserId
from bearinmind_bench.audit import faults
from support.rerankers import Failing, Scripted, WordOverlap

SCOPE = Scope(user=UserId("ada"))
SETTINGS = Settings(rerank_depth=6, fusion="convex")
Make = Callable[..., Memory]
Ask = Callable[..., Query]
Build = Callable[..., Recall]


@pytest.fixture
def store() -> TemporaryStore:
    return TemporaryStore()


@pytest.fixture
def build(store: TemporaryStore) -> Iterator[Build]:
    """Makes a recall with a reranker over the store."""
    with ThreadPoolExecutor() as executor:

        def made(reranker: Reranker | None, **how: float) -> Recall:
            return Recall(
                store=store,
                legs=(LexicalLeg(store),),
                fusion=ConvexCombination(),
                adjustments=Adjustments(),
                selection=Selection(),
                executor=executor,
                rerank=reranker and Rerank(reranker=reranker, **how),  # type: ignore[arg-type]
            )

        yield made


def fill(store: TemporaryStore, make: Make, contents: Sequence[str]) -> list[Memory]:
    memories = [make(content) for content in contents]
    for memory in memories:
        store.put(SCOPE, memory)
    return memories


def ids(answer: Answer) -> list[MemoryId]:
    return [hit.memory.id for hit in answer.hits]


#: The more often it sings, the lexical leg thinks, the better.
SINGERS = [f"walrus {'walrus ' * n}number{n}" for n in range(12)]


def test_a_memory_from_below_the_limit_can_become_the_first(
    store: TemporaryStore, make: Make, ask: Ask, build: Build
) -> None:
    fill(store, make, SINGERS)
    plain = build(None)(ask("walrus", limit=12))
    last = plain.hits[9].memory
    best = Scripted({hit.memory.id: float(hit.memory.id == last.id) for hit in plain.hits})

    answer = build(best, depth=10)(ask("walrus", limit=2))

    assert ids(answer) == [last.id, plain.hits[0].memory.id]
    assert answer.hits[0].reranked == (10, 1, 1.0, 1.0)
    assert answer.hits[0].score == plain.hits[9].score
    assert len(best.sent) == 10
    assert answer.trace.rerank is not None
    assert answer.trace.milliseconds["rerank"] == answer.trace.rerank.milliseconds
    assert answer.trace.milliseconds["choose"] >= 0


def test_without_a_reranker_nothing_speaks_of_one(
    store: TemporaryStore, make: Make, ask: Ask, build: Build
) -> None:
    fill(store, make, SINGERS)

    answer = build(None)(ask("walrus"))

    assert answer.trace.rerank is None
    assert "rerank" not in answer.trace.milliseconds
    assert all(hit.reranked is None for hit in answer.hits)


def test_a_failing_reranker_leaves_the_answer_of_the_plain_recall(
    store: TemporaryStore, make: Make, ask: Ask, build: Build
) -> None:
    fill(store, make, SINGERS)

    answer = build(Failing(RerankerFailure("the server is down")))(ask("walrus", limit=4))

    assert answer.hits == build(None)(ask("walrus", limit=4)).hits
    assert answer.trace.degraded == ("rerank failed: reranker_failure: the server is down",)


def test_the_newest_of_a_chain_is_read_in_place_of_the_old(
    store: TemporaryStore, make: Make, ask: Ask, build: Build
) -> None:
    old, other = fill(store, make, ["the walrus office is in Oslo", "walrus food"])
    new = make("moved to Bergen")
    supersedes = Link(
        source=new.id, target=old.id, kind=LinkKind.SUPERSEDES, created_at=new.created_at
    )
    store.put(SCOPE, new, [supersedes])
    overlap = WordOverlap()

    build(overlap)(ask("walrus office"))

    [passages] = overlap.calls
    assert {passage.text for passage in passages} == {new.content, other.content}


def test_why_not_sends_the_same_memories_once(
    store: TemporaryStore, make: Make, ask: Ask, build: Build
) -> None:
    memories = fill(store, make, SINGERS)
    overlap = WordOverlap()

    answer = why_not(build(overlap), ask("walrus", limit=1), memories[0])

    assert answer.remedy == "a limit of 12"
    assert len(overlap.calls) == len({*map(tuple, overlap.calls)})


# ---- the audit -----------------------------------------------------------------------------------


@pytest.fixture
def answer(store: TemporaryStore, make: Make, ask: Ask, build: Build) -> Answer:
    """Eight hits, of which the reranker turned the first six round, but for one secret."""
    for n, content in enumerate(SINGERS[:7]):
        store.put(SCOPE, make(content, importance=n / 7))
    found_by = {"tags": ("walrus",), "keywords": ("walrus",)}
    store.put(SCOPE, make("hunter2", importance=1.0, sensitive=True, **found_by))
    order = [hit.memory.id for hit in build(None)(ask("walrus")).hits]
    turning = Scripted({id_: float(place) for place, id_ in enumerate(order)})
    return build(turning, depth=SETTINGS.rerank_depth)(ask("walrus"))


def test_a_reranked_answer_keeps_every_promise(answer: Answer) -> None:
    scores = [hit.score for hit in answer.hits]

    assert scores != sorted(scores, reverse=True)
    assert any(hit.memory.sensitive for hit in answer.hits[:6])
    assert [*faults(answer, SETTINGS)] == []


@pytest.mark.parametrize("weight", [0.0, 0.3, 1.0])
@pytest.mark.parametrize("limit", [2, 20])
def test_answers_of_every_weight_and_limit_keep_every_promise(
    store: TemporaryStore, make: Make, ask: Ask, build: Build, weight: float, limit: int
) -> None:
    fill(store, make, [*SINGERS, "a walrus", "a  walrus"])  # the last two have the same words

    answer = build(WordOverlap(), depth=6, weight=weight)(ask("a walrus number3", limit=limit))

    assert [*faults(answer, SETTINGS)] == []


def swapped(hits: tuple[Hit, ...], one: int, other: int) -> tuple[Hit, ...]:
    order = [*hits]
    order[one], order[other] = order[other], order[one]
    return tuple(replace(hit, rank=rank) for rank, hit in enumerate(order, start=1))


def moved(answer: Answer, place: int, **fields: float) -> Answer:
    """The answer with another rerank of one hit."""
    hits = [*answer.hits]
    reranked = hits[place].reranked
    assert reranked
    hits[place] = replace(hits[place], reranked=reranked._replace(**fields))  # type: ignore[arg-type]
    return replace(answer, hits=tuple(hits))


def with_a_secret(answer: Answer) -> Answer:
    memory = replace(answer.hits[0].memory, sensitive=True)
    return replace(answer, hits=(replace(answer.hits[0], memory=memory), *answer.hits[1:]))


def without_a_place(answer: Answer) -> Answer:
    judged = tuple(item for item in answer.trace.judged if item.id != answer.hits[0].memory.id)
    return replace(answer, trace=replace(answer.trace, judged=judged))


@pytest.mark.parametrize(
    ("change", "told"),
    [
        (lambda a: replace(a, hits=swapped(a.hits, 0, 1)), "not in the order of its rerank"),
        (lambda a: replace(a, hits=swapped(a.hits, 6, 7)), "not in the order that was selected"),
        (lambda a: replace(a, hits=swapped(a.hits, 5, 6)), "not in the order that was selected"),
        (lambda a: moved(a, 0, before=1), "not in the order of its scores"),
        (lambda a: moved(a, 0, before=7), "deeper than rerank_depth"),
        (lambda a: moved(a, 0, blend=-1.0), "not in the order of its rerank"),
        (with_a_secret, "a sensitive memory was sent to the reranker"),
        (without_a_place, "a rerank lost or invented a place"),
    ],
)
def test_a_broken_promise_of_a_rerank_is_named(
    answer: Answer, change: Callable[[Answer], Answer], told: str
) -> None:
    assert told in "\n".join(faults(change(answer), SETTINGS))
