"""The command that shows what was done."""

from __future__ import annotations

from typing import Annotated

import typer

from bearinmind.recall.parse import LARGEST_POOL
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.session import Session


def audit(
    ctx: typer.Context,
    everybody: Annotated[
        bool, typer.Option("--everybody", help="What was done to any user's, not only to yours.")
    ] = False,
    limit: Annotated[
        int, typer.Option("--limit", min=1, max=LARGEST_POOL, help="Most entries to show.")
    ] = 20,
    as_json: options.Json = False,
) -> None:
    """Show who read secrets, shared, or changed users and keys."""
    run = Session.of(ctx, as_json=as_json)
    found = run.find()
    if found is None:
        run.reply_empty({"entries": []})
        return
    with found as memories:
        entries = memories.accounts.audit(limit, everybody=everybody)
    run.reply_rows(
        {"entries": [lazy.machine_accounts.entry(entry) for entry in entries]},
        entries,
        lambda: lazy.render_accounts.audit(entries),
        "Nothing was done that is to be accounted for.",
    )
