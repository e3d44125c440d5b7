"""What each part of the lexical leg is worth, on the development splits: the table of ADR 0004.

    python benchmarks/ablation.py

The first rows are FTS5 by itself; the others are the shipped pipeline with parts switched off.
"""

from __future__ import annotations

import argparse
import re
import sqlite3
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from unittest.mock import patch

from evaluation_data import DEFAULT_FOLDER, SETS, EvaluationSet, load
from quality import ask, ingest, mean_scores, users
from recollect import analysis
from recollect.recall.lexical import LexicalWeights
from recollect.store import lexicon
from recollect.store.sqlite import SqliteStore

PLAIN = LexicalWeights(k1=1.2, b=0.75, inflected=1.0, adjacent=0.0)
#: The steps from FTS5's own ranking over our terms to what is shipped.
STEPS = {
    "our terms, FTS5's own BM25": PLAIN,
    "+ k1 and b": LexicalWeights(inflected=1.0, adjacent=0.0),
    "+ own spelling counts more": LexicalWeights(adjacent=0.0),
    "+ neighbours (shipped)": LexicalWeights(),
    "shipped, k1 = 1.2": LexicalWeights(k1=1.2),
    "shipped, k1 = 1.5": LexicalWeights(k1=1.5),
    "shipped, k1 = 2.0": LexicalWeights(k1=2.0),
    "shipped, b = 0.3": LexicalWeights(b=0.3),
    "shipped, b = 0.5": LexicalWeights(b=0.5),
    "shipped, neighbours 0.5": LexicalWeights(adjacent=0.5),
    "shipped, neighbours 1.0": LexicalWeights(adjacent=1.0),
}

#: How many matches the rarest terms must have before common ones are left out of the search.
PRUNING = {
    "shipped, every term searched": (10**9, 10**9),
    "shipped, 8 matches each": (8, 8),
    "shipped, 4 matches each": (4, 4),
    "shipped, 2 matches each": (2, 2),
}


def main() -> int:
    """Print nDCG@10 of every variant on every set."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER, help="folder with the sets")
    options = parser.parse_args()
    if not options.data.is_dir():
        print(f"no evaluation data at {options.data}; give its folder with --data")
        return 0
    sets = [load(options.data, name) for name in SETS]
    print(f"{'nDCG@10, development splits':32} {' '.join(f'{s:>14}' for s in SETS)}   mean")
    _row("FTS5 unicode61, AND then OR", [_fts5(s, "unicode61", strict=True) for s in sets])
    _row("FTS5 porter, OR", [_fts5(s, "porter unicode61", strict=False) for s in sets])
    for name, switch in (("no stemming", _no_stemming), ("function words as others", _no_function)):
        with switch():
            _row(f"shipped, {name}", [_ours(s, {"": LexicalWeights()})[""] for s in sets])
    figures = [_ours(s, STEPS) for s in sets]
    for name in STEPS:
        _row(name, [row[name] for row in figures])
    for name, (enough, fewer) in PRUNING.items():
        with patch.multiple(lexicon, _ENOUGH=enough, _FEWER=fewer):
            _row(name, [_ours(s, {"": LexicalWeights()})[""] for s in sets])
    return 0


def _row(name: str, figures: list[float]) -> None:
    mean = sum(figures) / len(figures)
    print(f"{name:32} {' '.join(f'{f:14.4f}' for f in figures)} {mean:6.4f}", flush=True)


def _ours(data: EvaluationSet, variants: dict[str, LexicalWeights]) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memories.db")
        for recollect, corpus in users(store, data, PLAIN).values():
            ingest(recollect, corpus)
        figures = {
            name: ask(store, data, "dev", weights)["ndcg@10"] for name, weights in variants.items()
        }
        store.close()
    return figures


def _fts5(data: EvaluationSet, tokenizer: str, *, strict: bool) -> float:
    """FTS5 alone over the content."""
    connection = sqlite3.connect(":memory:")
    connection.execute(
        "CREATE VIRTUAL TABLE t "
        f"USING fts5(content, owner UNINDEXED, id UNINDEXED, tokenize='{tokenizer}')"
    )
    connection.executemany(
        "INSERT INTO t VALUES (?, ?, ?)",
        [(r["content"], r.get("user_id") or "local", str(r["id"])) for r in data.corpus],
    )

    def find(text: str, user: str) -> list[str]:
        words = [f'"{word}"' for word in dict.fromkeys(re.findall(r"\w+", text.lower()))]
        found: dict[str, None] = {}
        for joint in (" AND ", " OR ") if strict else (" OR ",):
            rows = connection.execute(
                "SELECT id FROM t WHERE t MATCH ? AND owner = ? ORDER BY rank LIMIT 10",
                (joint.join(words), user),
            )
            found |= dict.fromkeys(row[0] for row in rows)
        return [*found][:10]

    return mean_scores(
        (find(q.text, q.user), q.relevant) for q in data.questions if q.split == "dev"
    )["ndcg@10"]


@contextmanager
def _no_stemming() -> Iterator[None]:
    keep: Callable[[list[str]], list[str]] = list
    analysis._label_terms.cache_clear()
    with patch.object(analysis, "_stem", keep):
        yield
    analysis._label_terms.cache_clear()


@contextmanager
def _no_function() -> Iterator[None]:
    with patch.object(analysis, "FUNCTION_WORDS", frozenset()):
        yield


if __name__ == "__main__":
    sys.exit(main())
