"""Nothing of another user and nothing secret is in what the graph answers, however it is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from datetime import datetime

import pytest

from bearinmind.concepts import Merge, Role
from bearinmind.errors import ConceptNotFound
from bearinmind.protocols import GraphCounts, ReadSoFar, Sealed, Store
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Memory, Scope, UserId
from support.extractors import HOUR, Read, after, extraction_of, mention, states

Keep = Callable[..., Memory]
GANNET, HERON = name_of("gannet"), name_of("heron")
RUNS = "Gannet | Heron | Gannet > runs on > Heron"


@pytest.fixture
def eve() -> Scope:
    return Scope(user=UserId("eve"))


def answers(store: Store, scope: Scope, memory: Memory, noon: datetime) -> list[object]:
    """All that the graph says, asked in every way."""
    found: list[object] = []
    for as_of in (None, noon):
        filter_ = Filter(scope=scope, now=noon, as_of=as_of)
        found += store.mentions_in(filter_, [memory.id])
        found += [x for role in (None, *Role) for x in store.mentioning(filter_, [GANNET], 9, role)]
        found += store.relations(filter_, [GANNET, HERON], 9)
        found += [*store.all_mentions(filter_), *store.all_relations(filter_)]
    found += store.concepts(scope, [GANNET, HERON]).values()
    found += [*store.hubs(scope, 9), *store.hubs(scope, 9, containing="gannet")]
    found += [*store.known_names(scope, [GANNET, HERON]), *store.merges(scope, undone=True)]
    return found


def test_another_user_reads_nothing(
    store: Store, scope: Scope, eve: Scope, keep: Keep, noon: datetime
) -> None:
    memory = keep(RUNS)
    store.merge(scope, Merge(alias=HERON, into=GANNET, reason="", score=1.0, merged_at=noon))
    assert answers(store, eve, memory, noon) == []
    assert len(answers(store, scope, memory, noon)) > 10
    assert store.graph_counts(eve) == GraphCounts(0, 0, 0, 0, 0)
    assert store.read_so_far(eve, 99) == ReadSoFar(has_concepts=False, waiting=0)


def test_another_user_changes_nothing(
    store: Store, scope: Scope, eve: Scope, keep: Keep, noon: datetime
) -> None:
    memory = keep(RUNS)
    store.merge(scope, Merge(alias=HERON, into=GANNET, reason="", score=1.0, merged_at=noon))
    before = answers(store, scope, memory, noon)
    [relation] = store.all_relations(Filter(scope=scope, now=noon))
    assert store.add_mentions(eve, {memory.id: [mention("Dunlin")]}) == 0
    given = [(states("Gannet", "knows", "Ilse"), [memory.id])]
    assert store.add_statements(eve, given, noon, "import") == 0
    assert store.retract(eve, relation.number, noon) is False
    assert store.end_relation(eve, relation.number, noon, noon) is False
    assert store.unmerge(eve, HERON, noon) is False
    with pytest.raises(ConceptNotFound):
        store.merge(eve, Merge(alias=GANNET, into=HERON, reason="", score=1.0, merged_at=noon))
    store.purge(eve, [memory.id])
    assert answers(store, scope, memory, noon) == before


def test_the_same_names_of_two_users_are_different_concepts(
    store: Store, scope: Scope, eve: Scope, keep: Keep, noon: datetime
) -> None:
    keep(RUNS)
    hers = keep("Gannet", owner=eve.user)
    store.merge(scope, Merge(alias=HERON, into=GANNET, reason="", score=1.0, merged_at=noon))
    assert store.concepts(eve, [GANNET])[GANNET].memories == 1
    assert store.concepts(eve, [GANNET])[GANNET].aliases == ()
    store.purge(eve, [hers.id])
    assert store.concepts(eve, [GANNET]) == {}
    assert store.concepts(scope, [GANNET])[GANNET].memories == 2


def sealed(memory: Memory) -> Sealed:
    return Sealed(
        owner=memory.owner,
        id=memory.id,
        version=memory.version,
        key_id="key",
        nonce=b"0",
        ciphertext=b"?",
        fingerprint=f"{memory.id} {memory.version}".encode(),
    )


def test_what_becomes_sensitive_leaves_the_graph_to_the_last_word(
    store: Store, scope: Scope, keep: Keep, read: Read, noon: datetime
) -> None:
    memory = keep(RUNS)
    store.add_mentions(scope, {memory.id: [mention("Dunlin")]}, given=True)
    store.merge(scope, Merge(alias=HERON, into=GANNET, reason="", score=1.0, merged_at=noon))
    second = after(memory, content=f"{RUNS}, Gannet > knows > Ilse")
    store.replace(scope, second)
    hidden = [replace(x, content="[sensitive]", sensitive=True) for x in (memory, second)]
    third = replace(after(second), content="[sensitive]", sensitive=True)
    records = [sealed(each) for each in (*hidden, third)]
    store.replace(scope, third, sealed=records, concealed=hidden)
    assert read() == 0, "neither now nor as it was before"
    assert answers(store, scope, memory, noon) == []
    assert store.graph_counts(scope) == GraphCounts(0, 0, 0, 0, 0)
    assert all(finding.good for finding in store.check())


def test_what_was_read_while_it_became_sensitive_is_not_kept(
    store: Store, scope: Scope, make: Callable[..., Memory], noon: datetime, read: Read
) -> None:
    memory = make(RUNS)
    store.put(scope, memory)
    jobs = store.claim(["extract"], 9, noon, noon + HOUR)
    hidden = replace(memory, content="[sensitive]", sensitive=True)
    second = after(hidden)
    store.replace(scope, second, sealed=[sealed(hidden), sealed(second)], concealed=[hidden])
    store.finish_extraction(jobs, [extraction_of(job.memory) for job in jobs], noon)
    assert answers(store, scope, memory, noon) == []
