"""How much evidence goes over an edge of the concept graph."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from bearinmind.concepts import Role
from bearinmind.recall.graph_leg import Spread

SPREAD = Spread()
evidence = st.floats(min_value=0.0, max_value=3.0)
some = st.floats(min_value=0.01, max_value=3.0)


@given(offered=evidence, base=evidence, seed=some)
def test_no_memory_is_lifted_past_the_seed_that_led_there(
    offered: float, base: float, seed: float
) -> None:
    gained = SPREAD.gained(offered, base, seed)

    assert 0.0 <= gained <= offered
    assert gained == 0.0 or base + gained <= SPREAD.below * seed + 1e-9


@given(offered=some, base=evidence, more=some, seed=some)
def test_who_is_found_better_by_others_gains_no_more(
    offered: float, base: float, more: float, seed: float
) -> None:
    assert SPREAD.gained(offered, base + more, seed) <= SPREAD.gained(offered, base, seed)


def test_the_bound_can_be_turned_off() -> None:
    assert Spread(below=0.0).gained(0.7, 0.9, 0.5) == 0.7


@given(fewer=st.integers(1, 10_000), more=st.integers(1, 10_000))
def test_a_concept_tells_less_the_more_memories_mention_it(fewer: int, more: int) -> None:
    rarer, commoner = sorted((fewer, more))

    assert 0.0 <= SPREAD.specificity(commoner) <= SPREAD.specificity(rarer) <= 1.0


def test_a_concept_of_one_memory_tells_all_and_a_common_one_nothing() -> None:
    assert SPREAD.specificity(1) == 1.0
    assert SPREAD.specificity(SPREAD.too_common) == 0.0


@given(likeness=st.floats(min_value=0.0, max_value=1.0))
def test_being_about_a_concept_is_worth_more_than_naming_it(likeness: float) -> None:
    assert SPREAD.worth(Role.SUBJECT, likeness) > SPREAD.worth(Role.NAME, likeness)
