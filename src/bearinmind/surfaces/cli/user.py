"""The commands about users: whom a server knows."""

from __future__ import annotations

from typing import Annotated

import typer

from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import guarded
from bearinmind.surfaces.cli.session import Session

app = typer.Typer(no_args_is_help=True, help="Look after the users of a server.")

_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a user, also that of their memories.")
]


@app.command("add")
@guarded
def add(ctx: typer.Context, name: _Name, as_json: options.Json = False) -> None:
    """Make a user known; `bearinmind key create NAME` then lets them in."""
    run = Session.of(ctx, as_json=as_json)
    with run.open() as memories:
        user = memories.accounts.add_user(name)
    run.say(lazy.machine_accounts.user(user), f"{user.name} is known from now on.")


@app.command("list")
@guarded
def list_users(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show everybody whom a server knows."""
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"users": []})
        return
    with found as memories:
        users = memories.accounts.users()
    run.reply_rows(
        {"users": [lazy.machine_accounts.user(user) for user in users]},
        users,
        lambda: lazy.render_accounts.users(users),
        "There are no users: `bearinmind user add NAME` adds the first.",
    )


@app.command("disable")
@guarded
def disable(ctx: typer.Context, name: _Name, as_json: options.Json = False) -> None:
    """Let a user in no more; their memories and keys stay."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as memories:
        user = memories.accounts.disable_user(name)
    run.say(lazy.machine_accounts.user(user), f"No key of {user.name} opens anything from now on.")


@app.command("enable")
@guarded
def enable(ctx: typer.Context, name: _Name, as_json: options.Json = False) -> None:
    """Let a user in again."""
    run = Session.of(ctx, as_json=as_json)
    with run.existing() as memories:
        user = memories.accounts.enable_user(name)
    run.say(lazy.machine_accounts.user(user), f"The keys of {user.name} are good again.")
