"""Ways of finding memories by their words on Postgres, beside SQLite's: their worth and cost.

    python benchmarks/postgres_lexical.py --data FOLDER [--data FOLDER ...] [--server URL] [--keep]

A folder is a set, or holds several. Quality is that of the whole lexical leg, nothing else taking
part, on development queries: every way only decides which memories the leg gets to rank. Speed is
that of the leg, made-up memories, everybody asked in turn: 10,000 and 100,000 memories of one
owner, and 1,000 of an owner beside whom 99 others have as many. `lexical_ways.py` has the ways.

Without `--server` an embedded server is installed in a temporary folder.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter
from typing import Any

import arms
from bearinmind.protocols import History, LexicalSearch, Store
from bearinmind.recall.lexical import LexicalLeg
from bearinmind.store.sqlite import SqliteStore
from bearinmind.text import analysis
from bearinmind.types import Filter, Memory, Provenance, Query, Scope, UserId, new_id
from bearinmind_bench import corpus, runner
from bearinmind_bench.corpus import EmbeddersOfRun
from bearinmind_bench.evaluation import EvaluationSet
from bearinmind_bench.metrics import HEADLINE
from bearinmind_bench.product import Product
from bearinmind_bench.runner import revision
from bearinmind_bench.sweep import tunable_split
from lexical_ways import OTHERS, WORDS, Ways, database
from made_up import Writer
from own_server import own_server

#: Owners, and how many memories each of them has.
SIZES = {"10k of 10k": (1, 10_000), "100k of 100k": (1, 100_000), "1k of 100k": (100, 1_000)}
QUESTIONS = 200
INSERTED = 300
POOL = 50
MOST_LOST = 0.01  # of SQLite's nDCG@10, on any set
RESULTS = Path(__file__).parent / "results" / "postgres_lexical.json"
TABLES = ("lines", "lexemes", "unmarked", "tsvector", "postings", "frequencies")
_LEXICAL = {"embedder": "none", "leg_weights": {"graph": 0.0}}
_NOW = datetime(2026, 1, 1, tzinfo=UTC)

Figures = dict[str, Any]


def main() -> int:
    """Measure everything; fail when what ships is not as good as SQLite's leg."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, action="append", default=[], help="of sets")
    parser.add_argument("--server", help="the URL of a server that may be filled with databases")
    parser.add_argument("--size", choices=[*SIZES], action="append", help="repeatable; all of them")
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    figures: Figures = {"revision": revision(), "quality": {}, "speed": {}}
    with own_server(options.server) as server:
        for folder in _sets(options.data):
            figures["quality"][folder.name] = _show_quality(folder.name, quality(server, folder))
        for name in options.size or SIZES:
            figures["speed"][name] = speed(server, name)
    if options.keep:
        RESULTS.write_text(json.dumps(figures, indent=1) + "\n", encoding="utf-8")
    losses = [found["sqlite"] - found["shipped"] for found in figures["quality"].values()]
    return int(max(losses, default=0.0) > MOST_LOST)


def _sets(folders: Sequence[Path]) -> Iterator[Path]:
    for folder in folders:
        inside = sorted(each.parent for each in folder.glob("*/corpus.jsonl*"))
        yield from inside or [folder]


# ---- quality -----------------------------------------------------------------------------------


def quality(server: str, folder: Path) -> dict[str, float]:
    """The headline metric of SQLite's leg and of every way, on a set's development queries."""
    with arms.filled(folder) as (data, in_file), database(server, "lexical_quality") as ways:
        found = {"sqlite": _headline(data, in_file)}
        stored = corpus.fill(ways.store, data, lambda _more: None)
        ways.add_tables(*dict.fromkeys(table for table in OTHERS.values() if table))
        for name in ("shipped", *OTHERS):
            ways.take(name)
            found[name] = _headline(data, stored)
    return found


def _headline(data: EvaluationSet, stored: corpus.StoredCorpus) -> float:
    product = Product(stored, _LEXICAL, EmbeddersOfRun())
    asked = [
        runner.row_of(query, product.ask(query), data.top_grade)
        for query in data.of_split(tunable_split(data))
    ]
    broken = [*product.faults, *(reason for row in asked for reason in row.degraded)]
    if broken:  # figures of something else than what they are said to be of
        raise SystemExit(f"{data.name}: {broken[0]}")
    return statistics.fmean(row.metrics[HEADLINE] for row in asked if HEADLINE in row.metrics)


def _show_quality(name: str, found: dict[str, float]) -> dict[str, float]:
    print(f"{name}, {HEADLINE}")
    for way, figure in found.items():
        difference = figure - found["sqlite"]
        print(f"  {WORDS.get(way, way):50} {figure:.4f} {difference:+.4f}", flush=True)
    return found


# ---- speed -------------------------------------------------------------------------------------


def speed(server: str, name: str) -> Figures:
    """What every way takes at one size, and what its tables take."""
    owners, each = SIZES[name]
    writer = Writer(seed=owners * each)
    texts = [writer.memory() for _ in range(owners * each)]
    questions = [
        (number // each, writer.question(texts[number]))
        for number in range(0, len(texts), max(1, len(texts) // (2 * QUESTIONS)))
    ]
    with (
        tempfile.TemporaryDirectory() as folder,
        database(server, "lexical_speed") as ways,
    ):
        in_file = SqliteStore(Path(folder) / "memories.db")
        for store in (in_file, ways.store):
            _fill(store, texts, each)
        ways.add_tables(*TABLES)
        figures = {
            "ways": _compare(name, in_file, ways, questions),
            "counting": _counting(ways, questions),
            "tables": _tables(ways, owners * each, each),
        }
        in_file.close()
    return figures


def _owner(number: int) -> Scope:
    return Scope(user=UserId(f"owner {number}"))


def _fill(store: Store, texts: Sequence[str], each: int) -> None:
    for begin in range(0, len(texts), 1_000):
        scope = _owner(begin // each)
        memories = [_memory(scope, text) for text in texts[begin : begin + 1_000]]
        store.put_many(scope, [History(versions=(memory,)) for memory in memories])


def _memory(scope: Scope, text: str) -> Memory:
    return Memory(
        id=new_id(),
        owner=scope.user,
        content=text,
        category="facts",
        tags=(),
        keywords=(),
        importance=0.5,
        sensitive=False,
        created_at=_NOW,
        updated_at=_NOW,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(),
        version=1,
    )


def _compare(
    size: str, in_file: Store, ways: Ways, questions: Sequence[tuple[int, str]]
) -> dict[str, dict[str, float]]:
    """Milliseconds of the leg, question by question; the first half warms all up."""
    names = ("sqlite", "shipped", *OTHERS)
    whole: dict[str, list[float]] = {name: [] for name in names}
    busy: dict[str, list[float]] = {name: [] for name in names}
    lexicons = {}
    for name in names[1:]:
        ways.take(name)
        lexicons[name] = ways.store._lexicon
    for owner, text in questions:
        query = Query(text=text, filter=Filter(scope=_owner(owner), now=_NOW), pool=POOL)
        for name in names:
            ways.store._lexicon = lexicons.get(name, ways.shipped)
            searched: LexicalSearch = in_file if name == "sqlite" else ways.store
            before = ways.busy_ms()
            began = perf_counter()
            LexicalLeg(searched)(query)
            whole[name].append((perf_counter() - began) * 1e3)
            busy[name].append(ways.busy_ms() - before)
    ways.take("shipped")
    half = len(questions) // 2
    figures = {name: _figures(whole[name][half:], busy[name][half:]) for name in names}
    print(f"{size}\n  {'':50} {'p50 ms':>8} {'p95 ms':>8} {'server':>8}")
    for name, found in figures.items():
        cells = " ".join(f"{value:8.2f}" for value in found.values())
        print(f"  {WORDS.get(name, name):50} {cells}", flush=True)
    return figures


def _figures(whole: Sequence[float], busy: Sequence[float]) -> dict[str, float]:
    ordered = sorted(whole)
    return {
        "p50_ms": round(statistics.median(ordered), 3),
        "p95_ms": round(ordered[int(len(ordered) * 0.95)], 3),
        "server_ms": round(statistics.median(busy), 3),
    }


def _counting(ways: Ways, questions: Sequence[tuple[int, str]]) -> dict[str, float]:
    """Milliseconds of the server for the frequencies of a question's terms: p50, p95."""
    took: dict[str, list[float]] = {"counted": [], "remembered": [], "from a table": []}
    for owner, text in questions[-QUESTIONS:]:
        scope = _owner(owner)
        terms = [term for term, _ in analysis.ask(text).terms]
        ways.shipped._estimates.cache_clear()
        for name in ("counted", "remembered"):
            before = ways.busy_ms()
            ways.shipped.statistics(scope, terms)
            took[name].append(ways.busy_ms() - before)
        before = ways.busy_ms()
        ways.pool.read("look_up_frequencies", {"owner": scope.user, "terms": terms})
        took["from a table"].append(ways.busy_ms() - before)
    figures = {}
    for name, times in took.items():
        figures[f"{name}, p50"] = round(statistics.median(times), 3)
        figures[f"{name}, p95"] = round(sorted(times)[len(times) * 19 // 20], 3)
    print("  frequencies of a question, server: " + _listed(figures, "ms"))
    return figures


def _tables(ways: Ways, total: int, each: int) -> dict[str, dict[str, float]]:
    """What each table takes for a memory: bytes, and milliseconds of the server to add it alone."""
    figures = {}
    for table in TABLES:
        [[heap, whole]] = ways.pool.read("size_of", {"table": f"way_{table}"})
        ways.empty(table, _owner(0).user, each - INSERTED)
        spent = []
        for row in range(each - INSERTED + 1, each + 1):
            before = ways.busy_ms()
            ways.fill(table, _owner(0).user, row, row)
            spent.append(ways.busy_ms() - before)
        figures[table] = {
            "bytes": round(whole / total),
            "of_them_indexes": round((whole - heap) / total),
            "insert_ms": round(statistics.median(spent), 3),
        }
        print(f"  {table:14} " + _listed(figures[table], "a memory"), flush=True)
    return figures


def _listed(figures: Mapping[str, float], unit: str) -> str:
    return ", ".join(f"{name} {value:,.2f}" for name, value in figures.items()) + f" {unit}"


if __name__ == "__main__":
    sys.exit(main())
