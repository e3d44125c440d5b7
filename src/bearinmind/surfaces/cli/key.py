"""The commands about keys: what lets users into a server."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from bearinmind.accounts.keys import NewKey
from bearinmind.accounts.terms import PER_DAY_LIMIT, PER_MINUTE_LIMIT
from bearinmind.surfaces import times
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import guarded
from bearinmind.surfaces.cli.session import Session, write_json
from bearinmind.types import Access

app = typer.Typer(no_args_is_help=True, help="Look after the keys that let users into a server.")

_KeyId = Annotated[
    str, typer.Argument(metavar="KEY", help="The id of a key, as `bearinmind key list` shows it.")
]
_User = Annotated[
    str | None, typer.Argument(metavar="USER", help="Whose key it is; you when not given.")
]

_ONLY_NOW = "This is the key {id}. Only now can it be seen: keep it where secrets are kept."


@app.command("create")
@guarded
def create(
    ctx: typer.Context,
    user: _User = None,
    access: Annotated[
        Access, typer.Option("--access", help="What it is good for: read, write or admin.")
    ] = Access.WRITE,
    label: Annotated[str, typer.Option("--label", help="Where it is used.")] = "",
    expires: Annotated[
        str | None, typer.Option("--expires", help="Until when it is good: 90d, 2027-01-31.")
    ] = None,
    per_minute: Annotated[
        int | None,
        typer.Option("--per-minute", min=1, max=PER_MINUTE_LIMIT, help="Most requests a minute."),
    ] = None,
    per_day: Annotated[
        int | None, typer.Option("--per-day", min=1, max=PER_DAY_LIMIT, help="Most writes a day.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Make a key and print it: only now can it be seen."""
    run = Session.of(ctx, as_json=as_json)
    expires_at = None if expires is None else times.parse_coming(expires, "--expires", _now())
    with run.existing() as memories:
        made = memories.accounts.create_key(
            user or run.settings.user,
            access=access,
            label=label,
            expires_at=expires_at,
            per_minute=per_minute,
            per_day=per_day,
        )
    _show(run, made)


@app.command("list")
@guarded
def list_keys(
    ctx: typer.Context,
    user: Annotated[
        str | None, typer.Argument(metavar="USER", help="Whose keys; everybody's when not given.")
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show the keys and their terms, never their secrets."""
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"keys": []})
        return
    with found as memories:
        keys = memories.accounts.keys(user)
    run.reply_rows(
        {"keys": [lazy.machine_accounts.key(key) for key in keys]},
        keys,
        lambda: lazy.render_accounts.keys(keys, _now()),
        "There are no keys: `bearinmind key create USER` makes one.",
    )


@app.command("rotate")
@guarded
def rotate(
    ctx: typer.Context,
    key: _KeyId,
    overlap: Annotated[
        str, typer.Option("--overlap", help="For how long the old one stays good: 30m, 24h, 7d.")
    ] = "24h",
    as_json: options.Json = False,
) -> None:
    """Make a key with the terms of an old one, which ends later."""
    run = Session.of(ctx, as_json=as_json)
    span = times.parse_span(overlap, "--overlap")
    with run.existing() as memories:
        made = memories.accounts.renew_key(key, overlap=span)
    _show(run, made)


@app.command("revoke")
@guarded
def revoke(ctx: typer.Context, key: _KeyId, as_json: options.Json = False) -> None:
    """Take a key for none from now on."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as memories:
        revoked = memories.accounts.revoke_key(key)
    run.say(lazy.machine_accounts.key(revoked), f"The key {revoked.id} opens nothing any more.")


def _show(run: Session, made: NewKey) -> None:
    """Print a new key, alone on standard output: something may read it there."""
    if run.as_json:
        write_json(lazy.machine_accounts.new_key(made), sys.stdout)
        return
    run.note(_ONLY_NOW.format(id=made.key.id))
    typer.echo(made.text)  # whole, however narrow the terminal is


def _now() -> datetime:
    return datetime.now(UTC)
