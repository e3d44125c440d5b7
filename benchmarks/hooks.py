"""The hook before a prompt: how certain a memory must be, and what a run costs.

    python benchmarks/hooks.py floors   how certain, on development and on test queries
    python benchmarks/hooks.py speed    a run of the hook, against the bare start of Python

Floors are taken on our own set with its unanswerable questions, and on prompts that no memory has
to do with; at most one in ten of those of development may be given something. `relevant` is the
share of answerable questions that are given a memory that matters, `given` how many they are given,
`right` the share of these that matter; the last two are the shares of questions without an answer,
and of unrelated prompts, that are given anything.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import Any

import marks
from made_up import Writer
from recollect.app import Recollect
from recollect.bench import corpus
from recollect.bench.embedding import EmbeddersOfRun
from recollect.bench.evaluation import ONLY_USER, EvaluationQuery, EvaluationSet, load
from recollect.bench.product import settings_for
from recollect.config import Settings
from recollect.interfaces import machine
from recollect.interfaces.hooks.commands import HOOK
from recollect.interfaces.hooks.standalone.place import (
    LEAST_CONFIDENCE,
    LEAST_COVERAGE,
    LEAST_SIMILARITY,
    MOST,
    Place,
)
from recollect.interfaces.hooks.standalone.prompt import is_sure
from recollect.store.sqlite.store import SqliteStore
from recollect.types import MemoryId
from unrelated_prompts import PROMPTS

DATA = Path(__file__).parent / "data" / "agent-store"
SPLITS = ("dev", "test")
UNRELATED = "unrelated"
BY_MEANING = tuple(
    (confidence, similarity)
    for similarity in (0.0, 0.76, 0.78, 0.8, 0.82)
    for confidence in (0.0, 0.45, 0.65, 0.85)
)
BY_WORDS = tuple((coverage,) for coverage in (0.0, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8))
SIZE = 300
ROUNDS = 40


def main() -> int:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("floors", "speed"))
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    options = parser.parse_args()
    return speed(keep=options.keep) if options.what == "speed" else floors()


# ---- the floors --------------------------------------------------------------------------------


def floors() -> int:
    """Show what each pair of floors gives and leaves out; those that ship are marked."""
    data = load(DATA)
    for embedder, tried in (("local", BY_MEANING), ("none", BY_WORDS)):
        asked = _asked(data, embedder)
        print(f"\nembedder {embedder}: dev | test")
        print(
            "floors       "
            + 2 * f"{'relevant':>9}{'given':>7}{'right':>7}{'unansw.':>9}{'unrel.':>8}"
        )
        for floors_ in tried:
            place = _place(floors_)
            sides = [
                _line([each for each in asked if each.split == split], place) for split in SPLITS
            ]
            shipped = floors_ in ((LEAST_CONFIDENCE, LEAST_SIMILARITY), (LEAST_COVERAGE,))
            shown = " ".join(f"{floor:.2f}" for floor in floors_)
            print(f"{shown:13}{''.join(sides)}{' <' if shipped else ''}")
    return 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question, and what recall answered."""

    split: str | None
    stratum: str
    relevant: frozenset[str]
    hits: list[dict[str, Any]]  #: as a server answers them, `id` as the set has it

    def given(self, place: Place) -> list[str]:
        """What the hook gives of it."""
        return [hit["id"] for hit in self.hits if is_sure(hit, place)][: place.most]


def _asked(data: EvaluationSet, embedder: str) -> list[Asked]:
    """The answers to every question of the set, and to prompts that are none."""
    unrelated = [
        EvaluationQuery(id=f"u{number}", text=text, stratum=UNRELATED, split=SPLITS[1 - number % 2])
        for number, text in enumerate(PROMPTS)
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = SqliteStore(Path(folder) / "memories.db")
        stored = corpus.fill(store, data, lambda _more: None)
        embedders = EmbeddersOfRun(keep_queries=False)
        settings = settings_for(ONLY_USER, stored.bounds, {"embedder": embedder})
        app = Recollect(store, settings, embedders=embedders.of(settings))
        app.wait_for_work()
        found = [_ask(app, stored.names, query) for query in (*data.queries, *unrelated)]
        embedders.close()
        store.close()
    return found


def _ask(app: Recollect, names: Mapping[MemoryId, str], query: EvaluationQuery) -> Asked:
    answer = app.recall(query.text, limit=MOST)
    return Asked(
        split=query.split,
        stratum=query.stratum,
        relevant=frozenset(query.relevant),
        hits=[{**machine.hit(hit), "id": names[hit.memory.id]} for hit in answer.hits],
    )


def _place(floors_: tuple[float, ...]) -> Place:
    place = Place("")
    if len(floors_) == 1:
        (place.least_coverage,) = floors_
    else:
        place.least_confidence, place.least_similarity = floors_
    return place


def _line(asked: Sequence[Asked], place: Place) -> str:
    """What floors do: to questions that have an answer, and to those that have none."""
    known = [each for each in asked if each.relevant]
    given = [each.given(place) for each in known]
    right = [len(each.relevant & {*ids}) for each, ids in zip(known, given, strict=True)]
    count = sum(map(len, given))
    without = [
        _answered([each for each in asked if each.stratum == stratum], place)
        for stratum in ("unanswerable", UNRELATED)
    ]
    return (
        f"{sum(map(bool, right)) / len(known):9.3f}{count / len(known):7.2f}"
        f"{sum(right) / (count or 1):7.2f}{without[0]:9.3f}{without[1]:8.3f}"
    )


def _answered(asked: Sequence[Asked], place: Place) -> float:
    return sum(bool(each.given(place)) for each in asked) / len(asked)


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
        said = json.dumps(
            {"session_id": f"s-{number}", "cwd": str(config.parent), "prompt": prompt}
        )
        for name, command in (
            ("bare start", [sys.executable, "-I", "-S", "-c", ""]),
            ("hook", hook),
        ):
            began = perf_counter()
            done = subprocess.run(command, input=said.encode(), capture_output=True, check=True)
            if number:
                times[name].append(perf_counter() - began)
                given += bool(done.stdout)
    print(f"{given} of {len(prompts)} prompts were given something")
    return times


if __name__ == "__main__":
    sys.exit(main())
