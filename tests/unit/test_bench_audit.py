"""The promises of a ranking: real answers keep them, and each broken one is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.models.embedders import Embedders
from bearinmind.models.local import HashEmbedder
from bearinmind.store.sqlite import SqliteStore
from bearinmind.testing import FixedClock
from bearinmind.trace import Answer
from bearinmind.types import Decider, EarlierState, Hit, Outdated, UserId
from bearinmind_bench.audit import faults

Change = Callable[[Answer], Answer]
Open = Callable[..., Mind]


@pytest.fixture
def answer(memory: Mind, clock: FixedClock) -> Answer:
    """Five memories of different importance for one question."""
    for number in range(5):
        memory.store(f"the walrus sings {'loudly ' * number}", importance=0.9 - number / 6)
        clock.advance(days=1)
    return memory.recall("walrus")


def hits(answer: Answer, change: Callable[[tuple[Hit, ...]], tuple[Hit, ...]]) -> Answer:
    return replace(answer, hits=change(answer.hits))


def first(answer: Answer, **fields: object) -> Answer:
    """The answer with another first hit."""
    changed: Hit = replace(answer.hits[0], **fields)  # type: ignore[arg-type]
    return hits(answer, lambda given: (changed, *given[1:]))


def of_another_user(answer: Answer) -> Answer:
    return first(answer, memory=replace(answer.hits[0].memory, owner=UserId("eve")))


def longer_than_asked_for(answer: Answer) -> Answer:
    return replace(answer, query=replace(answer.query, limit=3))


def invented(answer: Answer) -> Answer:
    return replace(answer, trace=replace(answer.trace, fused=answer.trace.fused[1:]))


def with_a_prior_in_fusion(answer: Answer) -> Answer:
    """Scores that are right in every stage but the first: a memory was preferred there."""
    [one, *others] = answer.trace.fused
    preferred = one._replace(score=one.score * 1.1)
    best, *rest = answer.hits
    assert best.memory.id == one.id
    lifted = replace(answer, trace=replace(answer.trace, fused=(preferred, *others)))
    return replace(lifted, hits=(replace(best, score=best.score * 1.1), *rest))


BROKEN: list[tuple[Change, str]] = [
    (with_a_prior_in_fusion, "a fused score is not the weighted sum of what its legs say"),
    (lambda a: hits(a, lambda h: h[::-1]), "an answer is not in the order of its scores"),
    (lambda a: hits(a, lambda h: h[::-1]), "ranks do not count from 1"),
    (lambda a: hits(a, lambda h: (h[0], h[0], *h[2:])), "a memory stands in an answer twice"),
    (lambda a: hits(a, lambda h: h[1:]), "ranks do not count from 1"),
    (lambda a: first(a, rank=0), "ranks do not count from 1"),
    (longer_than_asked_for, "an answer is longer than its limit"),
    (of_another_user, "an answer holds a memory of another user"),
    (lambda a: first(a, placings={}), "an answer holds a memory that no leg found"),
    (lambda a: first(a, score=a.hits[0].score * 1.01), "a score is not its fused score times"),
    (invented, "a score is not its fused score times"),
    (lambda a: first(a, factors={}), "the importance prior is not"),
    (
        lambda a: first(a, factors=dict(a.hits[0].factors) | {"mood": 1.0}),
        "the factor 'mood', which no setting gives",
    ),
    *(
        (
            lambda a, name=name: first(a, factors=dict(a.hits[0].factors) | {name: 1.5}),
            f"the factor '{name}' is not what the settings say",
        )
        for name in ("exact", "focus", "decay", "trust")
    ),
]


@pytest.mark.parametrize(("change", "told"), BROKEN)
def test_a_broken_promise_is_named(memory: Mind, answer: Answer, change: Change, told: str) -> None:
    assert told in "\n".join(faults(change(answer), memory.settings))


def test_a_memory_that_the_graph_led_to_has_a_way_that_ends_at_it(open_memory: Open) -> None:
    memory = open_memory(embedder="none")
    stored = memory.store("The labels are drawn by Gannet.").memory
    led = memory.store("Gannet is looked after by Ilse Navrat.").memory
    memory.work.run()
    answer = memory.recall("labels", all=True)
    assert [hit.memory.id for hit in answer.hits] == [stored.id, led.id]
    assert [*faults(answer, memory.settings)] == []
    [step] = answer.hits[1].path
    for path in ((), (step._replace(target=stored.id),), (step, step)):
        changed = replace(answer, hits=(answer.hits[0], replace(answer.hits[1], path=path)))
        told = [*faults(changed, memory.settings)]
        assert told == ["an answer does not say how the graph led to a memory"]


@pytest.mark.parametrize("embedded", [False, True])
@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"fusion": "rrf"},
        {"fusion": "convex", "leg_weights": {"lexical": 0.4}},
        {"leg_weights": {"dense": 0.3}},
        {"near_duplicates": 0.5},
        {"importance_weight": 0.0},
        {"exact_bonus": 2.0},
        {"decay_days": {"facts": 2.0}},
        {"trust_factors": {"agent": 0.5}},
    ],
)
def test_real_answers_keep_every_promise(
    path: Path, clock: FixedClock, settings: dict[str, object], *, embedded: bool
) -> None:
    """With the lexical leg alone, and with both."""
    chosen = Settings.model_validate({"store": path, **settings})
    hashed = Embedders.among(HashEmbedder())
    memory = Mind(SqliteStore(path), chosen, clock=clock, embedders=hashed)
    for number in range(4):
        memory.store(f"walrus {number}", importance=number / 3, tags=["zoo"] if number % 2 else [])
        clock.advance(days=1)
    old = memory.store("the old walrus").memory
    memory.store("a seal took its place", supersedes=[old.id])
    if embedded:
        memory.work.run()
    for fields in ({}, {"focus": ["zoo"]}, {"limit": 2}):
        answer = memory.recall("walrus", **fields)
        assert answer.hits
        assert [*faults(answer, memory.settings)] == []
    assert [*faults(memory.recall("nothing of this"), memory.settings)] == []
    assert next(iter(answer.trace.legs[1].detail)) == ("model" if embedded else "off")
    memory.close()


def test_an_answer_is_displayed_with_earlier_states_under_their_hit(answer: Answer) -> None:
    first_hit, second_hit, *_ = answer.hits
    earlier = EarlierState(
        memory=second_hit.memory,
        outdated=Outdated(
            by=first_hit.memory.id,
            until=first_hit.memory.created_at,
            probability=0.9,
            decided_by=Decider.SCORER,
        ),
    )
    grouped = first(answer, earlier=(earlier,))
    grouped = hits(grouped, lambda given: (given[0], *given[2:]))

    assert grouped.displayed == answer.displayed == tuple(hit.memory for hit in answer.hits)
    assert "a memory stands in an answer twice" in {
        *faults(first(answer, earlier=(earlier,)), Settings())
    }
