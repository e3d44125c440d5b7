"""Recall by words, meaning and graph, and embedding a backlog, beside another revision.

    python benchmarks/latency.py --against CHECKOUT/src --against ENCODERS --data FOLDER ...

The paths of the other revision are searched before all others: its `src`, and a folder with the
package of the encoders that it had. Each revision fills stores of its own with the same memories
and answers in a process of its own; questions are put to both in turns, each but once, so that no
cache helps. The memories are those of the sets, repeated with other names (`varied.py`). The first
have their real vectors, the others made-up ones: embedding 100,000 would take an hour.
"""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from importlib import import_module
from pathlib import Path
from time import perf_counter
from typing import Any, Self

NAME = "bearinmind"
SIZES = (1_000, 10_000, 100_000)
QUESTIONS = 300
WARM_UP = 30
BACKLOG = 1_000
_REAL = 2_000  # memories whose vectors are real
_AT_ONCE = 1_000
_COMPARING = 120.0  # seconds that memories are compared for what they outdate, in a large store


# ---- the process that asks ----------------------------------------------------------------------


def compare(
    against: Sequence[Path], data: Sequence[Path], sizes: Sequence[int] | None, embedder: str
) -> None:
    """Print how long both revisions take, and the ratios."""
    from varied import VariedSet, memories  # noqa: PLC0415  the other process may lack it

    sets = [VariedSet(folder) for folder in data]
    texts = memories(sets, max(sizes or SIZES) + BACKLOG)
    in_turn = zip(*(each.questions for each in sets), strict=False)
    questions = [question for some in in_turn for question in some][: QUESTIONS + WARM_UP]
    with tempfile.TemporaryDirectory() as folder, ExitStack() as stack:
        both = {
            name: stack.enter_context(_Revision(paths, Path(folder) / name, chosen))
            for name, paths, chosen in (("other", against, ""), ("this", (), embedder))
        }
        for size in sizes or SIZES:
            for each in both.values():
                each.ask(fill=texts[:size])
            times: dict[str, list[float]] = {name: [] for name in both}
            for question in questions:
                for name, each in both.items():
                    times[name].append(each.ask(question=question))
            _report(f"{size:,} memories", "ms", {n: x[WARM_UP:] for n, x in times.items()})
        backlog = texts[-BACKLOG:]
        taken = {name: [each.ask(backlog=backlog)] for name, each in both.items()}
        _report(f"embedding {BACKLOG:,}", "s", taken)


def _report(what: str, unit: str, times: dict[str, list[float]]) -> None:
    middle = {name: statistics.median(values) for name, values in times.items()}
    parts = [f"{name} {value:.2f} {unit}" for name, value in middle.items()]
    print(f"{what}: {', '.join(parts)}, ratio {middle['this'] / middle['other']:.2f}", flush=True)


class _Revision:
    """A process with one revision."""

    def __init__(self, paths: Sequence[Path], folder: Path, embedder: str) -> None:
        before = os.pathsep.join(str(path.resolve()) for path in paths)
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(folder), embedder],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=os.environ | ({"PYTHONPATH": before} if before else {}),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.communicate()

    def ask(self, **command: object) -> float:
        """Have it carry out a command; what it says that it took."""
        if self._process.stdin is None or self._process.stdout is None:
            raise RuntimeError("the process has no pipes")
        self._process.stdin.write(json.dumps(command) + "\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())


# ---- the process that answers -------------------------------------------------------------------


class _Answers:
    """Carries out commands with the revision that is installed or comes first in the path.

    An early one has another name, and all verbs in the class of that name.
    """

    def __init__(self, folder: Path, embedder: str) -> None:
        self._folder = folder
        self._settings = {"embedder": embedder} if embedder else {}
        self._mind: Any = None

    def __call__(self, command: dict[str, Any]) -> float:
        if "question" in command:
            began = perf_counter()
            self._mind.recall(command["question"])
            return (perf_counter() - began) * 1e3
        if "fill" in command:
            self._fill(command["fill"])
            return 0.0
        return self._embed(command["backlog"])

    def _fill(self, texts: Sequence[str]) -> None:
        """Open a new store with these memories, their vectors and their graph."""
        if self._mind is not None:
            self._mind.close()
        self._mind = self._open(f"{len(texts)}.db")
        embedder = self._part("embedder")()
        self._store_of().use_space(embedder.space)
        self._keep(texts)
        vectors = self._vectors(embedder, texts)
        done = 0
        while jobs := self._claimed():
            some = vectors[done : done + len(jobs)]
            self._store_of().finish_embedding(embedder.space, jobs, some)
            done += len(jobs)
        self._part("worker")("extract").once()
        if hasattr(self._mind, "work"):
            self._part("worker")("compare").finish(timeout=_COMPARING)

    def _claimed(self) -> Any:  # noqa: ANN401  of any revision
        now = datetime.now(UTC)
        return self._store_of().claim(["embed"], _AT_ONCE, now, now + timedelta(hours=1))

    def _embed(self, texts: Sequence[str]) -> float:
        """Seconds until a worker has embedded these memories."""
        self._mind.close()
        self._mind = self._open("backlog.db")
        self._keep(texts)
        self._part("embedder")().embed_query("loads the model")
        began = perf_counter()
        self._part("worker")("embed").once()
        return perf_counter() - began

    def _keep(self, texts: Sequence[str]) -> None:
        pattern = self._mind.store(texts[0]).memory
        admit, add = self._part("admit"), self._part("add")
        for begin in range(1, len(texts), _AT_ONCE):
            some = texts[begin : begin + _AT_ONCE]
            add([admit([replace(pattern, id=_new_id(), content=text)]) for text in some])

    def _vectors(self, embedder: Any, texts: Sequence[str]) -> Any:  # noqa: ANN401  of any revision
        import numpy as np  # noqa: PLC0415  slow to import

        real = embedder.embed_memories(texts[:_REAL])
        random = np.random.default_rng(len(texts))
        others = real[random.integers(len(real), size=len(texts) - len(real))]
        others += random.normal(0, 0.6 / np.sqrt(real.shape[1]), others.shape).astype(np.float32)
        return np.vstack([real, others])

    def _open(self, name: str) -> Any:  # noqa: ANN401  of any revision
        name_of_class = "Mind" if _is_renamed() else _package().capitalize()
        opened = getattr(import_module(_package()), name_of_class).open
        return opened(self._folder / name, worker="off", **self._settings)

    def _store_of(self) -> Any:  # noqa: ANN401  of any revision
        return self._mind._parts.store if _is_renamed() else self._mind._store

    def _part(self, verb: str) -> Any:  # noqa: ANN401  of any revision
        if not _is_renamed():
            return getattr(self._mind, {"add": "add_histories"}.get(verb, verb))
        group = self._mind.transfer if verb in ("add", "admit") else self._mind.work
        return getattr(group, verb)


def _package() -> str:
    """The name of the package that comes first in the path."""
    first = Path(os.environ.get("PYTHONPATH", "").split(os.pathsep)[0] or "none")
    return next((path.parent.name for path in first.glob("*/__init__.py")), NAME)


def _is_renamed() -> bool:
    return _package() == NAME


def _new_id() -> str:
    module = import_module(f"{NAME}.text.ids" if _is_renamed() else f"{_package()}.ids")
    if not hasattr(module, "new_id"):
        module = import_module(f"{NAME}.types")
    name: str = module.new_id()
    return name


def main() -> int:
    """Carry out a command for each line; answer with a number for each."""
    answers = _Answers(Path(sys.argv[1]), sys.argv[2])
    for line in sys.stdin:
        print(answers(json.loads(line)), flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
