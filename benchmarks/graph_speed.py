"""What the concept graph costs: building it, adding to it, recalling with it, memory and disk.

    python benchmarks/graph_speed.py --data benchmarks/data/agent-store --data FOLDER ...

Whatever is compared is measured side by side in this process: reading memories for the graph by
rules beside embedding them; adding the same memories, one at a time, to stores of 1,000, 10,000 and
100,000 in turns; the graph stage beside the dense leg, alone, on the same questions. Of a question
the fastest of three rounds counts: what else the machine does can only add to it.

The memories are those of the sets, repeated with other names (`varied.py`). Of 100,000 the vectors
are made up, real ones with noise: embedding them would take an hour. So what is near a question is
picked at random, and the seeds of the graph have less in common than real ones would.
"""

from __future__ import annotations

import argparse
import gc
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from time import perf_counter

import marks
from bearinmind import Mind
from bearinmind.trace import Answer
from bearinmind.types import new_id
from bearinmind.work.status import EMBED, EXTRACT
from hybrid import made_up_vectors
from varied import VariedSet, memories

SMALL, MIDDLE, LARGE = 1_000, 10_000, 100_000
ADDED = 200
EMBEDDED = 500
QUESTIONS = 200
ROUNDS = 3
BATCH = 1_000

Times = dict[str, list[float]]
Figures = dict[str, float]


def main() -> int:
    """Measure everything; fail when something costs more than is published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--data", type=Path, action="append", help="a folder with a set")
    parser.add_argument("--read", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--resident", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--without", action="store_true", help=argparse.SUPPRESS)
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    if options.read:
        return _read_all(options.read)
    if options.resident:
        return _recall_for_a_while(options.resident, options.data, graph=not options.without)
    sets = [VariedSet(folder) for folder in options.data]
    texts = memories(sets, LARGE + ADDED)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = {
            **build(folder, texts),
            **add(folder, texts[LARGE:]),
            **recall(folder, _questions(sets)),
            **reside(folder, options.data),
        }
    return int(not marks.check(figures, keep=options.keep))


# ---- building -----------------------------------------------------------------------------------


def build(folder: Path, texts: Sequence[str]) -> Figures:
    """Stores of every size with their graphs; the one of 10,000 beside embedding as many."""
    figures: Figures = {}
    for size in (SMALL, MIDDLE):
        seconds = _work(_filled(folder, texts[:size]), EXTRACT)
        print(f"{size:9,} read for the graph in {seconds:.1f} s")
    sample = _filled(folder, texts[:EMBEDDED])
    embedding = _work(sample, EMBED) / EMBEDDED * MIDDLE
    print(f"{MIDDLE:9,} embedded in {embedding:.0f} s, going by {EMBEDDED} of them")
    figures["graph-build-10000"] = seconds / embedding
    path = _filled(folder, texts[:LARGE])
    before = path.stat().st_size
    peak = _in_process("--read", path)
    graph = (path.stat().st_size - before) / LARGE
    print(f"{LARGE:9,} a memory takes {before / LARGE:,.0f} bytes, the graph {graph:,.0f} more")
    print(f"{LARGE:9,} read for the graph by a process of {peak:.0f} MB at most")
    figures["graph-bytes"] = graph
    figures["graph-reading-megabytes"] = peak
    return figures


def _filled(folder: Path, texts: Sequence[str]) -> Path:
    """A store with these memories, and no work done."""
    path = folder / f"{len(texts)}.db"
    with Mind.open(path, worker="off") as bearinmind:
        pattern = bearinmind.store(texts[0]).memory
        for begin in range(1, len(texts), BATCH):
            bearinmind.transfer.add(
                [
                    bearinmind.transfer.admit([replace(pattern, id=new_id(), content=text)])
                    for text in texts[begin : begin + BATCH]
                ]
            )
    return path


def _work(path: Path, kind: str) -> float:
    """Seconds until all work of a kind is done in a store."""
    with Mind.open(path, worker="off") as bearinmind:
        began = perf_counter()
        bearinmind.work.worker(kind).finish()
        return perf_counter() - began


def _read_all(path: Path) -> int:
    _work(path, EXTRACT)
    print(_megabytes())
    return 0


# ---- adding -------------------------------------------------------------------------------------


def add(folder: Path, texts: Sequence[str]) -> Figures:
    """Each memory is stored and read, in the store of every size before the next one is."""
    sizes = (SMALL, MIDDLE, LARGE)
    stored: dict[int, list[float]] = {size: [] for size in sizes}
    read: dict[int, list[float]] = {size: [] for size in sizes}
    with ExitStack() as stack:
        opened = {
            size: stack.enter_context(
                Mind.open(folder / f"{size}.db", worker="off", embedder="none")
            )
            for size in sizes
        }
        for text in texts:
            for size, bearinmind in opened.items():
                began = perf_counter()
                bearinmind.store(text)
                middle = perf_counter()
                bearinmind.work.worker(EXTRACT).once()
                stored[size].append(middle - began)
                read[size].append(perf_counter() - middle)
    cost = {}
    for size in sizes:
        cost[size] = statistics.median(map(sum, zip(stored[size], read[size], strict=True)))
        storing, reading = (statistics.median(times[size]) * 1e3 for times in (stored, read))
        print(f"{size:9,} one more: stored {storing:.2f} ms, read {reading:.2f} ms, p50")
    return {f"graph-adding-{size}": cost[size] / cost[SMALL] for size in (MIDDLE, LARGE)}


# ---- recalling ----------------------------------------------------------------------------------


def recall(folder: Path, questions: Sequence[str]) -> Figures:
    """The graph stage beside the dense leg, and recall with the graph beside recall without."""
    path = folder / f"{LARGE}.db"
    _embed(path)
    alone = {"lexical": 0.0, "graph": 0.0}
    with (
        Mind.open(path, worker="off", leg_weights=alone) as meaning,
        Mind.open(path, worker="off", leg_weights={"graph": 0.0}) as without,
        Mind.open(path, worker="off") as whole,
    ):
        parts = {"meaning": meaning.recall, "without": without.recall, "whole": whole.recall}
        _ask(parts, questions[: QUESTIONS // 4])  # as in a process that has answered for a while
        rounds = [_ask(parts, questions) for _ in range(ROUNDS)]
    best = {
        name: [min(times) for times in zip(*(each[name] for each in rounds), strict=True)]
        for name in rounds[0]
    }
    for name, times in best.items():
        print(f"{LARGE:9,} {name:24} p50 {_p50(times):7.2f} ms  p95 {_p95(times):7.2f} ms")
    return {
        "graph-stage-p95": _p95(best["graph stage"]) / _p95(best["dense leg"]),
        "graph-stage-p95-bare": _p95(best["graph stage"]) / _p95(best["dense leg, embedded"]),
        "graph-recall-p50": _p50(best["recall"]) / _p50(best["recall without graph"]),
    }


def _ask(parts: Mapping[str, Callable[[str], Answer]], questions: Sequence[str]) -> Times:
    """Milliseconds of each question, put to all one right after the other."""
    times: Times = {}
    gc.disable()
    for question in questions:
        answers, taken = {}, {}
        for name, ask in parts.items():
            began = perf_counter()
            answers[name] = ask(question)
            taken[name] = (perf_counter() - began) * 1e3
        [dense] = answers["meaning"].trace.legs
        for name, milliseconds in {
            "dense leg": dense.milliseconds,
            "dense leg, embedded": dense.milliseconds - float(str(dense.detail["embedding_ms"])),
            "graph stage": answers["whole"].trace.milliseconds["graph"],
            "recall without graph": taken["without"],
            "recall": taken["whole"],
        }.items():
            times.setdefault(name, []).append(milliseconds)
    gc.enable()
    return times


def _embed(path: Path) -> None:
    """Give every memory of a store a made-up vector, as a worker would."""
    with Mind.open(path, worker="off") as bearinmind:
        store, embedder = bearinmind._parts.store, bearinmind.work.embedder()
        if embedder is None:
            raise SystemExit("the shipped settings have no embedder")
        vectors = made_up_vectors(embedder, LARGE + ADDED)
        store.use_space(embedder.space)
        now, done = datetime.now(UTC), 0
        while jobs := store.claim(["embed"], BATCH, now, now + timedelta(hours=1)):
            store.finish_embedding(embedder.space, jobs, vectors[done : done + len(jobs)])
            done += len(jobs)


def _questions(sets: Sequence[VariedSet]) -> list[str]:
    """As many of every set."""
    each = QUESTIONS // len(sets)
    return [
        question
        for one in sets
        for question in one.questions[:: max(1, len(one.questions) // each)][:each]
    ]


# ---- memory -------------------------------------------------------------------------------------


def reside(folder: Path, data: Sequence[Path]) -> Figures:
    """Megabytes of a process that has recalled with the graph for a while, and of one without."""
    sets = [text for each in data for text in ("--data", str(each))]
    path = folder / f"{LARGE}.db"
    peak = _in_process("--resident", path, *sets)
    without = _in_process("--resident", path, "--without", *sets)
    print(f"{LARGE:9,} recalled from by a process of {peak:.0f} MB at most, {without:.0f} without")
    return {"graph-megabytes": peak}


def _recall_for_a_while(path: Path, data: Sequence[Path], *, graph: bool) -> int:
    questions = _questions([VariedSet(folder) for folder in data])
    weights = {} if graph else {"graph": 0.0}
    with Mind.open(path, worker="off", leg_weights=weights) as bearinmind:
        for question in questions:
            bearinmind.recall(question)
    print(_megabytes())
    return 0


def _in_process(option: str, path: Path, *more: str) -> float:
    """What a process of its own says that it took."""
    command = [sys.executable, __file__, option, str(path), *more]
    return float(subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout)


def _megabytes() -> float:
    """The most memory that this process had."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    # Not getrusage: what it says of a process includes the one that started it.
    [peak] = [line.split()[1] for line in status.splitlines() if line.startswith("VmHWM")]
    return int(peak) / 1024


def _p50(times: list[float]) -> float:
    return statistics.median(times)


def _p95(times: list[float]) -> float:
    return sorted(times)[int(len(times) * 0.95)]


if __name__ == "__main__":
    sys.exit(main())
