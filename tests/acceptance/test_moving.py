"""A store is moved whole: whatever it holds is in the other one, and nothing else."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from datetime import timedelta
from pathlib import Path

import numpy as np
import psycopg
import pytest

from bearinmind import errors
from bearinmind.config import store_name
from bearinmind.protocols import AuditEntry, Store
from bearinmind.store.factory import Access, open_source, open_store, open_target
from bearinmind.store.migrate_store import Compared, Move, open_move
from bearinmind.store.transfer import TABLES
from bearinmind.types import Memory, Space
from support.extractors import mention, read_all
from support.full_store import LATER, NOON, OWNERS, THIRD, Life, everything

Make = Callable[..., Memory]
Place = str | Path
HALF_SPACE = Space(model="bits", revision="1", dimensions=1024)


def nothing(_rows: int) -> None:
    """Nobody asks how far it is."""


def moved(source: Place, target: Place, page: int = 50) -> list[Compared]:
    """Move a store; what was compared."""
    access = Access(connections=2)
    with (
        open_source(store_name(source), access) as one,
        open_target(store_name(target), access) as other,
        open_move(one, other, page=page) as move,
    ):
        move.copy(nothing)
        return move.verify(nothing)


@pytest.fixture
def opened() -> Iterator[Callable[[Place], Store]]:
    """Opens a store by its name."""
    stores: list[Store] = []

    def open_(place: Place) -> Store:
        stores.append(open_store(store_name(place), Access(connections=2)))
        return stores[-1]

    yield open_
    for store in stores:
        store.close()


Open = Callable[[Place], Store]


def live(store: Store, seed: int) -> object:
    """Fill a store; all that it answers."""
    Life(store, seed)()
    answers = everything(store)
    store.close()
    return answers


def assert_sound(store: Store) -> None:
    """Nothing is wrong with it but for the jobs that were given up on purpose."""
    assert [each for each in store.check() if not each.good and each.name != "work"] == []


# ---- there and back ----------------------------------------------------------------------------


@pytest.mark.parametrize("seed", range(3))
def test_a_file_comes_back_from_a_server_as_it_was(
    seed: int, tmp_path: Path, postgres_url: str, opened: Open
) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    answers = live(opened(first), seed)

    there, back = moved(first, postgres_url), moved(postgres_url, second)

    assert {each.table for each in there if each.rows} == {table.name for table in TABLES}
    assert [each.rows for each in there] == [each.rows for each in back]
    for place in (postgres_url, second):
        store = opened(place)
        assert everything(store) == answers
        assert_sound(store)


@pytest.mark.parametrize("seed", range(2))
def test_a_server_comes_back_from_a_file_as_it_was(
    seed: int,
    tmp_path: Path,
    migrated_database: Callable[[], str],
    postgres_url: str,
    opened: Open,
) -> None:
    """Its users number what is theirs alike, which a file cannot have."""
    first, file = migrated_database(), tmp_path / "memories.db"
    answers = live(opened(first), seed)

    moved(first, file)
    back = moved(file, postgres_url)

    for place in (file, postgres_url):
        store = opened(place)
        assert everything(store) == answers
        assert_sound(store)
    again = tmp_path / "again.db"
    assert moved(postgres_url, again) == back  # in a file once, nobody is numbered anew


def test_stores_of_one_kind_are_moved_into_each_other(
    tmp_path: Path, migrated_database: Callable[[], str], postgres_url: str, opened: Open
) -> None:
    pairs: list[tuple[Place, Place]] = [
        (tmp_path / "one.db", tmp_path / "new folder" / "two.db"),
        (migrated_database(), postgres_url),
    ]
    for first, second in pairs:
        answers = live(opened(first), seed=7)
        moved(first, second)
        store = opened(second)
        assert everything(store) == answers
        assert_sound(store)


def test_an_empty_store_is_moved_too(tmp_path: Path, postgres_url: str, opened: Open) -> None:
    opened(tmp_path / "empty.db").close()
    moved(tmp_path / "empty.db", postgres_url)
    moved(postgres_url, tmp_path / "again.db")
    assert everything(opened(postgres_url)) == everything(opened(tmp_path / "again.db"))


def test_the_codes_by_which_a_file_is_searched_are_those_that_it_had(
    tmp_path: Path, postgres_url: str, opened: Open
) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    live(opened(first), seed=3)
    moved(first, postgres_url)
    moved(postgres_url, second)

    codes = (
        "SELECT m.owner, m.id, m.version, v.space, v.code"
        " FROM vectors v JOIN memories m USING (row) ORDER BY 1, 2, 3, 4"
    )
    assert _read(second, codes) == _read(first, codes)


def test_every_number_of_half_precision_survives_the_way_there_and_back(
    tmp_path: Path, postgres_url: str, make: Make, opened: Open
) -> None:
    first, second = tmp_path / "first.db", tmp_path / "second.db"
    store = opened(first)
    store.use_space(HALF_SPACE)
    patterns = np.arange(2**16, dtype=np.uint16).view(np.float16)
    vectors = patterns[np.isfinite(patterns)].reshape(-1, HALF_SPACE.dimensions)
    for _ in vectors:
        store.put(OWNERS[0], make(owner=OWNERS[0].user))
    jobs = store.claim(["embed"], len(vectors), NOON, LATER)
    store.finish_embedding(HALF_SPACE, jobs, np.ones(vectors.shape, np.float32))
    store.close()
    with sqlite3.connect(first) as file:
        kept = [(half.astype("<f2").tobytes(), seq) for seq, half in enumerate(vectors, 1)]
        file.executemany("UPDATE exact_vectors SET vector = ? WHERE seq = ?", kept)
    file.close()

    moved(first, postgres_url)
    moved(postgres_url, second)

    exact = "SELECT v.row, e.vector FROM vectors v JOIN exact_vectors e USING (seq) ORDER BY 1"
    assert _read(second, exact) == _read(first, exact)


def _read(path: Path, statement: str) -> list[tuple[object, ...]]:
    connection = sqlite3.connect(path)
    found = connection.execute(statement).fetchall()
    connection.close()
    return found


def test_a_moved_store_goes_on_as_if_nothing_had_happened(
    tmp_path: Path, postgres_url: str, make: Make, opened: Open
) -> None:
    """What comes next gets numbers that nothing has, in every table and of every user."""
    places: list[Place] = [tmp_path / "first.db", postgres_url, tmp_path / "second.db"]
    Life(opened(places[0]), 5)()
    moved(places[0], places[1])
    moved(places[1], places[2])
    for place in places:
        store = opened(place)
        for number, scope in enumerate(OWNERS):
            for content in ("Puffin | Tern | Puffin > knows > Tern", f"another {number}"):
                store.put(scope, make(content, owner=scope.user, id=f"{content[:3]}{number}"))
            store.note(AuditEntry(LATER, scope.user, "get", None, None, None))
        read_all(store, LATER + timedelta(days=1))
        store.drop_retired()
        store.use_space(THIRD)
        store.use_extractor("another")
        for scope in OWNERS:
            store.add_mentions(scope, {store.resolve(scope, "Puf")[0]: [mention("Auk")]})
    first, second, third = (everything(opened(place)) for place in places)
    assert first == second == third
    for place in places:
        assert_sound(opened(place))


# ---- what is refused ---------------------------------------------------------------------------


@pytest.fixture(params=["file", "server"])
def target(request: pytest.FixtureRequest, tmp_path: Path, postgres_url: str) -> Place:
    """A place for a store of either kind; there is none yet."""
    return tmp_path / "target.db" if request.param == "file" else postgres_url


@pytest.fixture
def source(tmp_path: Path, opened: Open) -> Path:
    """A full store."""
    store = opened(tmp_path / "source.db")
    Life(store, 11)()
    store.close()
    return tmp_path / "source.db"


def interrupted(source: Place, target: Place, pages: int = 9) -> None:
    """Move so many pages, and no further."""
    left = iter(range(pages))

    def stop(_rows: int) -> None:
        if next(left, None) is None:
            raise KeyboardInterrupt

    access = Access()
    with (
        pytest.raises(KeyboardInterrupt),
        open_source(store_name(source), access) as one,
        open_target(store_name(target), access) as other,
        open_move(one, other, page=20) as move,
    ):
        move.copy(stop)


def test_nothing_is_moved_into_a_store_that_holds_something(
    source: Path, target: Place, make: Make, opened: Open
) -> None:
    store = opened(target)
    store.put(OWNERS[0], make("mine", owner=OWNERS[0].user))
    before = everything(store)
    with pytest.raises(errors.StoreNotEmpty):
        moved(source, target)
    assert everything(opened(target)) == before


def test_nobody_opens_a_store_that_is_not_whole_yet(
    source: Path, target: Place, opened: Open
) -> None:
    interrupted(source, target)
    with pytest.raises(errors.StoreUnfinished) as refused:
        opened(target)
    assert "migrate-store" in refused.value.hint
    with pytest.raises(errors.StoreUnfinished):
        moved(target, source.with_name("third.db"))


def test_a_move_does_not_go_on_from_a_store_that_has_changed(
    source: Path, target: Place, make: Make, opened: Open
) -> None:
    interrupted(source, target)
    opened(source).put(OWNERS[0], make("newer", owner=OWNERS[0].user))
    with pytest.raises(errors.StoreChanged, match="memories") as refused:
        moved(source, target)
    assert "--restart" in refused.value.hint


def test_what_does_not_arrive_as_it_was_given_is_noticed(
    source: Path, target: Place, opened: Open
) -> None:
    before = source.read_bytes()
    access = Access()
    with (
        open_source(store_name(source), access) as one,
        open_target(store_name(target), access) as other,
        open_move(one, other) as move,
    ):
        move.copy(nothing)
        _tamper(target)
        with pytest.raises(errors.MoveNotVerified, match=r"links: \d+ rows of \d+") as refused:
            move.verify(nothing)
    assert "memories: 1" in refused.value.message
    assert "but not the same ones" in refused.value.message
    assert "vectors" not in refused.value.message
    with pytest.raises(errors.StoreUnfinished):
        opened(target)
    assert source.read_bytes() == before


def _tamper(target: Place) -> None:
    connection = sqlite3.connect(target) if isinstance(target, Path) else psycopg.connect(target)
    with connection:
        connection.execute("UPDATE memories SET importance = 0.123 WHERE id LIKE 'm0004%'")
        connection.execute("DELETE FROM links WHERE source = (SELECT min(source) FROM links)")
    connection.close()


@pytest.mark.parametrize("kind", ["file", "server"])
def test_what_is_stored_while_a_move_goes_on_is_not_moved(
    kind: str, tmp_path: Path, postgres_url: str, make: Make, opened: Open
) -> None:
    source: Place = tmp_path / "source.db" if kind == "file" else postgres_url
    store, access = opened(source), Access()
    Life(store, 12)()
    before = everything(store)
    with (
        open_source(store_name(source), access) as one,
        open_target(store_name(tmp_path / "target.db"), access) as other,
        open_move(one, other, page=20) as move,
    ):
        for scope in OWNERS:
            store.put(scope, make("later", owner=scope.user))
        move.copy(nothing)
        move.verify(nothing)
    assert everything(opened(tmp_path / "target.db")) == before


def test_two_do_not_move_into_one_store_at_once(source: Path, target: Place, opened: Open) -> None:
    interrupted(source, target, pages=2)
    access = Access()
    with (
        open_source(store_name(source), access) as one,
        open_source(store_name(source), access) as same,
        open_target(store_name(target), access) as other,
        open_target(store_name(target), access) as another,
        open_move(one, other, page=20) as first,
        open_move(same, another, page=20) as second,
    ):
        with pytest.raises(errors.StoreBusy, match="another process"):
            _alternate(first, second)
        first.copy(nothing)
        first.verify(nothing)
    assert everything(opened(target)) == everything(opened(source))


def _alternate(first: Move, second: Move) -> None:
    """Let the second write behind the first's back."""
    left = iter([True])

    def take_a_turn(_rows: int) -> None:
        if next(left, False):
            second.copy(nothing)

    first.copy(take_a_turn)
