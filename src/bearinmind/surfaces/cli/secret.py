"""The commands about sensitive memories: what they say, who read them, and the key."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

from bearinmind import codec
from bearinmind.app import open_vault
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.accounts import reply_audit
from bearinmind.surfaces.cli.memories import memory_list
from bearinmind.surfaces.cli.options import flag, option
from bearinmind.surfaces.cli.terminal import (
    BAD,
    NOTICE,
    QUIET,
    Session,
    counting,
    fields,
    many,
    styled,
)
from bearinmind.surfaces.verbs.verb import ListAnswer
from bearinmind.vault.keys import Key
from bearinmind.vault.seal import Rotated, VaultStatus, examine

if TYPE_CHECKING:
    from rich.console import RenderableType

app = typer.Typer(no_args_is_help=True)
_HERE = "command line"  # the agent in the audit when --agent is not given


@app.command("get")
def get(
    run: Session,
    id: str = options.ID,
    version: int | None = option("--version", "What this version of it said.", min=1),
    agent: str | None = option("--agent", "Who reads it, for the audit."),
) -> None:
    """Print what a sensitive memory says; the audit records it."""
    with run.existing() as mind:
        memory = mind.get(id)
        content = mind.secrets.reveal(memory.id, version=version, agent=agent or _HERE)
    if run.as_json or sys.stdout.isatty():
        run.say(
            {"id": memory.id, "version": version or memory.version, "content": content}, content
        )
    else:
        typer.echo(content)  # as it is: something else reads it


@app.command("list")
def list_sensitive(run: Session) -> None:
    """Show the sensitive memories, without what they say."""
    with run.reading(ListAnswer(memories=(), states={}, as_data=(), next=None)) as mind:
        sensitive = mind.secrets.list()
        answer = ListAnswer.of(mind, sensitive, len(sensitive))
    run.reply_rows(
        answer,
        sensitive,
        lambda: memory_list(sensitive, answer.states, outdated=answer.outdated),
        "No memory is sensitive.",
    )


@app.command("audit")
def audit(run: Session, limit: int = options.most("entries")) -> None:
    """Show who read secrets, the latest first."""
    reply_audit(run, lambda mind: mind.secrets.audit(limit), "No secret has been read.")


@app.command("rotate")
def rotate(
    run: Session,
    drop_old: bool = flag("--drop-old", "Forget the old keys; only they open exports made so far."),
) -> None:
    """Encrypt everything with a new key; an interrupted run can be repeated."""
    with run.existing_store() as mind:
        total = mind.secrets.status().secrets
        with counting("re-encrypting", total, "secrets") as advance:
            done = mind.secrets.rotate_key(drop_old=drop_old, agent=_HERE, advance=advance)
        where = mind.secrets.vault.source.where
    run.reply({**codec.to_data(done), "where": where}, lambda: _rotated(done, where))


@app.command("key")
def key(
    run: Session,
    create: bool = flag("--create", "Make the key file, if there is none."),
    new: bool = flag("--new", "Print a new key, to be kept elsewhere, and end."),
) -> None:
    """Show where the key of sensitive memories is, and what it opens."""
    if new:
        made = Key.new()
        run.say({"key": made.text, "id": made.id}, made.text)
        return
    found = run.find()
    if found is None:  # a key may be there before the first memory
        vault, under = open_vault(run.settings, lambda: True), {}
    else:
        with found as mind:
            vault, under = mind.secrets.vault, mind.secrets.count_by_key()
    if create:
        vault.create()
        run.note_new_key(vault)
    status = examine(vault, under)
    run.reply(status, lambda: [_status_table(status)])


def _rotated(done: Rotated, where: str) -> Iterable[RenderableType]:
    key = f"the {'new' if done.made else 'present'} key {done.key_id} in {where}"
    are = "is" if done.sealed == 1 else "are"
    yield styled(f"{many(done.sealed, 'secret')} {are} now sealed with {key}.")
    if done.unreadable:
        unread = many(done.unreadable, "secret")
        yield styled(f"Left as they are, because their key is not here: {unread}.", NOTICE)
    if done.dropped:
        yield styled(f"Forgotten: {many(done.dropped, 'old key')}.")


def _status_table(value: VaultStatus) -> RenderableType:
    newest, *older = value.key_ids or [""]
    if not newest and not value.problem:
        newest = "none yet: it is made when first needed"
    unreadable = f"{value.unreadable:,}: their key is not here" if value.unreadable else ""
    return fields(
        [
            ("key", value.where),
            ("problem", styled(value.problem or "", BAD)),
            ("ids", newest),
            *(("", styled(key_id, QUIET)) for key_id in older),
            ("secrets", f"{value.secrets:,}"),
            ("unreadable", styled(unreadable, BAD)),
        ]
    )
