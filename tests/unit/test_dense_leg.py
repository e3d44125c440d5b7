from __future__ import annotations

import statistics
from collections.abc import Callable
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.errors import EmbedderFailure, StoreFailure
from bearinmind.models.local import HashEmbedder
from bearinmind.protocols import Current, DenseAnswer, Nearby, Unavailable
from bearinmind.recall.dense import CERTAIN, DEPTH, DenseLeg, candidates
from bearinmind.recall.leg_positions import CachedLeg
from bearinmind.testing import FixedClock, TemporaryStore
from bearinmind.text.embedded_text import embedded_text
from bearinmind.trace import LegReport
from bearinmind.types import Memory, MemoryId, Query, Ranking, Scope, UserId

if TYPE_CHECKING:
    from bearinmind.protocols import Vector

Make = Callable[..., Memory]
Ask = Callable[..., Query]
SCOPE = Scope(user=UserId("ada"))


def kept(*memories: Memory) -> tuple[TemporaryStore, Callable[[], Current]]:
    """A store in which these memories are embedded, and what answers its queries."""
    store, embedder = TemporaryStore(), HashEmbedder()
    store.use_space(embedder.space)
    for memory in memories:
        store.put(SCOPE, memory)
    now = FixedClock()()
    jobs = store.claim(["embed"], 100, now, now)
    texts = [embedded_text(job.memory, embedder.space.text) for job in jobs]
    store.finish_embedding(embedder.space, jobs, embedder.embed_memories(texts))
    return store, lambda: Current(embedder.space, embedder)


def test_the_nearest_come_first_with_their_cosine(make: Make, ask: Ask) -> None:
    near, far = make("seals sleep on the ice"), make("invoices are due in May")
    store, active = kept(near, far)
    ranking, report = DenseLeg(store, active)(ask("seals on the ice"))
    assert [candidate.id for candidate in ranking.candidates] == [near.id, far.id]
    assert ranking.candidates[0].score > 0.7 > ranking.candidates[1].score
    assert report.detail["model"] == "hash"
    assert report.detail["searched"] == 2
    assert report.detail["how"] == "exact"
    assert report.error is None


def test_it_looks_deeper_than_the_pool_for_what_other_legs_may_have_found(
    make: Make, ask: Ask
) -> None:
    store, active = kept(*(make(f"seal number {n}") for n in range(20)))
    ranking, _ = DenseLeg(store, active)(ask("which seal?", pool=3))
    assert len(ranking.candidates) == 3 * DEPTH


def test_evidence_is_how_far_a_memory_stands_out() -> None:
    nearest = [Nearby(MemoryId("out"), 0.9), Nearby(MemoryId("mean"), 0.5)]
    wide = candidates(
        DenseAnswer(nearest, searched=100_000, mean=0.5, deviation=0.1, population=100_000)
    )
    tight = candidates(
        DenseAnswer(nearest, searched=100_000, mean=0.5, deviation=0.05, population=100_000)
    )
    assert wide[0].evidence == pytest.approx(4 / CERTAIN, rel=1e-3)
    assert tight[0].evidence == pytest.approx(8 / CERTAIN, rel=1e-3)
    assert tight[0].confidence == 1.0
    assert wide[1].evidence == wide[1].confidence == 0.0


def test_the_deviation_of_few_memories_is_not_trusted_alone() -> None:
    """One memory deviates from nothing; that does not make it infinitely certain."""
    alone = DenseAnswer(
        [Nearby(MemoryId("only"), 0.8)], searched=1, mean=0.8, deviation=0.0, population=1
    )
    assert candidates(alone)[0].evidence == 0.0
    two = DenseAnswer(
        [Nearby(MemoryId("a"), 0.81), Nearby(MemoryId("b"), 0.79)],
        searched=2,
        mean=0.8,
        deviation=0.01,
        population=2,
    )
    assert 0.0 < candidates(two)[0].evidence < 0.1


@pytest.mark.parametrize(
    ("waiting", "told"),
    [
        (0, None),
        (1, "1 memory is not embedded yet"),
        (999, "999 memories are not embedded yet"),
        (1_200, "at least 1,000 memories are not embedded yet"),
    ],
)
def test_it_says_what_it_cannot_find_yet(
    make: Make, ask: Ask, waiting: int, told: str | None
) -> None:
    store, active = kept(make("seals"))
    query = ask("seals")
    for number in range(waiting):
        store.put(query.filter.scope, make(f"a seal with the number {number}"))
    _, report = DenseLeg(store, active)(query)
    assert report.partial == told
    assert report.error is None


class Counting(HashEmbedder):
    """Counts what it is asked, and may fail."""

    def __init__(self, error: EmbedderFailure | None = None) -> None:
        super().__init__()
        self.asked: list[str] = []
        self.error = error

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        if self.error:
            raise self.error
        return super().embed_query(text)


def test_when_it_is_repeated_it_answers_as_before(make: Make, ask: Ask) -> None:
    store, active = kept(make("seals"), make("a seal"))
    leg = DenseLeg(store, active)
    repeated = CachedLeg(leg)
    for _ in range(2):
        for pool in (1, 5, 50):
            assert repeated(ask("seals", pool=pool))[0] == leg(ask("seals", pool=pool))[0]


def test_when_it_is_repeated_it_fails_once(ask: Ask) -> None:
    failing = Counting(EmbedderFailure("no answer in 10 s"))
    repeated = CachedLeg(DenseLeg(TemporaryStore(), lambda: Current(failing.space, failing)))
    for pool in (1, 5, 50):
        assert "no answer" in (repeated(ask("seals", pool=pool))[1].error or "")
    assert failing.asked == ["seals"]


def test_a_leg_that_fails_deep_down_keeps_what_it_has_found(make: Make, ask: Ask) -> None:
    store, active = kept(make("seals"))
    leg = DenseLeg(store, active)

    class Shallow:
        name = leg.name

        def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
            if query.pool > 50:
                raise StoreFailure("statement timeout")
            return leg(query)

    repeated = CachedLeg(Shallow())
    found = [len(repeated(ask("seals", pool=pool))[0].candidates) for pool in (50, 1_000, 50, 10)]
    assert found == [1, 0, 1, 1]


@given(st.lists(st.floats(-1, 1), min_size=1, max_size=10))
def test_among_few_no_memory_can_stand_out(cosines: list[float]) -> None:
    answer = DenseAnswer(
        [Nearby(MemoryId("best"), max(cosines))],
        searched=len(cosines),
        mean=statistics.fmean(cosines),
        deviation=statistics.pstdev(cosines),
        population=len(cosines),
    )
    [best] = candidates(answer)
    # No value lies more than the root of n - 1 deviations above the mean of n (Samuelson 1968).
    assert best.confidence < 0.8


@pytest.mark.parametrize("expected", [True, False])
def test_without_semantic_recall_it_says_why(ask: Ask, *, expected: bool) -> None:
    off = Unavailable("no key is set", expected=expected)
    ranking, report = DenseLeg(TemporaryStore(), lambda: off)(ask("anything"))
    assert ranking.candidates == ()
    assert (report.error, report.detail.get("off")) == (
        (None, "no key is set") if expected else ("no key is set", None)
    )


def test_an_empty_query_means_nothing(make: Make, ask: Ask) -> None:
    store, active = kept(make("seals"))
    ranking, report = DenseLeg(store, active)(ask("  "))
    assert ranking.candidates == ()
    assert report.detail["off"] == "the query is empty"


def test_a_failing_embedder_is_the_recalls_to_handle(ask: Ask) -> None:
    broken = Counting(EmbedderFailure("cannot embed"))
    with pytest.raises(EmbedderFailure):
        DenseLeg(TemporaryStore(), lambda: Current(broken.space, broken))(ask("seals"))


def test_a_filter_changes_nothing_about_how_far_a_memory_stands_out() -> None:
    nearest = [Nearby(MemoryId("out"), 0.9)]
    everywhere = DenseAnswer(nearest, searched=5_000, mean=0.5, deviation=0.1, population=5_000)
    narrowed = everywhere._replace(searched=2)
    assert candidates(narrowed) == candidates(everywhere)
