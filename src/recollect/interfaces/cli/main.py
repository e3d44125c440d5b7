"""The `recollect` command: its options and all its verbs."""

from __future__ import annotations

import sys
from collections.abc import Callable
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from recollect.interfaces.cli import (
    audit,
    bench,
    change,
    curate,
    db,
    graph,
    hooks,
    key,
    learn,
    mcp,
    move,
    moving,
    read,
    secret,
    serve,
    share,
    sync,
    upkeep,
    user,
    work,
)
from recollect.interfaces.cli.guard import guarded, quiet_logging
from recollect.interfaces.cli.session import Globals

app = typer.Typer(
    name="recollect",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"recollect {upkeep.version()}")
        raise typer.Exit


@app.callback()
def root(
    ctx: typer.Context,
    store: Annotated[
        str | None,
        typer.Option(
            "--store",
            metavar="PATH|URL",
            help="The file that holds the memories, the URL of a Postgres server, or `postgres`.",
        ),
    ] = None,
    user: Annotated[str | None, typer.Option("--user", help="Whose memories are meant.")] = None,
    config: Annotated[
        Path | None,
        typer.Option("--config", help="The configuration file; also RECOLLECT_CONFIG."),
    ] = None,
    debug: Annotated[
        bool, typer.Option("--debug", help="Show where an internal error happened.")
    ] = False,
    version: Annotated[  # noqa: ARG001  answered by its callback
        bool,
        typer.Option("--version", is_eager=True, callback=_print_version, help="Show the version."),
    ] = False,
) -> None:
    """A persistent memory for AI agents that explains what it recalls."""
    quiet_logging()
    ctx.obj = Globals(store=store, user=user, config=config, debug=debug)


COMMANDS: dict[str, Callable[..., None]] = {
    "store": change.store,
    "recall": read.recall,
    "list": read.list_memories,
    "get": read.get,
    "update": change.update,
    "delete": change.delete,
    "restore": change.restore,
    "purge": change.purge,
    "link": change.link,
    "why": read.why,
    "timeline": read.timeline,
    "stats": read.stats,
    "learn": learn.learn,
    "brief": learn.brief,
    "import": move.import_memories,
    "export": move.export_memories,
    "migrate-store": moving.migrate_store,
    "work": work.work,
    "reembed": work.reembed,
    "audit": audit.audit,
    "serve": serve.serve,
    "mcp": mcp.mcp,
    "doctor": upkeep.doctor,
    "config": upkeep.config,
    "demo": upkeep.demo,
}

for _name, _command in COMMANDS.items():
    app.command(_name)(guarded(_command))
app.add_typer(graph.app, name="graph")
app.add_typer(curate.app, name="curate")
app.add_typer(secret.app, name="secret")
app.add_typer(share.app, name="share")
app.add_typer(sync.app, name="sync")
app.add_typer(user.app, name="user")
app.add_typer(key.app, name="key")
app.add_typer(db.app, name="db")
app.add_typer(hooks.app, name="hooks")
app.add_typer(bench.app, name="bench")


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that cannot show a character gets a stand-in for it, not an error.
        sys.stdout.reconfigure(errors="replace")
    app()
