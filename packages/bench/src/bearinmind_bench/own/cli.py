"""`bearinmind bench own`: measure recall on one's own memories, and change only for the better.

A command imports what it needs when it runs, so that `bearinmind --help` stays quick.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.config import PREFIX
from bearinmind.errors import InvalidInput
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.main import guarded
from bearinmind.surfaces.cli.terminal import Session

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bearinmind_bench.own.chat import Chat
    from bearinmind_bench.own.folder import Folder
    from bearinmind_bench.own.judgements import Key, Texts

SEED = 1
MOST = 200  #: questions of one source
MOST_CALLS = 100  #: of a model that writes questions
#: The exit code of `compare --adopt` when nothing was adopted because B is not better.
NOT_ADOPTED = 10

app = typer.Typer(
    name="own",
    help="Measure recall on your own memories.",
    no_args_is_help=True,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Data = Annotated[
    Path | None,
    typer.Option("--data", metavar="DIR", help="The folder of the set, if it is not the usual."),
]
Seed = Annotated[int, typer.Option("--seed", help="The same seed makes the same choices.")]
Changes = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting to change; repeatable."),
]
Arms = Annotated[
    list[str] | None,
    typer.Option(
        "--arm",
        metavar="KEY=VALUE,...",
        help="Settings to pool from as well; repeatable, each is an arm of its own.",
    ),
]


def build(
    ctx: typer.Context,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="The folder to make; only you can look inside."),
    ] = None,
    seed: Seed = SEED,
    most: Annotated[
        int, typer.Option("--most", min=1, help="Most questions from one source.")
    ] = MOST,
    llm: Annotated[
        bool, typer.Option("--llm", help="Let `llm_model` write questions; it sees memories.")
    ] = False,
    llm_calls: Annotated[
        int, typer.Option("--llm-calls", min=1, help="Most calls of that model.")
    ] = MOST_CALLS,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what --llm would take; write nothing.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Make an evaluation set from your memories."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench.own import build as builder
    from bearinmind_bench.own import chat, render

    run = Session.of(ctx, as_json=as_json)
    folder = _folder(out)
    model = run.settings.llm_model if llm or dry_run else None
    recipe = builder.Recipe(seed=seed, most=most, llm_model=model)
    with run.existing() as memory:
        gathered = builder.gather(memory, recipe)
        if dry_run:
            needed = dataclasses.asdict(builder.estimate(gathered, folder, model or "", llm_calls))
            run.reply(needed, lambda: _lines([render.needed(model or "--llm", **needed)]))
            return
        if llm:
            with (
                chat.writer(run.settings, llm_calls) as writer,
                terminal.counting("writing questions") as advance,
            ):
                _announce(run, writer)
                builder.write_questions(gathered, folder, writer, advance)
        about = builder.build(memory, gathered, folder, recipe)
    known = sum(bool(query.relevant) for query in folder.load().queries)
    run.reply(
        {"folder": folder.path, "relevant_known": known, **about.model_dump()},
        lambda: _lines(render.built(about, str(folder.path), known)),
    )


def judge(
    ctx: typer.Context,
    change: Changes = None,
    arm: Arms = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Most pairs to grade in this go.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Pool, and say what grading would take.")
    ] = False,
    data: Data = None,
    as_json: options.Json = False,
) -> None:
    """Let `judge_model` grade what is recalled, from 0 to 3."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench.own import chat, judgements, render

    run = Session.of(ctx, as_json=as_json)
    folder = _folder(data)
    with chat.judge(run.settings, folder.about()) as model:
        texts, pool = _pool(run, folder, change, arm)
        waiting = judgements.ungraded(folder, texts, pool, model.model)
        chosen = waiting[:limit]
        answer: dict[str, object] = {"judge": model.model, "pooled": len(pool)}
        if dry_run:
            needed = {"calls": len(chosen), "tokens": judgements.tokens(texts, chosen)}
            run.reply(answer | needed, lambda: _lines([render.needed(model.model, **needed)]))
            return
        if chosen:
            _announce(run, model)
        with terminal.counting("grading", len(chosen)) as advance:
            try:
                done = judgements.grade(folder, texts, chosen, model, advance)
            finally:
                judgements.settle(folder)
    missing, holes = len(waiting) - done.graded, judgements.unjudged(folder, pool)
    run.reply(
        answer | dataclasses.asdict(done) | {"missing": missing, "holes": holes},
        lambda: _lines(render.judged(model.model, done, len(pool), missing, holes)),
    )


def label(
    ctx: typer.Context,
    change: Changes = None,
    arm: Arms = None,
    limit: Annotated[
        int | None, typer.Option("--limit", min=1, help="Most pairs to show in this go.")
    ] = None,
    seed: Seed = SEED,
    data: Data = None,
    as_json: options.Json = False,
) -> None:
    """Grade yourself, and see how far the judge agrees with you."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench.own import judgements, render

    run = Session.of(ctx, as_json=as_json)
    folder = _folder(data)
    texts, pool = _pool(run, folder, change, arm)
    labeller = judgements.Labeller(
        folder=folder,
        texts=texts,
        ask=lambda prompt: _typed(prompt, to_stderr=as_json),
        show=lambda line: typer.echo(terminal.safe(line), err=as_json),
        seed=seed,
    )
    try:
        done = labeller.label(pool, limit)
    finally:
        judgements.settle(folder)
    agreements = [*judgements.agreements(folder, texts)]
    run.reply(
        {
            **dataclasses.asdict(done),
            "agreement": [dataclasses.asdict(item) for item in agreements],
        },
        lambda: _lines(
            [
                "",
                f"{done.graded:,} graded, {done.skipped:,} skipped, {done.left:,} left.",
                *(line for item in agreements for line in render.agreement(item)),
            ]
        ),
    )


def compare(
    ctx: typer.Context,
    change: Changes = None,
    against: Annotated[
        list[str] | None,
        typer.Option(
            "--against", metavar="KEY=VALUE", help="Compare with this instead; repeatable."
        ),
    ] = None,
    split: Annotated[str, typer.Option("--split", help="Which queries: all, dev or test.")] = "all",
    adopt: Annotated[
        bool,
        typer.Option("--adopt", help="If B is better, write its settings into the configuration."),
    ] = False,
    data: Data = None,
    as_json: options.Json = False,
) -> None:
    """Compare changed settings (B) with the present ones (A)."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench.own import render
    from bearinmind_bench.own import trial as trials

    run = Session.of(ctx, as_json=as_json)
    folder = _folder(data)
    if adopt and against:
        raise InvalidInput(
            "--adopt needs a comparison with the present settings",
            hint="Leave out --against, or leave out --adopt.",
        )
    present = trials.present(run.settings)
    before = trials.arm(present, against) if against else present
    after = trials.arm(present, change or ())
    measured = trials.judged(folder, split)
    with terminal.counting("asking", measured.steps) as advance:
        trial = trials.compare_arms(measured, before, after, advance)
    looks = len(folder.history())
    adopted = None
    try:
        if adopt and trial.better:
            adopted = trials.adopt(run.configuration.file, after.changed)
            trial = trial.model_copy(update={"adopted": True})
    finally:
        folder.add(trial)  # whatever came of it
    run.reply(
        {
            **trial.model_dump(),
            "queries_unjudged": measured.unjudged,
            "comparisons_before": looks,
            "adoption": adopted and dataclasses.asdict(adopted),
        },
        lambda: _lines(
            [
                *render.compared(trial, before, after, looks, measured.unjudged),
                *(render.adopted(trial, adopted) if adopt else ()),
            ]
        ),
    )
    _warn_of_variables(run, after.changed if adopted else {})
    if adopt and not adopted:
        raise typer.Exit(NOT_ADOPTED)


def history(ctx: typer.Context, data: Data = None, as_json: options.Json = False) -> None:
    """Show every comparison so far, null results too."""
    from bearinmind_bench.own import render

    run = Session.of(ctx, as_json=as_json)
    folder = _folder(data)
    folder.about()
    trials = folder.history()
    run.reply(
        {"comparisons": [trial.model_dump() for trial in trials]},
        lambda: _lines(render.history(trials)),
    )


for _command in (build, judge, label, compare, history):
    app.command(_command.__name__)(guarded(_command))


# ---- what they share ---------------------------------------------------------------------------


def _folder(path: Path | None) -> Folder:
    from bearinmind_bench.own import folder as folders

    return folders.Folder((path or folders.default()).expanduser())


def _pool(
    run: Session, folder: Folder, change: list[str] | None, arm: list[str] | None
) -> tuple[Texts, list[Key]]:
    """What there is to judge."""
    from bearinmind.surfaces.cli import terminal
    from bearinmind_bench.own import judgements
    from bearinmind_bench.own import trial as trials

    data = folder.load()
    arms = trials.arms(trials.present(run.settings), change or (), arm or ())
    steps = len(data.corpus) + len(arms) * len(data.queries)
    with terminal.counting("pooling", steps) as advance:
        pool = trials.pooled(folder, data, arms, advance)
    return judgements.Texts.of(data), pool


def _announce(run: Session, model: Chat) -> None:
    if not model.is_local:
        run.note(f"memories leave this machine: they are sent to {model.where}")


def _typed(prompt: str, *, to_stderr: bool) -> str | None:
    """What was typed or piped in; None at the end of it."""
    from bearinmind.surfaces import lines
    from bearinmind.surfaces.cli import terminal

    typer.echo(prompt, nl=False, err=to_stderr)
    sys.stdout.flush()
    try:
        answer = input()
    except EOFError:
        typer.echo("", err=to_stderr)
        return None
    if lines.is_piped():  # nobody saw it being typed
        typer.echo(terminal.safe(answer), err=to_stderr)
    return answer


def _warn_of_variables(run: Session, adopted: Iterable[str]) -> None:
    """Say so when the environment overrules what was just adopted."""
    origins = {origin.name: origin.origin for origin in run.configuration.origins}
    for name in adopted:
        if origins[name] == "environment":
            run.note(f"warning: the variable {PREFIX}{name.upper()} overrules the file")


def _lines(lines: Iterable[str]) -> list[RenderableType]:
    from bearinmind.surfaces.cli import terminal

    return [terminal.styled(line) for line in lines]
