"""The commands around a session of an agent: learn from it, and what it begins with."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from bearinmind.errors import EmptyContent
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.session import Session

_HOW_TO_GIVE = "Give a file, or `-` to read standard input; `--status` needs neither."


def learn(
    ctx: typer.Context,
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="FILE",
            help="The transcript of a session (JSON lines), or a text; `-` reads standard input.",
        ),
    ] = None,
    agent: options.Agent = None,
    session: options.SessionName = None,
    project: options.Project = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Keep nothing: only say what would be learned.")
    ] = False,
    status: Annotated[
        bool, typer.Option("--status", help="Show how learning is set up and what it cost today.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Learn from what was said in a session."""
    run = Session.of(ctx, as_json=as_json)
    if status:
        with run.open() as app:
            found = app.curation.learning_status()
        run.reply(found._asdict(), lambda: lazy.render_learning.status(found))
        return
    if file is None:
        raise EmptyContent("no file was given", hint=_HOW_TO_GIVE)
    if str(file) == "-":
        messages = lazy.turn_files.from_text(sys.stdin.buffer.read())
    else:
        messages = lazy.turn_files.messages_of(file)
    with run.open() as app:
        learned = app.learn(
            messages, agent=agent, session=session, project=project, dry_run=dry_run
        )
    if learned.stored and not dry_run:
        run.see_to_work()
    run.reply(lazy.machine_learning.learned(learned), lambda: lazy.render_learning.learned(learned))


def brief(
    ctx: typer.Context,
    project: options.Project = None,
    session: options.SessionName = None,
    query: Annotated[
        str | None, typer.Option("--query", help="What the session is about, if that is known.")
    ] = None,
    limit: Annotated[int, typer.Option("--limit", min=1, max=1_000, help="Most memories.")] = 10,
    budget_bytes: Annotated[
        int, typer.Option("--budget-bytes", min=1, max=1_000_000, help="Most bytes of them.")
    ] = 4_000,
    as_json: options.Json = False,
) -> None:
    """Show what a session should begin with."""
    run = Session.of(ctx, as_json=as_json)
    app = run.find()
    if app is None:
        run.reply_empty({"memories": []})
        return
    with app:
        found = app.brief(
            project=project, session=session, query=query, limit=limit, budget_bytes=budget_bytes
        )
        states = app.states(found)
    run.reply(
        {"memories": [lazy.machine.memory(each, states[each.id]) for each in found]},
        lambda: [lazy.render.memories(found, states)],
    )
