"""The `bearinmind` command: its options and all its verbs."""

from __future__ import annotations

import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from bearinmind.surfaces.cli.guard import quiet_logging
from bearinmind.surfaces.cli.ondemand import PLUGIN, GroupOnDemand
from bearinmind.surfaces.cli.session import Globals

#: Where each command is.
COMMANDS = {
    "store": "change.store",
    "recall": "read.recall",
    "list": "read.list_memories",
    "get": "read.get",
    "update": "change.update",
    "delete": "change.delete",
    "restore": "change.restore",
    "purge": "change.purge",
    "link": "change.link",
    "why": "read.why",
    "timeline": "read.timeline",
    "stats": "read.stats",
    "learn": "learn.learn",
    "brief": "learn.brief",
    "import": "move.import_memories",
    "export": "move.export_memories",
    "migrate-store": "moving.migrate_store",
    "work": "work.work",
    "reembed": "work.reembed",
    "audit": "audit.audit",
    "serve": "serve.serve",
    "mcp": "mcp.mcp",
    "doctor": "upkeep.doctor",
    "config": "upkeep.config",
    "demo": "upkeep.demo",
}
#: Where each group of commands is; they are listed after the commands.
GROUPS = {
    "graph": "graph.app",
    "curate": "curate.app",
    "secret": "secret.app",
    "share": "share.app",
    "sync": "sync.app",
    "user": "user.app",
    "key": "key.app",
    "db": "db.app",
    "hooks": "hooks.app",
    "bench": PLUGIN,
}


class Root(GroupOnDemand):
    """All that `bearinmind` can do."""

    places = COMMANDS | GROUPS


app = typer.Typer(
    name="bearinmind",
    cls=Root,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(wanted: bool) -> None:
    if wanted:
        from bearinmind.surfaces.cli import upkeep  # noqa: PLC0415  rarely needed

        typer.echo(f"bearinmind {upkeep.version()}")
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
        typer.Option("--config", help="The configuration file; also BEARINMIND_CONFIG."),
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


def main() -> None:
    """Run the command line."""
    if isinstance(sys.stdout, TextIOWrapper):
        # A terminal that cannot show a character gets a stand-in for it, not an error.
        sys.stdout.reconfigure(errors="replace")
    app()
