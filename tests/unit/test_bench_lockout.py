"""What cannot matter with some settings is found without asking a single query."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from typing import Any

import pytest

from bearinmind import config
from bearinmind.app import Mind
from bearinmind.config import LEGS
from bearinmind.protocols import Fusion
from bearinmind.recall.lockout import adjusted_out, locked_out
from bearinmind.recall.scores import Adjustments, Calibrated, ConvexCombination, ReciprocalRank
from bearinmind.testing import TemporaryStore
from bearinmind.types import Ranking, Trust

Open = Callable[..., Mind]


def legs(*names: str) -> list[Ranking]:
    """The answers of legs that find nothing."""
    return [Ranking(leg=name, candidates=()) for name in names]


PAIR = legs("lexical", "dense")


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


@pytest.mark.parametrize(
    "fusion", [ReciprocalRank(), ReciprocalRank(k=1), ConvexCombination(), Calibrated()]
)
def test_equal_weights_lock_nobody_out(fusion: Fusion) -> None:
    assert locked_out(fusion, legs("lexical", "dense", "graph"), 10) == {}


def test_a_convex_combination_locks_a_leg_out_only_at_weights_near_nothing() -> None:
    pair = legs("lexical", "graph")
    assert locked_out(ConvexCombination(weights={"graph": 0.35}), pair, 10) == {}
    assert [*locked_out(ConvexCombination(weights={"graph": 0.0}), pair, 10)] == ["graph"]


def test_one_leg_is_the_answer_whatever_its_weight() -> None:
    assert locked_out(ReciprocalRank(weights={"lexical": 0.01}), legs("lexical"), 10) == {}


@pytest.mark.parametrize("fusion", ["calibrated", "convex", "rrf"])
@pytest.mark.parametrize("limit", [1, 5, 10, 50])
def test_no_shipped_setting_locks_anybody_out(fusion: str, limit: int) -> None:
    """The real legs, every fusion and every adjustment as they are by default."""
    settings = config.checked({"fusion": fusion, "limit": limit})
    memory = Mind(TemporaryStore(), settings)
    recall = memory._parts.recall
    names = [leg.name for leg in recall.legs] + [leg.name for leg in recall.following]
    assert names == [*LEGS]
    assert memory.locked_out() == {}


@pytest.mark.parametrize(
    ("changes", "locked"),
    [
        ({"fusion": "rrf", "leg_weights": {"graph": 0.35}}, ["graph"]),
        ({"fusion": "convex", "leg_weights": {"graph": 0.000_1}}, ["graph"]),
        ({"fusion": "convex", "leg_weights": {"graph": 0.35}}, []),
        ({"fusion": "calibrated", "leg_weights": {"graph": 0.35}}, []),
        # Beside one leg that answers alone, whose order stays as it is.
        ({"fusion": "rrf", "leg_weights": {"graph": 0.35}, "embedder": "none"}, ["graph"]),
        ({"fusion": "calibrated", "leg_weights": {"graph": 0.35}, "embedder": "none"}, []),
        (
            {"fusion": "calibrated", "leg_weights": {"graph": 0.000_1}, "embedder": "none"},
            ["graph"],
        ),
        # A leg that is turned off on purpose is not locked out.
        ({"fusion": "rrf", "leg_weights": {"graph": 0}}, []),
    ],
)
def test_a_leg_that_follows_the_others_can_be_locked_out_too(
    changes: dict[str, Any], locked: list[str]
) -> None:
    assert [*Mind(TemporaryStore(), config.checked(changes)).locked_out()] == locked


@pytest.mark.parametrize("weight", [0.05, 0.35, 2.0])
@pytest.mark.parametrize("limit", [5, 10, 50])
def test_with_evidence_a_leg_of_any_weight_worth_the_name_reaches_the_answer(
    weight: float, limit: int
) -> None:
    """Weak finds of the other leg, however many, do not add up to a sure one."""
    assert locked_out(Calibrated(weights={"dense": weight}), PAIR, limit) == {}
    assert locked_out(Calibrated(weights={"lexical": weight}), PAIR, limit) == {}


def test_with_evidence_a_weight_of_nothing_locks_out() -> None:
    assert [*locked_out(Calibrated(weights={"dense": 0.0}), PAIR, 10)] == ["dense"]


# ---- memories that an adjustment locks out -----------------------------------------------------


def days_of(told: str) -> int:
    """After how many days a warning says that memories are lost."""
    found = re.search(r"after (\d+) days", told)
    assert found
    return int(found[1])


def test_a_decay_of_a_week_locks_last_months_memories_out_and_says_when() -> None:
    decaying = Adjustments(decay_days={"facts": 7.0, "people": 3_650.0})
    [(name, told)] = adjusted_out(Calibrated(), PAIR, 10, decaying).items()
    assert name == "decay_days.facts"
    # Two legs sure of it make 2; the tenth of the others, at best, the 2nd power of a half and so
    # on in turn: 0.5 ** 5.
    assert days_of(told) == round(7 * math.log(2 / 0.5**5))
    ranks = adjusted_out(ReciprocalRank(), PAIR, 10, decaying)["decay_days.facts"]
    assert days_of(ranks) < 9  # the earlier system's: a perfect hit of nine days ago was lost


def test_the_decay_that_a_warning_advises_locks_nobody_out() -> None:
    for fusion in (Calibrated(), ConvexCombination(), ReciprocalRank()):
        told = adjusted_out(fusion, PAIR, 10, Adjustments(decay_days={"facts": 7.0}))
        [advised] = re.findall(r"a decay of (\d+) days", told["decay_days.facts"])
        better = Adjustments(decay_days={"facts": float(advised)})
        assert adjusted_out(fusion, PAIR, 10, better) == {}
        worse = Adjustments(decay_days={"facts": float(advised) - 1})
        assert days_of(adjusted_out(fusion, PAIR, 10, worse)["decay_days.facts"]) <= 365


@pytest.mark.parametrize(
    ("factors", "locked"),
    [
        ({Trust.EXTERNAL: 0.5}, []),
        ({Trust.EXTERNAL: 0.01}, ["trust_factors.external"]),
        # Where the others count more, the factor of 1 is the one that locks out.
        ({Trust.USER: 1_000.0, Trust.EXTERNAL: 1.0}, ["trust_factors.external"]),
    ],
)
def test_a_trust_factor_near_nothing_locks_a_class_out(
    factors: dict[Trust, float], locked: list[str]
) -> None:
    found = adjusted_out(Calibrated(), PAIR, 10, Adjustments(trust=factors))
    assert [*found] == locked
    for told in found.values():
        [advised] = re.findall(r"; ([\d.]+) or more lets it in", told)
        enough = Adjustments(trust=factors | {Trust.EXTERNAL: float(advised)})
        assert adjusted_out(Calibrated(), PAIR, 10, enough) == {}


def test_a_full_importance_weight_locks_out_what_has_none() -> None:
    [told] = adjusted_out(Calibrated(), PAIR, 10, Adjustments(importance=1.0)).values()
    [advised] = re.findall(r"; ([\d.]+) or less lets it in", told)
    enough = Adjustments(importance=float(advised))
    assert adjusted_out(Calibrated(), PAIR, 10, enough) == {}


def test_a_memory_reports_every_setting_that_locks_out(open_memory: Open) -> None:
    memory = open_memory(
        decay_days={"facts": 3.0},
        trust_factors={"external": 0.000_1},
        leg_weights={"dense": 0.000_001},
    )
    assert [*memory.locked_out()] == ["dense", "decay_days.facts", "trust_factors.external"]
