"""What whoever looks after a database does: see how it stands, migrate, index and spread it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

from bearinmind.protocols import Unavailable
from bearinmind.store.postgres import distribute, migrate
from bearinmind.store.postgres.facts import SchemaFacts, look, why_meaning_is_off
from bearinmind.store.postgres.indexes import Progress, SpaceIndex, VectorIndexes
from bearinmind.store.postgres.migrator import PRESENT, Told
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.replica import Replica


class TableSize(NamedTuple):
    """A table and the room that it takes."""

    name: str
    rows: int  #: about so many, as the server last counted them
    bytes: int  #: with its indexes
    index_bytes: int


class Waiting(NamedTuple):
    """Jobs of a kind that are in a state."""

    kind: str
    state: str
    jobs: int


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """What the tables of a store are like."""

    schema: int
    steps: int  #: of the next migration that are done
    tables: Sequence[TableSize]
    tenants: int
    versions: int  #: of memories, those in the index
    indexes: Sequence[SpaceIndex]
    building: Progress | None
    queue: Sequence[Waiting]
    spread: Mapping[str, str]  #: by table: how Citus keeps it; none without Citus


@dataclass(frozen=True, slots=True, kw_only=True)
class DatabaseState:
    """How a database stands."""

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
    """A database that is looked after. Nothing is opened, or migrated, before it is asked for."""

    def __init__(self, url: str, *, patience: float) -> None:
        self._pool = Pool(url, connections=2)
        self._patience = patience
        self.indexes = VectorIndexes(self._pool)

    @property
    def place(self) -> str:
        """Where it is, for people."""
        return self._pool.place

    def close(self) -> None:
        """Close every connection."""
        self._pool.close()

    def migrate(self, told: Told) -> migrate.Opened:
        """Apply what is missing."""
        return migrate.bring_up(self._pool, patience=self._patience, told=told)

    def distribute(self, told: Told) -> distribute.Distribution:
        """Spread the tables over the machines of a Citus cluster."""
        self.migrate(told)
        return distribute.distribute(self._pool, patience=self._patience, told=told)

    def state(self, *, replica: str | None = None, staleness: float = 5.0) -> DatabaseState:
        """How it stands; nothing is changed."""
        found = look(self._pool)
        [[size, connections, most]] = self._pool.read("server_state")
        extensions: dict[str, str] = dict(self._pool.read("extensions"))
        return DatabaseState(
            place=self.place,
            server=found.version.partition(" ")[0],
            follows=found.follows,
            bytes=size,
            connections=connections,
            most_connections=most,
            extensions=extensions,
            present=PRESENT,
            meaning_off=why_meaning_is_off(found) if found.is_store else None,
            replica=self._replica(replica, staleness) if replica else None,
            others=0 if found.is_store else found.tables,
            store=self._store("citus" in extensions) if found.is_store else None,
        )

    def _store(self, has_citus: bool) -> StoreState:
        [row] = self._pool.read("store_facts")
        facts = SchemaFacts(*row)
        [[tenants, versions]] = self._pool.read("tenant_state")
        spread = self._pool.read("spread_already") if has_citus else []
        return StoreState(
            schema=facts.schema,
            steps=facts.steps,
            tables=[TableSize(*each) for each in self._pool.read("table_sizes")],
            tenants=tenants,
            versions=versions,
            indexes=self.indexes.known(),
            building=self.indexes.progress(),
            queue=[Waiting(*each) for each in self._pool.read("queue_state")],
            spread={name: _KEPT[how] for name, how in spread if how in _KEPT},
        )

    def _replica(self, url: str, staleness: float) -> str:
        replica = Replica(url, self._pool.connections, staleness=staleness, connections=1)
        with closing(replica), replica.connection_for_reading() as reading:
            return f"{replica.place}: {reading.source}"


_KEPT = {"h": "by owner", "n": "a copy on every machine"}
