"""Brings a Postgres database to the present schema, and refuses one that is not ours to touch.

It does so while others read and write (docs/adr/0025). Whoever migrates holds a lock of a
transaction on a connection of its own, so that it works behind a bouncer too; what changes tables
goes by another connection, and never waits long for a lock that everybody else would queue behind.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING

from psycopg import errors as said

from bearinmind import errors
from bearinmind.protocols import Unavailable
from bearinmind.store.postgres import scripts
from bearinmind.store.postgres.facts import (
    DatabaseFacts,
    SchemaFacts,
    can_begin_vectors,
    check_server,
    look,
    why_meaning_is_off,
)
from bearinmind.store.postgres.failures import first_line, translated
from bearinmind.store.postgres.migrator import PRESENT, Migrator, Told, set_until_end
from bearinmind.store.postgres.statements import SQL

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

_LOOK = 0.2  # seconds between two attempts to be the one who migrates


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A database that has the present schema."""

    before: int | None  #: the schema that it had; None when there was none
    schema: int
    applied: Sequence[str]  #: the names of the migrations that were missing
    analysis: int  #: which analysis made its index
    meaning_off: Unavailable | None
    has_citus: bool  #: and so its tables may be on other machines


def bring_up(
    pool: Pool,
    *,
    patience: float,
    folder: Traversable = scripts.FOLDER,
    told: Told = lambda _: None,
) -> Opened:
    """Bring a database to the present schema; one that has it is only read.

    Raises:
        StoreTooNew: a newer release has migrated it.
        StoreDamaged: its tables are those of some other program.
        StoreUnavailable: the server is too old.
        StoreReadOnly: the role may not change what is missing.
        StoreBusy: the locks could not be had.
    """
    wanted = max([PRESENT, *scripts.numbered(folder)])
    found, facts = _looked(pool, wanted)
    applied: list[str] = []
    before = facts.schema if facts else None
    if facts is None or facts.schema < wanted or can_begin_vectors(found):
        with taking_turns(pool, patience):
            found, facts = _looked(pool, wanted)  # somebody may have done it meanwhile
            migrator = Migrator(pool, patience, told)
            with _explained(pool.place, found, facts, wanted):
                if facts is None:
                    migrator.create()
                applied = migrator.apply_missing(wanted, folder)
            migrator.begin_vectors(look(pool))
        found, facts = _looked(pool, wanted)
    assert facts is not None  # noqa: S101  it was made just now
    return Opened(
        before=before,
        schema=facts.schema,
        applied=applied,
        analysis=facts.analysis,
        meaning_off=why_meaning_is_off(found),
        has_citus=found.has_citus,
    )


def _looked(pool: Pool, wanted: int) -> tuple[DatabaseFacts, SchemaFacts | None]:
    """What a database and the store in it are; None when it is empty."""
    found = look(pool)
    check_server(found, pool.place)
    if found.is_store:
        [row] = pool.read("store_facts")
        facts = SchemaFacts(*row)
        if facts.schema > wanted:
            raise errors.StoreTooNew(
                f"{pool.place} has schema {facts.schema}; this version of Bear in Mind reads up to "
                f"{wanted}",
                hint="Upgrade Bear in Mind here (`pip install --upgrade bearinmind`); "
                "the database was not touched.",
            )
        return found, facts
    if found.tables:
        raise errors.StoreDamaged(
            f"{pool.place} is not a Bear in Mind store: its schema {found.schema_name!r} has "
            f"{found.tables:,} tables or views of some other program",
            hint="Give Bear in Mind a database of its own (CREATE DATABASE bearinmind); "
            "nothing was touched.",
        )
    return found, None


@contextmanager
def taking_turns(pool: Pool, patience: float) -> Iterator[None]:
    """Nobody else changes the schema meanwhile.

    The lock ends with a transaction that does nothing else: a lock of a session would stay with
    whoever a bouncer gives the session to next. Having no snapshot, it holds no index build up.
    """
    with translated(pool.place), pool.connections.alone() as guard:
        deadline = time.monotonic() + patience
        while time.monotonic() < deadline:
            with guard.transaction():
                set_until_end(guard, idle_in_transaction_session_timeout=0)
                if guard.execute(SQL["try_to_migrate"]).fetchone() == (True,):
                    yield
                    return
            # Whoever waits in a transaction keeps others from the connections of a bouncer.
            time.sleep(_LOOK)
    raise errors.StoreBusy(
        f"somebody else has been migrating {pool.place} for {patience:g} s",
        hint="Wait until that is done: `bearinmind db status` shows how far it is.",
    )


@contextmanager
def _explained(
    place: str, found: DatabaseFacts, facts: SchemaFacts | None, wanted: int
) -> Iterator[None]:
    """A role that may not do it is told who may."""
    try:
        yield
    except (said.InsufficientPrivilege, said.InvalidSchemaName, said.ReadOnlySqlTransaction) as exc:
        if facts is None:
            missing = "has no tables yet"
            hint = (
                f"Have the owner of {found.database!r} run: GRANT CREATE ON SCHEMA "
                f"{found.schema_name or 'public'} TO {found.role}; or run `bearinmind db migrate` "
                "as a role that may create them."
            )
        else:
            missing = f"has schema {facts.schema}, and this version of Bear in Mind needs {wanted}"
            hint = (
                "Run `bearinmind db migrate` as the owner of the tables, or have the owner run: "
                f"GRANT {found.owner} TO {found.role};"
            )
        raise errors.StoreReadOnly(
            f"{place} {missing}; the role {found.role!r} may not change that: {first_line(exc)}",
            hint=hint,
        ) from exc
