"""With a replica, recalls are answered by a standby, and nothing else is."""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest

from bearinmind.app import Mind
from support.patroni import Cluster, cluster
from support.processes import wait_until


@pytest.fixture(scope="module")
def pair() -> Iterator[Cluster]:
    """A leader and its standby."""
    with cluster(2) as started:
        yield started


@pytest.fixture
def memory(pair: Cluster) -> Iterator[Mind]:
    with Mind.open(
        pair.url(),
        replica=pair.url(wanted="prefer-standby"),
        replica_staleness=3_600,
        embedder="hash",
        worker="off",
    ) as opened:
        yield opened


def recalls(memory: Mind, text: str) -> list[str]:
    return [hit.memory.content for hit in memory.recall(text).hits]


def asked_at_standby(pair: Cluster) -> set[str]:
    """What connections of Bear in Mind to the standby asked last."""
    node = pair.standby()
    with psycopg.connect(pair.administrator_url(node)) as connection:
        found = connection.execute(
            "SELECT query FROM pg_stat_activity WHERE application_name = 'bearinmind'"
        )
        return {query for [query] in found.fetchall()}


def test_a_recall_has_what_was_just_stored_and_then_comes_from_the_standby(
    pair: Cluster, memory: Mind
) -> None:
    for number in range(5):
        memory.store(f"Ship {number} carries tea.")
        assert f"Ship {number} carries tea." in recalls(memory, f"ship {number}")

    def read_there() -> bool:
        assert len(recalls(memory, "tea")) == 5
        return any("owner" in query for query in asked_at_standby(pair))

    wait_until(read_there)


def test_how_far_the_standby_may_be_behind_is_told(memory: Mind) -> None:
    def lag() -> float:
        found = memory.server.store.replica_lag()
        assert found is not None
        return found

    memory.store("The harbour is full.")
    wait_until(lambda: lag() < 60)


def test_what_reads_in_order_to_write_reads_the_leader(memory: Mind) -> None:
    id_ = memory.store("The tide is low.").memory.id
    for height in range(20):  # a stale version would be a conflict
        memory.update(id_, content=f"The tide is at {height} feet.")
    assert memory.get(id_).version == 21
    assert recalls(memory, "tide") == ["The tide is at 19 feet."]


def test_without_the_standby_recalls_go_on(pair: Cluster) -> None:
    with Mind.open(
        pair.url(), replica="postgresql://ada@127.0.0.1:1/none", embedder="hash", worker="off"
    ) as memory:
        memory.store("The anchor is new.")
        assert "The anchor is new." in recalls(memory, "anchor")
