"""Lexical quality of the shipped pipeline on the public sets, beside published baselines.

    python benchmarks/quality.py --split test

Every memory goes in through the import path and every question through `Recollect.recall`.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from evaluation_data import DEFAULT_FOLDER, SETS, EvaluationSet, load
from recollect import Memory, MemoryId, Provenance, Recollect, Settings
from recollect.ids import ALPHABET, LENGTH
from recollect.recall.lexical import LexicalWeights
from recollect.store.sqlite import SqliteStore
from recollect.types import UserId

#: Overall nDCG@10 on all queries of the best lexical baseline published with the sets: FTS5 as the
#: earlier systems used it, FTS5 with its Porter stemmer, and a stemmed BM25 library.
BASELINES = {
    "locomo-facts": 0.603,
    "locomo-turns": 0.434,
    "scifact": 0.687,
    "2wiki": 0.713,
    "musique": 0.561,
    "musique-openie": 0.584,
}
CONTENT_LIMIT = 100_000  # SciFact's abstracts are longer than a memory should be


def main() -> int:
    """Measure every set and compare with the baselines."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="folder with the sets")
    parser.add_argument("--split", choices=("dev", "test", "all"), default="all")
    parser.add_argument("--set", action="append", choices=SETS, help="only this set; repeatable")
    parser.add_argument("--json", type=Path, help="write the figures to this file")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no evaluation data at {options.data}; give its folder with --data")
        return 0
    print(f"split: {options.split}; store: SQLite; content limit lifted to {CONTENT_LIMIT:,}")
    print(
        f"{'set':16} {'queries':>7} {'recall@5':>8} {'recall@10':>9} "
        f"{'nDCG@10':>8} {'MRR':>6}  baseline"
    )
    figures = {}
    for name in options.set or SETS:
        row = measure(load(options.data, name), options.split)
        figures[name] = row
        baseline = f"{BASELINES[name]:.3f}" if options.split == "all" else "(all queries only)"
        print(
            f"{name:16} {row['queries']:7} {row['recall@5']:8.3f} {row['recall@10']:9.3f} "
            f"{row['ndcg@10']:8.4f} {row['mrr']:6.3f}  {baseline}"
        )
    if options.json:
        options.json.write_text(json.dumps(figures, indent=2) + "\n", encoding="utf-8")
    below = [n for n, row in figures.items() if row["ndcg@10"] < BASELINES[n]]
    if options.split == "all" and below:
        print(f"BELOW the baseline: {', '.join(below)}")
        return 1
    return 0


def measure(data: EvaluationSet, split: str) -> dict[str, float]:
    """Mean metrics of the shipped pipeline over the questions of a split."""
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memories.db")
        for recollect, corpus in users(store, data, LexicalWeights()).values():
            ingest(recollect, corpus)
        figures = ask(store, data, split, LexicalWeights())
        store.close()
    return figures


def users(
    store: SqliteStore, data: EvaluationSet, weights: LexicalWeights
) -> dict[str, tuple[Recollect, list[dict[str, Any]]]]:
    """A Recollect for each user of a set, and the records that are theirs."""
    categories = tuple(sorted({record["category"] for record in data.corpus}))
    owned: dict[str, list[dict[str, Any]]] = {}
    for record in data.corpus:
        owned.setdefault(record.get("user_id") or "local", []).append(record)
    return {
        user: (
            Recollect(
                store,
                Settings(user=user, content_limit=CONTENT_LIMIT, categories=categories, limit=10),
                lexical=weights,
            ),
            corpus,
        )
        for user, corpus in owned.items()
    }


def ask(
    store: SqliteStore, data: EvaluationSet, split: str, weights: LexicalWeights
) -> dict[str, float]:
    """Mean metrics of a filled store over the questions of a split."""
    recollects = {user: pair[0] for user, pair in users(store, data, weights).items()}
    return mean_scores(
        ([_foreign(hit.memory) for hit in recollects[q.user].recall(q.text).hits], q.relevant)
        for q in data.questions
        if split in ("all", q.split)
    )


def mean_scores(answers: Iterable[tuple[Sequence[str], frozenset[str]]]) -> dict[str, float]:
    """Mean metrics over ranked ids and the relevant ones."""
    rows = [_score(ranked, relevant) for ranked, relevant in answers]
    means = {name: sum(row[name] for row in rows) / len(rows) for name in rows[0]}
    return {"queries": len(rows), **means}


def ingest(recollect: Recollect, corpus: Iterable[dict[str, Any]]) -> None:
    """Import a corpus, each record under an id made from its own."""
    histories = [recollect.admit([_memory(record)]) for record in corpus]
    for begin in range(0, len(histories), 1_000):
        recollect.add_histories(histories[begin : begin + 1_000])


def _memory(record: dict[str, Any]) -> Memory:
    created = datetime.fromisoformat(record.get("created_at") or "2024-01-01").replace(tzinfo=UTC)
    return Memory(
        id=_own_id(int(record["id"])),
        owner=UserId("local"),
        content=record["content"],
        category=record["category"],
        tags=_split(record.get("tags", "")),
        keywords=_split(record.get("expanded_keywords", "")),
        importance=record["importance"],
        sensitive=False,
        created_at=created,
        updated_at=created,
        deleted_at=None,
        valid_from=None,
        valid_to=None,
        provenance=Provenance(source=str(record["id"])),
        version=1,
    )


def _own_id(number: int) -> MemoryId:
    digits = ""
    while number:
        number, digit = divmod(number, len(ALPHABET))
        digits = ALPHABET[digit] + digits
    return MemoryId(digits.rjust(LENGTH, ALPHABET[0]))


def _foreign(memory: Memory) -> str:
    return memory.provenance.source or ""


def _split(text: str) -> tuple[str, ...]:
    return tuple(part.strip() for part in text.split(",") if part.strip())


def _score(ranked: Sequence[str], relevant: frozenset[str]) -> dict[str, float]:
    gains = [1.0 if id_ in relevant else 0.0 for id_ in ranked[:10]]
    ideal = sum(1 / math.log2(rank + 2) for rank in range(min(len(relevant), 10)))
    return {
        "recall@5": sum(gains[:5]) / len(relevant),
        "recall@10": sum(gains) / len(relevant),
        "ndcg@10": sum(g / math.log2(rank + 2) for rank, g in enumerate(gains)) / ideal,
        "mrr": next((1 / (rank + 1) for rank, g in enumerate(gains) if g), 0.0),
    }


if __name__ == "__main__":
    sys.exit(main())
