"""The hook before a prompt: how probable a memory must be, and what a run costs.

    python benchmarks/hooks.py floors   how probable, on development queries (or --split test)
    python benchmarks/hooks.py speed    a run of the hook, against the bare start of Python

`relevant` is the share of what has an answer that is given a memory that matters, `given` how many
it is given, `right` the share of these that matter; then the shares of what has no answer that are
given anything, by stratum, and all the others again while the memories that matter are deleted.
`--data` is a folder of public sets.
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter

import marks
import unasked
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.surfaces.hooks.agents import HOOK
from made_up import Writer

SIZE = 300
ROUNDS = 40


def main() -> int:
    """Measure one of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("what", choices=("floors", "speed"))
    parser.add_argument("--keep", action="store_true", help="write the figures down for the docs")
    parser.add_argument("--split", choices=("dev", "test"), default="dev")
    parser.add_argument("--data", type=Path, help="a folder of public sets to ask as well")
    options = parser.parse_args()
    if options.what == "speed":
        return speed(keep=options.keep)
    return unasked.floors(options.split, options.data)


# ---- the speed ---------------------------------------------------------------------------------


def speed(*, keep: bool) -> int:
    """A run of the hook against a server that is warm, and against the bare start of Python."""
    with tempfile.TemporaryDirectory() as folder:
        prompts = _fill(Path(folder) / "memories.db")
        with serving(Path(folder)) as url:
            config = Path(folder) / "config.json"
            config.write_text(json.dumps({"url": url, "deadline_ms": 5_000}))
            times = _run(config, prompts)
    medians = {name: statistics.median(seconds) for name, seconds in times.items()}
    for name, seconds in times.items():
        worst = sorted(seconds)[round(0.95 * (len(seconds) - 1))]
        print(f"{name:24} p50 {medians[name] * 1e3:6.1f} ms   p95 {worst * 1e3:6.1f} ms")
    figures = {"hook-prompt": medians["hook"] / medians["bare start"]}
    return int(not marks.check(figures, keep=keep))


def _fill(store: Path) -> list[str]:
    """A store whose memories are embedded, and prompts about them."""
    writer = Writer(seed=SIZE)
    memories = [writer.memory() for _ in range(SIZE)]
    with Mind.build(Settings(store=store)) as app:
        for content in memories:
            app.store(content)
        print(f"embedding {SIZE:,} memories")
        app.work.wait()
    return [writer.question(memory) for memory in memories[:: SIZE // ROUNDS]][:ROUNDS]


@contextmanager
def serving(folder: Path) -> Iterator[str]:
    """The address of a server that has the store of a folder."""
    command = ["--store", str(folder / "memories.db"), "serve", "--port", "0", "--json"]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "bearinmind", *command], stdout=subprocess.PIPE, stderr=log
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
        payload = json.dumps(
            {"session_id": f"s-{number}", "cwd": str(config.parent), "prompt": prompt}
        )
        for name, command in (
            ("bare start", [sys.executable, "-I", "-S", "-c", ""]),
            ("hook", hook),
        ):
            began = perf_counter()
            done = subprocess.run(command, input=payload.encode(), capture_output=True, check=True)
            if number:
                times[name].append(perf_counter() - began)
                given += bool(done.stdout)
    print(f"{given} of {len(prompts)} prompts were given something")
    return times


if __name__ == "__main__":
    sys.exit(main())
