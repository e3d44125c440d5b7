"""The commands about users, their keys and what they share, and the audit."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind import codec
from bearinmind.accounts.keys import PER_DAY_LIMIT, PER_MINUTE_LIMIT, NewKey
from bearinmind.app import Mind
from bearinmind.app.accounts import Erasure
from bearinmind.errors import InvalidShare
from bearinmind.protocols import AuditEntry, Step, TrafficKind, TrafficPoint, User
from bearinmind.surfaces import times, transfer
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    BAD,
    ID,
    NOTICE,
    QUIET,
    STRONG,
    Session,
    day,
    grid,
    headed,
    memory_count,
    minute,
    parts,
    styled,
    version,
    write_json,
)
from bearinmind.types import Access, Key, Right, Share

if TYPE_CHECKING:
    from rich.console import RenderableType
    from rich.text import Text

user_app = typer.Typer(no_args_is_help=True)
_Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The name of a user, also that of their memories.")
]


@user_app.command("add")
def add(run: Session, name: _Name) -> None:
    """Add a user; `bearinmind key create NAME` then makes a key for them."""
    with run.open() as mind:
        user = mind.accounts.add_user(name)
    run.say(user, f"Added the user {user.name}.")


@user_app.command("list")
def list_users(run: Session) -> None:
    """List the users."""
    none = "There are no users: `bearinmind user add NAME` adds the first."
    run.reply_listed("users", lambda mind: mind.accounts.users(), _user_row, ("-", "-", ""), none)


@user_app.command("disable")
def disable(run: Session, name: _Name) -> None:
    """Disable a user; their memories and keys stay."""
    with run.existing() as mind:
        user = mind.accounts.disable_user(name)
    run.say(user, f"{user.name} is disabled: the server refuses their keys.")


@user_app.command("enable")
def enable(run: Session, name: _Name) -> None:
    """Enable a user again."""
    with run.existing() as mind:
        user = mind.accounts.enable_user(name)
    run.say(user, f"{user.name} is enabled: the server accepts their keys again.")


@user_app.command("erase")
def erase(
    run: Session,
    name: _Name,
    export: str | None = option("--export", "Export their memories there first.", metavar="FILE"),
    yes: bool = flag("--yes", "Do not ask."),
    dry_run: bool = flag("--dry-run", "Only show the plan."),
) -> None:
    """Remove everything of a user for good: memories, shares, keys and all."""
    with run.existing() as mind:
        done = mind.accounts.plan_erasure(name)
        question = f"Erase {name} for good{'' if export else ', without an --export'}?"
        if not dry_run and run.agreed([_held_table(done)], question, yes=yes):
            if export is not None:
                _export_of(run, done.user, export)
            done = mind.accounts.erase_user(name, memories=done.memories)
            if done.traces_may_remain:
                run.note_traces()
    run.reply(done, lambda: _erasure_lines(done, dry_run=dry_run))


def _export_of(run: Session, user: str, file: str) -> None:
    settings = run.settings.model_copy(update={"user": user})
    with Mind.build(settings, create=False, borrow=True) as theirs, run.new_file(file) as write:
        done = transfer.export(theirs, write, version(), lambda _: None)
    run.note(f"Exported {memory_count(done.memories)} to {file}")


def _erasure_lines(value: Erasure, *, dry_run: bool) -> list[RenderableType]:
    if dry_run:
        return [_held_table(value), styled("This would be removed for good.", NOTICE)]
    if not value.erased:
        return [styled("Nothing was erased.")]
    return [styled(f"Erased {value.user}; the audit names them {value.pseudonym}.")]


def _held_table(value: Erasure) -> RenderableType:
    held = [(what, f"{count:,}") for what, count in value.held.items() if count]
    return grid("-", ">", rows=held)


key_app = typer.Typer(no_args_is_help=True)
_KeyId = Annotated[
    str, typer.Argument(metavar="KEY", help="The id of a key, as `bearinmind key list` shows it.")
]
_ONLY_NOW = "This is the key {id}. It cannot be shown again: keep it where secrets are kept."


@key_app.command("create")
def create(
    run: Session,
    user: str | None = argument("USER", "Whose key it is; you when not given.", None),
    access: Access = option("--access", "What it allows: read, write or admin.", Access.WRITE),
    label: str = option("--label", "Where it is used.", ""),
    expires: str | None = option("--expires", "When it expires: 90d, 2027-01-31."),
    per_minute: int | None = option(
        "--per-minute", "Most requests a minute.", min=1, max=PER_MINUTE_LIMIT
    ),
    per_day: int | None = option("--per-day", "Most writes a day.", min=1, max=PER_DAY_LIMIT),
) -> None:
    """Make a key and print it; it cannot be shown again."""
    expires_at = None if expires is None else times.parse_coming(expires, "--expires", _now())
    with run.existing() as mind:
        made = mind.accounts.create_key(
            user or run.settings.user,
            access=access,
            label=label,
            expires_at=expires_at,
            per_minute=per_minute,
            per_day=per_day,
        )
    _show(run, made)


@key_app.command("list")
def list_keys(
    run: Session,
    user: str | None = argument("USER", "Whose keys; everybody's when not given.", None),
) -> None:
    """Show the keys and their terms, never their secrets."""
    none = "There are no keys: `bearinmind key create USER` makes one."
    run.reply_listed(
        "keys", lambda mind: mind.accounts.keys(user), _key_row, ("-", "-", "-", "-", ""), none
    )


@key_app.command("rotate")
def rotate(
    run: Session,
    key: _KeyId,
    overlap: str = option("--overlap", "How long the old one stays valid: 30m, 24h, 7d.", "24h"),
) -> None:
    """Make a key with the terms of an old one, which ends later."""
    span = times.parse_span(overlap, "--overlap")
    with run.existing() as mind:
        made = mind.accounts.renew_key(key, overlap=span)
    _show(run, made)


@key_app.command("revoke")
def revoke(run: Session, key: _KeyId) -> None:
    """Revoke a key."""
    with run.existing() as mind:
        revoked = mind.accounts.revoke_key(key)
    run.say(revoked, f"The key {revoked.id} is revoked.")


def _show(run: Session, made: NewKey) -> None:
    """Print a new key, alone on standard output: something may read it there."""
    if run.as_json:
        write_json(made, sys.stdout)
        return
    run.note(_ONLY_NOW.format(id=made.key.id))
    typer.echo(made.text)  # whole, however narrow the terminal is


def _now() -> datetime:
    return datetime.now(UTC)


def audit(
    run: Session,
    everybody: bool = flag("--everybody", "What was done to any user's, not only to yours."),
    limit: int = options.most("entries"),
) -> None:
    """Show who read secrets, shared, or changed users and keys."""
    reply_audit(run, lambda mind: mind.accounts.audit(limit, everybody=everybody))


def reply_audit(
    run: Session,
    entries: Callable[[Mind], Sequence[AuditEntry]],
    without: str = "The audit is empty.",
) -> None:
    """Show what was done, a line each."""
    run.reply_listed("entries", entries, _audit_row, ("-", "-", "-", ""), without)


def traffic(
    run: Session,
    everybody: bool = flag("--everybody", "What all users asked, not only you."),
    step: Step = option("--step", "By minute for a day, or by hour for 90 days.", Step.HOUR),
) -> None:
    """Show how often a server was asked, over time."""
    with run.reading({"points": []}) as mind:
        counted = (mind.server.whole_traffic if everybody else mind.server.traffic)(step)
    run.reply_rows(
        codec.to_data(counted),
        counted.points,
        lambda: _traffic_table(counted.points),
        "No server has counted anything yet.",
    )


def _traffic_table(points: Sequence[TrafficPoint]) -> RenderableType:
    """What was counted, a line for each minute or hour in which there was anything."""
    rows = ((minute(start), *(f"{count:,}" for count in counts)) for start, *counts in points)
    return headed("", "from", *(f"{kind}>" for kind in TrafficKind), rows=rows)


def _user_row(value: User) -> tuple[Text, ...]:
    disabled = f"disabled {minute(value.disabled_at)}" if value.disabled_at else ""
    since = styled(f"since {day(value.created_at)}", QUIET)
    return styled(value.name, ID), since, styled(disabled, BAD)


def _key_row(value: Key) -> tuple[Text, ...]:
    terms = parts(
        value.label,
        f"{value.per_minute:,} a minute" if value.per_minute else "",
        f"{value.per_day:,} writes a day" if value.per_day else "",
    )
    who = styled(value.id, ID), styled(value.user), styled(value.access)
    return *who, _end(value, _now()), terms


def _audit_row(entry: AuditEntry) -> tuple[Text, ...]:
    version = f" v{entry.version}" if entry.version else ""
    about = f"{entry.id or ''}{version}" or entry.detail or ""
    by = f"by {entry.agent}" if entry.agent else ""
    key = f"with key {entry.key}" if entry.key else ""
    detail = entry.detail if entry.id and entry.detail else ""
    what = parts(styled(about, ID), detail, by, key)
    return styled(minute(entry.at), QUIET), styled(entry.owner), styled(entry.action), what


def _end(key: Key, now: datetime) -> Text:
    """Whether a key is valid, and until when."""
    if key.revoked_at is not None:
        word = "revoked" if key.revoked_at <= now else "ends"
        return styled(f"{word} {minute(key.revoked_at)}", BAD if key.revoked_at <= now else NOTICE)
    if key.expires_at is not None:
        word = "expired" if key.expires_at <= now else "until"
        return styled(f"{word} {minute(key.expires_at)}", BAD if key.expires_at <= now else "")
    return styled("no end", QUIET)


# ---- shares --------------------------------------------------------------------------------------

share_app = typer.Typer(no_args_is_help=True)
_Reader = Annotated[str, typer.Argument(metavar="USER", help="The name of the other user.")]


@share_app.command("memory")
def share_memory(
    run: Session,
    *,
    id: str = options.ID,
    reader: _Reader,
    write: bool = flag("--write", "They may also update, delete and restore it."),
) -> None:
    """Let another user see one memory."""
    with run.existing() as mind:
        share = mind.share(id, reader, Right.WRITE if write else Right.READ)
    run.reply({"share": share}, lambda: [_done_line(share)])


@share_app.command("tag")
def share_tag(
    run: Session,
    *,
    tag: str = argument("TAG", "A tag; memories may get it later."),
    reader: _Reader,
    write: bool = flag("--write", "They may also update, delete and restore them."),
) -> None:
    """Let another user see all memories with a tag, now and from now on."""
    with run.open() as mind:
        share = mind.share_tag(tag, reader, Right.WRITE if write else Right.READ)
    run.reply({"share": share}, lambda: [_done_line(share)])


@share_app.command("end")
def end(
    run: Session,
    *,
    what: str = argument("ID", "The id of a memory, or with --tag the tag."),
    reader: _Reader,
    tag: bool = flag("--tag", "End the share of a tag."),
) -> None:
    """Take back what was shared; it holds at once."""
    with run.existing() as mind:
        share = mind.unshare_tag(what, reader) if tag else mind.unshare(what, reader)
    run.reply({"share": share}, lambda: [_done_line(share)])


@share_app.command("list")
def list_shares(
    run: Session,
    with_me: bool = flag("--with-me", "Only what others share with you."),
    mine: bool = flag("--mine", "Only what you share with others."),
    everybody: bool = flag("--everybody", "What all users share with one another."),
) -> None:
    """Show what you share, and what others share with you."""
    if with_me and mine:
        raise InvalidShare("--with-me and --mine leave nothing to show", hint="Give one of them.")
    if everybody:
        columns = ("-", "-", "-", "-", "")
        run.reply_listed(
            "shares", lambda mind: mind.server.shares(), _owned_row, columns, _NOTHING_SHARED
        )
        return
    with run.reading({"mine": [], "with_me": []}) as mind:
        own: Sequence[Share] = [] if with_me else mind.my_shares()
        others: Sequence[Share] = [] if mine else mind.shared_with_me()
    shown = {"mine": own, "with_me": others}
    run.reply_rows(shown, [*own, *others], lambda: _share_table(own, others), _NOTHING_SHARED)


_NOTHING_SHARED = "Nothing is shared."
_MAY = {Right.READ: "may read", Right.WRITE: "may read and write"}


def _done_line(value: Share) -> RenderableType:
    line = styled("Shared " if value.ended_at is None else "Ended the share of ")
    line.append_text(_what(value)).append(" with ").append_text(styled(value.reader, STRONG))
    return line if value.ended_at else line.append(f", who {_MAY[value.right]}")


def _share_table(own: Sequence[Share], others: Sequence[Share]) -> RenderableType:
    listed = [*(_share_row("with", each) for each in own), *(_share_row("by", x) for x in others)]
    return grid("-", "-", "-", "", rows=listed)


def _owned_row(value: Share) -> tuple[Text, ...]:
    return styled(value.owner, STRONG), *_share_row("with", value)


def _share_row(word: str, value: Share) -> tuple[Text, ...]:
    whom = styled(value.reader if word == "with" else value.owner, STRONG)
    since = styled(f"since {day(value.created_at)}", QUIET)
    return styled(f"{word} ", QUIET).append_text(whom), _what(value), styled(value.right), since


def _what(value: Share) -> Text:
    return styled(f"#{value.tag}" if value.memory is None else value.memory, ID)
