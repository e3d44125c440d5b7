"""A Postgres database full of vectors, without a store in between: only what a search reads."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path
from time import perf_counter
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import psycopg
from psycopg import Connection, sql

from bearinmind.store.half_precision import HALF, unit
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.store.postgres.vectors import to_halfvec
from bearinmind.text.sql_statements import statements_of
from bearinmind.types import Space, UserId
from made_up import Writer
from vector_sets import Numbers, Vectors

SQL = statements_of(Path(__file__).with_suffix(".sql").read_text("utf-8"))
SPACE = Space(model="made-up", revision="1", dimensions=768)
#: Every hundredth memory is of the one category, every tenth of the other.
RARE, SOME, COMMON = "hundredth", "tenth", "facts"
_SHARES = {RARE: 100, SOME: 10}
_INSERTED = 100


@contextmanager
def database(server: str, name: str) -> Iterator[Pool]:
    """A new database with the schema of a store; dropped in the end."""
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(sql.SQL(SQL["create"]).format(sql.Identifier(name)))
        connection.execute(sql.SQL(SQL["one_process"]).format(sql.Identifier(name)))
        url = urlsplit(server)._replace(path=f"/{name}").geturl()
        try:
            PostgresStore(url).close()
            pool = Pool(url, connections=1)
            yield pool
            pool.close()
        finally:
            connection.execute(sql.SQL(SQL["drop"]).format(sql.Identifier(name)))


def busy_ms(pool: Pool) -> float:
    """How long the process that serves a pool of one was at work; 0 when that cannot be seen."""
    with pool.connections.connection() as connection:
        state = Path(f"/proc/{connection.info.backend_pid}/schedstat")
    return int(state.read_text("ascii").split()[0]) / 1e6 if state.exists() else 0.0


def category(row: int) -> str:
    """Of which category the memory of a row is."""
    for name, every in _SHARES.items():
        if row % every == every // 2:
            return name
    return COMMON


def fill(pool: Pool, owner: UserId, vectors: Vectors, sets: Numbers) -> None:
    """Give an owner so many memories with these vectors; a memory's project names its set."""
    writer = Writer(seed=len(vectors))
    with pool.connections.alone() as connection, connection.transaction():
        description = json.dumps(asdict(SPACE))
        known = connection.execute(SQL["space"], {"key": SPACE.key, "description": description})
        [space] = known.fetchone() or [0]
        with connection.cursor() as cursor, cursor.copy(SQL["copy_memories"]) as into:
            for row, project in enumerate(sets.tolist(), start=1):
                texts = (f"{owner}{row:07}", 1, writer.memory(), b"", category(row))
                into.write_row((owner, row, *texts, [], [], 0.5, False, 0, 0, str(project), "user"))
        halves = unit(vectors).astype(HALF)
        with connection.cursor() as cursor, cursor.copy(SQL["copy_vectors"]) as into:
            for row, half in enumerate(halves, start=1):
                into.write_row((owner, space, row, to_halfvec(half)))
        connection.execute(SQL["count"], {"owner": owner, "space": space})
    tidy(pool)


def tidy(pool: Pool) -> None:
    """Leave everything as it is after a while."""
    with pool.connections.alone() as connection:
        connection.execute(SQL["tidy"])


def seconds_to_insert(pool: Pool, owner: UserId, vectors: Vectors) -> float:
    """How long one more memory with its vector takes; nothing of them stays."""
    with pool.connections.alone() as connection, connection.transaction(force_rollback=True):
        began = perf_counter()
        for number, vector in enumerate(vectors[:_INSERTED], start=1):
            _insert(connection, owner, number, vector)
        return (perf_counter() - began) / _INSERTED


def _insert(connection: Connection[Any], owner: UserId, number: int, vector: Vectors) -> None:
    half = to_halfvec(vector.astype(HALF))
    connection.execute(SQL["insert"], {"owner": owner, "number": number, "vector": half})


def bytes_for_each(pool: Pool, vectors: int) -> dict[str, float]:
    """What a memory takes beside its text: its vector, the keys of that, its place in HNSW."""
    with pool.connections.alone() as connection:
        sizes = connection.execute(SQL["sizes"]).fetchone() or ()
    return dict(zip(("vector", "keys", "hnsw"), (np.array(sizes) / vectors).tolist(), strict=True))
