"""Spreads the tables of memories over the machines of a Citus cluster, by their owner.

All of it in one transaction: between tables of which some are spread and some are not, foreign keys
cannot be kept, and whoever writes meanwhile would fail. When it is ended early, nothing happened.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import Connection

from recollect import errors
from recollect.store.postgres.migrate import taking_turns
from recollect.store.postgres.migrator import Migrator, Told
from recollect.store.postgres.statements import SQL

if TYPE_CHECKING:
    from recollect.store.postgres.pool import Pool

#: The table that all others are kept together with.
FIRST = "tenants"
#: Small tables that those of memories are joined with: every machine has a copy.
COPIED = ("extractors", "spaces")
#: What stays on the coordinator: Citus locks no rows of several machines at once, and any worker
#: must be able to take any job.
LOCAL = ("work",)

_INSTALL = (
    "Install Citus on every machine, put it first in shared_preload_libraries, run CREATE "
    "EXTENSION citus; there, and name the machines with citus_set_coordinator_host and "
    "citus_add_node: docs/explanation/beyond-one-machine.md."
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How the tables lie after they were distributed."""

    citus: str  #: its version
    spread: Sequence[str]  #: by owner, just now
    copied: Sequence[str]  #: to every machine, just now
    before: Sequence[str]  #: what Citus knew already


def distribute(pool: Pool, *, patience: float, told: Told) -> Distribution:
    """Spread what is not spread yet. Nobody can write meanwhile.

    Raises:
        InvalidInput: the database does not have Citus.
        StoreBusy: the locks could not be had.
    """
    version = version_of(pool)
    if version is None:
        raise errors.InvalidInput(f"{pool.place} does not have the extension citus", hint=_INSTALL)
    with taking_turns(pool, patience):
        before = [name for name, _ in pool.read("spread_already")]
        owned = [name for [name] in pool.read("tables_of_owners") if name not in LOCAL]
        spread = [name for name in _first_first(owned) if name not in before]
        copied = [name for name in COPIED if name not in before]
        migrator = Migrator(pool, patience, told)
        if spread or copied:
            migrator.attempt(partial(_spread, spread, copied, told), "spreading the tables")
        for name in [*spread, *copied]:
            told(f"{name}: removing what the coordinator had")
            migrator.attempt(partial(_run, "forget_local", name=name), f"emptying {name}")
    return Distribution(citus=version, spread=spread, copied=copied, before=before)


def version_of(pool: Pool) -> str | None:
    """The version of Citus that a database has."""
    found = pool.read("citus_version")
    return found[0][0] if found else None


def _first_first(names: Sequence[str]) -> list[str]:
    return sorted(names, key=lambda name: (name != FIRST, name))


def _spread(
    spread: Sequence[str], copied: Sequence[str], told: Told, connection: Connection[Any]
) -> None:
    """Foreign keys are removed first and come back last: both ends have moved by then."""
    connection.execute(SQL["one_by_one"])
    references = [
        reference
        for name in spread
        for reference in connection.execute(SQL["references_of"], {"name": name}).fetchall()
    ]
    for remove, _ in references:
        connection.execute(remove)
    for name in copied:
        told(f"{name}: a copy for every machine")
        _run("copy_everywhere", connection, name=name)
    for name in spread:
        told(f"{name}: spreading by owner")
        _run("spread_first" if name == FIRST else "spread", connection, name=name, first=FIRST)
    for _, add in references:
        connection.execute(add)


def _run(statement: str, connection: Connection[Any], **parameters: str) -> None:
    connection.execute(SQL[statement], parameters)
