"""Recall through the whole pipeline against the bare FTS5 statement it is built on.

    python benchmarks/latency.py

Both run in this process, on the same file, question by question, one right after the other, so
that what disturbs one disturbs the other. The bare statement is what a program without Bear in Mind
would run: MATCH any of the same terms, rank by the same bm25(), take as many, read their text. It
knows no scope, versions, links, confidence or trace. Of five rounds the one with the lowest ratio
counts: what else the machine does can only add to it.

    python benchmarks/latency.py --against CHECKOUT/src --data FOLDER ...

compares recall by words, meaning and graph with that of another revision instead, each in a process
of its own, question by question in turns; see `whole_recall.py`.
"""

from __future__ import annotations

import argparse
import gc
import sqlite3
import statistics
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import marks
import whole_recall
from bearinmind import Mind
from bearinmind.text import analysis
from bearinmind.types import new_id
from made_up import Writer

SIZES = (5_452, 100_000)
QUESTIONS = 800
ROUNDS = 5
BARE = """
    SELECT memories.id, memories.content
    FROM (
        SELECT rowid AS row, bm25(lexicon, 1.0, 0.7, 0.7, 0.2, 0.1) AS score
        FROM lexicon WHERE lexicon MATCH ? ORDER BY score, row LIMIT 50
    ) AS best JOIN memories ON memories.row = best.row
"""


def main() -> int:
    """Measure both sizes; fail when the pipeline costs more than is published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", type=int, action="append", help="memories; repeatable")
    parser.add_argument("--questions", type=int, default=QUESTIONS)
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    parser.add_argument(
        "--against", type=Path, action="append", help="a path of the other revision"
    )
    parser.add_argument("--data", type=Path, action="append", help="a folder with a set")
    parser.add_argument("--embedder", default="", help="of this revision; its default if not given")
    options = parser.parse_args()
    if options.against:
        whole_recall.compare(options.against, options.data, options.size, options.embedder)
        return 0
    print(f"{'memories':>9} {'':8} {'p50 ms':>8} {'p95 ms':>8} {'mean ms':>8}")
    figures: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in options.size or SIZES:
            rounds = measure(Path(folder) / f"{size}.db", size, options.questions)
            bare, whole = min(rounds, key=lambda pair: _ratios(*pair)[0])
            for name, times in (("bare", bare), ("recall", whole)):
                print(f"{size:9,} {name:8} {_row(times)}")
            ratios = _ratios(bare, whole)
            print(f"{size:9,} {'ratio':8} " + " ".join(f"{ratio:8.2f}" for ratio in ratios))
            if size in SIZES:
                figures[f"recall-p50-{size}"], figures[f"recall-p95-{size}"], _ = ratios
    return int(not marks.check(figures, keep=options.keep))


def measure(path: Path, size: int, count: int) -> list[tuple[list[float], list[float]]]:
    """By round: milliseconds of the bare statement and of the whole recall for each question."""
    writer = Writer(seed=size)
    memories = [writer.memory() for _ in range(size)]
    questions = [writer.question(memory) for memory in memories[:: max(1, size // count)]]
    with Mind.open(path, embedder="none") as bearinmind:
        _fill(bearinmind, memories)
    del memories
    half = len(questions) // 2
    with Mind.open(path, embedder="none") as bearinmind:
        connection = sqlite3.connect(path)
        # The first half warms both up, as in a process that has been answering for a while.
        _ask(bearinmind, connection, questions[:half])
        rounds = [_ask(bearinmind, connection, questions[half:]) for _ in range(ROUNDS)]
        connection.close()
    return rounds


def _ask(
    bearinmind: Mind, connection: sqlite3.Connection, questions: list[str]
) -> tuple[list[float], list[float]]:
    """Both, question by question, one right after the other."""
    bare: list[float] = []
    whole: list[float] = []
    gc.disable()
    for question in questions:
        match = " OR ".join(f'"{term}"' for term, _ in analysis.ask(question).terms)
        began = perf_counter()
        connection.execute(BARE, (match,)).fetchall()
        middle = perf_counter()
        bearinmind.recall(question)
        ended = perf_counter()
        bare.append((middle - began) * 1e3)
        whole.append((ended - middle) * 1e3)
    gc.enable()
    return bare, whole


def _ratios(bare: list[float], whole: list[float]) -> list[float]:
    return [w / b for w, b in zip(_summary(whole), _summary(bare), strict=True)]


def _fill(bearinmind: Mind, memories: list[str]) -> None:
    pattern = bearinmind.store(memories[0]).memory
    for begin in range(1, len(memories), 1_000):
        bearinmind.transfer.add(
            [
                bearinmind.transfer.admit([replace(pattern, id=new_id(), content=content)])
                for content in memories[begin : begin + 1_000]
            ]
        )


def _summary(times: list[float]) -> tuple[float, float, float]:
    ordered = sorted(times)
    return (
        statistics.median(ordered),
        ordered[int(len(ordered) * 0.95)],
        statistics.fmean(ordered),
    )


def _row(times: list[float]) -> str:
    return " ".join(f"{value:8.2f}" for value in _summary(times))


if __name__ == "__main__":
    sys.exit(main())
