"""The commands about background work: `work` and `reembed`."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import nullcontext
from typing import Annotated

import typer

from bearinmind.app import Mind
from bearinmind.errors import FileMissing, InvalidInput, StoreReadOnly
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import INTERRUPTED
from bearinmind.surfaces.cli.session import Session
from bearinmind.work.done import WorkDone
from bearinmind.work.loop import Progress, Worker
from bearinmind.work.post import Post
from bearinmind.work.status import WorkStatus

_GIVEN_UP = 1  # the exit code of a model that fails

Status = Annotated[bool, typer.Option("--status", help="Only show how things stand.")]


def work(
    ctx: typer.Context,
    once: Annotated[
        bool, typer.Option("--once", help="Do what is due now, and wait for no further attempt.")
    ] = False,
    watch: Annotated[
        bool, typer.Option("--watch", help="Stay until interrupted, and lend the loaded model.")
    ] = False,
    status: Status = False,
    retry_dead: Annotated[
        bool, typer.Option("--retry-dead", help="Try again what was given up.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Embed, and read for the graph, what waits for it."""
    run = Session.of(ctx, as_json=as_json)
    if sum((once, watch, status)) > 1:
        raise InvalidInput("--once, --watch and --status exclude one another", hint="Give one.")
    with existing_store(run) as app:
        revived = app.work.retry_dead() if retry_dead else 0
        if status:
            _reply_status(run, app)
            return
        worker = app.work.worker()
        if watch:
            done = _stay(run, app, worker)
        else:
            step = worker.once if once else worker.finish
            done = interruptible(app, worker, "background work", step)
        left = app.work.status()
    run.reply(
        lazy.machine.work_done(done, left) | {"revived": revived},
        lambda: lazy.render_work.done(done, left),
    )
    end(run, worker, done, "`bearinmind work` goes on from here.")


def reembed(
    ctx: typer.Context,
    status: Status = False,
    drop_old: Annotated[
        bool,
        typer.Option("--drop-old", help="Remove the embeddings of models that answer no more."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Embed every memory again, with the configured embedder."""
    run = Session.of(ctx, as_json=as_json)
    if status and drop_old:
        raise InvalidInput("--status and --drop-old exclude each other", hint="Give one.")
    with existing_store(run) as app:
        if status:
            _reply_status(run, app)
            return
        if drop_old:
            _drop_old(run, app)
            return
        worker = app.work.worker()
        done = interruptible(app, worker, "re-embedding", worker.finish)
        left = app.work.status()
    run.reply(lazy.machine.work_done(done, left), lambda: lazy.render_work.reembedded(done, left))
    end(run, worker, done, "`bearinmind reembed` goes on from here.")


# ---- what they share ---------------------------------------------------------------------------


def existing_store(run: Session) -> Mind:
    """The store, for a command that has nothing to do without one."""
    app = run.find()
    if app is None:
        raise FileMissing(
            f"there is no store at {str(run.place)!r}",
            hint="Check --store; the first `bearinmind store` makes one.",
        )
    return app


def _reply_status(run: Session, app: Mind) -> None:
    found: WorkStatus = app.work.status()
    at_work = Post.of(run.settings.beside).is_taken
    run.reply(
        lazy.machine.work_status(found) | {"worker_running": at_work},
        lambda: lazy.render_work.status(found, at_work=at_work),
    )


def _drop_old(run: Session, app: Mind) -> None:
    dropped = app.work.drop_retired()
    run.reply(
        {"dropped": dropped},
        lambda: [lazy.render.data(f"Removed {lazy.render.many(dropped, 'embedding')}.")],
    )


def interruptible(
    app: Mind,
    worker: Worker,
    what: str,
    step: Callable[[Progress], WorkDone],
    kind: str | None = None,
) -> WorkDone:
    """Work with a bar to watch; an interrupt leaves the rest for another time."""
    worker.begin()
    status = app.work.status()
    waiting = (status.of_kind(kind) if kind else status).waiting
    with (
        lazy.staying.stopping_on_signals(worker),
        lazy.progress.counting(what, waiting, "jobs") if waiting else nullcontext(None) as bar,
    ):
        return step(bar or (lambda _: None))


def _stay(run: Session, app: Mind, worker: Worker) -> WorkDone:
    post = Post.of(run.settings.beside)
    try:
        taken = post.take()
    except OSError as exc:
        raise StoreReadOnly(f"{str(post.path)!r} cannot be written: {exc.strerror}") from exc
    if not taken:
        raise InvalidInput(
            f"another worker is at work on {str(run.place)!r} already",
            hint="It ends by itself when there is nothing left to do; then try again.",
        )
    run.note("Embedding what is stored, and reading it for the graph; Ctrl-C ends it.")
    try:
        return lazy.staying.stay(app, worker, idle=None)
    finally:
        post.leave()


def end(run: Session, worker: Worker, done: WorkDone, how_to_go_on: str) -> None:
    """The exit code."""
    if worker.stopping:
        run.note(f"Interrupted; nothing is lost. {how_to_go_on}")
        raise typer.Exit(INTERRUPTED)
    if done.given_up:
        raise typer.Exit(_GIVEN_UP)
