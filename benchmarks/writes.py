"""Storing and importing, against bare SQLite doing the same to the same rows.

    python benchmarks/writes.py

The bare loop inserts the very rows that a store writes (the memory, its index entry with the FTS5
triggers) into the same schema with the same durability: one transaction each, WAL, synchronous =
FULL. It neither admits, nor analyses, nor looks for duplicates: it is handed finished rows.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import sqlite3
import subprocess
import sys
import tempfile
from pathlib import Path
from time import perf_counter

import marks
from bearinmind import Mind
from bearinmind.store.sqlite import SqliteStore
from made_up import Writer

WRITERS = 4


def main() -> int:
    """Run the three measurements; fail when one is not as published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--stores", type=int, default=2_000)
    parser.add_argument("--import-size", type=int, default=100_000)
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            "stores-one-process": compare_one_process(folder, options.stores),
            "stores-four-processes-lost": compare_four_processes(folder, options.stores // WRITERS),
            "import-megabytes": measure_import(folder, options.import_size),
        }
    return int(not marks.check(figures, keep=options.keep))


def compare_one_process(folder: Path, count: int) -> float:
    """Stores a second of one process as a share of the bare loop's, in turns of 100."""
    writer = Writer(seed=1)
    texts = [writer.memory() for _ in range(count)]
    rows = _finished_rows(folder / "rows.db", texts)
    bare = _bare_connection(folder / "bare.db")
    ours = bare_seconds = 0.0
    with Mind.open(folder / "ours.db", worker="off") as bearinmind:
        for begin in range(0, count, 100):
            began = perf_counter()
            for text in texts[begin : begin + 100]:
                bearinmind.store(text)
            middle = perf_counter()
            for memory, entry in rows[begin : begin + 100]:
                _insert_bare(bare, memory, entry)
            ended = perf_counter()
            ours += middle - began
            bare_seconds += ended - middle
    ratio = bare_seconds / ours
    print(
        f"one process: {count / ours:,.0f} stores a second, bare loop {count / bare_seconds:,.0f}: "
        f"ratio {ratio:.2f}"
    )
    return ratio


def compare_four_processes(folder: Path, each: int) -> float:
    """How many memories are lost when four processes store to one new file at once."""
    path = folder / "shared.db"
    context = multiprocessing.get_context("spawn")
    began = perf_counter()
    processes = [
        context.Process(target=_store_many, args=(path, number, each)) for number in range(WRITERS)
    ]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    seconds = perf_counter() - began
    with Mind.open(path, worker="off") as bearinmind:
        live = bearinmind.stats().live
        good = all(finding.good for finding in bearinmind.check())
    failed = sum(process.exitcode != 0 for process in processes)
    print(
        f"{WRITERS} processes, one file: {live:,} of {WRITERS * each:,} memories there, "
        f"{failed} processes failed, file {'sound' if good else 'DAMAGED'}, "
        f"{live / seconds:,.0f} stores a second (start-up included)"
    )
    return WRITERS * each - live if good and not failed else WRITERS * each


def measure_import(folder: Path, size: int) -> float:
    """Megabytes that `bearinmind import` needs; endless when it does not store everything."""
    writer = Writer(seed=3)
    lines = folder / "import.jsonl"
    with lines.open("w", encoding="utf-8") as out:
        for _ in range(size):
            out.write(json.dumps({"content": writer.memory()}) + "\n")
    command = [
        sys.executable,
        "-m",
        "bearinmind",
        "--store",
        str(folder / "import.db"),
        "import",
        str(lines),
    ]
    began = perf_counter()
    process = subprocess.Popen(command)
    _, status, usage = os.wait4(process.pid, 0)
    seconds = perf_counter() - began
    with Mind.open(folder / "import.db", worker="off") as bearinmind:
        live = bearinmind.stats().live
    megabytes = usage.ru_maxrss / 1024
    print(
        f"import of {size:,}: {live:,} stored in {seconds:.0f} s ({size / seconds:,.0f} a second), "
        f"{megabytes:.0f} MB at most"
    )
    return megabytes if status == 0 and live > size * 0.99 else float("inf")


def _store_many(path: Path, number: int, count: int) -> None:
    writer = Writer(seed=100 + number, vocabulary=5_000)
    with Mind.open(path, worker="off") as bearinmind:
        for position in range(count):
            bearinmind.store(f"{writer.memory()} Writer {number}, memory {position}.")


def _finished_rows(
    path: Path, texts: list[str]
) -> list[tuple[tuple[object, ...], tuple[object, ...]]]:
    """The rows that storing these texts writes, read back from a store."""
    with Mind.open(path, worker="off") as bearinmind:
        for begin in range(0, len(texts), 500):
            for text in texts[begin : begin + 500]:
                bearinmind.store(text)
    connection = sqlite3.connect(path)
    memories = connection.execute("SELECT * FROM memories ORDER BY row").fetchall()
    entries = connection.execute("SELECT * FROM indexed ORDER BY row").fetchall()
    connection.close()
    return [*zip(memories, entries, strict=True)]


def _bare_connection(path: Path) -> sqlite3.Connection:
    SqliteStore(path).close()  # the same schema
    connection = sqlite3.connect(path, isolation_level=None)
    for pragma in ("journal_mode = WAL", "synchronous = FULL", "secure_delete = ON"):
        connection.execute(f"PRAGMA {pragma}")
    return connection


def _insert_bare(
    connection: sqlite3.Connection, memory: tuple[object, ...], entry: tuple[object, ...]
) -> None:
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"INSERT INTO memories VALUES ({', '.join('?' * len(memory))})", memory)
    connection.execute(f"INSERT INTO indexed VALUES ({', '.join('?' * len(entry))})", entry)
    connection.execute("COMMIT")


if __name__ == "__main__":
    sys.exit(main())
