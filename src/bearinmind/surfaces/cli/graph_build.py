"""The command that builds the concept graph: `graph build`."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.work import end, existing_store, interruptible
from bearinmind.work.kinds import EXTRACT

if TYPE_CHECKING:
    from bearinmind.graph.extraction_plan import ExtractionPlan


def build(
    ctx: typer.Context,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what it would take; nothing is sent.")
    ] = False,
    again: Annotated[
        bool, typer.Option("--again", help="Read every memory anew, also what was read before.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Read for the graph what is not read yet, here and now.

    The background worker does the same. With an LLM, `--dry-run` says what it would cost.

    Example: bearinmind graph build --dry-run
    """
    run = Session.of(ctx, as_json=as_json)
    with existing_store(run) as app:
        if dry_run:
            plan = app.work.extraction_plan(again=again)
            run.reply(_plan(plan), lambda: lazy.render_work.reading_plan(plan))
            return
        app.work.required_extractor()  # without one there is nothing to do
        if again:
            app.work.extract_again()
        worker = app.work.worker(EXTRACT)
        done = interruptible(app, worker, "reading for the graph", worker.finish, EXTRACT)
        left, counts = app.work.status().of_kind(EXTRACT), app.graph.counts()
    run.reply(
        lazy.machine.work_done(done, left) | lazy.machine.graph(left, counts),
        lambda: lazy.render_work.built(done, left, counts),
    )
    end(run, worker, done, "`bearinmind graph build` goes on from here.")


def _plan(plan: ExtractionPlan) -> dict[str, object]:
    return dataclasses.asdict(plan) | {
        "estimate": plan.estimate._asdict() if plan.estimate else None,
        "budget": plan.budget._asdict() if plan.budget else None,
    }
