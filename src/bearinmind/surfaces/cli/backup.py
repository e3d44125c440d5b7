"""The commands that back up a whole store and restore one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.errors import InvalidInput
from bearinmind.store import backup as backups
from bearinmind.store.factory import Access
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import GOOD, QUIET, Session, counting, many, minute, styled

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bearinmind.store.backup_files import BackupFacts

_Identity = Annotated[
    Path | None,
    typer.Option("--identity", metavar="FILE", help="The private key that opens it (age or SSH)."),
]


def backup(
    run: Session,
    place: str = argument("PLACE", "A new file; or a folder, if it is one or ends in `/`."),
    keep: int | None = option("--keep", "Keep so many backups in the folder, the latest.", min=1),
    recipients: list[str] | None = option(
        "--recipient", "Encrypt it for a public key of age or SSH; repeatable."
    ),
    verify: bool = flag("--verify", "Check the backup that is there; make none."),
    identity: _Identity = None,
) -> None:
    """Back up the whole store, of every user, while it is used.

    In a folder a backup takes only the room of what has changed. The key that seals sensitive
    memories is not in it: keep that elsewhere.
    """
    path = Path(place).expanduser()
    if verify:
        with counting("verifying", unit="blocks") as advance:
            whole = backups.verify(path, identity, advance)
        run.reply(whole, lambda: _verified_lines(place, whole))
        return
    is_folder = path.is_dir() or place.endswith("/")
    if keep is not None and not is_folder:
        raise InvalidInput(
            f"--keep is for a folder of backups, and {place!r} is none",
            hint="End its name in `/`: the folder is made.",
        )
    access = Access(busy_timeout=run.settings.busy_timeout)
    with counting("backing up", unit="blocks") as advance:
        done = backups.back_up(
            run.place, path, access, recipients or (), advance, folder=is_folder, keep=keep
        )
    run.reply(done, lambda: _backed_up_lines(done))


def restore_store(
    run: Session,
    place: str = argument("PLACE", "A backup: a file, a manifest, or a folder for its latest."),
    identity: _Identity = None,
) -> None:
    """Restore a backup into an empty place.

    The place is the store of the settings, where nothing may be yet. The backup is verified first,
    and the store appears only once it is whole.
    """
    access = Access(busy_timeout=run.settings.busy_timeout)
    with counting("restoring", unit="blocks") as advance:
        facts = backups.restore(Path(place).expanduser(), run.place, access, identity, advance)
    with Mind.build(run.settings, create=False, borrow=True) as mind:
        status = mind.secrets.status()
    missing = [key_id for key_id in facts.sealing_keys if key_id not in status.key_ids]
    run.reply(
        {"store": str(run.place), **codec.to_data(facts), "missing_keys": missing},
        lambda: [
            styled(f"Restored {_counted(facts)} of {minute(facts.made_at)} into {run.place}", GOOD)
        ],
    )
    for key_id in missing:
        run.note(
            f"Sensitive memories need the key {key_id}, which no backup holds: bring it back to "
            f"{status.where}. Everything else works without it."
        )


def _backed_up_lines(done: backups.BackedUp) -> Iterator[RenderableType]:
    facts = done.facts
    sealed = " and encrypted" if facts.recipients else ""
    yield styled(f"Backed up {_counted(facts)}{sealed} to {done.place}", GOOD)
    yield styled(f"{done.written:,} bytes written for {facts.size:,} of the store", QUIET)
    if done.removed:
        yield styled(f"{many(done.removed, 'older backup')} removed", QUIET)
    yield from _key_lines(facts)


def _verified_lines(place: str, whole: backups.Verified) -> Iterator[RenderableType]:
    facts = whole.facts
    yield styled(f"{place} is whole: {_counted(facts)} of {minute(facts.made_at)}", GOOD)
    if not whole.opened:
        yield styled("It is encrypted: with --identity the store in it is checked too.", QUIET)
    yield from _key_lines(facts)


def _key_lines(facts: BackupFacts) -> Iterator[RenderableType]:
    for key_id in facts.sealing_keys:
        yield styled(f"Its secrets need the key {key_id}, which is not in it.", QUIET)


def _counted(facts: BackupFacts) -> str:
    versions = many(facts.rows["memories"], "version")
    return f"{versions} of memories, {many(facts.rows['users'], 'registered user')}"
