"""Brings a Postgres database to the present schema, and refuses one that is not ours to touch."""

from __future__ import annotations

from typing import Any

from psycopg import Connection

from recollect import analysis
from recollect.store import queries

PRESENT = 1


def apply(connection: Connection[Any]) -> None:
    """Create the schema, unless it is there."""
    with connection.transaction():
        connection.execute("SELECT pg_advisory_xact_lock(1380142165)")
        [known] = connection.execute("SELECT to_regclass('store_facts') IS NOT NULL").fetchone() or [0]
        if not known:
            connection.execute(queries.read("postgres", "schema.sql"))
            connection.execute("CREATE EXTENSION IF NOT EXISTS vector")
            connection.execute(queries.read("postgres", "schema_vectors.sql"))
            connection.execute(
                "INSERT INTO store_facts (schema, analysis) VALUES (%s, %s)",
                (PRESENT, analysis.ANALYSIS_VERSION),
            )
