"""Recall by words and meaning against its bare parts, and what 100,000 memories take.

    python benchmarks/hybrid.py

The bare parts are what nobody can do without: one query embedding, one exact scan over vectors in
memory, recall by words alone, and the model that reads the same texts with the question. Each
question is put to all of them and to the whole recall, one right after the other in this process;
what was read is forgotten before each round. Of five rounds the one with the lowest ratio counts.

The queries are embedded by the shipped encoder. The vectors of the made-up memories are real ones
with noise: embedding 100,000 texts would take an hour and change nothing about a scan.
"""

from __future__ import annotations

import argparse
import gc
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter
from typing import Any, cast

import bearinmind_encoder
import numpy as np
from numpy.typing import NDArray

import marks
from bearinmind import Mind
from bearinmind.models import factory
from bearinmind.models.cross_encoder import CrossEncoder, PairReader
from bearinmind.protocols import Embedder
from bearinmind.types import new_id
from made_up import Writer

SMALL, LARGE = 5_452, 100_000
QUESTIONS = 200
ROUNDS = 5
POOL = 50
SECONDS = 60.0  # for the model that reads: never reached
MEMORIES = Path(__file__).parent / "data" / "agent-store" / "corpus.jsonl"

Times = dict[str, list[float]]
Vectors = NDArray[np.float32]


def main() -> int:
    """Measure both sizes and the memory taken; fail when one is worse than is published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--resident", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    if options.resident:
        return _say_resident(options.resident)
    figures: dict[str, float] = {}
    p95: dict[int, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for size in (SMALL, LARGE):
            path = Path(folder) / f"{size}.db"
            best = min(measure(path, size), key=_ratio)
            for name, times in best.items():
                print(f"{size:9,} {name:8} p50 {_p50(times):7.2f} ms  p95 {_p95(times):7.2f} ms")
            print(f"{size:9,} ratio    p50 {_ratio(best):7.2f}")
            p95[size] = _p95(best["recall"])
            if size == SMALL:
                figures["hybrid-p50-5452"] = _ratio(best)
                figures["hybrid-read-share"] = _p50(best["read"]) / _p50(best["recall"])
        figures["hybrid-p95-growth"] = p95[LARGE] / p95[SMALL]
        figures["hybrid-megabytes"] = _resident(Path(folder) / f"{LARGE}.db")
    return int(not marks.check(figures, keep=options.keep))


def measure(path: Path, size: int) -> list[Times]:
    """By round: milliseconds of each part and of the whole for each question."""
    writer = Writer(seed=size)
    memories = [writer.memory() for _ in range(size)]
    questions = [writer.question(memory) for memory in memories[:: size // QUESTIONS]]
    with (
        Mind.open(path, worker="off") as whole,
        Mind.open(path, worker="off", embedder="none") as words,
    ):
        embedder = whole.work.embedder()
        if embedder is None:
            raise SystemExit("the shipped settings have no embedder")
        vectors = made_up_vectors(embedder, size)
        _fill(whole, memories, vectors)
        reader = _pair_reader(embedder)
        parts: dict[str, Callable[[str], object]] = {
            "embed": embedder.embed_query,
            "scan": _scan(vectors, embedder),
            "words": words.recall,
            "read": _read(whole, questions),
            "recall": whole.recall,
        }
        rounds = []
        for _ in range(ROUNDS):  # after the first recalls: as one that has answered for a while
            reader.forget()
            rounds.append(_ask(parts, questions))
        return rounds


def _pair_reader(embedder: Embedder) -> PairReader:
    """The one that recalls of this process go by, too."""
    read: Any = factory.pair_reader(embedder)
    if read is None:
        raise SystemExit("the shipped settings have no model that reads")
    return cast("PairReader", read.func)


def _read(whole: Mind, questions: list[str]) -> Callable[[str], object]:
    """The texts that each recall reads, read by the bare model: the first, and then the others."""
    model = CrossEncoder(bearinmind_encoder.folder(factory.PAIR_READER), column=0)
    texts: dict[str, list[str]] = {}
    for question in questions:
        answer = whole.recall(question, all=True)
        count = answer.trace.read.pairs if answer.trace.read else 0
        texts[question] = [hit.memory.content for hit in answer.hits[:count]]

    def read(question: str) -> object:
        pairs = [(question, text) for text in texts[question]]
        return [model.of_pairs(some, SECONDS) for some in (pairs[:1], pairs[1:]) if some]

    return read


def _scan(vectors: Vectors, embedder: Embedder) -> Callable[[str], object]:
    asked = embedder.embed_query("any query will do: a scan takes the same for each")

    def scan(_question: str) -> object:
        cosines = vectors @ asked
        return np.argpartition(-cosines, POOL)[:POOL]

    return scan


def _ask(parts: dict[str, Callable[[str], object]], questions: list[str]) -> Times:
    """Every question through every part, one right after the other."""
    times: Times = {name: [] for name in parts}
    gc.disable()
    for question in questions:
        for name, part in parts.items():
            began = perf_counter()
            part(question)
            times[name].append((perf_counter() - began) * 1e3)
    gc.enable()
    return times


def made_up_vectors(embedder: Embedder, size: int) -> Vectors:
    """As many vectors as asked for, clustered like real ones."""
    lines = MEMORIES.read_text(encoding="utf-8").splitlines()
    real = embedder.embed_memories([json.loads(line)["content"] for line in lines[:200]])
    random = np.random.default_rng(size)
    vectors = real[random.integers(len(real), size=size)]
    vectors += random.normal(0, 0.6 / np.sqrt(real.shape[1]), vectors.shape).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors


def _fill(bearinmind: Mind, memories: list[str], vectors: Vectors) -> None:
    """Keep the memories, and their vectors as a worker would."""
    store, embedder = bearinmind._parts.store, bearinmind.work.embedder()
    if embedder is None:
        raise SystemExit("the shipped settings have no embedder")
    store.use_space(embedder.space)
    pattern = bearinmind.store(memories[0]).memory
    for begin in range(1, len(memories), 1_000):
        bearinmind.transfer.add(
            [
                bearinmind.transfer.admit([replace(pattern, id=new_id(), content=content)])
                for content in memories[begin : begin + 1_000]
            ]
        )
    now, done = datetime.now(UTC), 0
    while jobs := store.claim(["embed"], 1_000, now, now + timedelta(hours=1)):
        store.finish_embedding(embedder.space, jobs, vectors[done : done + len(jobs)])
        done += len(jobs)


def _resident(path: Path) -> float:
    """Megabytes of a process that has recalled from a store for a while."""
    done = subprocess.run(
        [sys.executable, __file__, "--resident", str(path)],
        capture_output=True,
        text=True,
        check=True,
    )
    resident, peak = map(float, done.stdout.split())
    print(f"{LARGE:9,} resident {resident:.0f} MB, at most {peak:.0f} MB")
    return peak


def _say_resident(path: Path) -> int:
    writer = Writer(seed=1)
    with Mind.open(path, worker="off") as bearinmind:
        for _ in range(20):
            bearinmind.recall(writer.question(writer.memory()))
        status = Path("/proc/self/status").read_text(encoding="ascii")
    # Not getrusage: what it says of a process includes the one that started it.
    said = dict(line.split(":", 1) for line in status.splitlines())
    print(*(int(said[name].split()[0]) / 1024 for name in ("VmRSS", "VmHWM")))
    return 0


def _ratio(times: Times) -> float:
    """The whole against the sum of its parts."""
    return _p50(times["recall"]) / sum(_p50(times[name]) for name in times if name != "recall")


def _p50(times: list[float]) -> float:
    return statistics.median(times)


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    sys.exit(main())
