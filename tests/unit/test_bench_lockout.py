"""Legs whose finds cannot matter are found without asking a single query."""

from __future__ import annotations

import pytest

from recollect.app import Recollect
from recollect.config import Settings
from recollect.protocols import Fusion
from recollect.recall.fusion import ConvexCombination, ReciprocalRank
from recollect.recall.lockout import locked_out
from recollect.testing import MemoryStore
from recollect.trace import LegReport
from recollect.types import Query, Ranking


class Named:
    """A leg that has nothing but its name: lock-outs are found without asking it."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __call__(self, query: Query) -> tuple[Ranking, LegReport]:
        raise AssertionError(f"asked {query.text!r}")


def legs(*names: str) -> list[Named]:
    return [Named(name) for name in names]


def test_the_earlier_systems_weights_lock_a_leg_out() -> None:
    """0.35/61 is below 1/110: the best of the light leg is below the last of the others."""
    fusion = ReciprocalRank(weights={"graph": 0.35})
    found = locked_out(fusion, legs("lexical", "dense", "graph"), 10)
    assert [*found] == ["graph"]
    assert "the graph leg is locked out" in found["graph"]
    assert "first 10" in found["graph"]
    assert "0.35" in found["graph"]


@pytest.mark.parametrize(
    ("weight", "limit", "locked"),
    [
        # The best of the light leg has w/61, the last of the other 1/(60 + limit).
        (0.35, 50, True),
        (0.9, 10, False),
        (0.86, 10, True),
        (0.88, 10, False),
        (0.55, 50, True),
        (0.57, 50, False),
        (0.0, 10, True),
    ],
)
def test_in_rank_fusion_it_depends_on_the_weight_and_the_depth(
    weight: float, limit: int, *, locked: bool
) -> None:
    fusion = ReciprocalRank(weights={"graph": weight})
    assert bool(locked_out(fusion, legs("lexical", "graph"), limit)) is locked


@pytest.mark.parametrize("fusion", [ReciprocalRank(), ReciprocalRank(k=1), ConvexCombination()])
def test_equal_weights_lock_nobody_out(fusion: Fusion) -> None:
    assert locked_out(fusion, legs("lexical", "dense", "graph"), 10) == {}


def test_a_convex_combination_locks_a_leg_out_only_at_weights_near_nothing() -> None:
    pair = legs("lexical", "graph")
    assert locked_out(ConvexCombination(weights={"graph": 0.35}), pair, 10) == {}
    assert [*locked_out(ConvexCombination(weights={"graph": 0.0}), pair, 10)] == ["graph"]


def test_one_leg_is_the_answer_whatever_its_weight() -> None:
    assert locked_out(ReciprocalRank(weights={"lexical": 0.01}), legs("lexical"), 10) == {}


def test_the_product_as_shipped_locks_nobody_out() -> None:
    assert Recollect(MemoryStore(), Settings()).locked_out() == {}
