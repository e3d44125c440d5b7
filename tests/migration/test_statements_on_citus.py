"""Every statement is one that Citus can run, as far as the planner of Postgres can tell.

A new statement that fails here would fail on a store that is spread over machines, or would ask all
of them. `citus_rules` says how that is told; docs/explanation/beyond-one-machine.md what it is for.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import NamedTuple

import psycopg
import pytest

from bearinmind.store.database import SQL_FILES, migration_files, read_sql
from bearinmind.store.postgres import upkeep
from bearinmind.store.postgres.schema import MIGRATIONS
from bearinmind.text.sql_statements import SHARED, statements_of
from support.citus import Change, Scan, changes, planned, scans

#: Asked about the database, not about memories.
_ABOUT_THE_DATABASE = {"migrate.sql", "status.sql", "distribute.sql"}
_COMMANDS = re.compile(r"(?:CREATE|DROP|BEGIN|TRUNCATE|ANALYZE|SET)\b")
#: Only in a store that is being moved into, whose tables are not spread.
_MOVING = re.compile(r"\bmoving\b")
#: What no machine has but the coordinator.
_ON_ONE_MACHINE = {
    *upkeep.LOCAL,
    *("users", "keys", "uses", "sessions", "allowances", "store_facts", "retired_keys"),
}

#: By reason: what has to look at the memories of everybody, and so asks every machine.
EVERY_MACHINE: Mapping[str, str] = {
    "a worker works for every user": "jobs dead_jobs",
    "a space or an extractor comes or goes for everybody": (
        "vectors_by_space spaces_to_index queue_all queue_comparisons queue_readings "
        "drop_vectors drop_counts"
    ),
    "a check looks at everything": (
        "count_unindexed count_dangling count_presents count_stray "
        "count_unembedded count_unread count_graph_faults"
    ),
    "the index is made anew, or a key rotated, for everybody": (
        "unindexed sealed_under sealed_otherwise"
    ),
    "an administrator reads what everybody did": "list_whole_audit versions_by_owner uses_by_owner",
    "a user is erased from what others have": (
        "copy_owners erase_share_changes erase_share_numbers erase_share_conflicts "
        "redact_audit redact_sources"
    ),
}
#: A whole store is moved by these: `give_` pages, and what is counted before and after.
_OF_A_MOVE = (
    *("moving_facts", "number_ranges", "holds_anything"),
    *("settle_tenants", "settle_embedded"),
)


class Known(NamedTuple):
    """A statement, and what the planner makes of it."""

    name: str
    text: str
    scans: list[Scan]
    changes: list[Change]

    @property
    def spread(self) -> list[Scan]:
        """What it reads of tables that are spread."""
        return [scan for scan in self.scans if _is_spread(scan.table)]

    @property
    def touches_spread(self) -> bool:
        return bool(self.spread) or any(_is_spread(change.table) for change in self.changes)

    @property
    def is_of_a_move(self) -> bool:
        return self.name in _OF_A_MOVE or self.name.startswith(("give_", "take_"))


def _is_local(table: str) -> bool:
    return table in _ON_ONE_MACHINE or table.startswith("pg_")


def _is_spread(table: str) -> bool:
    return not _is_local(table) and table not in upkeep.COPIED


@pytest.fixture(scope="module")
def url(postgres: object, _migrated: str, request: pytest.FixtureRequest) -> str:
    fresh: Callable[[str], str] = request.getfixturevalue("postgres").fresh
    made = fresh(_migrated)
    request.addfinalizer(lambda: request.getfixturevalue("postgres").drop(made))  # noqa: PT021
    return made


@pytest.fixture(scope="module")
def known(url: str) -> list[Known]:
    files = [name for name in SQL_FILES["postgres"] if name not in _ABOUT_THE_DATABASE]
    found = []
    with psycopg.connect(url, autocommit=True) as connection:
        for name, text in statements_of(*(read_sql("postgres", file) for file in files)).items():
            if not _COMMANDS.match(text) and not _MOVING.search(text):
                plan = planned(connection, text)
                found.append(Known(name, text, [*scans(plan)], [*changes(plan)]))
    return found


@pytest.mark.parametrize(
    ("statement", "held"),
    [
        ("SELECT 1 FROM memories AS m WHERE m.owner = :owner", True),
        ("SELECT 1 FROM memories AS m WHERE m.owner || '' = :owner", False),
        ('SELECT 1 FROM memories AS m WHERE m.owner = :owner COLLATE "POSIX"', True),
        (
            (
                "SELECT 1 FROM memories AS m JOIN links AS l ON l.owner = m.owner"
                " WHERE m.owner = :owner"
            ),
            True,  # as the planner derives it
        ),
        (
            (
                "SELECT 1 FROM memories AS m CROSS JOIN LATERAL ("
                " SELECT 1 FROM links AS l WHERE l.owner = m.owner AND l.source = m.id OFFSET 0"
                ") AS l WHERE m.owner = :owner"
            ),
            False,  # what is planned apart does not know
        ),
        (
            (
                "SELECT m.owner = :owner AND EXISTS ("
                " SELECT 1 FROM links AS l WHERE l.owner = m.owner AND l.source = m.id"
                ") FROM memories AS m WHERE m.owner = :owner"
            ),
            False,
        ),
    ],
)
def test_it_is_told_whether_a_statement_goes_to_one_machine(
    url: str, statement: str, held: bool
) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        found = [*scans(planned(connection, statement))]

    assert found
    assert all(scan.is_held for scan in found) is held


def test_a_statement_about_one_owner_goes_to_one_machine(known: list[Known]) -> None:
    listed = {name for names in EVERY_MACHINE.values() for name in names.split()}
    loose = {
        each.name: [scan for scan in each.spread if not scan.is_held]
        for each in known
        if not each.is_of_a_move and not all(scan.is_held for scan in each.spread)
    }

    assert len(known) > 200
    assert {name: where for name, where in loose.items() if name not in listed} == {}
    assert listed == {*loose}


def test_what_everybody_has_is_not_looked_up_one_by_one(known: list[Known]) -> None:
    """Citus plans no sub-select over several machines for each row of another table."""
    listed = " ".join(EVERY_MACHINE.values()).split()

    assert [each.name for each in known if each.name in listed and "LATERAL" in each.text] == []


def test_what_is_on_one_machine_is_not_joined_with_what_is_spread(known: list[Known]) -> None:
    """The queue and the shares are read by a WITH or a sub-select of their own.

    Citus hands what these found over to the machine of the rest.
    """
    mixed = [
        each.name
        for each in known
        if {scan.part for scan in each.spread}
        & {scan.part for scan in each.scans if _is_local(scan.table)}
    ]

    # Unions and sums, whose parts run apart.
    assert set(mixed) <= {*_OF_A_MOVE, "number_everything", "held_by_user"}


def test_no_statement_changes_two_kinds_of_tables(known: list[Known]) -> None:
    """What one changes on the coordinator, the next change on a worker might not find."""
    for each in known:
        local = [change for change in each.changes if _is_local(change.table)]
        if local and each.touches_spread:
            assert [(change.part, change.how) for change in each.changes] == [("", "Insert")]
            assert re.search(r"\) ?\s*SELECT\b", each.text), each.name


def test_a_chain_is_followed_on_one_machine_only(known: list[Known]) -> None:
    """Citus plans WITH RECURSIVE for one machine, or over tables of which each has a copy."""
    chains = [each for each in known if "RECURSIVE" in each.text]

    assert len(chains) > 2
    for each in chains:
        assert all(scan.is_held for scan in each.spread), each.name


def test_nothing_is_asked_that_only_one_machine_can_say(known: list[Known]) -> None:
    forbidden = re.compile(r"\bFOR (?:UPDATE|SHARE|NO KEY)\b|\bctid\b|\btableoid\b|\bTABLESAMPLE\b")

    found = [each.name for each in known if each.touches_spread and forbidden.search(each.text)]

    assert found == []


def test_an_inserted_row_is_not_looked_up(known: list[Known]) -> None:
    """Citus refuses sub-selects in VALUES."""
    refused = re.compile(r"VALUES\s*\([^()]*\(\s*SELECT")

    assert [each.name for each in known if refused.search(each.text)] == []


def test_what_is_changed_depends_on_no_moment(url: str, known: list[Known]) -> None:
    """No function that may say something else the next time, in what changes a spread table.

    Citus refuses volatile ones there, and those that depend on the session (`to_json`, `now`) when
    they are given a column.
    """
    with psycopg.connect(url) as connection:
        changing = {
            name
            for [name] in connection.execute(
                "SELECT proname::text FROM pg_proc GROUP BY proname"
                " HAVING bool_and(provolatile <> 'i') AND bool_and(prokind = 'f')"
            )
        }
    called = re.compile(r"\b([a-z_]+)\(")

    found = {
        each.name: called_here
        for each in known
        if any(not _is_local(change.table) for change in each.changes)
        and (called_here := {*called.findall(each.text)} & changing)
    }

    assert found.pop("number_everything") == {"to_json"}  # INSERT ... SELECT, which may
    assert found == {}


def test_no_later_migration_makes_a_table_refer_to_one_that_may_be_spread() -> None:
    """A new table is on the coordinator until it is spread too, and cannot refer to others."""
    for name in migration_files(MIGRATIONS).values():
        targets = re.findall(r"REFERENCES (\w+)", MIGRATIONS.joinpath(name).read_text("utf-8"))
        assert {*targets} <= _ON_ONE_MACHINE, name


def test_every_form_for_a_reader_is_among_the_statements(known: list[Known]) -> None:
    assert len([each for each in known if each.name.endswith(SHARED)]) > 20
