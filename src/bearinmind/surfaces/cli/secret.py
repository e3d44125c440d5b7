"""The commands about sensitive memories: what they say, who asked, and the key."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind.app import Mind, open_vault
from bearinmind.errors import FileMissing
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import guarded
from bearinmind.surfaces.cli.session import Session
from bearinmind.vault.keys import Key
from bearinmind.vault.rotate import Rotated
from bearinmind.vault.seal import SealingVault
from bearinmind.vault.status import examine

if TYPE_CHECKING:
    from rich.console import RenderableType

app = typer.Typer(no_args_is_help=True, help="Read sensitive memories, and look after their key.")

_HERE = "command line"  # who asked, as the audit has it, when nobody says


@app.command("get")
@guarded
def get(
    ctx: typer.Context,
    id: options.Id,
    version: Annotated[
        int | None, typer.Option("--version", min=1, help="What this version of it said.")
    ] = None,
    agent: Annotated[
        str | None, typer.Option("--agent", help="Who asks; it is written into the audit.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Print what a sensitive memory says; that it was asked for is written down."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as memories:
        memory = memories.get(id)
        content = memories.secrets.reveal(memory.id, version=version, agent=agent or _HERE)
    if as_json or sys.stdout.isatty():
        run.say(
            {"id": memory.id, "version": version or memory.version, "content": content}, content
        )
    else:
        typer.echo(content)  # as it is: something else reads it


@app.command("list")
@guarded
def list_sensitive(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show the sensitive memories, without what they say."""
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"memories": []})
        return
    with found as memories:
        sensitive = memories.secrets.list()
        states = memories.states(sensitive)
    run.reply_rows(
        {"memories": lazy.machine.memories(sensitive, states)},
        sensitive,
        lambda: lazy.render.memories(sensitive, states),
        "No memory is sensitive.",
    )


@app.command("audit")
@guarded
def audit(ctx: typer.Context, limit: options.ListLimit = 20, as_json: options.Json = False) -> None:
    """Show who asked for secrets, the youngest first."""
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"entries": []})
        return
    with found as memories:
        entries = memories.secrets.audit(limit)
    run.reply_rows(
        {"entries": [entry._asdict() for entry in entries]},
        entries,
        lambda: lazy.render_secret.audit(entries),
        "Nobody has asked for a secret.",
    )


@app.command("rotate")
@guarded
def rotate(
    ctx: typer.Context,
    drop_old: Annotated[
        bool,
        typer.Option("--drop-old", help="Forget the old keys; only they open exports made so far."),
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Seal everything under a new key; run again, it goes on where it was interrupted."""
    run = Session.of(ctx, as_json=as_json)
    with _store(run) as memories:
        total = memories.secrets.status().secrets
        with lazy.progress.counting("sealing anew", total, "secrets") as advance:
            done = memories.secrets.rotate_key(drop_old=drop_old, agent=_HERE, advance=advance)
        where = memories.secrets.vault.source.where
    run.reply(done._asdict() | {"where": where}, lambda: _rotated(done, where))


@app.command("key")
@guarded
def key(
    ctx: typer.Context,
    create: Annotated[
        bool, typer.Option("--create", help="Make the key file, if there is none.")
    ] = False,
    new: Annotated[
        bool, typer.Option("--new", help="Print a new key, to be kept elsewhere, and end.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Show where the key of sensitive memories is, and what it opens."""
    run = Session.of(ctx, as_json=as_json)
    if new:
        made = Key.new()
        run.say({"key": made.text, "id": made.id}, made.text)
        return
    found = run.find()
    if found is None:  # a key may be there before the first memory
        vault, under = open_vault(run.settings, lambda: True), {}
    else:
        with found as memories:
            vault, under = memories.secrets.vault, memories.secrets.count_by_key()
    if create:
        vault.create()
        note_new_key(run, vault)
    status = examine(vault, under)
    run.reply(
        {
            "where": status.where,
            "keys": status.key_ids,
            "secrets": status.secrets,
            "unreadable": status.unreadable,
            "problem": status.problem or None,
        },
        lambda: [lazy.render_secret.status(status)],
    )


def note_new_key(run: Session, vault: SealingVault) -> None:
    """Say that a key was made, and what depends on it."""
    made = vault.made_key_at
    if made is not None:
        run.note(_NEW_KEY.format(path=made.path))


_NEW_KEY = (
    "The key of your sensitive memories was made in {path}. Keep a copy of that file apart "
    "from the store: without it they cannot be read by anybody."
)


def _store(run: Session) -> Mind:
    found = run.find()
    if found is None:
        raise FileMissing(
            f"there is no store at {str(run.place)!r}", hint="Check --store; nothing was changed."
        )
    return found


def _rotated(done: Rotated, where: str) -> Iterable[RenderableType]:
    many = lazy.render.many
    word = "A new key" if done.made else "The present key"
    yield lazy.render.data(
        f"{word}, {done.key_id} in {where}, now seals {many(done.sealed, 'secret')} more."
    )
    if done.unreadable:
        unread = many(done.unreadable, "secret")
        yield lazy.render.data(
            f"Left as they are, because their key is not here: {unread}.", lazy.render.NOTICE
        )
    if done.dropped:
        yield lazy.render.data(f"Forgotten: {many(done.dropped, 'old key')}.")
