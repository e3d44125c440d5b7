"""What a caller may change for one question: weights of legs, decay, and a factor of its own."""

from __future__ import annotations

import math
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.testing import FixedClock
from bearinmind.types import Memory


def store(memory: Mind, content: str, **fields: Any) -> Memory:
    return memory.store(content, **fields).memory


def order(memory: Mind, text: str, **fields: Any) -> list[str]:
    return [hit.memory.content for hit in memory.recall(text, all=True, **fields).hits]


def test_a_leg_is_turned_off_for_one_question_and_on_again_for_the_next(memory: Mind) -> None:
    store(memory, "The walrus sings.")
    without = memory.recall("walrus", leg_weights={"graph": 0}).trace
    assert "graph" not in {leg.leg for leg in without.legs}
    assert "graph" in {leg.leg for leg in memory.recall("walrus").trace.legs}
    assert "'graph': 0" in without.fusion


def test_a_leg_that_the_settings_turn_off_can_be_weighed_in(memory: Mind) -> None:
    store(memory, "The walrus sings.")
    quiet = Mind(
        memory._parts.store,
        memory.settings.model_copy(update={"leg_weights": {"graph": 0.0}}),
    )
    assert "graph" not in {leg.leg for leg in quiet.recall("walrus").trace.legs}
    asked = quiet.recall("walrus", leg_weights={"graph": 0.5})
    assert "graph" in {leg.leg for leg in asked.trace.legs}
    assert asked.query.leg_weights == {"graph": 0.5}


def test_decay_for_one_question_is_of_its_categories(memory: Mind, clock: FixedClock) -> None:
    store(memory, "Our walrus likes songs about herring.")
    store(memory, "Ada bought a walrus of felt.", category="projects")
    clock.advance(days=100)
    assert order(memory, "walrus songs")[0].startswith("Our walrus")
    faded = memory.recall("walrus songs", all=True, decay_days={"facts": 20})
    assert faded.hits[0].memory.content.startswith("Ada bought")
    assert faded.hits[1].factors["decay"] == pytest.approx(math.exp(-5))
    assert order(memory, "walrus songs")[0].startswith("Our walrus")


def test_what_the_weights_of_a_question_lock_out_is_said_in_its_trace(memory: Mind) -> None:
    store(memory, "The walrus sings.")
    assert memory.recall("walrus").trace.locked_out == ()
    [warning] = memory.recall("walrus", decay_days={"facts": 1}).trace.locked_out
    assert warning.startswith("decay_days.facts = 1 locks out by age")


@pytest.mark.parametrize(
    ("field", "value", "told"),
    [
        ("leg_weights", {"smell": 1}, "leg_weights names 'smell'"),
        ("leg_weights", {"graph": -1}, "leg_weights.graph is -1; it must be 0 or more"),
        ("leg_weights", {"graph": float("nan")}, "leg_weights.graph is nan"),
        ("leg_weights", {"lexical": 0, "dense": 0}, "neither words nor meaning"),
        ("decay_days", {"facts": 0}, "decay_days.facts is 0; it must be above 0"),
        ("decay_days", {"smells": 3}, "decay_days names 'smells'"),
    ],
)
def test_a_weight_of_nothing_and_a_weight_out_of_range_are_refused(
    memory: Mind, field: str, value: dict[str, float], told: str
) -> None:
    with pytest.raises(errors.InvalidQuery, match=told.replace(".", r"\.")):
        memory.recall("walrus", **{field: value})  # type: ignore[arg-type]


def test_a_boost_reorders_and_its_factor_is_in_the_trace(memory: Mind) -> None:
    store(memory, "The walrus sings in the morning.")
    store(memory, "The walrus sings at night.", tags=["night"])

    def nocturnal(each: Memory) -> float:
        return 3.0 if "night" in each.tags else 1.0

    answer = memory.recall("walrus sings", boost=nocturnal, all=True)
    assert [hit.memory.tags for hit in answer.hits] == [("night",), ()]
    assert [hit.factors["boost"] for hit in answer.hits] == [3.0, 1.0]
    assert answer.trace.locked_out == ()


def test_a_boost_reaches_memories_far_down_in_the_ranking(memory: Mind) -> None:
    for number in range(40):
        store(memory, f"The walrus sings song {number}.")
    last = order(memory, "walrus sings", limit=40)[-1]
    lifted = memory.recall(
        "walrus sings", limit=1, boost=lambda each: 1e6 if each.content == last else 1
    )
    assert [hit.memory.content for hit in lifted.hits] == [last]
    reason = memory.why_not("walrus sings", lifted.hits[0].memory.id, limit=1)
    assert "below the limit" in reason.reason
    again = memory.why_not(
        "walrus sings",
        lifted.hits[0].memory.id,
        limit=1,
        boost=lambda each: 1e6 if each.content == last else 1,
    )
    assert again.rank == 1


def test_a_boost_that_locks_out_is_said(memory: Mind) -> None:
    for number in range(12):
        store(memory, f"The walrus sings song {number}.")
    answer = memory.recall("walrus", boost=lambda each: 1e-9 if " 7" in each.content else 1.0)
    [warning] = answer.trace.locked_out
    assert warning.startswith("boost locks out")


@pytest.mark.parametrize("factor", [0, -1, float("inf"), float("nan"), True, "2", None])
def test_a_factor_that_is_no_number_above_zero_is_refused(memory: Mind, factor: Any) -> None:
    store(memory, "The walrus sings.")
    with pytest.raises(errors.InvalidQuery, match="boost gave"):
        memory.recall("walrus", boost=lambda _: factor)


def test_an_error_of_the_callers_own_function_is_the_callers(memory: Mind) -> None:
    store(memory, "The walrus sings.")
    with pytest.raises(ZeroDivisionError):
        memory.recall("walrus", boost=lambda _: 1 / 0)
    with pytest.raises(errors.InvalidRequest, match="boost is of the type int"):
        memory.recall("walrus", boost=3)  # type: ignore[arg-type]


def test_a_boost_sees_a_shared_memory_under_its_own_id(memory: Mind) -> None:
    theirs = store(memory.for_user("ada"), "The walrus sings.")
    memory.for_user("ada").share(theirs.id, memory.scope.user)
    seen = set()

    def noticing(each: Memory) -> float:
        seen.add(each.id)
        return 1.0

    memory.recall("walrus", boost=noticing)
    assert seen == {theirs.id}
