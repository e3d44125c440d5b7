"""The commands about syncing: memories of this machine, kept in step with a server."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from enum import StrEnum
from typing import TYPE_CHECKING

import typer
from pydantic import SecretStr

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.app.sync import LOCK, connection
from bearinmind.changes import Peer, Subject, SubjectKind
from bearinmind.errors import InvalidInput, PeerNotFound
from bearinmind.surfaces import lines
from bearinmind.surfaces.background import stopping_on_signals
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.main import INTERRUPTED, tell
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    ID,
    NOTICE,
    QUIET,
    STRONG,
    Session,
    counting,
    fields,
    grid,
    many,
    memory_count,
    minute,
    styled,
)
from bearinmind.surfaces.failures import meaning_of
from bearinmind.sync.model import ConflictDetail, SyncStatus
from bearinmind.sync.replica import SyncReport
from bearinmind.text.analysis import one_line
from bearinmind.work.worker import Wakeup
from bearinmind.work.worker_lock import WorkerLock

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

app = typer.Typer(invoke_without_command=True)
_WAITED = 0.1  # seconds between two looks whether another process has finished its round
_EVERY = 30.0  # seconds between two rounds of `watch`, where the setting says never


class Keep(StrEnum):
    """Which version of a memory is to be the present one."""

    SERVED = "served"
    OTHER = "other"


@app.callback()
def sync(run: Session, ctx: typer.Context) -> None:
    """Keep this machine in step with a server; alone: `sync now`."""
    if run.is_alone(ctx):
        now(run)


@app.command("now")
def now(run: Session) -> None:
    """Get what others changed, and send what was changed here."""
    with run.existing(PeerNotFound, PeerNotFound.hint) as mind:
        report = _round(run, mind)
    run.start_worker()
    run.reply(report, lambda: _report_lines(report))
    if error := report.error:
        tell(error, as_json=run.as_json)
        raise typer.Exit(meaning_of(error).exit_code)


@app.command("connect")
def connect(
    run: Session,
    url: str = argument("URL", "The server, such as https://memory.example.net."),
    key_file: str | None = option(
        "--key-file",
        "The file that holds your key of it; `-` reads standard input.",
        metavar="FILE",
    ),
    insecure: bool = flag("--insecure", "Send the key in clear over http://."),
) -> None:
    """Have these memories synced with a server; asks for your key of it."""
    key = _key(run, url, key_file)
    with run.open() as mind:
        peer = connection(mind).connect(url, key, insecure=insecure)
        status = mind.sync.status()
    run.reply({"peer": peer, "pending": status.waits}, lambda: _connected_lines(peer, status.waits))


@app.command("status")
def status(run: Session) -> None:
    """Show what was not sent to the server yet, and why."""
    with run.existing(PeerNotFound, PeerNotFound.hint) as mind:
        found = mind.sync.status()
        has_key = connection(mind).has_key
    every = run.settings.sync_seconds
    run.reply(
        {**codec.to_data(found), "has_key": has_key, "every_seconds": every},
        lambda: _status_lines(found, every=every, has_key=has_key),
    )


@app.command("conflicts")
def conflicts(run: Session, limit: int = options.most("conflicts")) -> None:
    """Show where two machines changed the same thing differently; both versions are kept."""
    with run.existing(PeerNotFound, PeerNotFound.hint) as mind:
        found = mind.sync.conflicts(limit)
    run.reply({"conflicts": found}, lambda: _conflict_lines(found))


@app.command("resolve")
def resolve(
    run: Session,
    number: int = argument("NUMBER", "As `sync conflicts` shows it.", min=1),
    keep: Keep = option(
        "--keep", "Leave what is served, or make the other version present.", Keep.SERVED
    ),
) -> None:
    """Take a conflict off the list."""
    with run.existing(PeerNotFound, PeerNotFound.hint) as mind:
        mind.sync.resolve(number, keep.value)
    run.start_worker()
    run.say(
        {"resolved": number, "keep": keep}, f"Conflict {number} is off the list; {_KEPT[keep]}."
    )


@app.command("disconnect")
def disconnect(run: Session) -> None:
    """Stop syncing; your memories stay on both sides, those of others are removed here."""
    with run.existing(PeerNotFound, PeerNotFound.hint) as mind:
        left = mind.sync.status().waits
        peer = connection(mind).disconnect()
    run.reply({"peer": peer, "pending": left}, lambda: _disconnected_lines(peer, left))


@app.command("renumber")
def renumber(run: Session) -> None:
    """After a server was restored from a backup: ask every machine for what is missing.

    Without it a machine notices by itself, unless others have written more than was lost.
    """
    with run.existing(PeerNotFound, PeerNotFound.hint) as mind:
        names = sorted({run.settings.user, *(user.name for user in mind.accounts.users())})
        for name in names:
            mind.for_user(name).sync.renumber()
    run.say({"users": names}, f"Changes are numbered anew, for {', '.join(names)}.")


@app.command("watch")
def watch(run: Session) -> None:
    """Sync every `sync_seconds` until interrupted, and say what was done."""
    every = run.settings.sync_seconds or _EVERY
    run.note(f"Syncing every {every:g} seconds; Ctrl-C ends it.")
    # An interrupt that is raised in the middle of a round may end as an error in its report.
    ended = Wakeup()
    with run.existing(PeerNotFound, PeerNotFound.hint) as mind, stopping_on_signals(ended.set):
        while True:
            report = _round(run, mind, quiet=True)
            if run.as_json or report.pulled or report.pushed or report.refused or report.copied:
                run.reply(report, lambda: _report_lines(report))  # noqa: B023  called at once
                sys.stdout.flush()
            if error := report.error:
                tell(error, as_json=run.as_json)
            if ended.wait(every):
                raise typer.Exit(INTERRUPTED)


# ---- what they share ---------------------------------------------------------------------------

_KEPT = {Keep.SERVED: "what was served stays", Keep.OTHER: "the other version is the present one"}


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


def _round(run: Session, mind: Mind, *, quiet: bool = False) -> SyncReport:
    with connection(mind).server() as server, _turn(run):
        if quiet:
            return mind.sync.run(server)
        with counting("syncing", unit="changes") as advance:
            return mind.sync.run(server, advance)


@contextmanager
def _turn(run: Session) -> Iterator[None]:
    """Wait while another process syncs: it does this work already.

    One that takes too long is not waited for. Two at once do no harm.
    """
    lock = WorkerLock.of(run.settings.beside, LOCK)
    deadline = time.monotonic() + run.settings.sync_timeout
    while True:
        with lock.held() as taken:
            if taken or time.monotonic() > deadline:
                yield
                return
        time.sleep(_WAITED)


_NO_KEY = "no key is here: `bearinmind sync connect URL` asks for it, BEARINMIND_SYNC_KEY gives it"
_CONTENT = 100  # characters of a version in the list of conflicts


def _connected_lines(peer: Peer, waits: int) -> Iterator[RenderableType]:
    yield styled(f"Connected to {peer.url} as {peer.user}.")
    yield styled(
        f"`bearinmind sync` sends {many(waits, 'change')} and gets what is there; from then on "
        "`serve`, `mcp` and `work --watch` do so by themselves.",
        QUIET,
    )


def _disconnected_lines(peer: Peer, waits: int) -> Iterator[RenderableType]:
    yield styled(f"Disconnected from {peer.url}. Your memories stay, here and there.")
    if waits:
        yield styled(f"It never got {many(waits, 'change')} made here.", NOTICE)


def _report_lines(value: SyncReport) -> Iterator[RenderableType]:
    line = f"Got {many(value.pulled, 'change')}, sent {value.pushed:,}."
    if value.merged:
        line += f" Changed on both sides and merged: {value.merged:,}."
    if value.copied or value.dropped:
        line += f" Shared with you: {value.copied:,} came, {value.dropped:,} went."
    yield styled(line)
    if value.conflicts:
        text = f"{many(value.conflicts, 'conflict')}: both versions are kept."
        yield styled(f"{text} `bearinmind sync conflicts` shows them.", NOTICE)
    if value.refused or value.waiting:
        text = many(value.refused + value.waiting, "change")
        yield styled(f"Not synced: {text}. `bearinmind sync status` says why.", NOTICE)


def _status_lines(value: SyncStatus, *, every: float, has_key: bool) -> Iterator[RenderableType]:
    peer = value.peer
    rows: list[tuple[str, str | Text]] = [("server", f"{peer.url} as {peer.user}")]
    for name, at, error in (
        ("got", peer.pulled_at, peer.pull_error),
        ("sent", peer.pushed_at, peer.push_error),
        ("shared", peer.shared_at, peer.shared_error),
    ):
        failed = styled(f"failed since: {error}" if error else "", NOTICE)
        rows += [(name, minute(at) or "never"), ("", failed)]
    conflicts = f"{value.conflicts:,}: `bearinmind sync conflicts` shows them"
    copied = [f"{memory_count(count)} of {owner}" for owner, count in value.copied.items()]
    waiting = [
        memory_count(count) if kind is SubjectKind.MEMORY else many(count, kind)
        for kind, count in value.pending.items()
        if count
    ]
    yield fields(
        [
            *rows,
            ("key", styled("" if has_key else _NO_KEY, QUIET)),
            ("background", f"every {every:g} s" if every else "off"),
            ("others'", ", ".join(copied) or "none"),
            ("waits", ", ".join(waiting) or "nothing"),
            ("refused", styled(f"{value.refused:,} of these" if value.refused else "", NOTICE)),
            ("conflicts", styled(conflicts if value.conflicts else "", NOTICE)),
        ]
    )
    if value.listed:
        listed = [(_named(each.subject), styled(each.reason, QUIET)) for each in value.listed]
        table = grid("-", "", rows=listed)
        if (more := value.waits - len(value.listed)) > 0:
            table.add_row("", styled(f"and {more:,} more", QUIET))
        yield table


def _conflict_lines(values: Sequence[ConflictDetail]) -> Iterator[RenderableType]:
    if not values:
        yield styled("There are no conflicts.")
        return
    for value in values:
        found = value.conflict
        line = styled(f"{found.number}  ", STRONG).append_text(_named(found.subject))
        yield line.append_text(
            styled(f"  {found.kind}: {found.detail} · {minute(found.at)}", QUIET)
        )
        if found.subject.kind is not SubjectKind.MEMORY:
            continue  # what is said of it above is all
        table = grid("-", "-", "")
        for word, memory in (("served", value.served), ("other", value.other)):
            gone, deleted = memory is None, memory is not None and memory.deleted_at
            content = "no longer there" if memory is None else one_line(memory.content, _CONTENT)
            text = styled(content + (" (deleted)" if deleted else ""), QUIET if gone else "")
            table.add_row("  ", styled(word, QUIET), text)
        yield table
    yield styled(
        "`bearinmind sync resolve NUMBER --keep other` makes the other one present.", QUIET
    )


def _named(subject: Subject) -> Text:
    kind, _, rest = subject.label.partition(" ")
    return styled(f"{kind} ").append_text(styled(rest, ID))
