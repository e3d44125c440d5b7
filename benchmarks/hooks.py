"""The hook before a prompt: from which confidence on it gives a memory, and what it costs.

    python benchmarks/hooks.py floors    the floor, chosen on development queries, shown on test ones
    python benchmarks/hooks.py speed     a whole run of the hook, against the bare start of Python

The floor is taken on our own set with its unanswerable questions, and on prompts that are no
question to a memory at all. What counts is what would stand in the context of a model: the first
five memories that are certain enough.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import marks
from made_up import Writer
from recollect.app import Recollect
from recollect.bench import runner
from recollect.bench.evaluation import EvaluationQuery, load
from recollect.bench.results import QueryRow
from recollect.config import Settings
from recollect.interfaces.hooks.commands import HOOK
from recollect.interfaces.hooks.standalone.place import LEAST_CONFIDENCE, MOST
from unrelated_prompts import PROMPTS

DATA = Path(__file__).parent / "data" / "agent-store"
FLOORS = tuple(round(0.05 * step, 2) for step in range(21))
UNRELATED = "unrelated"
SIZE = 2_000
ROUNDS = 40


def main() -> int:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("floors", "speed"))
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    return speed(keep=options.keep) if options.what == "speed" else floors()


# ---- the floor ---------------------------------------------------------------------------------


def floors() -> int:
    """Show what each floor gives and leaves out, on development and on test queries."""
    data = load(DATA)
    unrelated = [
        EvaluationQuery(
            id=f"u-{number}", text=text, stratum=UNRELATED, split="dev" if number % 2 else "test"
        )
        for number, text in enumerate(PROMPTS)
    ]
    asked = replace(data, queries=(*data.queries, *unrelated))
    rows = runner.run(runner.Plan(data=asked)).rows
    for split in ("dev", "test"):
        print(f"\n{split}: of answerable questions | of others, something is given")
        print("floor   something  relevant  given   right  | unanswerable  unrelated")
        chosen = [row for row in rows if row.split == split]
        for floor in FLOORS:
            mark = " <" if floor == LEAST_CONFIDENCE else ""
            print(f"{floor:.2f}   {_line(chosen, floor)}{mark}")
    return 0


def _line(rows: Sequence[QueryRow], floor: float) -> str:
    """What a floor does: to those who have an answer, and to those who have none."""
    known = [row for row in rows if row.answerable]
    given = [_given(row, floor) for row in known]
    right = [sum(id_ in row.relevant for id_ in ids) for row, ids in zip(known, given, strict=True)]
    without = [row for row in rows if row.stratum == "unanswerable"]
    unrelated = [row for row in rows if row.stratum == UNRELATED]
    count = sum(map(len, given))
    return "   ".join(
        [
            f"{sum(map(bool, given)) / len(known):8.3f}",
            f"{sum(map(bool, right)) / len(known):8.3f}",
            f"{count / len(known):5.2f}",
            f"{sum(right) / (count or 1):5.2f}",
            f"{_answered(without, floor):10.3f}",
            f"{_answered(unrelated, floor):8.3f}",
        ]
    )


def _given(row: QueryRow, floor: float) -> list[str]:
    pairs = zip(row.ranked, row.confidences, strict=True)
    return [id_ for id_, confidence in pairs if confidence >= floor][:MOST]


def _answered(rows: Sequence[QueryRow], floor: float) -> float:
    return sum(bool(_given(row, floor)) for row in rows) / len(rows)


# ---- the speed ---------------------------------------------------------------------------------


def speed(*, keep: bool) -> int:
    """A run of the hook against a server that is warm, and against the bare start of Python."""
    with tempfile.TemporaryDirectory() as folder:
        prompts = _fill(Path(folder) / "memories.db")
        with _server(Path(folder)) as url:
            config = Path(folder) / "config.json"
            config.write_text(json.dumps({"url": url, "deadline_ms": 5_000}))
            times = _run(config, prompts)
    medians = {name: statistics.median(found) for name, found in times.items()}
    for name, found in times.items():
        worst = sorted(found)[round(0.95 * (len(found) - 1))]
        print(f"{name:24} p50 {medians[name] * 1e3:6.1f} ms   p95 {worst * 1e3:6.1f} ms")
    figures = {"hook-prompt": medians["hook"] / medians["bare start"]}
    return int(not marks.check(figures, keep=keep))


def _fill(store: Path) -> list[str]:
    """A store whose memories are embedded, and prompts about them."""
    writer = Writer(seed=SIZE)
    memories = [writer.memory() for _ in range(SIZE)]
    with Recollect.build(Settings(store=store)) as app:
        for content in memories:
            app.store(content)
        print(f"embedding {SIZE:,} memories")
        app.wait_for_work()
    return [writer.question(memory) for memory in memories[:: SIZE // ROUNDS]][:ROUNDS]


@contextmanager
def _server(folder: Path) -> Iterator[str]:
    command = ["--store", str(folder / "memories.db"), "serve", "--port", "0", "--json"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "recollect", *command], stdout=subprocess.PIPE, stderr=log
        )
    try:
        if process.stdout is None:
            raise RuntimeError("the server says nothing")
        yield json.loads(process.stdout.readline())["url"]
    finally:
        process.terminate()
        process.wait()


def _run(config: Path, prompts: list[str]) -> dict[str, list[float]]:
    """Seconds of every arm, prompt by prompt; the first one warms the server up."""
    times: dict[str, list[float]] = {"bare start": [], "hook": []}
    hook = [sys.executable, "-I", "-S", str(HOOK), "UserPromptSubmit", str(config)]
    given = 0
    for number, prompt in enumerate([prompts[0], *prompts]):
        said = json.dumps({"session_id": f"s-{number}", "cwd": str(config.parent), "prompt": prompt})
        for name, command in (("bare start", [sys.executable, "-I", "-S", "-c", ""]), ("hook", hook)):
            began = perf_counter()
            done = subprocess.run(command, input=said.encode(), capture_output=True, check=True)
            if number:
                times[name].append(perf_counter() - began)
                given += bool(done.stdout)
    print(f"{given} of {len(prompts)} prompts were given something")
    return times


if __name__ == "__main__":
    sys.exit(main())
