"""The command that moves a whole store."""

from __future__ import annotations

from typing import Annotated

import typer

from bearinmind.store.factory import Access
from bearinmind.store_name import store_name
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.session import Session


def migrate_store(
    ctx: typer.Context,
    from_: Annotated[
        str,
        typer.Argument(
            metavar="FROM",
            help="The store to move, named as for --store. It is only read.",
        ),
    ],
    to: Annotated[
        str, typer.Argument(metavar="TO", help="An empty store; it is made if there is none.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be moved, and move nothing.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Begin an unfinished move into TO anew.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Move a whole store, of every user, into an empty one."""
    run = Session.of(ctx, as_json=as_json)
    source, target = store_name(from_), store_name(to)
    places = {"from": str(source), "to": str(target)}
    access = Access(busy_timeout=run.settings.busy_timeout)
    if dry_run:
        seen = lazy.moving.look(source, target, access)
        run.reply({**places, **seen._asdict()}, lambda: lazy.render_moving.look(seen, str(target)))
        return
    done = lazy.moving.move(source, target, access, restart=restart, note=run.note)
    tables = [each._asdict() for each in done.tables]
    run.reply(
        {**places, **done._asdict(), "tables": tables},
        lambda: lazy.render_moving.moved(done, str(source), str(target)),
    )
