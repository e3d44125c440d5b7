# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The tables about Postgres, made from what `make bench-postgres` left behind."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

RESULTS = Path(__file__).parents[1] / "benchmarks" / "results"
SETS = (
    "agent-store",
    "locomo-facts",
    "locomo-turns",
    "scifact",
    "2wiki",
    "musique",
    "musique-openie",
)
SHIPPED = "shipped"
#: By name in the results: what a way of ranking by words is called, and the table that it needs.
WAYS = {
    "sqlite": ("SQLite", None),
    SHIPPED: ("BM25 from the lines, by the rarest terms", "lines"),
    "every_term": ("the same, every term searched", None),
    "unmarked": ("the same, index without marks", "unmarked"),
    "unnested": ("BM25 by unnesting the lines", None),
    "idf": ("sum of IDF of the terms held", None),
    "ts_rank": ("`ts_rank`, fields weighted", "tsvector"),
    "ts_rank_cd": ("`ts_rank_cd`, fields weighted", "tsvector"),
    "ts_rank_idf": ("`ts_rank` of each term times its IDF", "tsvector"),
    "postings": ("BM25 from a table of postings", "postings"),
}
SIZES = {
    "10k of 10k": "10k, one owner",
    "100k of 100k": "100k, one owner",
    "1k of 100k": "1k of 100k",
}
FILTERS = {
    "everything": "no filter",
    "a tenth": "1 of 10 admitted",
    "a hundredth": "1 of 100 admitted",
    "most": "89 % admitted",
    "another set": "another set admitted",
}
SEARCHES = (
    SHIPPED,
    "exact, all",
    "exact, admitted",
    "HNSW, ef 400, relaxed",
    "HNSW, ef 400, strict",
    "HNSW, ef 400, no iteration",
    "HNSW, ef 100, relaxed",
)

Measured = dict[str, Any]


def _read(name: str) -> Measured:
    results: Measured = json.loads((RESULTS / f"postgres_{name}.json").read_text("utf-8"))
    return results


def _share(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def _print(head: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """A table; the row of what is shipped stands out."""
    print(f"| {' | '.join(head)} |")
    print(f"|---|{'---:|' * (len(head) - 1)}")
    for row in rows:
        print(f"| {' | '.join(row)} |")


def _bold(cells: Sequence[str], name: str) -> list[str]:
    return [f"**{cell}**" if cell else "" for cell in cells] if name == SHIPPED else [*cells]


def _print_revision(what: str, measured: Measured) -> None:
    print(f"\n*`make bench-postgres-{what}` at `{measured['revision']}`.*")


def quality() -> None:
    """Print every set on both stores."""
    measured = _read("quality")
    rows = []
    for name in SETS:
        pairs = [measured["nDCG@10"][name][way] for way in ("words alone", "as shipped")]
        cells = [
            cell
            for pair in pairs
            for cell in (
                _share(pair["sqlite"]),
                _share(pair["postgres"]),
                f"{pair['postgres'] - pair['sqlite']:+.4f}".replace("0.", ".", 1),
            )
        ]
        rows.append([name, *cells])
    stores = ("SQLite", "Postgres", "change")
    head = [f"{way}: {store}" for way in ("by words", "as shipped") for store in stores]
    _print(["set", *head], rows)
    _print_revision("quality", measured)


# ---- words -------------------------------------------------------------------------------------


def words() -> None:
    """Print what each way of ranking by words finds."""
    measured = _read("lexical")
    found: Mapping[str, Mapping[str, float]] = measured["quality"]
    _print(
        ["", *SETS],
        (
            _bold([label, *(_share(found[data][way]) for data in SETS)], way)
            for way, (label, _) in WAYS.items()
        ),
    )
    _print_revision("lexical", measured)


def words_speed() -> None:
    """Print what each way of ranking by words takes."""
    measured = _read("lexical")["speed"]
    rows = []
    for way, (label, table) in WAYS.items():
        cells = [label]
        for size in SIZES:
            took = measured[size]["ways"][way]
            cells.append(f"{took['p50_ms']:.1f} / {took['p95_ms']:.0f}")
            cells.append("" if way == "sqlite" else f"{took['server_ms']:.1f}")
        sizes = [measured[size]["tables"] for size in ("100k of 100k", "1k of 100k")]
        cells.append(" / ".join(f"{each[table]['bytes']:,}" for each in sizes) if table else "")
        rows.append(_bold(cells, way))
    times = [cell for label in SIZES.values() for cell in (label, "server")]
    _print(["", *times, "bytes, 100k of one owner / of 100"], rows)


# ---- vectors -----------------------------------------------------------------------------------


def vectors(size: int) -> None:
    """Print what each way of searching so many vectors finds, and the server's time."""
    measured = _read("vectors")["sizes"][str(size)]["search"]
    head = f"{size:,} memories: recall of 50 / of 200, server ms"
    _print(
        [head, *FILTERS.values()],
        (_bold([way, *(_found(measured[name][way]) for name in FILTERS)], way) for way in SEARCHES),
    )


def vectors_revision() -> None:
    """Print by which code the vectors were searched."""
    _print_revision("vectors", _read("vectors"))


def _found(row: Measured) -> str:
    return f"{_share(row['recall@50'])} / {_share(row['recall@200'])}, {row['server_ms']:.0f}"
