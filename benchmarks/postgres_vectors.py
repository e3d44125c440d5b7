"""Ways of searching vectors on Postgres: what each finds of the nearest, and what it takes.

    python benchmarks/postgres_vectors.py --data FOLDER --data FOLDER ... [--server URL]

Real embeddings and real queries (`vector_sets.py`), 10,000 and 100,000 memories of one owner,
beside whom others own a tenth and a hundredth as many. Each query is asked without a filter, with
filters that admit every tenth, every hundredth and most memories, and with one that admits another
set than the query is from: what is near is then what the filter keeps out. What is shipped stands
beside what it chooses from and what it was chosen over, asked in turn, so that whatever else the
machine does hits all alike. The dense leg asks for four times the pool, so recall is that of the
first 50 and of all 200.

Without `--server` an embedded server is installed in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

import vector_database
from bearinmind.store import rows
from bearinmind.store.half_precision import HALF, direction_of
from bearinmind.store.postgres.indexes import VectorIndexes
from bearinmind.store.postgres.pool import Pool
from bearinmind.store.postgres.search_plan import COSTS, Costs
from bearinmind.store.postgres.vectors import VectorSearch, to_halfvec, to_reals
from bearinmind.types import Filter, Scope, UserId
from bearinmind_bench.runner import revision
from own_server import own_server
from vector_database import COMMON, RARE, SOME, SPACE
from vector_sets import Vectors, VectorSet, enlarged, real

SIZES = 10_000, 100_000
QUERIES = 100
POOL, LIMIT = 50, 200
LEAST_RECALL = 0.99
RESULTS = Path(__file__).parent / "results" / "postgres_vectors.json"

#: Asked for the best of what a filter admits: their rows, and how they were found.
Ask = Callable[[Filter, Vectors], tuple[list[int], str]]
Figures = dict[str, Any]


def main() -> int:
    """Measure every size; fail when what ships finds less than it must."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, action="append", required=True, help="a set's folder")
    parser.add_argument("--server", help="the URL of a server that may be filled with databases")
    parser.add_argument("--queries", type=int, default=QUERIES)
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    known = real(options.data)
    print(f"{len(known.vectors):,} real vectors, {len(known.queries):,} real queries")
    figures: Figures = {"revision": revision(), "sizes": {}}
    with own_server(options.server) as server:
        for size in SIZES:
            figures["sizes"][size] = measure(server, known, size, options.queries)
    if options.keep:
        RESULTS.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    shipped = [
        one["shipped"] for size in figures["sizes"].values() for one in size["search"].values()
    ]
    return int(any(one[f"recall@{POOL}"] < LEAST_RECALL for one in shipped))


# ---- one size ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Question:
    """A query, what may be found for it, and the rows that are nearest."""

    vector: Vectors
    filter: Filter
    nearest: NDArray[np.int64]


def measure(server: str, known: VectorSet, size: int, count: int) -> Figures:
    """What an owner of so many vectors pays, and what each way finds."""
    owners = {UserId("all"): size, UserId("tenth"): size // 10, UserId("hundredth"): size // 100}
    data = shared_out(enlarged(known, sum(owners.values())), owners)
    with vector_database.database(server, f"bearinmind_bench_{size}") as pool:
        for owner, own in data.items():
            vector_database.fill(pool, owner, own.vectors, own.sets)
        largest = data[UserId("all")]
        figures: Figures = {"insert_ms": {"without": _insert_ms(pool, largest)}}
        figures["build_s"] = _build(pool)
        figures["bytes"] = vector_database.bytes_for_each(pool, sum(owners.values()))
        figures["insert_ms"]["with"] = _insert_ms(pool, largest)
        vector_database.tidy(pool)
        print(f"\n{size:,}: {json.dumps(figures)}")
        figures["search"] = {}
        for name, questions in _questions(UserId("all"), largest, count).items():
            print(f"\n{size:,}, {name}")
            figures["search"][name] = _compare(pool, questions)
        figures["owners"] = {}
        for owner, own in [*data.items()][1:]:
            print(f"\n{size:,}, an owner of a {owner}")
            asked = _questions(owner, own, count)["everything"]
            figures["owners"][owner] = _compare(pool, asked)
        return figures


def shared_out(data: VectorSet, owners: Mapping[UserId, int]) -> dict[UserId, VectorSet]:
    """To each owner as many vectors as are said, none of them twice."""
    ends = np.cumsum([*owners.values()])[:-1]
    parts = zip(np.split(data.vectors, ends), np.split(data.sets, ends), strict=True)
    return {
        owner: data._replace(vectors=vectors, sets=sets)
        for owner, (vectors, sets) in zip(owners, parts, strict=True)
    }


def _insert_ms(pool: Pool, data: VectorSet) -> float:
    vectors = data.vectors[:: len(data.vectors) // 200]
    return (
        min(vector_database.seconds_to_insert(pool, UserId("all"), vectors) for _ in range(3)) * 1e3
    )


def _build(pool: Pool) -> float:
    """Seconds that the index takes."""
    vector_database.tidy(pool)
    indexes = VectorIndexes(pool)
    [index] = indexes.known()
    began = perf_counter()
    indexes.build(index)
    return perf_counter() - began


def _questions(owner: UserId, data: VectorSet, count: int) -> dict[str, list[Question]]:
    """The questions by what may be found for them."""
    chosen = np.random.default_rng(count).permutation(len(data.queries))[:count]
    halves = data.vectors.astype(HALF).astype(np.float32)
    halves /= np.linalg.norm(halves, axis=1, keepdims=True)
    categories = np.array([vector_database.category(row + 1) for row in range(len(halves))])
    plain = Filter(scope=Scope(user=owner), now=datetime.now(UTC))
    asked: dict[str, list[Question]] = {}
    for query, own in zip(data.queries[chosen], data.query_sets[chosen], strict=True):
        cosines = halves @ query
        other = (own + 1) % (data.sets.max() + 1)
        for name, filter_, admitted in (
            ("everything", plain, categories != ""),
            ("a tenth", _of(plain, SOME), categories == SOME),
            ("a hundredth", _of(plain, RARE), categories == RARE),
            ("most", _of(plain, COMMON), categories == COMMON),
            ("another set", replace(plain, project=str(other)), data.sets == other),
        ):
            nearest = np.argsort(np.where(admitted, -cosines, np.inf), kind="stable")
            nearest = nearest[: min(LIMIT, int(admitted.sum()))] + 1
            asked.setdefault(name, []).append(Question(query, filter_, nearest))
    return asked


def _of(filter: Filter, category: str) -> Filter:
    return replace(filter, categories=frozenset({category}))


# ---- the ways ----------------------------------------------------------------------------------


def _ways(pool: Pool) -> dict[str, Ask]:
    """What ships, what it chooses from, and what it was chosen over."""
    never = 1e12
    by_index = partial(_by_index, pool)
    return {
        "shipped": _searching(VectorSearch(pool)),
        "exact, all": _searching(VectorSearch(pool, replace(COSTS, short=never))),
        "exact, admitted": _searching(
            VectorSearch(pool, Costs(short=0, vector=never, astray=0, memory=0, lookup=0))
        ),
        "HNSW, ef 400, relaxed, 250": by_index(400, "relaxed_order", 250),
        "HNSW, ef 400, relaxed": by_index(400, "relaxed_order", LIMIT),
        "HNSW, ef 400, strict": by_index(400, "strict_order", LIMIT),
        "HNSW, ef 400, no iteration": by_index(400, "off", LIMIT),
        "HNSW, ef 200, relaxed": by_index(200, "relaxed_order", LIMIT),
        "HNSW, ef 100, relaxed": by_index(100, "relaxed_order", LIMIT),
    }


def _searching(search: VectorSearch) -> Ask:
    def ask(filter_: Filter, query: Vectors) -> tuple[list[int], str]:
        answer = search.nearest(filter_, SPACE, query, LIMIT)
        return [_row(near.id) for near in answer.nearest], answer.how.partition(":")[0]

    return ask


def _by_index(pool: Pool, ef: int, mode: str, limit: int) -> Ask:
    """The index by itself, as the statement of the store asks it."""
    settings = {
        "plan_cache_mode": "force_custom_plan",
        "enable_sort": "off",
        "hnsw.iterative_scan": mode,
        "hnsw.ef_search": str(ef),
        "hnsw.max_scan_tuples": "200000",
        "hnsw.scan_mem_multiplier": "64",
    }

    def ask(filter_: Filter, query: Vectors) -> tuple[list[int], str]:
        direction = direction_of(query, SPACE)
        wanted = {
            "space": 1,
            "query": to_reals(direction),
            "half": to_halfvec(direction.astype(HALF)),
            "dimensions": len(direction),
            "limit": limit,
        }
        found = pool.read_with(settings, "nearest_by_index", rows.from_filter(filter_) | wanted)
        return [_row(id_) for id_, _ in found], ""

    return ask


def _row(id_: str) -> int:
    return int(id_[-7:])


def _compare(pool: Pool, questions: Sequence[Question]) -> Figures:
    """Every question put to every way in turn."""
    ways = _ways(pool)
    times: dict[str, list[float]] = {name: [] for name in ways}
    busy: dict[str, list[float]] = {name: [] for name in ways}
    found: dict[str, list[tuple[float, float]]] = {name: [] for name in ways}
    taken: dict[str, dict[str, int]] = {name: {} for name in ways}
    for ask in ways.values():
        ask(questions[0].filter, questions[0].vector)  # a process that has answered before
    for question in questions:
        for name, ask in ways.items():
            before, began = vector_database.busy_ms(pool), perf_counter()
            nearest, how = ask(question.filter, question.vector)
            times[name].append((perf_counter() - began) * 1e3)
            busy[name].append(vector_database.busy_ms(pool) - before)
            found[name].append(_recall(nearest, question.nearest))
            taken[name][how] = taken[name].get(how, 0) + 1
    return {
        name: _figures(name, times[name], busy[name], found[name], taken[name]) for name in ways
    }


def _recall(found: Sequence[int], nearest: NDArray[np.int64]) -> tuple[float, float]:
    """How much of the pool, and of all that is asked for, is among what was found."""
    given = {*found}
    pool = nearest[:POOL].tolist()
    return len(given & {*pool}) / len(pool), len(given & {*nearest.tolist()}) / len(nearest)


def _figures(
    name: str,
    times: list[float],
    busy: list[float],
    found: list[tuple[float, float]],
    taken: Mapping[str, int],
) -> Figures:
    pool, all_ = np.mean(found, axis=0)
    p50, p95 = np.percentile(times, [50, 95])
    print(
        f"{name:28} recall@{POOL} {pool:.4f}  @{LIMIT} {all_:.4f}  server {np.median(busy):6.1f} ms"
        f"  p50 {p50:6.1f} ms  p95 {p95:6.1f} ms  {dict(taken) if any(taken) else ''}",
        flush=True,
    )
    return {
        f"recall@{POOL}": round(float(pool), 4),
        f"recall@{LIMIT}": round(float(all_), 4),
        "server_ms": round(float(np.median(busy)), 2),
        "p50_ms": round(float(p50), 1),
        "p95_ms": round(float(p95), 1),
        "taken": dict(taken),
    }


if __name__ == "__main__":
    sys.exit(main())
