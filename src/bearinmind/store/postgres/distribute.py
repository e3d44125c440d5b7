"""Spreads the tables of memories over the machines of a Citus cluster, by their owner.

All of it in one transaction: between tables of which some are spread and some are not, foreign keys
cannot be kept, and whoever writes meanwhile would fail. When it is ended early, nothing happened.
What the coordinator then still has on its own disk is removed afterwards; when that is ended early,
the next run goes on with it.

A coordinator that dies between the commit of a worker and its own leaves memories behind for which
there is no job. Whoever runs this again has them queued.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import Connection

from bearinmind.store.postgres import distribution_needs
from bearinmind.store.postgres.migrate import taking_turns
from bearinmind.store.postgres.migrator import Migrator, Told
from bearinmind.store.postgres.statements import SQL

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

#: The table that all others are kept together with.
FIRST = "tenants"
#: Small tables that those of memories are joined with: every machine has a copy. What is shared is
#: asked for by its owner and by its reader, who are on different machines.
COPIED = ("extractors", "shares", "spaces")
#: What stays on the coordinator: Citus locks no rows of several machines at once, and any worker
#: must be able to take any job.
LOCAL = ("work",)


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """How the tables lie after they were distributed."""

    citus: str  #: its version
    spread: Sequence[str]  #: by owner, just now
    copied: Sequence[str]  #: to every machine, just now
    before: Sequence[str]  #: what Citus knew already
    emptied: Sequence[str]  #: of which the coordinator had rows on its own disk, just now
    queued: int  #: jobs that were missing


def distribute(pool: Pool, *, patience: float, told: Told) -> Distribution:
    """Spread what is not spread yet. Nobody can write meanwhile.

    Raises:
        InvalidInput: the database does not have Citus, or the cluster lacks something.
        StoreBusy: the locks could not be had.
    """
    version = distribution_needs.check(pool)
    with taking_turns(pool, patience):
        before = [name for name, _ in pool.read("spread_already")]
        owned = [name for [name] in pool.read("tables_of_owners") if name not in (*LOCAL, *COPIED)]
        spread = [name for name in _first_first(owned) if name not in before]
        copied = [name for name in COPIED if name not in before]
        migrator = Migrator(pool, patience, told)
        if spread or copied:
            migrator.attempt(partial(_spread, spread, copied, told), "spreading the tables")
        left = [name for [name] in pool.read("left_behind") if name in {*owned, *COPIED}]
        for name in left:
            told(f"{name}: removing what the coordinator had")
            migrator.attempt(partial(_run, "forget_local", name=name), f"emptying {name}")
    return Distribution(
        citus=version,
        spread=spread,
        copied=copied,
        before=before,
        emptied=left,
        queued=_queue_lost(pool) if before else 0,
    )


def _queue_lost(pool: Pool) -> int:
    """Queue what should be embedded or read, and is not, and has no job; how many there were."""
    with pool.writing(alone=True) as transaction:
        embeddings = [
            transaction.change("queue_all", {"space": number, "key": key, "turn": turn})
            for number, key, _, turn in transaction.rows("spaces_in_use")
        ]
        readings = [
            transaction.change("queue_readings", {"extractor": number, "key": key, "again": False})
            for number, key in transaction.rows("extractor_in_use")
        ]
    return sum(embeddings) + sum(readings)


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
