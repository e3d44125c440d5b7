"""The commands of `bearinmind bench`.

A command imports what it needs when it runs, so that `bearinmind --help` stays quick.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bearinmind.errors import IncomparableResults, InvalidInput, StoreUnavailable, TooFewQueries
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.main import guarded
from bearinmind.surfaces.cli.terminal import Session, write_json
from bearinmind_bench.own import cli as own_cli

if TYPE_CHECKING:
    from bearinmind_bench.compare import Comparison
    from bearinmind_bench.conditions import Checked, Condition
    from bearinmind_bench.results import Result
    from bearinmind_bench.sweep import ArmResult

app = typer.Typer(no_args_is_help=True, help="Measure recall, and tell what is better from chance.")
data_app = typer.Typer(no_args_is_help=True, help="Look after evaluation sets.")
app.add_typer(data_app, name="data")
app.add_typer(own_cli.app, name="own")

_DIFFERS = 1  # exit code: a check found something else than what is published
_FAULTY = 1  # exit code: rankings broke their promises
_STANDARD = "-"  # stands for standard output

Folder = Annotated[
    Path,
    typer.Argument(metavar="DIR", help="A folder with corpus, queries and qrels as .jsonl[.gz]."),
]
Data = Annotated[
    Path, typer.Option("--data", help="A folder with corpus, queries and qrels as .jsonl[.gz].")
]
Split = Annotated[str, typer.Option("--split", help="Which queries: dev, test or all.")]
Metrics = Annotated[
    list[str] | None, typer.Option("--metric", help="Only this metric; repeatable.")
]
Setting = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="A setting of the product to change; repeatable."
    ),
]


@app.command("run")
@guarded
def run(
    ctx: typer.Context,
    data: Data,
    split: Split = "all",
    store: Annotated[
        str,
        typer.Option(
            "--store", help="sqlite, postgres, or the URL of a server; the run's own part of it."
        ),
    ] = "sqlite",
    settings: Setting = None,
    retriever: Annotated[
        str | None,
        typer.Option(
            "--retriever",
            metavar="NAME",
            help="Measure a baseline, or your own module:Class, instead of the product.",
        ),
    ] = None,
    withhold: Annotated[
        list[str] | None,
        typer.Option(
            "--withhold", metavar="KIND", help="Leave out links of the set: supersedes; repeatable."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="Write the whole result here; `-` prints it."),
    ] = None,
) -> None:
    """Measure recall on a set with the product as shipped."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench import render, runner
    from bearinmind_bench.corpus import links_of
    from bearinmind_bench.evaluation import load
    from bearinmind_bench.sweep import assignments

    session = Session.of(ctx, as_json=False)
    plan = runner.Plan(
        data=load(data),
        split=split,
        store=store,
        settings=assignments(settings or []),
        retriever=retriever,
        withhold=links_of(withhold or []),
    )
    with terminal.counting(f"measuring {plan.data.name}", plan.steps) as advance:
        result = runner.run(plan, advance)
    if out and str(out) == _STANDARD:
        write_json(result.model_dump(), sys.stdout)
    else:
        if out:
            with _writable(out):
                result.write(out)
        terminal.show(render.result(result))
    for line in render.remarks(result):
        session.note(line)
    if result.faults:
        raise typer.Exit(_FAULTY)


@app.command("compare")
@guarded
def compare(
    ctx: typer.Context,
    before: Annotated[Path, typer.Argument(metavar="A", help="A result of `bench run --json`.")],
    after: Annotated[Path, typer.Argument(metavar="B", help="The result that may be better.")],
    metrics: Metrics = None,
    minimum: Annotated[
        int, typer.Option("--minimum", min=2, help="Conclude nothing from fewer queries.")
    ] = 30,
    as_json: options.Json = False,
) -> None:
    """Say whether B is better than A, or that nobody can tell."""
    from bearinmind_bench import compare as comparison
    from bearinmind_bench import inference, render
    from bearinmind_bench.results import Result

    session = Session.of(ctx, as_json=as_json)
    compared = comparison.compare(Result.read(before), Result.read(after), metrics or None, minimum)
    data = {
        "verdict": compared.headline.verdict,
        "metric": compared.headline.metric,
        "minimum_queries": compared.minimum,
        "resamples": inference.RESAMPLES,
        "seed": inference.SEED,
        "rows": [row.as_data() for row in compared.rows],
    }
    session.reply(data, lambda: render.comparison(compared))


@app.command("sweep")
@guarded
def sweep(
    ctx: typer.Context,
    data: Annotated[
        list[Path], typer.Option("--data", help="A folder with an evaluation set; repeatable.")
    ],
    vary: Annotated[
        list[str] | None,
        typer.Option("--vary", metavar="KEY=V1,V2", help="Values of a setting; repeatable."),
    ] = None,
    arms: Annotated[
        Path | None, typer.Option("--arms", metavar="FILE", help="A TOML file with [[arm]] rows.")
    ] = None,
    changed: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="KEY=VALUE", help="A setting of every arm; repeatable."),
    ] = None,
    grid: Annotated[
        bool, typer.Option("--grid", help="Try every combination, not one setting at a time.")
    ] = False,
    split: Split = "dev",
    metric: Annotated[str, typer.Option("--metric", help="What to go by.")] = "ndcg@10",
    as_json: options.Json = False,
) -> None:
    """Try many settings, on development queries."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench import render
    from bearinmind_bench import sweep as sweeps
    from bearinmind_bench.evaluation import load

    session = Session.of(ctx, as_json=as_json)
    tried = [*sweeps.arms_of(vary or [], grid=grid), *(sweeps.read_arms(arms) if arms else ())]
    if not tried:
        raise InvalidInput("nothing is varied", hint="Give --vary pool=20,100 or --arms FILE.")
    base = sweeps.assignments(changed or [])
    swept: dict[str, list[ArmResult]] = {}
    for folder in data:
        loaded = load(folder)
        steps = len(loaded.corpus) + len(loaded.queries) * (len(tried) + 1)
        with terminal.counting(f"sweeping {loaded.name}", steps) as advance:
            name = str(folder) if loaded.name in swept else loaded.name
            swept[name] = sweeps.sweep(
                loaded, tried, base=base, split=split, metric=metric, progress=advance
            )
    session.reply(_sweep_data(swept), lambda: render.sweep(swept, metric))


@app.command("report")
@guarded
def report(
    ctx: typer.Context,
    results: Annotated[
        list[Path], typer.Argument(metavar="RESULT", help="Results of `bench run --json`.")
    ],
    out: Annotated[Path, typer.Option("--out", metavar="FILE", help="The page to write.")] = Path(
        "report.html"
    ),
    as_json: options.Json = False,
) -> None:
    """Draw results as one HTML page that needs nothing else."""
    from bearinmind_bench.report import page
    from bearinmind_bench.results import Result

    session = Session.of(ctx, as_json=as_json)
    runs = [Result.read(path) for path in results]
    compared = [comparison for after in runs[1:] if (comparison := _comparison(runs[0], after))]
    content = page.render(runs, compared).encode()
    with _writable(out):
        out.write_bytes(content)
    session.say({"file": str(out), "bytes": len(content)}, f"Wrote {out}")


@app.command("check")
@guarded
def check(
    ctx: typer.Context,
    conditions: Annotated[
        list[Path], typer.Argument(metavar="FILE", help="TOML files with [[condition]] rows.")
    ],
    data: Annotated[
        list[Path], typer.Option("--data", help="A folder that holds evaluation sets; repeatable.")
    ],
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only conditions named so; repeatable.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--results", help="Write what was measured to this file.")
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Publish what is measured now: change the files.")
    ] = False,
    missing: Annotated[
        bool, typer.Option("--missing-ok", help="Pass over data that is not at hand.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Run published figures again and say what differs."""
    from bearinmind_bench import conditions as published
    from bearinmind_bench import render

    session = Session.of(ctx, as_json=as_json)
    rows = published.chosen(published.read(conditions), only)
    if not rows:
        raise InvalidInput("no condition is named so", hint="Look into the files for the names.")
    checked = [row for row in _run_again(rows, data) if row.result or not missing]
    if results:
        with _writable(results):
            results.write_text(json.dumps(_checked_data(checked), indent=1) + "\n", "utf-8")
    if update:
        published.update(conditions, checked)
    session.reply(_checked_data(checked), lambda: render.checked(checked))
    if any(row.differences for row in checked) and not update:
        raise typer.Exit(_DIFFERS)


@data_app.command("validate")
@guarded
def validate(ctx: typer.Context, folder: Folder, as_json: options.Json = False) -> None:
    """List everything that is wrong or doubtful about a set."""
    from bearinmind_bench import render, validation
    from bearinmind_bench.evaluation import load

    session = Session.of(ctx, as_json=as_json)
    problems = validation.problems(load(folder))
    session.reply(
        {"good": not any(p.fatal for p in problems), "problems": problems},
        lambda: render.problems(problems),
    )
    if any(problem.fatal for problem in problems):
        raise typer.Exit(2)


@data_app.command("fingerprint")
@guarded
def fingerprint(ctx: typer.Context, folder: Folder, as_json: options.Json = False) -> None:
    """Print what identifies the content of a set."""
    from bearinmind_bench.evaluation import load

    session = Session.of(ctx, as_json=as_json)
    digest = load(folder).fingerprint
    session.say({"fingerprint": digest}, digest)


@data_app.command("stats")
@guarded
def stats(ctx: typer.Context, folder: Folder, as_json: options.Json = False) -> None:
    """Count what a set holds."""
    from bearinmind_bench import render, validation
    from bearinmind_bench.evaluation import load

    session = Session.of(ctx, as_json=as_json)
    counted = validation.statistics(load(folder))
    session.reply(counted, lambda: render.statistics(counted))


@data_app.command("download")
@guarded
def download(
    ctx: typer.Context,
    name: Annotated[
        str, typer.Argument(metavar="SET", help="A set by name; `list` names them all.")
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder to make the set in.")
    ] = Path("evaluation-data"),
    base: Annotated[
        str | None, typer.Option("--from", metavar="URL", help="Another place to fetch it from.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Fetch a public set and bring it into the layout; needs the internet."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench import download as public_sets
    from bearinmind_bench import render

    session = Session.of(ctx, as_json=as_json)
    if name == "list":
        fetched: dict[str, Any] = {
            known: {"from": source.base, "licence": source.licence}
            for known, source in public_sets.SOURCES.items()
        }
    else:
        with terminal.counting(f"fetching {name}", unit="bytes") as advance:
            fetched = asdict(public_sets.fetch(name, out, base, advance))
    session.reply(fetched, lambda: render.download(fetched))


# ---- what the commands share -------------------------------------------------------------------


@contextmanager
def _writable(path: Path) -> Iterator[None]:
    """A file whose folder is made, and whose failures are told."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        yield
    except OSError as exc:
        raise StoreUnavailable(f"{str(path)!r} cannot be written: {exc.strerror}") from exc


def _comparison(before: Result, after: Result) -> Comparison | None:
    """What a report says about two runs; without it they are only shown side by side."""
    from bearinmind_bench import compare as comparison

    try:
        return comparison.compare(before, after)
    except (IncomparableResults, TooFewQueries):
        return None


def _run_again(rows: Sequence[Condition], folders: Sequence[Path]) -> list[Checked]:
    """Run published rows, each with a bar or a line on standard error."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench import conditions

    with ExitStack() as bars:

        def started(condition: Condition, steps: int) -> Callable[[int], None]:
            bars.close()
            if not sys.stderr.isatty():  # no bar there, and this takes minutes
                sys.stderr.write(f"running {condition.name}\n")
            return bars.enter_context(terminal.counting(condition.name, steps))

        return conditions.check(rows, folders, started=started)


def _sweep_data(swept: Mapping[str, Sequence[ArmResult]]) -> dict[str, Any]:
    return {
        name: [
            {
                "arm": row.arm.name,
                "settings": row.arm.settings,
                "overall": row.result.overall,
                "manifest": row.result.manifest.model_dump(),
                "compared": row.compared.as_data() if row.compared else None,
            }
            for row in rows
        ]
        for name, rows in swept.items()
    }


def _checked_data(checked: Sequence[Checked]) -> dict[str, Any]:
    """What was measured, without the single queries."""
    from bearinmind_bench import conditions

    return {
        "conditions": [
            {
                "condition": row.condition.model_dump(),
                "differences": row.differences,
                "result": row.result.model_dump(exclude={"rows"}) if row.result else None,
                "compared": row.compared.as_data() if row.compared else None,
                "strata": [stratum.as_data() for stratum in row.strata],
            }
            for row in checked
        ],
        "together": {
            name: compared.as_data() for name, compared in conditions.together(checked).items()
        },
    }
