"""No statement reads or writes what belongs to an owner without saying which, but for a few."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import NamedTuple

import pytest

from bearinmind.store.database import SQL_FILES, read_sql
from bearinmind.text.sql_statements import SHARED, statements_of

#: Run only by who operates a whole store: moving it, spreading it, saying how large it is.
OPERATORS = {"transfer.sql", "migrate.sql", "status.sql", "distribute.sql"}

#: By reason: the statements of each dialect that are about the whole store.
STORE_WIDE: Mapping[str, Mapping[str, str]] = {
    "sqlite": {
        "a worker works for every user": ("claim jobs keep_code keep_vector dead_jobs"),
        "a space or an extractor comes or goes for everybody": (
            "queue_all queue_readings drop_vectors drop_departures"
        ),
        "a check looks at everything": (
            "count_unindexed count_dangling count_presents count_stray count_unembedded "
            "count_unread count_graph_faults"
        ),
        "the index is made anew for everybody": "unindexed",
        "a key is rotated for everybody": "sealed_under",
        "anybody may share with a reader": "sharers shared_with",
        "an administrator reads what everybody did": (
            "list_whole_audit traffic_of_all users_in_traffic all_shares versions_by_owner "
            "uses_by_owner"
        ),
        "a user is erased from what others have": (
            "copy_owners erase_share_changes erase_share_numbers erase_share_conflicts "
            "redact_audit redact_sources"
        ),
        "what servers counted long ago is forgotten": "forget_traffic",
        "a number is the file's own, and was found by a statement that names the owner": (
            "copy_code copy_vector forget_vectors_of_row orphans remove_concepts stated_before "
            "extend_relation copy_evidence extend_relations_of settle_relations ends_of_unfounded "
            "remove_relations relation present_evidence merged_already undo_merge stands_for "
            "standing_for point_anew remove_merges"
        ),
    },
    "postgres": {
        "a worker works for every user": (
            "anything_due claim revive work_counts next_due count_dead count_readings_due "
            "dead_jobs queue_ends"
        ),
        "a space or an extractor comes or goes for everybody": (
            "spaces vectors_by_space queue_all queue_comparisons drop_vectors drop_counts "
            "advance_jobs drop_jobs drop_other_readings queue_readings spaces_to_index"
        ),
        "a check looks at everything": (
            "count_unindexed count_dangling count_presents count_stray "
            "count_unembedded count_unread count_graph_faults"
        ),
        "a key is rotated for everybody": "sealed_under",
        "anybody may share with a reader": "sharers shared_with",
        "an administrator reads what everybody did": (
            "list_whole_audit traffic_of_all users_in_traffic all_shares versions_by_owner "
            "uses_by_owner"
        ),
        "a user is erased from what others have": (
            "copy_owners erase_share_changes erase_share_numbers erase_share_conflicts "
            "redact_audit redact_sources"
        ),
        "what servers counted long ago is forgotten": "forget_traffic",
    },
}

#: The statements for a reader that are about shares alone.
ABOUT_SHARES = "live_share insert_share end_share sharers shared_with"

_LOOKS_AT_SHARES = re.compile(
    r"(?:s\.reader = :reader AND s\.memory = m\.id"
    r"|m\.id = ANY\(\s*ARRAY\(\s*SELECT s\.memory FROM shares AS s\s+WHERE s\.owner = :owner"
    r" AND s\.reader = :reader AND s\.memory IS NOT NULL)"
    r".* OR .*s\.reader = :reader\s+AND s\.tag .*"
    r"m\.replaced_at = 9223372036854775807 AND :moment = 9223372036854775806\s+"
    r"AND NOT m\.sensitive",
    re.DOTALL,
)
_TABLE = re.compile(r"CREATE TABLE (\w+) \((.*?)\n\)", re.DOTALL)
_OWNER = re.compile(r"^\s+owner ", re.MULTILINE)
_COMMENT = re.compile(r"--.*")
_USE = re.compile(r"\b(?:FROM|JOIN|INTO|UPDATE|USING)\s+(\w+)(?:\s+AS\s+(\w+))?")
_SCOPED = re.compile(r":owners?\b")


class Use(NamedTuple):
    """A table that a statement reads or writes, and what it is called there."""

    table: str
    alias: str


def statements(dialect: str) -> dict[str, str]:
    """The statements of a dialect that any user's call may run, without their comments."""
    names = [name for name in SQL_FILES[dialect] if name not in OPERATORS]
    found = statements_of(*(read_sql(dialect, name) for name in names))
    return {name: _COMMENT.sub("", text) for name, text in found.items()}


def owned_tables(dialect: str) -> set[str]:
    """The tables whose rows belong to somebody."""
    found = _TABLE.finditer(read_sql(dialect, "schema.sql"))
    return {table for table, columns in (each.groups() for each in found) if _OWNER.search(columns)}


def uses(dialect: str, statement: str) -> Iterator[Use]:
    owned = owned_tables(dialect)
    for table, alias in _USE.findall(statement):
        if table in owned:
            yield Use(table, alias or table)


@pytest.mark.parametrize("dialect", SQL_FILES)
def test_only_what_is_about_the_whole_store_names_no_owner(dialect: str) -> None:
    listed = [name for names in STORE_WIDE[dialect].values() for name in names.split()]
    unscoped = {
        name.removesuffix(SHARED)
        for name, statement in statements(dialect).items()
        if any(uses(dialect, statement)) and not _SCOPED.search(statement)
    }
    assert sorted(unscoped) == sorted(listed)


@pytest.mark.parametrize("dialect", SQL_FILES)
def test_what_serves_a_reader_shows_only_what_is_shared_but_for_the_shares_themselves(
    dialect: str,
) -> None:
    """A statement that looks at memories looks at their shares too, and at nothing past."""
    for_readers = {
        name.removesuffix(SHARED): statement
        for name, statement in statements(dialect).items()
        if name.endswith(SHARED)
    }
    open_ = {name for name, text in for_readers.items() if not _LOOKS_AT_SHARES.search(text)}
    assert open_ == set(ABOUT_SHARES.split())
    for name in open_:
        assert {use.table for use in uses(dialect, for_readers[name])} == {"shares"}
    assert {"list_newest", "mentions_in", "mentioning_named", "evidence_of"} <= {*for_readers}


@pytest.mark.parametrize("dialect", SQL_FILES)
def test_what_looks_at_memories_without_their_shares_cannot_serve_a_reader(dialect: str) -> None:
    known = statements(dialect)
    for name in ("get_many", "versions", "resolve", "links_of", "newer", "list_sensitive"):
        assert name in known
        assert name + SHARED not in known


def test_on_postgres_every_table_of_a_statement_is_held_to_the_owner() -> None:
    """Rows are numbered by their owner there: a join by the number alone would mix owners up."""
    whole = " ".join(STORE_WIDE["postgres"].values()).split()
    loose = [
        (name, use)
        for name, statement in statements("postgres").items()
        for use in uses("postgres", statement)
        if name.removesuffix(SHARED) not in whole and not _is_held(use, statement)
    ]
    assert loose == []


def _is_held(use: Use, statement: str) -> bool:
    """Whether the owner of a table's rows is compared, or given."""
    names = "|".join({use.alias, use.table})
    held = rf"\b(?:{names})\.owner\b|(?<![.\w])owner = :owner|\(\s*owner, "
    return bool(re.search(held, statement))


@pytest.mark.parametrize("dialect", SQL_FILES)
def test_no_statement_compares_by_case_in_a_way_that_citus_misreads(dialect: str) -> None:
    """Citus sends `CASE kind WHEN 'topic'` to a worker as `WHEN NULL::boolean`."""
    simple = re.compile(r"\bCASE\s+(?!WHEN\b)\S+", re.IGNORECASE)
    assert [name for name, text in statements(dialect).items() if simple.search(text)] == []
