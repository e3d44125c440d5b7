"""Vectors in a SQLite file: searched in memory, which follows what any process does to the file."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np
import pytest

from bearinmind.errors import StoreDamaged
from bearinmind.protocols import DenseAnswer, History
from bearinmind.store import half_precision
from bearinmind.store.sqlite import SqliteStore, vectors
from bearinmind.types import Filter, Memory, MemoryId, Scope, Space, UserId

HOUR = timedelta(hours=1)
Make = Callable[..., Memory]
SPACE = Space(model="made-up", revision="1", dimensions=48)
ADA = Scope(user=UserId("ada"))


@pytest.fixture
def open_file(path: Path) -> Iterator[Callable[[], SqliteStore]]:
    """Opens the same file once more."""
    opened: list[SqliteStore] = []

    def open_() -> SqliteStore:
        opened.append(SqliteStore(path))
        return opened[-1]

    yield open_
    for store in opened:
        store.close()


@pytest.fixture
def store(open_file: Callable[[], SqliteStore]) -> SqliteStore:
    made = open_file()
    made.use_space(SPACE)
    return made


def directions(count: int, seed: int = 1) -> np.ndarray:
    """Vectors in a few bundles, as the meanings of real texts are."""
    chance = np.random.default_rng(seed)
    centres = chance.standard_normal((8, SPACE.dimensions))
    bundled = centres[chance.integers(0, 8, count)]
    return (bundled + chance.standard_normal(bundled.shape)).astype(np.float32)


def keep(
    store: SqliteStore, make: Make, given: np.ndarray, owner: UserId = ADA.user
) -> list[MemoryId]:
    """Store a memory for each vector, and embed it so."""
    memories = [make(owner=owner) for _ in given]
    store.put_many(Scope(user=owner), [History(versions=(memory,)) for memory in memories])
    embed(store, memories[0].created_at, dict(zip([m.id for m in memories], given, strict=True)))
    return [memory.id for memory in memories]


def embed(store: SqliteStore, now: datetime, given: dict[MemoryId, np.ndarray]) -> None:
    jobs = store.claim(["embed"], 9_999, now, now + HOUR)
    wanted = np.array([given[job.memory.id] for job in jobs], np.float32)
    assert store.finish_embedding(SPACE, jobs, wanted) == len(jobs)


def ask(
    store: SqliteStore, query: np.ndarray, now: datetime, limit: int = 10, scope: Scope = ADA
) -> DenseAnswer:
    return store.nearest(Filter(scope=scope, now=now), SPACE, query, limit)


def ids(answer: DenseAnswer) -> list[str]:
    return [near.id for near in answer.nearest]


def brute_force(given: np.ndarray, query: np.ndarray) -> np.ndarray:
    """Every cosine, from the values that the file keeps."""
    lengths = np.linalg.norm(given, axis=1, keepdims=True)
    halves = (given / lengths).astype(np.float16).astype(np.float64)
    exact = query.astype(np.float64)
    cosines = halves @ exact / np.linalg.norm(halves, axis=1) / np.linalg.norm(exact)
    return np.asarray(np.round(cosines, 6))


# ---- the answer is exact -----------------------------------------------------------------------


def test_the_answer_is_that_of_comparing_everything(
    store: SqliteStore, make: Make, noon: datetime
) -> None:
    given = directions(1_500)
    given[700:740] = given[20:60]  # twins
    kept = keep(store, make, given)
    for seed, limit in [(2, 1), (3, 10), (4, 50), (5, 200), (6, 1_499), (7, 2_000)]:
        query = directions(1, seed)[0] if seed % 2 else given[seed * 10]
        cosines = brute_force(given, query)
        order = sorted(range(len(given)), key=lambda n, c=cosines: (-c[n], kept[n]))  # type: ignore[misc]
        answer = ask(store, query, noon, limit)
        assert ids(answer) == [kept[n] for n in order[:limit]]
        assert [near.cosine for near in answer.nearest] == pytest.approx(
            [cosines[n] for n in order[:limit]]
        )
        assert answer.searched == 1_500
        assert answer.mean == pytest.approx(cosines.mean(), abs=1e-3)
        assert answer.deviation == pytest.approx(cosines.std(), abs=1e-3)


def test_a_code_is_as_near_to_its_vector_as_it_says() -> None:
    for given in (directions(3_000), np.eye(SPACE.dimensions, dtype=np.float32)):
        held = vectors.Matrix(SPACE.dimensions)
        codes, _ = vectors.encode(given, len(given), SPACE.dimensions)
        held.extend([*enumerate(codes, start=1)])
        view = held.view()
        for query in half_precision.unit(directions(20, seed=9)):
            off = np.abs(view.cosines(query) - brute_force(given, query))
            assert (off <= view.errors).all()
        assert view.errors.max() < 0.04


def test_vectors_fill_one_block_after_another() -> None:
    given = half_precision.unit(directions(2 * vectors.BLOCK + 100))
    codes, _ = vectors.encode(given, len(given), SPACE.dimensions)
    arrivals = [*enumerate(codes, start=1)]
    held = vectors.Matrix(SPACE.dimensions)
    views, done = [], 0
    for size in (1, 5, vectors.BLOCK, 90, vectors.BLOCK + 4):
        held.extend(arrivals[done : done + size])
        done += size
        views.append((done, held.view()))
    query = half_precision.unit(directions(1, seed=3))[0]
    expected = brute_force(given, query)
    for count, view in views:  # the early ones too: what arrived later did not change them
        assert view.seqs.tolist() == [*range(1, count + 1)]
        assert (np.abs(view.cosines(query) - expected[:count]) <= view.errors).all()


def test_a_vector_without_direction_is_near_to_nothing(
    store: SqliteStore, make: Make, noon: datetime
) -> None:
    given = directions(3)
    given[1] = 0
    kept = keep(store, make, given)
    answer = ask(store, given[0], noon)
    assert dict(answer.nearest)[kept[1]] == 0.0
    assert [near.cosine for near in ask(store, np.zeros(48, np.float32), noon).nearest] == [0.0] * 3


# ---- many processes, many threads --------------------------------------------------------------


def test_what_one_writes_another_finds_at_once(
    store: SqliteStore, open_file: Callable[[], SqliteStore], make: Make, noon: datetime
) -> None:
    other = open_file()
    given = directions(30)
    kept = []
    for n, vector in enumerate(given):
        writer, reader = (store, other) if n % 2 else (other, store)
        kept += keep(writer, make, vector[None])
        assert ids(ask(reader, vector, noon, 1)) == kept[-1:]
        assert ask(reader, vector, noon).searched == n + 1
    memory = other.get(ADA, kept[3])
    assert memory is not None
    later = noon + HOUR
    other.replace(ADA, replace(memory, version=2, updated_at=later, deleted_at=later))
    other.purge(ADA, [kept[4]])
    for reader in (store, other):
        for n in (3, 4):
            assert kept[n] not in ids(ask(reader, given[n], noon, 30))
        assert ask(reader, given[0], noon).searched == 28


def test_what_was_read_once_is_not_read_again(
    store: SqliteStore, make: Make, noon: datetime, path: Path
) -> None:
    given = directions(5)
    kept = keep(store, make, given[:4])
    ask(store, given[0], noon)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("UPDATE vectors SET code = zeroblob(length(code))")
    kept += keep(store, make, given[4:])
    assert ids(ask(store, given[1], noon, 1)) == [kept[1]]
    assert ids(ask(store, given[4], noon, 1)) == [kept[4]]


def test_only_the_vectors_of_who_asks_are_held(
    store: SqliteStore, make: Make, noon: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    given = directions(20)
    users = [UserId(f"user{n}") for n in range(4)]
    kept = {user: keep(store, make, given[n : n + 5], user) for n, user in enumerate(users)}
    held = store._vectors._held._matrices
    ask(store, given[0], noon, scope=Scope(user=users[0]))
    assert [owner for _, owner in held] == users[:1]
    monkeypatch.setattr(vectors, "_HELD_BYTES", 700)  # room for ten vectors and a few
    for user in (*users, users[0], users[3]):
        assert {*ids(ask(store, given[0], noon, scope=Scope(user=user)))} == {*kept[user]}
    assert [owner for _, owner in held] == [users[2], users[0], users[3]][-len(held) :]
    assert 1 < len(held) < 4


def test_threads_ask_while_others_write(store: SqliteStore, make: Make, noon: datetime) -> None:
    first = directions(40)
    kept = keep(store, make, first)
    failures: list[str] = []
    stop = threading.Event()

    def read() -> None:
        before = 0
        while not stop.is_set():
            for id_, vector in zip(kept[:10], first[:10], strict=True):
                answer = ask(store, vector, noon, 3)
                if ids(answer)[0] != id_ or answer.searched < before:
                    failures.append(f"{id_}: {answer}")
                before = answer.searched

    readers = [threading.Thread(target=read) for _ in range(4)]
    for reader in readers:
        reader.start()
    for n in range(12):
        keep(store, make, directions(9, seed=100 + n))
    stop.set()
    for reader in readers:
        reader.join()
    assert failures == []
    assert ask(store, first[0], noon).searched == 40 + 12 * 9


# ---- the file ----------------------------------------------------------------------------------


def test_a_purge_leaves_nothing_of_a_vector_in_the_file(
    store: SqliteStore, make: Make, path: Path
) -> None:
    given = directions(40)
    kept = keep(store, make, given)
    codes, exact = vectors.encode(given, 40, SPACE.dimensions)

    def traces(n: int) -> int:
        store._connections.get().execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        everything = path.read_bytes()
        return sum(piece in everything for piece in (codes[n], exact[n]))

    assert traces(7) == traces(8) == 2
    assert store.purge(ADA, [kept[7]])
    assert (traces(7), traces(8)) == (0, 2)


@pytest.mark.parametrize(
    "damage", ["UPDATE vectors SET code = x'00'", "UPDATE exact_vectors SET vector = x'0000'"]
)
def test_a_damaged_vector_is_named_as_damage(
    store: SqliteStore, make: Make, path: Path, noon: datetime, damage: str
) -> None:
    given = directions(2)
    keep(store, make, given)
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(damage)
    with pytest.raises(StoreDamaged, match="bytes long"):
        ask(store, given[0], noon)


def test_a_check_finds_what_will_never_be_found_by_meaning(
    store: SqliteStore, make: Make, path: Path, noon: datetime
) -> None:
    keep(store, make, directions(3))
    store.put(ADA, make("waits"))
    assert all(finding.good for finding in store.check())
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("DELETE FROM work")
        connection.execute("DELETE FROM exact_vectors WHERE seq = 1")
        connection.execute("DELETE FROM vectors WHERE seq = 2")
    bad = {finding.name: finding.detail for finding in store.check() if not finding.good}
    assert bad == {
        "meaning": "2 memories that will never be found by meaning",
        "vectors": "1 vectors without their memory, their space or their values",
    }


def test_a_check_shows_the_jobs_that_were_given_up(
    store: SqliteStore, make: Make, noon: datetime
) -> None:
    store.put(ADA, make("too odd"))
    store.give_back(store.claim(["embed"], 9, noon, noon), "the server said 400", noon, dead=True)
    [finding] = [finding for finding in store.check() if not finding.good]
    assert (finding.name, finding.detail) == ("work", "1 jobs given up: the server said 400")
