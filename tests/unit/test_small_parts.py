"""Ids, filters, parsing, the loader of statements and the public names."""

from __future__ import annotations

import gc
import importlib
from collections.abc import Callable
from contextlib import closing
from dataclasses import fields, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bearinmind
from bearinmind import errors, types
from bearinmind.app import Mind
from bearinmind.outdates.verdicts import MARK
from bearinmind.recall import selection
from bearinmind.recall.pipeline import LARGEST_LIMIT, LARGEST_POOL, TEXT_LIMIT, parse
from bearinmind.store import database
from bearinmind.store.sqlite import SqliteStore
from bearinmind.store.sqlite.file import SqliteFile
from bearinmind.testing import FixedClock, counting_ids
from bearinmind.text import ids
from bearinmind.text.sql_statements import SHARED, statements_of
from bearinmind.types import ID_LENGTH, Filter, Memory, Provenance, Query, Scope, UserId, new_id

Make = Callable[..., Memory]
Ask = Callable[..., Query]
HOUR = timedelta(hours=1)

# ---- ids ---------------------------------------------------------------------------------------


def test_new_ids_are_valid_and_differ() -> None:
    made = {new_id() for _ in range(1_000)}
    assert len(made) == 1_000
    assert all(ids.normalise(id_) == id_ and len(id_) == ID_LENGTH for id_ in made)


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        (" K7F2-9QMX-T4HD ", "k7f29qmxt4hd"),
        ("k7f", "k7f"),
        ("OIL", "011"),
        ("o0", "00"),
    ],
)
def test_an_id_is_understood_as_people_write_it(written: str, meant: str) -> None:
    assert ids.normalise(written) == meant


@pytest.mark.parametrize(
    "text", ["", "  ", "-", "k7f29qmxt4hdx", "abc!", "u", "k 7", "ünique", "\x00"]
)
def test_what_cannot_begin_an_id_is_refused(text: str) -> None:
    with pytest.raises(errors.InvalidId):
        ids.normalise(text)


@given(st.text())
def test_any_text_is_an_id_or_refused(text: str) -> None:
    try:
        prefix = ids.normalise(text)
    except errors.InvalidId:
        return
    assert 1 <= len(prefix) <= ID_LENGTH
    assert ids.normalise(prefix) == prefix


def test_counted_ids_are_valid_ordered_and_the_same_every_time() -> None:
    first, second = counting_ids(), counting_ids()
    made = [first() for _ in range(2_000)]
    assert made == [second() for _ in range(2_000)]
    assert made == sorted({*made})
    assert all(ids.normalise(id_) == id_ and len(id_) == ID_LENGTH for id_ in made)
    assert len({id_[:4] for id_ in made}) == 2_000


def test_a_fixed_clock_moves_only_when_told() -> None:
    clock = FixedClock(datetime(2026, 1, 1, tzinfo=UTC))
    assert clock() == clock() == datetime(2026, 1, 1, tzinfo=UTC)
    assert clock.advance(days=1, hours=2) == clock() == datetime(2026, 1, 2, 2, tzinfo=UTC)


# ---- filters -----------------------------------------------------------------------------------


def test_each_condition_is_refused_by_its_name(make: Make, noon: datetime) -> None:
    memory = make(tags=("red",), provenance=Provenance(session="s", project="p", agent="a"))
    scope = Scope(user=UserId("ada"))
    bare = Filter(scope=scope, now=noon)
    assert selection.admits(bare, memory)
    unmet: dict[str, object] = {
        "categories": frozenset({"people"}),
        "tags": frozenset({"red", "blue"}),
        "created_from": noon + HOUR,
        "created_to": noon,
        "session": "t",
        "project": "q",
        "agent": "b",
    }
    for name, value in unmet.items():
        filter_ = replace(bare, **{name: value})  # type: ignore[arg-type]
        assert selection.refusals(filter_, memory) == [name]
        assert not selection.admits(filter_, memory)
    assert selection.refusals(replace(bare, **unmet), memory) == [*unmet]  # type: ignore[arg-type]


def test_every_field_of_a_filter_is_a_condition_somebody_or_a_moment() -> None:
    names = {field.name for field in fields(Filter)}
    assert names == {*selection.CONDITIONS} | {"scope", "reader", "now", "as_of", "states"}


@pytest.mark.parametrize(
    ("begins", "ends", "expired"),
    [
        (None, None, False),
        (-1, 1, False),
        (0, None, False),
        (1, None, True),
        (None, 0, True),
        (None, 1, False),
        (-2, -1, True),
    ],
)
def test_a_span_holds_from_its_beginning_until_before_its_end(
    make: Make, noon: datetime, begins: int | None, ends: int | None, expired: bool
) -> None:
    memory = make(
        valid_from=None if begins is None else noon + begins * HOUR,
        valid_to=None if ends is None else noon + ends * HOUR,
    )
    assert types.is_expired(memory, noon) is expired


# ---- parse -------------------------------------------------------------------------------------


@given(st.text())
def test_any_text_is_a_safe_query(text: str) -> None:
    filter_ = Filter(scope=Scope(user=UserId("ada")), now=datetime(2026, 1, 1, tzinfo=UTC))
    parsed = parse(Query(text=text, filter=filter_, expanded=(text,)))
    parsed.text.encode()
    assert "\x00" not in parsed.text
    assert len(parsed.text) == len(text)
    assert parsed.expanded == (parsed.text,)


@pytest.mark.parametrize(
    "wrong",
    [
        {"limit": 0},
        {"limit": -1},
        {"limit": LARGEST_LIMIT + 1},
        {"pool": 0},
        {"pool": LARGEST_POOL + 1},
        {"budget_bytes": -1},
        {"text": "x" * (TEXT_LIMIT + 1)},
    ],
)
def test_what_is_out_of_range_is_named(ask: Ask, wrong: dict[str, object]) -> None:
    with pytest.raises(errors.InvalidQuery) as caught:
        parse(ask(**wrong))
    assert caught.value.message


def test_a_range_that_ends_before_it_begins_is_refused(memory: Mind, noon: datetime) -> None:
    for end in (noon, noon - HOUR):
        with pytest.raises(errors.InvalidQuery, match="before it begins"):
            memory.recall("walrus", created_from=noon, created_to=end)
        with pytest.raises(errors.InvalidQuery, match="before it begins"):
            memory.list(created_from=noon, created_to=end)
    memory.recall("walrus", created_from=noon, created_to=noon + HOUR)


def test_the_pool_is_never_smaller_than_the_limit(ask: Ask) -> None:
    assert parse(ask(limit=80, pool=50)).pool == 80
    assert parse(ask(limit=10, pool=50)).pool == 50


# ---- the loader of statements ------------------------------------------------------------------


#: Few change a schema or a setting, or begin a transaction: for indexes, and to move a store.
BEGINNINGS = {
    *("SELECT", "INSERT", "UPDATE", "DELETE", "WITH", "CREATE", "DROP", "ALTER"),
    *("BEGIN", "SET", "TRUNCATE", "ANALYZE", "PRAGMA"),
}


@pytest.mark.parametrize("dialect", database.SQL_FILES)
def test_every_statement_is_loaded_with_its_fragments_filled_in(dialect: str) -> None:
    statements = database.load_statements(dialect)
    assert len(statements) > 20
    for name, statement in statements.items():
        assert "/*" not in statement, name
        assert not statement.rstrip().endswith(";"), name
        assert statement.lstrip().split()[0] in BEGINNINGS, name


@pytest.mark.parametrize("dialect", database.SQL_FILES)
def test_a_statement_marks_from_the_same_probability_as_a_recall(dialect: str) -> None:
    statements = database.load_statements(dialect)
    assert f">= {MARK}" in statements["known"]
    assert f">= {MARK}" in statements.get("known_many", statements["known"])


@pytest.mark.parametrize("dialect", database.SQL_FILES)
def test_every_statement_has_a_description(dialect: str) -> None:
    text = "\n".join(database.read_sql(dialect, name) for name in database.SQL_FILES[dialect])
    described = [line for line in text.splitlines() if line.startswith("-- ") and ": " in line]
    for name in {name.removesuffix(SHARED) for name in database.load_statements(dialect)}:
        assert any(line.startswith(f"-- {name}: ") for line in described), name


def test_a_statement_serves_a_reader_where_a_fragment_for_readers_makes_it_name_one() -> None:
    found = statements_of(
        "-- fragment held\nowner = :owner\n"
        "-- fragment held@shared\nowner = :owner AND reader = :reader\n"
        "-- fragment admitted\n/*held*/ AND tag = :tag\n"
        "-- list: by a fragment of a fragment\nSELECT 1 WHERE /*admitted*/;\n"
        "-- count: by none\nSELECT 1 WHERE owner = :owner;\n"
    )
    assert found == {
        "list": "SELECT 1 WHERE owner = :owner AND tag = :tag",
        "list@shared": "SELECT 1 WHERE owner = :owner AND reader = :reader AND tag = :tag",
        "count": "SELECT 1 WHERE owner = :owner",
    }


def test_what_cannot_serve_a_reader_is_not_found_for_one(path: Path) -> None:
    with closing(SqliteFile(path)) as file, pytest.raises(KeyError, match="resolve@shared"):
        file.read("resolve", {"owner": "ada", "reader": "bob"})


# ---- the public names --------------------------------------------------------------------------


def test_the_public_names_are_sorted_and_importable() -> None:
    assert bearinmind.__all__ == sorted(bearinmind.__all__)
    assert dir(bearinmind) == bearinmind.__all__
    assert all(hasattr(bearinmind, name) for name in bearinmind.__all__)
    assert all(
        getattr(bearinmind, name).__doc__ for name in bearinmind.__all__ if name != "MemoryId"
    )


@pytest.mark.parametrize("name", ["app", "testing", "protocols", "types", "errors", "trace"])
def test_every_module_can_be_imported_and_says_what_it_is(name: str) -> None:
    assert importlib.import_module(f"bearinmind.{name}").__doc__


def test_a_store_that_nobody_closed_is_closed_when_it_is_collected(path: Path) -> None:
    """From Python 3.13 on a connection that is collected open warns, which fails the test."""
    store = SqliteStore(path)
    log = path.with_name(f"{path.name}-wal")  # is there as long as a connection is
    assert log.exists()
    circle: list[object] = [store]
    store.__dict__["circle"] = circle

    del store, circle
    gc.collect()

    assert not log.exists()
