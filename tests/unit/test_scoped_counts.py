"""What a user is told does not depend on what others hold: no count, size or number of theirs."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.errors import MindError
from bearinmind.protocols import Store
from bearinmind.surfaces.verbs.table import VERBS
from bearinmind.testing import FixedClock
from bearinmind.types import Access
from support.households import household

OTHERS = 300
#: For each verb that reads: what it is asked.
ASKED: dict[str, dict[str, Any]] = {
    "recall": {"query": "where is the walrus", "trace": True, "all": True},
    "list": {},
    "history": {"thing": "the walrus"},
    "timeline": {"around": "2026-01-01"},
    "stats": {},
    "shared_with_me": {},
    "my_shares": {},
    "brief": {},
    "curation.proposals": {},
    "graph.hubs": {},
    "graph.merges": {},
    "accounts.my_keys": {},
    "accounts.my_audit": {},
    "server.agent_sessions": {},
    "server.density": {},
    "server.traffic": {},
}
#: These name one memory, proposal, key or concept, and are asked about one that is not there.
ABSENT: dict[str, dict[str, Any]] = {
    "why_not": {"query": "walrus", "id": "zzzzzzzzzzzz"},
    "get": {"id": "zzzzzzzzzzzz"},
    "why": {"id": "zzzzzzzzzzzz"},
    "secrets.reveal": {"id": "zzzzzzzzzzzz"},
    "curation.proposal": {"id": "zzzzzzzzzzzz"},
    "plan_purge": {"ids": ["zzzzzzzzzzzz"]},
    "graph.of_memory": {"id": "zzzzzzzzzzzz"},
    "graph.concept": {"concept": "Kelp Street"},
    "graph.neighbours": {"concept": "Kelp Street"},
    "graph.subgraph": {"centre": "Kelp Street"},
    "graph.path": {"start": "Kelp Street", "goal": "Ilse"},
}


@pytest.fixture
def worlds(
    new_store: Callable[[], Store], clock: FixedClock, request: pytest.FixtureRequest
) -> Iterator[list[Mind]]:
    """The same user twice: alone, and beside another who holds much that waits to be embedded."""
    with household(new_store(), clock) as alone, household(new_store(), clock) as beside:
        for world in (alone, beside):
            world.for_user("grace").store("the walrus lives in the north")
            world.work.run()
        others = beside.for_user("ada")
        for number in range(OTHERS):
            others.store(f"the walrus number {number} lives at {number} Kelp Street, says Ilse")
        yield [world.for_user("grace") for world in (alone, beside)]


def told(mind: Mind, name: str, fields: dict[str, Any]) -> Any:
    """What a verb answers, without times that were measured."""
    [verb] = [verb for verb in VERBS if verb.name == name]
    text = codec.to_json(verb.run(mind, verb.request.model_validate(fields)))
    return _without_measures(json.loads(text))


def _without_measures(value: Any) -> Any:
    if isinstance(value, dict):
        measured = ("milliseconds", "embedding_ms")
        return {k: _without_measures(v) for k, v in value.items() if k not in measured}
    return [_without_measures(each) for each in value] if isinstance(value, list) else value


def test_every_verb_that_reads_is_asked() -> None:
    reading = {verb.name for verb in VERBS if verb.access is Access.READ}
    assert reading - {"sync_pull", "sync_shared", "sync_shared_memories"} <= {*ASKED, *ABSENT}


def test_what_others_hold_changes_nothing_that_a_user_is_told(worlds: list[Mind]) -> None:
    alone, beside = worlds
    for name, fields in ASKED.items():
        assert told(beside, name, fields) == told(alone, name, fields), name


def test_what_others_hold_is_not_there_for_a_user(worlds: list[Mind]) -> None:
    for name, fields in ABSENT.items():
        problems = []
        for world in worlds:
            with pytest.raises(MindError) as caught:
                told(world, name, fields)
            problems.append((caught.value.code, caught.value.message))
        assert problems[0] == problems[1], name


def test_one_who_has_nothing_is_told_of_nothing_that_waits(worlds: list[Mind]) -> None:
    answer = worlds[1].for_user("newcomer").recall("where is the walrus")
    assert answer.trace.degraded == ()
    assert answer.hits == ()
