"""The commands that move memories between stores."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.errors import FileMissing
from bearinmind.surfaces.cli import lazy, options, secret
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.cli.upkeep import version

if TYPE_CHECKING:
    from bearinmind.surfaces.transfer import Exported, Imported

_SHOWN = 20  # bad lines that are named to a person
_SOME_BAD = 2  # the exit code of invalid input


def export_memories(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to; `.gz` compresses it.")
    ] = "-",
    as_json: options.Json = False,
) -> None:
    """Write every memory, version and link as JSON Lines.

    What others share is not in it: it is theirs to export.
    """
    run = Session.of(ctx, as_json=as_json)
    app_or_none = run.find()
    if app_or_none is None:
        raise FileMissing(
            f"there is no store at {str(run.place)!r}", hint="Check --store; nothing was exported."
        )
    with (
        app_or_none as app,
        lazy.progress.counting("exporting", lazy.transfer.count(app)) as advance,
        lazy.lines.created(file) as write,
    ):
        done = lazy.transfer.export(app, write, version(), advance)
    _reply_exported(run, file, done)


def import_memories(
    ctx: typer.Context,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON Lines: an export, or any with `content`.")
    ],
    wait: options.Wait = False,
    as_json: options.Json = False,
) -> None:
    """Add memories and links from JSON Lines."""
    run = Session.of(ctx, as_json=as_json)
    with lazy.lines.opened(file) as stream, run.open() as app:
        with lazy.progress.counting("importing") as advance:
            importing = lazy.transfer.Import(
                app, most_problems=None if as_json else _SHOWN, advance=advance
            )
            done = importing(lazy.lines.numbered(stream))
        secret.note_new_key(run, app.secrets.vault)
        if wait:
            run.wait_for_work(app)
    if done.stored and not wait:
        run.see_to_work()
    run.reply(dataclasses.asdict(done), lambda: [lazy.render.data(_summary(done))])
    if not as_json:
        for line in _problem_lines(done):
            run.note(line)
    if done.bad:
        raise typer.Exit(_SOME_BAD)


def _reply_exported(run: Session, file: str, done: Exported) -> None:
    """Say what was written, where it does not mix with what was written."""
    many = lazy.render.many
    if file != lazy.lines.STANDARD:
        counted = f"{many(done.memories, 'memory', 'memories')} and {many(done.links, 'link')}"
        run.say({"file": file, **dataclasses.asdict(done)}, f"Exported {counted} to {file}")
    if done.shared and not run.as_json:
        left_out = many(done.shared, "memory", "memories")
        are = "is" if done.shared == 1 else "are"
        run.note(f"note: {left_out} shared with you {are} not in it")


def _summary(done: Imported) -> str:
    many = lazy.render.many
    parts = [
        f"{many(done.stored, 'memory', 'memories')} stored",
        f"{many(done.known, 'memory', 'memories')} known already",
        f"{many(done.links_stored, 'link')} added",
        f"{many(done.links_known, 'link')} known already",
    ]
    if done.sensitive:
        parts[0] += f" ({done.sensitive:,} of them sensitive)"
    bad = [f"{many(done.bad, 'bad line')} skipped"] if done.bad else []
    return ", ".join(parts + bad)


def _problem_lines(done: Imported) -> Iterable[str]:
    for problem in done.problems:
        yield f"line {problem.line}: {problem.code}: {problem.message}"
    if done.bad > len(done.problems):
        yield f"and {done.bad - len(done.problems):,} more; --json lists all of them"
