"""What the commands of `bearinmind bench` do."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from pathlib import Path
from typing import Any

from bearinmind import config
from bearinmind.bench import compare as comparing
from bearinmind.bench import conditions, inference, publishing, validation
from bearinmind.bench import download as downloading
from bearinmind.bench import report as reporting
from bearinmind.bench import sweep as sweeping
from bearinmind.bench.compare import Compared, Comparison
from bearinmind.bench.conditions import Checked, Condition
from bearinmind.bench.evaluation import load
from bearinmind.bench.results import Result
from bearinmind.bench.runner import Plan
from bearinmind.bench.runner import run as run_plan
from bearinmind.bench.sweep import ArmResult
from bearinmind.errors import (
    IncomparableResults,
    InvalidInput,
    StoreUnavailable,
    TooFewQueries,
)
from bearinmind.surfaces import progress

# ---- run ---------------------------------------------------------------------------------------


def run(
    folder: Path, split: str, store: str, settings: Sequence[str], retriever: str | None
) -> Result:
    """Measure one configuration, with a bar."""
    plan = Plan(
        data=load(folder),
        split=split,
        store=store,
        settings=config.assignments(settings),
        retriever=retriever,
    )
    with progress.counting(f"measuring {plan.data.name}", plan.steps) as advance:
        return run_plan(plan, advance)


def write(path: Path, result: Result) -> None:
    """Keep a result.

    Raises:
        StoreUnavailable: the file cannot be written.
    """
    try:
        result.write(path)
    except OSError as exc:
        raise StoreUnavailable(f"{str(path)!r} cannot be written: {exc.strerror}") from exc


# ---- compare -----------------------------------------------------------------------------------


def compare(before: Path, after: Path, metrics: Sequence[str] | None, minimum: int) -> Comparison:
    """Two results from their files."""
    return comparing.compare(Result.read(before), Result.read(after), metrics or None, minimum)


def comparison_data(compared: Comparison) -> dict[str, Any]:
    """A comparison as plain data."""
    return {
        "verdict": compared.headline.verdict,
        "metric": compared.headline.metric,
        "minimum_queries": compared.minimum,
        "resamples": inference.RESAMPLES,
        "seed": inference.SEED,
        "rows": [compared_data(row) for row in compared.rows],
    }


def compared_data(row: Compared) -> dict[str, Any]:
    """One comparison as plain data."""
    return {
        "stratum": row.stratum,
        "metric": row.metric,
        **asdict(row.difference),
        "difference": row.difference.mean,
        "corrected_p": row.corrected_p,
        "verdict": row.verdict,
    }


# ---- sweep -------------------------------------------------------------------------------------


def sweep(
    folders: Sequence[Path],
    vary: Sequence[str],
    arms_file: Path | None,
    *,
    base: Sequence[str],
    grid: bool,
    split: str,
    metric: str,
) -> dict[str, list[ArmResult]]:
    """By set: every arm beside what is shipped."""
    arms = [
        *sweeping.arms_of(vary, grid=grid),
        *(sweeping.read_arms(arms_file) if arms_file else ()),
    ]
    if not arms:
        raise InvalidInput("nothing is varied", hint="Give --vary pool=20,100 or --arms FILE.")
    swept: dict[str, list[ArmResult]] = {}
    for folder in folders:
        data = load(folder)
        steps = len(data.corpus) + len(data.queries) * (len(arms) + 1)
        with progress.counting(f"sweeping {data.name}", steps) as advance:
            name = str(folder) if data.name in swept else data.name
            swept[name] = sweeping.sweep(
                data,
                arms,
                base=config.assignments(base),
                split=split,
                metric=metric,
                progress=advance,
            )
    return swept


def sweep_data(swept: Mapping[str, Sequence[ArmResult]]) -> dict[str, Any]:
    """A sweep as plain data."""
    return {
        name: [
            {
                "arm": row.arm.name,
                "settings": row.arm.settings,
                "overall": row.result.overall,
                "manifest": row.result.manifest.model_dump(),
                "compared": compared_data(row.compared) if row.compared else None,
            }
            for row in rows
        ]
        for name, rows in swept.items()
    }


# ---- report ------------------------------------------------------------------------------------


def report(paths: Sequence[Path], out: Path) -> int:
    """Draw results; how many bytes the page has."""
    results = [Result.read(path) for path in paths]
    compared = [found for after in results[1:] if (found := _comparable(results[0], after))]
    page = reporting.render(results, compared).encode()
    try:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_bytes(page)
    except OSError as exc:
        raise StoreUnavailable(f"{str(out)!r} cannot be written: {exc.strerror}") from exc
    return len(page)


def _comparable(before: Result, after: Result) -> Comparison | None:
    try:
        return comparing.compare(before, after)
    except (IncomparableResults, TooFewQueries):
        return None  # the page shows them side by side all the same


# ---- check -------------------------------------------------------------------------------------


def check(
    paths: Sequence[Path], folders: Sequence[Path], only: Sequence[str] | None, *, missing_ok: bool
) -> list[Checked]:
    """Run published rows again."""
    rows = conditions.chosen(conditions.read(paths), only)
    if not rows:
        raise InvalidInput("no condition is named so", hint="Look into the files for the names.")
    with ExitStack() as bars:

        def started(condition: Condition, steps: int) -> Callable[[int], None]:
            bars.close()
            if not sys.stderr.isatty():  # no bar there, and this takes minutes
                sys.stderr.write(f"running {condition.name}\n")
            return bars.enter_context(progress.counting(condition.name, steps))

        checked = conditions.check(rows, folders, started=started)
    return [row for row in checked if row.result or not missing_ok]


def publish(paths: Sequence[Path], checked: Sequence[Checked]) -> None:
    """Write what was measured into the files of conditions."""
    publishing.update(paths, checked)


def checked_data(checked: Sequence[Checked]) -> dict[str, Any]:
    """What was measured, without the single queries."""
    return {
        "conditions": [
            {
                "condition": row.condition.model_dump(),
                "differences": row.differences,
                "result": row.result.model_dump(exclude={"rows"}) if row.result else None,
                "compared": compared_data(row.compared) if row.compared else None,
                "strata": [compared_data(stratum) for stratum in row.strata],
            }
            for row in checked
        ],
        "together": {
            name: compared_data(found) for name, found in conditions.together(checked).items()
        },
    }


def write_summary(path: Path, checked: Sequence[Checked]) -> None:
    """Keep what was measured, for the tables of the docs.

    Raises:
        StoreUnavailable: the file cannot be written.
    """
    text = json.dumps(checked_data(checked), indent=1) + "\n"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    except OSError as exc:
        raise StoreUnavailable(f"{str(path)!r} cannot be written: {exc.strerror}") from exc


# ---- data --------------------------------------------------------------------------------------


def problems(folder: Path) -> list[validation.Problem]:
    """What is wrong with a set."""
    return validation.problems(load(folder))


def fingerprint(folder: Path) -> str:
    """What identifies the content of a set."""
    return load(folder).fingerprint


def statistics(folder: Path) -> dict[str, object]:
    """What a set holds."""
    return validation.statistics(load(folder))


def download(name: str, out: Path, base: str | None) -> dict[str, Any]:
    """Fetch a set, or say which there are."""
    if name == "list":
        return {
            known: {"from": source.base, "licence": source.licence}
            for known, source in downloading.SOURCES.items()
        }
    with progress.counting(f"fetching {name}", unit="bytes") as advance:
        return asdict(downloading.fetch(name, out, base, advance))
