"""sqlite-vec's virtual table beside our scan of 8-bit codes: milliseconds, and what is found.

    pip install apsw sqlite-vec
    python benchmarks/research/vec0.py

100,000 vectors of the shipped encoder, made of those of agent-store as `vector_sets.py` makes them,
and development queries, put to all in turn. Each is asked for the best 200, as the dense leg asks.
Ours finds them by codes and scores them again by halves, which are in memory here and not in a
file. apsw brings an SQLite that loads extensions: that of Python itself often does not.
"""

from __future__ import annotations

import importlib
import statistics
import sys
from collections.abc import Callable
from pathlib import Path
from time import perf_counter

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[1]))
import vector_sets
from bearinmind.store.half_precision import HALF
from bearinmind.store.sqlite.vectors import Matrix, best, encode
from vector_sets import Vectors

AGENT_STORE = Path(__file__).parents[1] / "data" / "agent-store"
COUNT = 100_000
QUERIES = 40
LIMIT, FIRST = 200, 50
_BATCH = 10_000

Ask = Callable[[Vectors], list[int]]


def main() -> None:
    """Print what each way takes and finds."""
    known = vector_sets.enlarged(vector_sets.real([AGENT_STORE]), COUNT)
    vectors, queries = known.vectors, known.queries[:: len(known.queries) // QUERIES][:QUERIES]
    ways = {
        "8-bit codes, as shipped": _codes(vectors),
        "vec0, 32 bits": _vec0(vectors, "float", "?"),
        "vec0, 8 bits": _vec0(vectors, "int8", "vec_quantize_int8(?, 'unit')"),
    }
    taken: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for query in queries:
        nearest = {*np.argsort(-(vectors @ query))[:FIRST].tolist()}
        for name, ask in ways.items():
            began = perf_counter()
            rows = ask(query)
            taken[name].append((perf_counter() - began) * 1e3)
            found[name].append(len(nearest & {*rows[:FIRST]}) / FIRST)
    print(f"{COUNT:,} vectors of {vectors.shape[1]} dimensions, {QUERIES} queries")
    for name, times in taken.items():
        share = statistics.fmean(found[name])
        print(
            f"{name:24} lowest {min(times):6.1f} ms, median {statistics.median(times):6.1f} ms, "
            f"finds {share:.3f} of the first {FIRST}"
        )


def _codes(vectors: Vectors) -> Ask:
    matrix = Matrix(vectors.shape[1])
    for start in range(0, len(vectors), _BATCH):
        some = vectors[start : start + _BATCH]
        codes, _ = encode(some, len(some), vectors.shape[1])
        matrix.extend([*enumerate(codes, start=start)])
    view, halves = matrix.view(), vectors.astype(HALF)

    def ask(query: Vectors) -> list[int]:
        near = best(view.cosines(query), LIMIT, view.errors)
        exact = halves[near].astype(np.float32) @ query
        return [int(row) for row in near[np.argsort(-exact)[:LIMIT]]]

    return ask


def _vec0(vectors: Vectors, kind: str, value: str) -> Ask:
    apsw, sqlite_vec = (importlib.import_module(name) for name in ("apsw", "sqlite_vec"))
    database = apsw.Connection(":memory:")
    database.enable_load_extension(True)
    database.load_extension(sqlite_vec.loadable_path())
    dimensions = vectors.shape[1]
    # By distance, which is the faster one there: among units it has the order of cosines.
    database.execute(f"CREATE VIRTUAL TABLE v USING vec0(e {kind}[{dimensions}])")
    with database:
        database.executemany(
            f"INSERT INTO v(rowid, e) VALUES (?, {value})",
            ((row, vector.tobytes()) for row, vector in enumerate(vectors)),
        )
    statement = f"SELECT rowid FROM v WHERE e MATCH {value} AND k = {LIMIT} ORDER BY distance"

    def ask(query: Vectors) -> list[int]:
        return [row for (row,) in database.execute(statement, (query.tobytes(),))]

    return ask


if __name__ == "__main__":
    main()
