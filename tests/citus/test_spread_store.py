"""What a spread store does when one of its machines is away, or dies in the middle of a commit."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from bearinmind.app import Mind
from bearinmind.errors import StoreUnavailable
from bearinmind.store.postgres.upkeep import Upkeep
from bearinmind.types import Stored
from support.citus_cluster import node_urls, run
from support.processes import wait_until

Open = Callable[[str], Mind]
Users = dict[int, list[str]]


def test_one_dead_worker_stops_nobody_whose_memories_are_elsewhere(
    open_as: Open, users: Users, second_worker_is_dead: Callable[[], None]
) -> None:
    well, ill = open_as(users[1][0]), open_as(users[2][0])
    for memory in (well, ill):
        memory.store("walruses sing at dawn")
    well.work.wait()
    ill.store("seals clap at noon")
    second_worker_is_dead()

    hit = well.store("walruses sleep in the evening").memory
    done = well.work.run()
    assert done.finished == 3  # embedded, read and compared
    answer = well.recall("which walruses sleep?")
    assert answer.hits[0].memory.id == hit.id
    assert [leg.error for leg in answer.trace.legs] == [None, None, None]
    assert well.share(hit.id, users[1][1]).memory == hit.id
    assert well.work.status().active is not None
    assert {each.name for each in well.check()} >= {"index", "meaning", "work"}
    assert "not known" in well.check()[0].detail
    with pytest.raises(StoreUnavailable):
        ill.recall("seals")
    with pytest.raises(StoreUnavailable, match="nothing was changed"):
        ill.store("never kept")


def test_a_sharer_whose_machine_is_away_costs_a_reader_that_sharer_alone(
    open_as: Open, users: Users, second_worker_is_dead: Callable[[], None]
) -> None:
    reader, well, ill = (open_as(name) for name in (users[1][2], users[1][3], users[2][1]))
    own = reader.store("our otters float").memory
    theirs = [
        memory.store(f"otters float, says {memory.scope.user}").memory for memory in (well, ill)
    ]
    for memory, shared in zip((well, ill), theirs, strict=True):
        memory.share(shared.id, reader.scope.user)
    assert {hit.memory.id for hit in reader.recall("otters").hits} == {
        own.id,
        *(x.id for x in theirs),
    }
    second_worker_is_dead()

    answer = reader.recall("otters")

    assert {hit.memory.id for hit in answer.hits} == {own.id, theirs[0].id}
    [missing] = [leg for leg in answer.trace.legs if leg.error]
    assert missing.leg == "shared"


def test_jobs_that_a_crash_has_lost_are_found_by_the_next_worker(
    open_as: Open, users: Users, url: str
) -> None:
    memory = open_as(users[1][4])
    memory.work.wait()
    for number in range(3):
        memory.store(f"the crane number {number} dances")
    run(url, "DELETE FROM work")
    assert "3 memories" in {each.name: each.detail for each in memory.check()}["meaning"]

    done = memory.work.run()

    assert done.by_kind == {"compare": 3, "embed": 3, "extract": 3}
    assert [each for each in memory.check() if not each.good] == []


def test_a_commit_whose_second_half_is_lost_is_found_out_and_keeps_its_jobs(
    open_as: Open, users: Users, url: str
) -> None:
    """The worker commits, and the coordinator dies before it does."""
    memory = open_as(users[2][2])
    memory.work.wait()
    coordinator, _, worker = node_urls(url)
    _set(worker, synchronous_commit="on", synchronous_standby_names="nobody")
    with ThreadPoolExecutor(1) as thread:
        storing = thread.submit(memory.store, "the heron waits")
        waits = "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        wait_until(lambda: bool(run(worker, waits)))
        run(
            coordinator,
            "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity"
            " WHERE application_name = 'bearinmind' AND query = 'COMMIT'",
        )
        _set(worker, synchronous_standby_names="")
        outcome = storing.result()

    assert isinstance(outcome, Stored)
    kinds = run(url, "SELECT kind FROM work ORDER BY kind")
    assert kinds == [("compare",), ("embed",), ("extract",)]
    memory.work.wait()
    assert memory.recall("heron").hits[0].memory.id == outcome.memory.id


def test_sizes_count_all_machines_and_a_running_build_is_not_begun_again(
    open_as: Open, users: Users, url: str
) -> None:
    memory = open_as(users[1][0])
    for number in range(20):
        memory.store(f"the goose number {number} flies")
    memory.work.wait()
    upkeep = Upkeep(url, patience=10)
    state = upkeep.state()
    assert state.store is not None
    sizes = {each.name: each for each in state.store.tables}
    [[coordinator]] = run(url, "SELECT pg_total_relation_size('memories')")
    assert sizes["memories"].bytes > coordinator
    [index] = upkeep.indexes.known()
    _, worker, _ = node_urls(url)
    hidden = ("citus.override_table_visibility=off", "citus.enable_manual_changes_to_shards=on")
    shown = make_conninfo(worker, options=" ".join(f"-c{each}" for each in hidden))
    shards = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relname ~ '^vectors_[0-9]+$'"
    [shard] = run(shown, shards)[0]
    with ThreadPoolExecutor(1) as thread, psycopg.connect(shown) as other:
        other.execute(f"LOCK TABLE {shard} IN ROW EXCLUSIVE MODE")  # as a writer does
        building = thread.submit(upkeep.indexes.build, index)
        wait_until(lambda: upkeep.indexes.progress() is not None)
        assert not Upkeep(url, patience=10).indexes.build(index)
        other.rollback()
        assert building.result()
    [built] = upkeep.indexes.known()
    assert built.complete
    assert built.bytes > 0
    upkeep.close()


def _set(node: str, **settings: str) -> None:
    for name, value in settings.items():
        run(node, f"ALTER SYSTEM SET {name} = '{value}'")
    run(node, "SELECT pg_reload_conf()")
