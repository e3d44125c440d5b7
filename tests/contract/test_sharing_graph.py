"""Of the graph and of vectors a reader sees what is shared, and no count that tells of more."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import numpy as np
import pytest

from bearinmind.concepts import ConceptName, Merge, Role
from bearinmind.protocols import Store
from bearinmind.types import Filter, Memory, Scope, Share, Space
from support.extractors import HOUR, states

GANNET, HERON, ILSE = (ConceptName(name) for name in ("gannet", "heron", "ilse"))
Keep = Callable[..., Memory]
Shares = Callable[..., Share]


def counts(store: Store, as_reader: Filter, *names: ConceptName) -> dict[str, tuple[int, int]]:
    found = store.visible_concepts(as_reader, names)
    return {name: (each.memories, each.subjects) for name, each in found.items()}


def test_a_concept_is_counted_by_what_is_seen_alone(
    store: Store, scope: Scope, keep: Keep, share: Shares, as_bob: Filter
) -> None:
    shown = keep("Gannet | Heron", tags=("open",))
    keep("Gannet | Ilse")
    assert counts(store, as_bob, GANNET, HERON, ILSE) == {}
    store.add_share(scope, share("open"))

    assert counts(store, as_bob, GANNET, HERON, ILSE) == {GANNET: (1, 1), HERON: (1, 0)}
    assert store.concepts(scope, [GANNET])[GANNET].memories == 2
    for mentioned in (
        store.mentions_in(as_bob, [shown.id]),
        store.mentioning(as_bob, [GANNET, HERON, ConceptName("open"), ILSE], 9),
        [*store.all_mentions(as_bob)],
    ):
        assert {each.id for each in mentioned} == {shown.id}
        assert {each.concept: each.memories for each in mentioned} == {
            GANNET: 1,
            HERON: 1,
            "open": 1,
        }
    assert store.mentioning(as_bob, [ILSE], 9) == []


@pytest.mark.parametrize("limit", [1, 3, 9])
def test_those_who_mention_a_common_concept_are_counted_and_limited_as_the_reader_sees_them(
    store: Store, scope: Scope, keep: Keep, share: Shares, as_bob: Filter, limit: int
) -> None:
    shown = [keep(f"Gannet | Bird {number}") for number in range(4)]
    for number in range(4):
        keep(f"Gannet | Stone {number}")
    for memory in shown:
        store.add_share(scope, share(memory))

    for role in (None, Role.SUBJECT):
        found = store.mentioning(as_bob, [GANNET], limit, role)
        newest = [memory.id for memory in reversed(shown)]
        assert [each.id for each in found] == newest[:limit]
        assert {each[3:] for each in found} == {(4, 4)}


def test_a_merge_is_honoured_but_names_nothing_that_is_hidden(
    store: Store, scope: Scope, keep: Keep, share: Shares, as_bob: Filter, noon: datetime
) -> None:
    shown = keep("Gannet")
    both = keep("Heron")
    keep("Ilse")
    store.add_share(scope, share(shown))
    for alias in (GANNET, HERON):
        told = Merge(alias=alias, into=ILSE, reason="alike", score=1.0, merged_at=noon)
        store.merge(scope, told)
    assert {each.name for each in store.concepts(scope, [GANNET]).values()} == {ILSE}

    seen = store.visible_concepts(as_bob, [GANNET, HERON, ILSE])
    assert {name: (each.name, each.aliases) for name, each in seen.items()} == {
        GANNET: (GANNET, ())
    }
    assert [each.concept for each in store.mentions_in(as_bob, [shown.id])] == [GANNET]
    assert store.mentioning(as_bob, [HERON, ILSE], 9) == []

    store.add_share(scope, share(both))
    seen = store.visible_concepts(as_bob, [GANNET, HERON, ILSE])
    assert {name: (each.name, each.aliases) for name, each in seen.items()} == {
        GANNET: (GANNET, (HERON,)),
        HERON: (GANNET, (HERON,)),
    }
    found = store.mentioning(as_bob, [HERON], 9)
    assert {(each.id, each.concept, each.memories) for each in found} == {
        (shown.id, GANNET, 2),
        (both.id, GANNET, 2),
    }


def test_what_no_memory_says_of_the_graph_is_not_shared(
    store: Store, scope: Scope, keep: Keep, share: Shares, as_bob: Filter, noon: datetime
) -> None:
    shown = keep("Gannet | Heron | Gannet > eats > Heron")
    keep("Gannet | Ilse | Gannet > fears > Ilse")
    imported = states("Gannet", "knows", "Heron")
    store.add_statements(scope, [(imported, [])], noon + HOUR, "import")
    store.add_share(scope, share(shown))

    everybodys = store.relations(replace(as_bob, reader=None), [GANNET], 9)
    assert {each.type for each in everybodys} == {"eats", "fears", "knows"}
    for found in (store.relations(as_bob, [GANNET], 9), [*store.all_relations(as_bob)]):
        assert [(each.type, each.evidence) for each in found] == [("eats", (shown.id,))]


def test_a_dense_answer_tells_of_visible_vectors_alone(
    store: Store, scope: Scope, make: Keep, share: Shares, as_bob: Filter, noon: datetime
) -> None:
    space = Space(model="compass", revision="1", dimensions=2)
    store.use_space(space)
    angles = {"shown": 0.3, "too": 0.9, "hidden": 0.1, "other": 3.0}
    memories = {word: make(word, category=f"of {word}") for word in angles}
    for memory in memories.values():
        store.put(scope, memory)
    jobs = store.claim(["embed"], 9, noon, noon + HOUR)
    turned = np.array([angles[job.memory.content] for job in jobs])
    vectors = np.stack([np.cos(turned), np.sin(turned)], axis=1).astype(np.float32)
    store.finish_embedding(space, jobs, vectors)
    query = np.array([1, 0], np.float32)
    assert store.nearest(as_bob, space, query, 9).population == 0
    for word in ("shown", "too"):
        store.add_share(scope, share(memories[word]))

    answer = store.nearest(as_bob, space, query, 1)
    expected = np.cos([0.3, 0.9])
    assert [near.id for near in answer.nearest] == [memories["shown"].id]
    assert (answer.searched, answer.population) == (2, 2)
    assert answer.mean == pytest.approx(expected.mean(), abs=2e-3)
    assert answer.deviation == pytest.approx(expected.std(), abs=2e-3)
    own = store.nearest(replace(as_bob, reader=None), space, query, 9)
    assert (own.searched, own.population) == (4, 4)
    near = store.cosines(as_bob, space, query, [memory.id for memory in memories.values()])
    assert {*near} == {memories["shown"].id, memories["too"].id}

    store.end_share(scope, replace(share(memories["shown"]), ended_at=noon + HOUR))
    answer = store.nearest(as_bob, space, query, 9)
    assert [near.id for near in answer.nearest] == [memories["too"].id]
    assert (answer.searched, answer.population, answer.deviation) == (1, 1, 0.0)
