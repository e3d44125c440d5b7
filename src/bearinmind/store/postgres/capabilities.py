"""What a Postgres server and database can do, and what to do about what is missing."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from bearinmind import errors
from bearinmind.protocols import Unavailable

if TYPE_CHECKING:
    from bearinmind.store.postgres.pool import Pool

LEAST_SERVER = 15
LEAST_VECTOR = "0.8"

_MEANWHILE = "Recall goes on by words and by connection."


class DatabaseInfo(NamedTuple):
    """A database, what it has, and what the role may do there."""

    version_number: int  #: such as 180006
    version: str
    database: str
    role: str
    schema_name: str | None  #: where tables are made; None when the search path leads nowhere
    owner: str | None  #: of the tables, if there are any of ours
    is_store: bool
    tables: int  #: in that schema, of any program
    follows: bool  #: it is a standby
    may_create_extensions: bool
    may_change_vectors: bool
    vector: str | None  #: the version of the extension that the database has
    vector_schema: str | None
    vector_offered: str | None  #: the version that the server could create
    vector_found: bool  #: its types can be named without their schema
    keeps_vectors: bool  #: the table of vectors has its column
    has_citus: bool = False


class SchemaInfo(NamedTuple):
    """The schema of a store, and its index."""

    schema: int
    steps: int  #: statements of the next migration that are done
    analysis: int  #: which analysis made its index


def inspect_database(pool: Pool) -> DatabaseInfo:
    """Reads what a database is and has, in one statement."""
    [record] = pool.read("database_facts")
    return DatabaseInfo(*record)


def check_server(info: DatabaseInfo, place: str) -> None:
    """Raise for a server that is too old."""
    if info.version_number // 10_000 < LEAST_SERVER:
        raise errors.StoreUnavailable(
            f"{place} is on Postgres {info.version}; Bear in Mind needs {LEAST_SERVER} or newer",
            hint="Upgrade the server, or choose another one with `store`.",
        )


def is_recent(version: str | None) -> bool:
    """Whether a version of pgvector is new enough."""
    return version is not None and _ordered(version) >= _ordered(LEAST_VECTOR)


def can_begin_vectors(info: DatabaseInfo) -> bool:
    """Whether the column of vectors is missing, and the role can add it now."""
    if info.keeps_vectors or info.follows or not info.may_change_vectors:
        return False
    if info.vector is None:
        return is_recent(info.vector_offered) and info.may_create_extensions
    return is_recent(info.vector) and info.vector_found


def why_meaning_is_off(info: DatabaseInfo) -> Unavailable | None:
    """Why a database cannot keep vectors, and what to do about it; None when it can."""
    if info.vector is None:
        return _missing(info)
    if not is_recent(info.vector):
        return Unavailable(
            f"the database has pgvector {info.vector}, and {LEAST_VECTOR} or newer is needed",
            f"Have its owner run in {info.database!r}: ALTER EXTENSION vector UPDATE; if the "
            f"server offers no newer one, install pgvector there first. {_MEANWHILE}",
        )
    if not info.vector_found:
        return Unavailable(
            f"pgvector is in the schema {info.vector_schema!r}, which is not in the search path",
            f"Run: ALTER ROLE {info.role} SET search_path = {info.schema_name}, "
            f"{info.vector_schema}; {_MEANWHILE}",
        )
    if not info.keeps_vectors:
        return Unavailable(
            "pgvector has come, and the table of vectors does not have its column yet",
            f"Run `bearinmind db migrate` as the owner of the tables. {_MEANWHILE}",
        )
    return None


def _missing(info: DatabaseInfo) -> Unavailable:
    create = f"have a superuser run in {info.database!r}: CREATE EXTENSION vector;"
    then = f"then `bearinmind db migrate`. {_MEANWHILE}"
    if info.vector_offered is None:
        package = f"postgresql-{info.version_number // 10_000}-pgvector"
        return Unavailable(
            "the server does not have pgvector",
            f"Install pgvector {LEAST_VECTOR} or newer there ({package}), {create} {then}",
        )
    if not is_recent(info.vector_offered):
        return Unavailable(
            f"the server offers pgvector {info.vector_offered}, and {LEAST_VECTOR} or newer is "
            "needed",
            f"Install pgvector {LEAST_VECTOR} or newer there, {create} {then}",
        )
    if not info.may_create_extensions:
        return Unavailable(
            f"the database does not have pgvector, and the role {info.role!r} may not create it",
            f"{create[0].upper()}{create[1:]} {then}",
        )
    return Unavailable(
        "the database does not have pgvector yet",
        f"Run `bearinmind db migrate` as the owner of the tables. {_MEANWHILE}",
    )


def _ordered(version: str) -> tuple[int, ...]:
    return tuple(int(part) for part in re.findall(r"\d+", version)[:3])
