"""The commands that add Bear in Mind to agents: `hooks`."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from bearinmind.errors import InvalidInput
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import Session, styled, write_json
from bearinmind.surfaces.hooks.agents import Client, Event, Scope

if TYPE_CHECKING:
    from bearinmind.surfaces.hooks.agent_files import Change
    from bearinmind.surfaces.hooks.install import Installer
    from bearinmind.surfaces.hooks.status import Status

app = typer.Typer(no_args_is_help=True)

_NOTHING = "Nothing to change: everything is as it should be."
_MCP = "For the tools as well: claude mcp add --scope user bearinmind -- {command}"


@app.command("install")
def install(
    run: Session,
    client: Client = option("--client", "The agent.", Client.CLAUDE),
    scope: Scope = option(
        "--scope", "For all your work, or for the project in this folder.", Scope.USER
    ),
    url: str | None = option("--url", "A Bear in Mind server to ask, instead of your own store."),
    key_file: Path | None = option("--key-file", "A file that holds the key for the server."),
    uninstall: bool = flag("--uninstall", "Take it away again; files become what they were."),
    yes: bool = flag("--yes", "Do not ask."),
    dry_run: bool = flag("--dry-run", "Only show what would change."),
) -> None:
    """Show what would change in an agent's files, ask, keep copies, and change it."""
    from bearinmind.surfaces.hooks.install import Installer  # noqa: PLC0415  rarely needed

    installer = Installer(
        settings=run.settings,
        client=client,
        scope=scope,
        project=Path.cwd(),
        url=url,
        key_file=key_file,
        config=run.options.config,
    )
    changes = installer.uninstalling() if uninstall else installer.installing()
    if run.as_json:
        made = yes and not dry_run
        backups = _make(installer, changes, uninstall=uninstall) if made else []
        write_json(_data(changes, backups, made=made), sys.stdout)
        return
    _show(changes)
    if not dry_run and _agreed(changes, yes=yes):
        for backup in _make(installer, changes, uninstall=uninstall):
            typer.echo(f"As it was: {backup}")
        if client is Client.CLAUDE and scope is Scope.USER and not uninstall:
            typer.echo(_MCP.format(command=installer.mcp_command))


@app.command("status")
def status(run: Session) -> None:
    """Show the settings of the hooks, their latest runs, and whether their server answers."""
    from bearinmind.surfaces.hooks.install import folder  # noqa: PLC0415  rarely needed
    from bearinmind.surfaces.hooks.status import status as found  # noqa: PLC0415

    now = found(folder())
    run.reply(now, lambda: [styled(line) for line in _lines(now)])


@app.command("run")
def run_hook(
    event: Event = argument(
        "EVENT", f"What has happened: {', '.join(Event)}.", case_sensitive=False
    ),
) -> None:
    """Run a hook as an agent would, to try it: what the agent says comes from standard input."""
    from bearinmind.surfaces.hooks.agents import Commands  # noqa: PLC0415  rarely needed
    from bearinmind.surfaces.hooks.install import folder  # noqa: PLC0415

    command = Commands(config=folder() / "config.json").hook(event)
    done = subprocess.run(command, shell=True, check=False, stdin=sys.stdin)  # noqa: S602  as agents do
    raise typer.Exit(done.returncode)


@app.command("plugin")
def plugin(
    run: Session,
    folder: Path = argument("DIR", "A folder that is not there yet."),
) -> None:
    """Write the plugin for Claude Code: hooks, commands, a skill and the MCP server."""
    from bearinmind.surfaces.hooks.install import write  # noqa: PLC0415  rarely needed

    written = write(folder)
    run.reply(
        {"folder": folder, "files": written},
        lambda: [
            *(styled(str(path)) for path in written),
            styled(f"To try it: claude --plugin-dir {folder}"),
        ],
    )


def _make(installer: Installer, changes: Sequence[Change], *, uninstall: bool) -> list[Path]:
    return installer.uninstall(changes) if uninstall else installer.install(changes)


def _agreed(changes: Sequence[Change], *, yes: bool) -> bool:
    """Whether to go on; what changes nothing needs no question."""
    if yes or not any(change.changes for change in changes):
        return True
    try:
        agreed = typer.confirm("Change this?")
    except typer.Abort:
        if sys.stdin.isatty():  # a person who interrupts
            raise
        raise InvalidInput(
            "no terminal is there to ask at",
            hint="Add --yes to do it, or --dry-run to see what would change.",
        ) from None
    if not agreed:
        raise typer.Abort
    return True


def _show(changes: Sequence[Change]) -> None:
    for change in changes:
        typer.echo(change.diff(), nl=False)
        if change.note:
            typer.echo(f"{change.path}: {change.note}")
    if not any(change.changes for change in changes):
        typer.echo(_NOTHING)


def _data(changes: Sequence[Change], backups: list[Path], *, made: bool) -> dict[str, object]:
    return {
        "changed": made and any(change.changes for change in changes),
        "files": [
            {"path": each.path, "changes": each.changes, "diff": each.diff(), "note": each.note}
            for each in changes
        ],
        "backups": backups,
    }


def _lines(now: Status) -> Iterator[str]:
    if not now.installed:
        yield "The hooks are not installed: `bearinmind hooks install` does it."
        return
    started = ", which they start" if now.starts_server else ""
    yield f"Server   {now.url}{started}: {'answers' if now.answers else 'does not answer'}"
    yield f"Settings {now.config}"
    for path in now.files:
        yield f"Changed  {path}"
    for each in now.runs:
        failed = f", {each.failed} failed ({each.last_failure})" if each.failed else ""
        yield (
            f"{each.event}: {each.runs} runs, median {each.median_ms:g} ms{failed}; "
            f"last {each.last}: {each.last_note}"
        )
    if not now.runs:
        yield "No hook has run yet."
