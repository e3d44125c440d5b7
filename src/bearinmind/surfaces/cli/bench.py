"""The commands that measure recall."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bearinmind.surfaces.cli import bench_own, lazy, options
from bearinmind.surfaces.cli.guard import guarded
from bearinmind.surfaces.cli.session import Session, write_json

app = typer.Typer(no_args_is_help=True, help="Measure recall, and tell what is better from chance.")
data_app = typer.Typer(no_args_is_help=True, help="Look after evaluation sets.")
app.add_typer(data_app, name="data")
app.add_typer(bench_own.app, name="own")

_DIFFERS = 1  # exit code: a check found something else than what is published
_FAULTY = 1  # exit code: rankings broke their promises

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
    out: Annotated[
        Path | None,
        typer.Option("--json", metavar="OUT", help="Write the whole result here; `-` prints it."),
    ] = None,
) -> None:
    """Measure recall on a set with the product as shipped."""
    session = Session.of(ctx, as_json=False)
    result = lazy.bench.run(data, split, store, settings or [], retriever)
    if out and str(out) == lazy.lines.STANDARD:
        write_json(result.model_dump(), sys.stdout)
    else:
        if out:
            lazy.bench.write(out, result)
        session.show(lazy.render_bench.result(result))
    for line in lazy.render_bench.remarks(result):
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
    session = Session.of(ctx, as_json=as_json)
    compared = lazy.bench.compare(before, after, metrics, minimum)
    session.reply(
        lazy.bench.comparison_data(compared), lambda: lazy.render_bench.comparison(compared)
    )


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
    session = Session.of(ctx, as_json=as_json)
    swept = lazy.bench.sweep(
        data, vary or [], arms, base=changed or [], grid=grid, split=split, metric=metric
    )
    session.reply(lazy.bench.sweep_data(swept), lambda: lazy.render_bench.sweep(swept, metric))


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
    session = Session.of(ctx, as_json=as_json)
    written = lazy.bench.report(results, out)
    session.say({"file": str(out), "bytes": written}, f"Wrote {out}")


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
    session = Session.of(ctx, as_json=as_json)
    checked = lazy.bench.check(conditions, data, only, missing_ok=missing)
    if results:
        lazy.bench.write_summary(results, checked)
    if update:
        lazy.bench.publish(conditions, checked)
    session.reply(lazy.bench.checked_data(checked), lambda: lazy.render_bench.checked(checked))
    if any(row.differences for row in checked) and not update:
        raise typer.Exit(_DIFFERS)


@data_app.command("validate")
@guarded
def validate(ctx: typer.Context, folder: Folder, as_json: options.Json = False) -> None:
    """List everything that is wrong or doubtful about a set."""
    session = Session.of(ctx, as_json=as_json)
    problems = lazy.bench.problems(folder)
    session.reply(
        {"good": not any(p.fatal for p in problems), "problems": problems},
        lambda: lazy.render_bench.problems(problems),
    )
    if any(problem.fatal for problem in problems):
        raise typer.Exit(2)


@data_app.command("fingerprint")
@guarded
def fingerprint(ctx: typer.Context, folder: Folder, as_json: options.Json = False) -> None:
    """Print what identifies the content of a set."""
    session = Session.of(ctx, as_json=as_json)
    found = lazy.bench.fingerprint(folder)
    session.say({"fingerprint": found}, found)


@data_app.command("stats")
@guarded
def stats(ctx: typer.Context, folder: Folder, as_json: options.Json = False) -> None:
    """Count what a set holds."""
    session = Session.of(ctx, as_json=as_json)
    counted = lazy.bench.statistics(folder)
    session.reply(counted, lambda: lazy.render_bench.statistics(counted))


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
    session = Session.of(ctx, as_json=as_json)
    fetched = lazy.bench.download(name, out, base)
    session.reply(fetched, lambda: lazy.render_bench.download(fetched))
