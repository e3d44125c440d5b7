"""The first recall of a new process, with the model loaded there and with it borrowed.

    python benchmarks/first_recall.py

Each question is asked by three new processes of the command line, one right after the other: by
words alone, with the model loaded by the process itself, and with the query's vector borrowed from
a worker that stays. What a store costs that wakes the worker is taken likewise. Ratios are of the
medians, against the process that has nothing to do with a model.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import marks
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.models import encoder_socket
from made_up import Writer

SIZE = 500
ROUNDS = 15
COMMAND = (sys.executable, "-m", "bearinmind", "--store")


def main() -> int:
    """Measure; fail when a borrowed model costs more than is published."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--size", type=int, default=SIZE)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        alone, shared = Path(folder) / "alone.db", Path(folder) / "shared.db"
        questions = _fill(alone, options.size, options.rounds)
        shutil.copy(alone, shared)
        with _worker(shared):
            times = _ask(alone, shared, questions)
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, found in medians.items():
        print(f"{name:32} {found * 1e3:7.0f} ms")
    figures = {
        "first-recall-borrowed": medians["recall, model borrowed"] / medians["recall, words alone"],
        "first-recall-loaded": medians["recall, model loaded"] / medians["recall, words alone"],
        "store-wakes-worker": medians["store, worker woken"] / medians["store, worker off"],
    }
    return int(not marks.check(figures, keep=options.keep))


def _fill(path: Path, size: int, count: int) -> list[str]:
    """A store whose memories are embedded, and questions about them."""
    writer = Writer(seed=size)
    memories = [writer.memory() for _ in range(size)]
    with Mind.build(Settings(store=path)) as app:
        for content in memories:
            app.store(content)
        print(f"embedding {size:,} memories")
        app.work.wait()
    return [writer.question(memory) for memory in memories[:: max(1, size // count)]][:count]


@contextmanager
def _worker(store: Path) -> Iterator[None]:
    """A worker that stays and has its model loaded."""
    with Mind.build(Settings(store=store)) as app:
        places, active = app.work.socket_places, app.work.status().active
    if active is None:
        raise RuntimeError("nothing is embedded")
    process = subprocess.Popen([*COMMAND, str(store), "work", "--watch"], stderr=subprocess.DEVNULL)
    question = {"version": encoder_socket.VERSION, "space": active.space.key, "text": "ready?"}
    try:
        while not any(encoder_socket.ask(place, question) for place in places):
            time.sleep(0.1)
        yield
    finally:
        process.terminate()
        process.wait()


def _ask(alone: Path, shared: Path, questions: list[str]) -> dict[str, list[float]]:
    """Seconds of every arm, question by question."""
    times: dict[str, list[float]] = {}
    for number, question in enumerate(questions):
        recall = ("recall", question, "--json")
        store = ("store", f"What was asked as number {number}: {question}", "--json")
        for name, path, command, settings in (
            ("recall, words alone", alone, recall, {"EMBEDDER": "none"}),
            ("recall, model loaded", alone, recall, {}),
            ("recall, model borrowed", shared, recall, {}),
            ("store, worker off", alone, store, {"WORKER": "off"}),
            ("store, worker woken", shared, store, {}),
        ):
            chosen = {f"BEARINMIND_{setting}": value for setting, value in settings.items()}
            began = perf_counter()
            subprocess.run(
                [*COMMAND, str(path), *command],
                env=os.environ | chosen,
                stdout=subprocess.DEVNULL,
                check=True,
            )
            times.setdefault(name, []).append(perf_counter() - began)
    return times


if __name__ == "__main__":
    sys.exit(main())
