"""Whether Citus could run a statement, as far as the planner of Postgres tells.

Citus asks the same planner. It sends a statement to one machine when every table of it that is
spread is compared with one owner where it is read (`multi_router_planner.c` of Citus: each relation
is pruned by its own conditions). What the planner has derived from other conditions counts; what
stands behind a barrier such as OFFSET 0, or is computed (`owner || ''`), does not.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import psycopg
from psycopg import errors, sql

Plan = Mapping[str, Any]

OWNER = "somebody"
#: What a parameter is, such that nothing is known to be empty before it is looked at.
_BY_NAME = {"owner": OWNER, "moment": "9223372036854775806", "dimensions": "2"}
_BY_TYPE = {
    "text": "a",
    "text[]": "{a,b}",
    "bigint": "1",
    "integer": "1",
    "smallint": "1",
    "smallint[]": "{1,2}",
    "bigint[]": "{1,2}",
    "integer[]": "{1,2}",
    "double precision": "0.5",
    "double precision[]": "{0.5,0.5}",
    "real[]": "{0.5,0.5}",
    "boolean": "true",
    "bytea": "a",
    "bytea[]": "{a,b}",
    "halfvec": "[0.5,0.5]",
}
_PARAMETER = re.compile(r"(?<![:\w]):([a-z_]+)")
_UNDETERMINED = re.compile(r"parameter \$(\d+)")


class Scan(NamedTuple):
    """A table that a part of a statement reads, and what is asked of its rows there."""

    part: str  #: the name of the WITH that reads it; "" is the statement itself
    table: str
    conditions: str

    @property
    def is_held(self) -> bool:
        """Whether the conditions say of which owner the rows are."""
        return bool(re.search(rf"\bowner = '{OWNER}'::text", self.conditions))


class Change(NamedTuple):
    """A table that a part of a statement changes."""

    part: str
    table: str
    how: str


def planned(connection: psycopg.Connection[Any], statement: str) -> Plan:
    """What the planner makes of a statement, with every parameter as a constant."""
    connection.prepare_threshold = None  # what is prepared here is dropped again
    names = [*dict.fromkeys(_PARAMETER.findall(statement))]
    types = _prepared(connection, statement, names)
    given = [_BY_NAME.get(name, _BY_TYPE[type_]) for name, type_ in zip(names, types, strict=True)]
    values = sql.SQL("({})").format(sql.SQL(", ").join(map(sql.Literal, given)))
    explain = sql.SQL("EXPLAIN (VERBOSE, COSTS FALSE, FORMAT JSON) EXECUTE asked {}")
    connection.execute("SET plan_cache_mode = force_custom_plan")
    [[[plan]]] = connection.execute(explain.format(values if given else sql.SQL(""))).fetchall()
    return plan["Plan"]  # type: ignore[no-any-return]


def _prepared(
    connection: psycopg.Connection[Any], statement: str, names: Sequence[str]
) -> Sequence[str]:
    """Prepare a statement as "asked"; the types of its parameters."""
    text = _PARAMETER.sub(lambda found: f"${names.index(found[1]) + 1}", statement)
    types = ["unknown"] * len(names)
    while True:
        connection.execute("DEALLOCATE ALL")
        said = f"({', '.join(types)})" if types else ""
        try:
            connection.execute(f"PREPARE asked {said} AS {text}".encode())
        except errors.IndeterminateDatatype as exc:
            undetermined = _UNDETERMINED.search(str(exc))
            assert undetermined, statement
            types[int(undetermined[1]) - 1] = "bigint"  # as the driver sends every number
            continue
        found = connection.execute(
            "SELECT parameter_types::text[] FROM pg_prepared_statements WHERE name = 'asked'"
        )
        [[known]] = found.fetchall()
        return [*map(str, known)]


def scans(plan: Plan, part: str = "") -> Iterator[Scan]:
    """Every table that is read."""
    inside = _part(plan, part)
    if "Relation Name" in plan and plan["Node Type"] != "ModifyTable":
        yield Scan(inside, plan["Relation Name"], " ".join(_conditions(plan)))
    for below in plan.get("Plans", ()):
        yield from scans(below, inside)


def changes(plan: Plan, part: str = "") -> Iterator[Change]:
    """Every table that is changed."""
    inside = _part(plan, part)
    if plan["Node Type"] == "ModifyTable":
        yield Change(inside, plan["Relation Name"], plan["Operation"])
    for below in plan.get("Plans", ()):
        yield from changes(below, inside)


def _part(plan: Plan, part: str) -> str:
    """The WITH or the sub-select that depends on nothing around it: each runs by itself."""
    name: str = plan.get("Subplan Name", "")
    return name.removeprefix("CTE ") if name.startswith(("CTE ", "InitPlan ")) else part


def _conditions(plan: Plan) -> Iterator[str]:
    for kind in ("Index Cond", "Recheck Cond", "Filter"):
        yield plan.get(kind, "")
    for below in plan.get("Plans", ()):
        if below["Node Type"].startswith("Bitmap"):
            yield from _conditions(below)
