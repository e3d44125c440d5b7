"""What finding, offering and grouping changes cost, side by side in one run.

Acknowledging a store and recalling are measured against the product before it knew of changes: the
same steps in processes of their own, one of them with the source of `BEFORE`, another without the
second look, text by text in turns. Finding is measured in stores of 1,000 and 100,000 memories,
again memory by memory in turns.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from io import BytesIO
from pathlib import Path
from time import perf_counter

import marks
import varied
from bearinmind import Mind
from bearinmind.types import new_id
from bearinmind.work.status import COMPARE
from hybrid import made_up_vectors

BEFORE = "30f3e5e"  # the last revision without `outdates`
UNREAD = {"BEARINMIND_SECOND_LOOK": "off"}
STORES = 1_000
QUESTIONS = 300
SMALL, LARGE = 1_000, 100_000
PROBES = 200
BATCH = 1_000
STEPS = Path(__file__).with_name("change_steps.py")
AGENT_STORE = Path(__file__).parent / "data" / "agent-store"

Times = dict[str, list[float]]


def measure(data: Path, *, keep: bool) -> int:
    """Print every cost; fail when one is above its mark."""
    sets = [varied.VariedSet(data), varied.VariedSet(AGENT_STORE)]
    texts = varied.memories(sets, LARGE + PROBES)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        figures = _against_before(folder, texts[:STORES], sets[0].questions[:QUESTIONS])
        figures["finding-growth"] = _finding(folder, texts)
    return int(not marks.check(figures, keep=keep))


# ---- against the product before -----------------------------------------------------------------


def _against_before(
    folder: Path, texts: Sequence[str], questions: Sequence[str]
) -> dict[str, float]:
    before, here = _source_before(folder), Path(__file__).parents[1] / "src"
    children = {"before": (before, {}), "now": (here, {}), "unread": (here, UNREAD)}
    with ExitStack() as stack:
        arms = {
            name: stack.enter_context(_child(source, folder / f"{name}.db", settings))
            for name, (source, settings) in children.items()
        }
        stored = _in_turns(arms, "store", texts)
        for arm in arms.values():
            _ask(arm, "work", "")
        _in_turns(arms, "recall", questions[: QUESTIONS // 10])  # as one that has run for a while
        recalled = _in_turns(arms, "recall", questions)
    for what, times in (("store", stored), ("recall", recalled)):
        for name, milliseconds in times.items():
            print(f"{what:8}{name:8} p50 {statistics.median(milliseconds):8.2f} ms")
    return {
        "store-offering": _ratio(stored["now"], stored["before"]),
        "recall-grouping": _ratio(recalled["now"], recalled["before"]),
        "recall-unread": _ratio(recalled["unread"], recalled["before"]),
    }


def _source_before(folder: Path) -> Path:
    """The source of the product before, from the history of this checkout."""
    here = Path(__file__).parents[1]
    archive = subprocess.run(
        ["git", "-C", str(here), "archive", BEFORE, "src"],  # noqa: S607
        capture_output=True,
        check=True,
    )
    with tarfile.open(fileobj=BytesIO(archive.stdout)) as files:
        files.extractall(folder / "before", filter="data")
    return folder / "before" / "src"


@contextmanager
def _child(
    source: Path, store: Path, settings: Mapping[str, str]
) -> Iterator[subprocess.Popen[str]]:
    process = subprocess.Popen(
        [sys.executable, str(STEPS), str(store)],
        env={**os.environ, "PYTHONPATH": str(source), **settings},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        yield process
    finally:
        process.communicate()


def _in_turns(arms: dict[str, subprocess.Popen[str]], what: str, texts: Sequence[str]) -> Times:
    times: Times = {name: [] for name in arms}
    for text in texts:
        for name, arm in arms.items():
            times[name].append(_ask(arm, what, text))
    return times


def _ask(arm: subprocess.Popen[str], what: str, text: str) -> float:
    """Milliseconds of one step of a process."""
    if arm.stdin is None or arm.stdout is None:
        raise RuntimeError("the process has no pipes")
    arm.stdin.write(json.dumps([what, text]) + "\n")
    arm.stdin.flush()
    return float(arm.stdout.readline())


def _ratio(now: Sequence[float], before: Sequence[float]) -> float:
    return statistics.median(now) / statistics.median(before)


# ---- finding ------------------------------------------------------------------------------------


def _finding(folder: Path, texts: Sequence[str]) -> float:
    """How much longer it takes to compare a memory in a large store than in a small one."""
    times: dict[int, list[float]] = {SMALL: [], LARGE: []}
    with ExitStack() as stack:
        opened = {
            size: stack.enter_context(Mind.open(folder / f"{size}.db", worker="off"))
            for size in times
        }
        for size, mind in opened.items():
            _fill(mind, texts[:size])
        for text in texts[LARGE:]:
            for size, mind in opened.items():
                mind.store(text)
                mind.work.worker("embed", "extract").once()
                began = perf_counter()
                mind.work.worker(COMPARE).once()
                times[size].append((perf_counter() - began) * 1e3)
    for size, milliseconds in times.items():
        print(f"finding at {size:9,} p50 {statistics.median(milliseconds):8.2f} ms")
    return _ratio(times[LARGE], times[SMALL])


def _fill(mind: Mind, texts: Sequence[str]) -> None:
    """Keep memories with made-up vectors and with their graph; none is compared with the others."""
    store, embedder = mind._parts.store, mind.work.embedder()
    if embedder is None:
        raise SystemExit("the shipped settings have no embedder")
    store.use_space(embedder.space)
    pattern = mind.store(texts[0]).memory
    for begin in range(1, len(texts), BATCH):
        histories = [
            mind.transfer.admit([replace(pattern, id=new_id(), content=text)])
            for text in texts[begin : begin + BATCH]
        ]
        mind.transfer.add(histories)
    vectors, now, done = made_up_vectors(embedder, len(texts)), datetime.now(UTC), 0
    until = now + timedelta(hours=1)
    while jobs := store.claim(["embed"], BATCH, now, until):
        store.finish_embedding(embedder.space, jobs, vectors[done : done + len(jobs)])
        done += len(jobs)
    while jobs := store.claim([COMPARE], BATCH, now, until):
        store.finish_comparison(mind.scope, jobs, (), ())
    mind.work.worker("extract").finish()
