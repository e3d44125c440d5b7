"""How fast memories come in, against COPY of the same rows into the same schema."""

from __future__ import annotations

from dataclasses import replace
from time import perf_counter

import psycopg

from bearinmind import Mind
from bearinmind.config import Settings
from bearinmind.store.postgres.store import PostgresStore
from bearinmind.types import new_id
from made_up import Writer

BATCH = 1_000
BATCHES = 20
TABLES = {
    "memories": "TRUE",
    "indexed": "TRUE",
}


def compare_import(url: str) -> dict[str, float]:
    """Memories a second as a share of the bare rows', in turns of one batch."""
    writer = Writer(seed=11)
    ours = whole = bare = 0.0
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("import_ours", "import_bare"):
            connection.execute(f"DROP DATABASE IF EXISTS {name}")
            connection.execute(f"CREATE DATABASE {name}")
    place = {
        name: psycopg.conninfo.make_conninfo(url, dbname=name)
        for name in ("import_ours", "import_bare")
    }
    store, other = PostgresStore(place["import_ours"]), PostgresStore(place["import_bare"])
    other.close()
    bearinmind = Mind(
        store, Settings(user="importer", worker="off", embedder="none", extractor="none")
    )
    pattern = bearinmind.store("the pattern of all").memory
    with (
        psycopg.connect(place["import_ours"]) as source,
        psycopg.connect(place["import_bare"]) as target,
    ):
        _copy(source, target, 0)
        last = _last(source)
        for _ in range(BATCHES):
            texts = [writer.memory() for _ in range(BATCH)]
            began = perf_counter()
            admitted = [
                bearinmind.transfer.admit([replace(pattern, id=new_id(), content=text)])
                for text in texts
            ]
            middle = perf_counter()
            store.put_many(bearinmind.scope, admitted)
            ours += perf_counter() - middle
            whole += perf_counter() - began
            bare += _copy(source, target, last)
            last = _last(source)
    bearinmind.close()
    total = BATCH * BATCHES
    print(
        f"import: {total / ours:,.0f} memories a second are kept, {total / whole:,.0f} looked over "
        f"for secrets and kept, bare COPY {total / bare:,.0f}: share {bare / ours:.2f}, "
        f"{bare / whole:.2f}",
        flush=True,
    )
    return {"postgres-import": bare / ours}


def _last(source: psycopg.Connection) -> int:
    [[last]] = source.execute("SELECT max(row) FROM memories").fetchall()
    source.commit()
    return int(last)


def _copy(source: psycopg.Connection, target: psycopg.Connection, after: int) -> float:
    """Seconds that the finished rows behind one take to be copied in, in one transaction."""
    finished = {}
    for table in TABLES:
        with source.cursor().copy(
            f"COPY (SELECT * FROM {table} WHERE row > {after} ORDER BY row) TO STDOUT"
        ) as out:
            finished[table] = b"".join(out)
    source.commit()
    began = perf_counter()
    for table, data in finished.items():
        with target.cursor().copy(f"COPY {table} FROM STDIN") as into:
            into.write(data)
    target.commit()
    return perf_counter() - began
