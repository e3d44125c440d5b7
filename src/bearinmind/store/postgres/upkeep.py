"""What an operator does with a database: see its state, migrate, index and distribute it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

from psycopg import Connection

from bearinmind import errors
from bearinmind.protocols import Unavailable
from bearinmind.store.postgres import schema
from bearinmind.store.postgres.capabilities import (
    LEAST_VECTOR,
    SchemaInfo,
    inspect_database,
    is_recent,
    why_meaning_is_off,
)
from bearinmind.store.postgres.indexes import BuildProgress, SpaceIndex, VectorIndexes
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.queries import SQL
from bearinmind.store.postgres.replica import Replica
from bearinmind.store.postgres.schema import SCHEMA_VERSION, Migrator, Report, schema_lock
from bearinmind.store.queues import queue_missing


class TableSize(NamedTuple):
    """A table and the room that it takes."""

    name: str
    rows: int  #: estimated, from the server's last count
    bytes: int  #: with its indexes
    index_bytes: int


class Waiting(NamedTuple):
    """Jobs of a kind that are in a state."""

    kind: str
    state: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """The state of a store's tables."""

    schema: int
    steps: int  #: of the next migration that are done
    tables: Sequence[TableSize]
    tenants: int
    versions: int  #: of memories, those in the index
    indexes: Sequence[SpaceIndex]
    building: BuildProgress | None
    queue: Sequence[Waiting]
    spread: Mapping[str, str]  #: by table: how Citus keeps it; none without Citus


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseState:
    """The state of a database."""

    place: str
    server: str  #: its version
    follows: bool  #: it is a standby
    bytes: int
    connections: int
    most_connections: int
    extensions: Mapping[str, str]
    present: int  #: the schema that this version of Bear in Mind has
    meaning_off: Unavailable | None
    replica: str | None  #: which one, and whether it answers recalls
    others: int  #: tables or views of some other program, which is why there is no store
    store: StoreState | None  #: None when its tables are not made yet


class Upkeep:
    """A database and its upkeep. Nothing is opened or migrated until a method is called."""

    def __init__(self, url: str, *, patience: float) -> None:
        self._pool = Pool(url, connections=2)
        self._patience = patience

    @cached_property
    def indexes(self) -> VectorIndexes:
        """The indexes of vectors, on all machines."""
        self._pool.is_spread = inspect_database(self._pool).has_citus
        return VectorIndexes(self._pool)

    @property
    def place(self) -> str:
        return self._pool.place

    def close(self) -> None:
        self._pool.close()

    def migrate(self, report: Report) -> schema.Opened:
        """Apply what is missing."""
        return schema.bring_up(self._pool, patience=self._patience, report=report)

    def distribute(self, report: Report) -> Distribution:
        """Distribute the tables over the machines of a Citus cluster."""
        self.migrate(report)
        return distribute(self._pool, patience=self._patience, report=report)

    def state(self, *, replica: str | None = None, staleness: float = 5.0) -> DatabaseState:
        info = inspect_database(self._pool)
        [[size, connections, most]] = self._pool.read("server_state")
        extensions: dict[str, str] = dict(self._pool.read("extensions"))
        if info.has_citus:
            size += self._pool.read("bytes_elsewhere")[0][0]
        return DatabaseState(
            place=self.place,
            server=info.version.partition(" ")[0],
            follows=info.follows,
            bytes=size,
            connections=connections,
            most_connections=most,
            extensions=extensions,
            present=SCHEMA_VERSION,
            meaning_off=why_meaning_is_off(info) if info.is_store else None,
            replica=self._replica(replica, staleness) if replica else None,
            others=0 if info.is_store else info.tables,
            store=self._store("citus" in extensions) if info.is_store else None,
        )

    def _store(self, has_citus: bool) -> StoreState:
        [row] = self._pool.read("store_facts")
        facts = SchemaInfo(*row)
        [[tenants, versions]] = self._pool.read("tenant_state")
        spread = self._pool.read("spread_already") if has_citus else []
        return StoreState(
            schema=facts.schema,
            steps=facts.steps,
            tables=self._tables(has_citus),
            tenants=tenants,
            versions=versions,
            indexes=self.indexes.known(),
            building=self.indexes.progress(),
            queue=[Waiting(*each) for each in self._pool.read("queue_state")],
            spread={name: _KEPT[how] for name, how in spread if how in _KEPT},
        )

    def _tables(self, has_citus: bool) -> list[TableSize]:
        """The tables, the largest first; of a spread store with what other machines have."""
        here = [TableSize(*each) for each in self._pool.read("table_sizes")]
        elsewhere = self._pool.read("sizes_elsewhere") if has_citus else []
        sizes = {name: TableSize(name, *counts) for name, *counts in elsewhere}
        return sorted((sizes.get(each.name, each) for each in here), key=lambda x: -x.bytes)

    def _replica(self, url: str, staleness: float) -> str:
        replica = Replica(url, self._pool.connections, staleness=staleness, connections=1)
        with closing(replica), replica.connection_for_reading() as reading:
            return f"{replica.place}: {reading.source}"


_KEPT = {"h": "by owner", "n": "a copy on every machine"}


#: The table that all others are kept together with.
FIRST = "tenants"
#: Small tables that those of memories are joined with: every machine has a copy.
COPIED = ("extractors", "spaces")
#: What stays on the coordinator: Citus locks no rows of several machines at once, and any worker
#: must be able to take any job. What is shared is asked for by its owner and by its reader, who are
#: on different machines. What servers count is little, and summed over all users.
LOCAL = ("work", "shares", "traffic")


@dataclass(frozen=True, slots=True, kw_only=True)
class Distribution:
    """The tables of a cluster after they were distributed."""

    citus: str  #: its version
    spread: Sequence[str]  #: by owner, just now
    copied: Sequence[str]  #: to every machine, just now
    before: Sequence[str]  #: what Citus knew already
    emptied: Sequence[str]  #: of which the coordinator had rows on its own disk, just now
    queued: int  #: jobs that were missing


def distribute(pool: Pool, *, patience: float, report: Report) -> Distribution:
    """Distribute the tables that are not distributed yet. Nothing can be written meanwhile.

    All of it happens in one transaction, since foreign keys cannot connect distributed tables with
    others. What the coordinator then still has on its own disk is removed afterwards; another run
    goes on with that, and queues the memories of commits that only the workers completed.
    """
    version = check_cluster(pool)
    with schema_lock(pool, patience):
        before = [name for name, _ in pool.read("spread_already")]
        owned = [name for [name] in pool.read("tables_of_owners") if name not in (*LOCAL, *COPIED)]
        spread = [
            name
            for name in sorted(owned, key=lambda name: (name != FIRST, name))
            if name not in before
        ]
        copied = [name for name in COPIED if name not in before]
        migrator = Migrator(pool, patience, report)
        for name in {*before} & {*LOCAL}:
            report(f"{name}: back to the coordinator")
            migrator.attempt(partial(_run, "bring_back", name=name), f"bringing {name} back")
        if spread or copied:
            migrator.attempt(partial(_spread, spread, copied, report), "spreading the tables")
        left = [name for [name] in pool.read("left_behind") if name in {*owned, *COPIED}]
        for name in left:
            report(f"{name}: removing what the coordinator had")
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
    with pool.writing(alone=True) as transaction:
        return queue_missing(pool, transaction)


def _spread(
    spread: Sequence[str], copied: Sequence[str], report: Report, connection: Connection[Any]
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
        report(f"{name}: a copy for every machine")
        _run("copy_everywhere", connection, name=name)
    for name in spread:
        report(f"{name}: spreading by owner")
        _run("spread_first" if name == FIRST else "spread", connection, name=name, first=FIRST)
    for _, add in references:
        connection.execute(add)


def _run(statement: str, connection: Connection[Any], **parameters: str) -> None:
    connection.execute(SQL[statement], parameters)


#: The oldest Citus whose rules the schema and the statements were written by.
LEAST_CITUS = 12

_CLUSTER_PAGE = "docs/explanation/beyond-one-machine.md"
_INSTALL_CITUS = (
    "Install Citus on every machine, put it first in shared_preload_libraries, run CREATE "
    "EXTENSION citus; there, and name the machines with citus_set_coordinator_host and "
    f"citus_add_node: {_CLUSTER_PAGE}."
)


class Node(NamedTuple):
    """A machine of the cluster."""

    address: str
    coordinates: bool
    may_hold_rows: bool


def check_cluster(pool: Pool) -> str:
    """Raise unless the cluster is ready; the version of its Citus."""
    records = pool.read("citus_version")
    if not records:
        raise errors.InvalidInput(
            f"{pool.place} does not have the extension citus", hint=_INSTALL_CITUS
        )
    version: str = records[0][0]
    missing = [*_missing_in_cluster(pool, version)]
    if missing:
        problems = "; ".join(problem for problem, _ in missing)
        raise errors.InvalidInput(
            f"{pool.place} cannot be spread yet: {problems}; nothing was changed",
            hint=" ".join(remedy for _, remedy in missing),
        )
    return version


def _missing_in_cluster(pool: Pool, version: str) -> Iterator[tuple[str, str]]:
    """What is missing, each with its remedy."""
    if int((re.match(r"\d+", version) or ["0"])[0]) < LEAST_CITUS:
        yield (
            f"it has Citus {version}, and {LEAST_CITUS} or newer is needed",
            "Install a newer Citus on every machine and run ALTER EXTENSION citus UPDATE; there.",
        )
    nodes = [Node(*each) for each in pool.read("citus_nodes")]
    if not any(node.coordinates for node in nodes):
        yield (
            "the coordinator is not one of the machines that Citus knows",
            "Run SELECT citus_set_coordinator_host('its name'); there.",
        )
    if not any(node.may_hold_rows for node in nodes):
        yield (
            "no machine may hold rows",
            "Run SELECT citus_add_node('its name', 5432); for each worker.",
        )
    if inspect_database(pool).vector is not None and any(not node.coordinates for node in nodes):
        yield from _without_vector(pool)


def _without_vector(pool: Pool) -> Iterator[tuple[str, str]]:
    """The workers that do not answer, or cannot keep vectors."""
    for address, answered, answer in pool.read("vector_on_workers"):
        if not answered:
            yield (
                f"the worker {address} does not answer: {answer.strip().partition(chr(10))[0]}",
                f"Let the coordinator connect to {address} as the role that owns the tables.",
            )
        elif not is_recent(answer or None):
            yield (
                f"the worker {address} offers {f'pgvector {answer}' if answer else 'no pgvector'}",
                f"Install pgvector {LEAST_VECTOR} or newer on {address}.",
            )
