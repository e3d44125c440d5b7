"""Runs a row of conditions/peers.toml in a process of its own; joins the rows that were run.

PYTHONPATH=benchmarks/peers python benchmarks/peers/measure.py --data DIR --list
PYTHONPATH=benchmarks/peers python benchmarks/peers/measure.py --data DIR NAME
PYTHONPATH=benchmarks/peers python benchmarks/peers/measure.py --data DIR --join

In a process of its own the memory of one row is not that of another, and one that takes long can
be run at another time. What a row gave is kept under .peers; `--join` writes it into
results/peers.json and into the expected figures, as `bearinmind bench check` does.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any
from unittest import mock

from bearinmind_bench import cli, conditions, runner
from bearinmind_bench.conditions import Condition
from bearinmind_bench.evaluation import load
from bearinmind_bench.product import Product
from bearinmind_bench.results import Result

ROOT = Path(__file__).resolve().parents[2]
ROWS = ROOT / "benchmarks" / "conditions" / "peers.toml"
RESULTS = ROOT / "benchmarks" / "results" / "peers.json"
KEPT = ROOT / ".peers" / "results"


def main() -> None:
    """Run the named row, join those that were run, or name all whose set is there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, action="append", required=True)
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--join", action="store_true")
    parser.add_argument("name", nargs="?")
    given = parser.parse_args()
    rows = {row.name: row for row in conditions.read([ROWS])}
    if given.list:
        there = [x for x in rows.values() if any((each / x.data).is_dir() for each in given.data)]
        print(*(row.name for row in there), sep="\n")
    elif given.join:
        _join([row for row in rows.values() if _file(row).exists()], given.data)
    else:
        _run(rows[given.name], given.data).write(_file(rows[given.name]))


def _plan(row: Condition, folders: list[Path]) -> runner.Plan:
    folder = next(folder / row.data for folder in folders if (folder / row.data).is_dir())
    return runner.Plan(
        data=load(folder),
        split=row.split,
        settings=row.settings,
        withhold=frozenset(row.withhold),
        retriever=None if row.retriever == runner.PRODUCT else row.retriever,
    )


def _run(row: Condition, folders: list[Path]) -> Result:
    """What the row gives; of the product also how fast it stores until all is ready.

    A peer has embedded a memory when it is stored. The product acknowledges it before that, and a
    run takes embeddings from earlier runs: so it is given an empty cache, and what it does after
    storing is counted.
    """
    seconds = 0.0
    embed = Product.embed

    def timed(product: Product) -> None:
        nonlocal seconds
        began = perf_counter()
        embed(product)
        seconds = perf_counter() - began

    plan = _plan(row, folders)
    with tempfile.TemporaryDirectory(prefix="peers-cache-") as cache:
        os.environ["XDG_CACHE_HOME"] = cache
        with mock.patch.object(Product, "embed", timed):
            result = runner.run(plan)
    if plan.retriever:
        return result
    rate = result.sizes.memories / (result.ingest.seconds + seconds)
    recipe = {**result.manifest.recipe, "ingest_per_s": f"{rate:.1f}"}
    manifest = result.manifest.model_copy(update={"recipe": recipe})
    return result.model_copy(update={"manifest": manifest})


def _join(rows: list[Condition], folders: list[Path]) -> None:
    """Check the rows with what they gave, in place of running them."""
    gave = {_identity(_plan(row, folders)): Result.read(_file(row)) for row in rows}

    def kept(plan: runner.Plan, _progress: Callable[[int], None]) -> Result:
        return gave[_identity(plan)]

    def each_kept(
        plan: runner.Plan, arms: Sequence[Mapping[str, Any]], *_: object, **__: object
    ) -> Iterator[Result]:
        return (gave[_identity(replace(plan, settings=arm))] for arm in arms)

    options = [word for folder in folders for word in ("--data", str(folder))]
    options += [word for row in rows for word in ("--only", row.name)]
    with mock.patch.multiple(conditions, run=kept, run_arms=each_kept):
        cli.app(["check", str(ROWS), *options, "--results", str(RESULTS), "--update"])


def _identity(plan: runner.Plan) -> str:
    return repr((plan.data.name, plan.split, plan.retriever, plan.settings, plan.withhold))


def _file(row: Condition) -> Path:
    return KEPT / f"{hashlib.sha256(row.name.encode()).hexdigest()[:16]}.json.gz"


if __name__ == "__main__":
    main()
