"""The commands about syncing: memories of this machine, kept in step with a server."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import SecretStr

from bearinmind.app import Mind
from bearinmind.errors import InvalidInput, PeerNotFound
from bearinmind.surfaces import lines
from bearinmind.surfaces.cli import lazy, options
from bearinmind.surfaces.cli.guard import exit_code, guarded, tell
from bearinmind.surfaces.cli.session import Session
from bearinmind.surfaces.sync_setup import connection, lock_of
from bearinmind.sync.sync_loop import held

if TYPE_CHECKING:
    from bearinmind.sync.model import SyncReport

app = typer.Typer(
    invoke_without_command=True,
    help="Keep this machine in step with a server; alone: `sync now`.",
)

_WAITED = 0.1  # seconds between two looks whether another process has finished its round
_EVERY = 30.0  # seconds between two rounds of `watch`, where the setting says never


class Keep(StrEnum):
    """Which version of a memory is to be the present one."""

    SERVED = "served"
    OTHER = "other"


@app.callback()
@guarded
def sync(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Keep this machine in step with a server; alone: `sync now`."""
    if ctx.invoked_subcommand is None:
        _now(Session.of(ctx, as_json=as_json))
    elif as_json:
        raise InvalidInput(
            "--json stands before the command that it is for",
            hint=f"Say it behind `{ctx.invoked_subcommand}`.",
        )


@app.command("now")
@guarded
def now(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Get what others changed, and send what was changed here."""
    _now(Session.of(ctx, as_json=as_json))


@app.command("connect")
@guarded
def connect(
    ctx: typer.Context,
    url: Annotated[
        str, typer.Argument(metavar="URL", help="The server, such as https://memory.example.net.")
    ],
    key_file: Annotated[
        str | None,
        typer.Option(
            "--key-file",
            metavar="FILE",
            help="The file that holds your key of it; `-` reads standard input.",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Send the key in clear over http://.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Have these memories synced with a server; asks for your key of it."""
    run = Session.of(ctx, as_json=as_json)
    key = _key(run, url, key_file)
    with run.open() as memories:
        peer = connection(memories).connect(url, key, insecure=insecure)
        status = memories.sync_status()
    run.reply(
        {"peer": lazy.machine_sync.peer(peer), "pending": status.waits},
        lambda: lazy.render_sync.connected(peer, status.waits),
    )


@app.command("status")
@guarded
def status(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Show what the server has not been told yet, and why."""
    run = Session.of(ctx, as_json=as_json)
    with _synced(run) as memories:
        found = memories.sync_status()
        has_key = connection(memories).has_key
    every = run.settings.sync_seconds
    run.reply(
        lazy.machine_sync.status(found, every=every, has_key=has_key),
        lambda: lazy.render_sync.status(found, every=every, has_key=has_key),
    )


@app.command("conflicts")
@guarded
def conflicts(
    ctx: typer.Context, limit: options.ListLimit = 20, as_json: options.Json = False
) -> None:
    """Show where two machines changed the same thing differently; both versions are kept."""
    run = Session.of(ctx, as_json=as_json)
    with _synced(run) as memories:
        found = memories.conflicts(limit)
    run.reply(
        {"conflicts": [lazy.machine_sync.conflict(each) for each in found]},
        lambda: lazy.render_sync.conflicts(found),
    )


@app.command("resolve")
@guarded
def resolve(
    ctx: typer.Context,
    number: Annotated[
        int, typer.Argument(metavar="NUMBER", min=1, help="As `sync conflicts` shows it.")
    ],
    keep: Annotated[
        Keep,
        typer.Option("--keep", help="Leave what is served, or make the other version present."),
    ] = Keep.SERVED,
    as_json: options.Json = False,
) -> None:
    """Take a conflict off the list."""
    run = Session.of(ctx, as_json=as_json)
    with _synced(run) as memories:
        memories.resolve_conflict(number, keep.value)
    run.see_to_work()
    run.reply(
        {"resolved": number, "keep": keep},
        lambda: [lazy.render.data(f"Conflict {number} is off the list; {_KEPT[keep]}.")],
    )


@app.command("disconnect")
@guarded
def disconnect(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Sync no more; your memories stay, here and there, and those of others are removed here."""
    run = Session.of(ctx, as_json=as_json)
    with _synced(run) as memories:
        left = memories.sync_status().waits
        peer = connection(memories).disconnect()
    run.reply(
        {"peer": lazy.machine_sync.peer(peer), "pending": left},
        lambda: lazy.render_sync.disconnected(peer, left),
    )


@app.command("renumber")
@guarded
def renumber(ctx: typer.Context, as_json: options.Json = False) -> None:
    """On a server that was restored from a backup: have every machine tell what is missing.

    Without it a machine notices by itself, unless others have written more than was lost.
    """
    run = Session.of(ctx, as_json=as_json)
    with _synced(run) as memories:
        names = sorted({run.settings.user, *(user.name for user in memories.users())})
        for name in names:
            memories.for_user(name).number_anew()
    run.say({"users": names}, f"Changes are numbered anew, for {', '.join(names)}.")


@app.command("watch")
@guarded
def watch(ctx: typer.Context, as_json: options.Json = False) -> None:
    """Sync every `sync_seconds` until interrupted, and say what was done."""
    run = Session.of(ctx, as_json=as_json)
    every = run.settings.sync_seconds or _EVERY
    run.note(f"Syncing every {every:g} seconds; Ctrl-C ends it.")
    with _synced(run) as memories:
        while True:
            report = _round(run, memories, quiet=True)
            if as_json or report.pulled or report.pushed or report.refused or report.mirrored:
                _reply(run, report)
                sys.stdout.flush()
            if error := report.error:
                tell(error, as_json=as_json)
            time.sleep(every)


# ---- what they share ---------------------------------------------------------------------------

_KEPT = {
    Keep.SERVED: "what was served stays",
    Keep.OTHER: "the other version is the present one",
}


def _synced(run: Session) -> Mind:
    """The store, for a command that is about its server."""
    found = run.find()
    if found is None:
        raise PeerNotFound(f"nothing is stored yet in {str(run.place)!r}")
    return found


def _key(run: Session, url: str, file: str | None) -> SecretStr | None:
    """The key that was given: as a file, as a setting, or typed where nobody sees it."""
    if file is not None:
        text = lines.read_text(file).strip()
        if not text:
            name = "standard input" if file == lines.STANDARD else repr(file)
            raise InvalidInput(
                f"there is no key in {name}", hint="`bearinmind key create` makes one."
            )
        return SecretStr(text)
    if run.settings.sync_key is not None:
        return run.settings.sync_key
    if lines.is_piped():
        return None
    text = typer.prompt(
        f"Your key of {url} (none if it wants none)",
        default="",
        hide_input=True,
        err=True,
        show_default=False,
    ).strip()
    return SecretStr(text) if text else None


def _now(run: Session) -> None:
    """One round; when a part of it failed, the rest was done all the same."""
    with _synced(run) as memories:
        report = _round(run, memories)
    run.see_to_work()
    _reply(run, report)
    if error := report.error:
        tell(error, as_json=run.as_json)
        raise typer.Exit(exit_code(error))


def _round(run: Session, memories: Mind, *, quiet: bool = False) -> SyncReport:
    with connection(memories).server() as server, _turn(run):
        if quiet:
            return memories.sync_with(server)
        with lazy.progress.counting("syncing", unit="changes") as advance:
            return memories.sync_with(server, advance)


@contextmanager
def _turn(run: Session) -> Iterator[None]:
    """Wait while another process syncs: that is quicker than to do the same beside it.

    One that takes too long is not waited for. Two at once do no harm.
    """
    lock = lock_of(run.settings.beside)
    deadline = time.monotonic() + run.settings.sync_timeout
    while True:
        with held(lock) as taken:
            if taken or time.monotonic() > deadline:
                yield
                return
        time.sleep(_WAITED)


def _reply(run: Session, report: SyncReport) -> None:
    run.reply(lazy.machine_sync.report(report), lambda: lazy.render_sync.report(report))
