"""The commands that move memories between stores: export, import, and migrate-store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, NamedTuple

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.config import store_name
from bearinmind.errors import InvalidInput
from bearinmind.store.factory import Access, open_existing_target, open_source, open_target
from bearinmind.store.migrate_store import Compared, open_move
from bearinmind.store.migrate_store import preview as look_at
from bearinmind.surfaces import transfer
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.options import argument, flag, option
from bearinmind.surfaces.cli.terminal import (
    GOOD,
    QUIET,
    SHOWN_PROBLEMS,
    Session,
    counting,
    grid,
    many,
    memory_count,
    styled,
    version,
)
from bearinmind.surfaces.foreign import NAMES, OWN, FilesImport, FilesImported
from bearinmind.surfaces.lines import STANDARD
from bearinmind.text.addresses import StoreFile, StoreName

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bearinmind.surfaces.transfer import Exported


def export_memories(
    run: Session,
    file: str = argument("FILE", "Where to; `.gz` compresses it.", "-"),
) -> None:
    """Write every memory, version and link as JSON Lines.

    What others share is not in it: it is theirs to export.
    """
    with (
        run.existing_store("nothing was exported.") as mind,
        counting("exporting", mind.stats().held) as advance,
        run.new_file(file) as write,
    ):
        done = transfer.export(mind, write, version(), advance)
    _reply_exported(run, file, done)


def import_memories(
    run: Session,
    files: list[str] = argument(
        "FILE", "Exports, databases and folders of notes; `-` reads our own lines."
    ),
    from_: str | None = option(
        "--from", f"What they are, if that is not seen: {', '.join(NAMES)}."
    ),
    dry_run: bool = flag("--dry-run", "Show what would be added, and add nothing."),
    wait: bool = options.WAIT,
) -> None:
    """Add memories from other programs, notes and exports.

    The format of each file is recognised by its content. What is there already is left alone.
    """
    if from_ is not None and from_ not in NAMES:
        raise InvalidInput(f"{from_!r} is no format", hint=f"Use one of {', '.join(NAMES)}.")
    with ExitStack() as closing:
        mind = closing.enter_context(_preview_store(run) if dry_run else run.open())
        with counting("importing") as advance:
            importing = FilesImport(
                mind,
                dry_run=dry_run,
                most_problems=None if run.as_json else SHOWN_PROBLEMS,
                advance=advance,
            )
            done = importing(files, from_)
        run.note_new_key(mind.secrets.vault)
        if wait and not dry_run:
            run.wait_for_work(mind)
    if done.imported.stored and not wait and not dry_run:
        run.start_worker()
    data = codec.to_data(done)  # the counts of the import, and what is known of its files
    run.reply(data.pop("imported") | data, lambda: _imported_lines(done))
    run.end_import(done.imported.problems, done.imported.bad)


@contextmanager
def _preview_store(run: Session) -> Iterator[Mind]:
    """The store, or an empty one elsewhere while there is none: a preview makes nothing."""
    mind = run.find()
    if mind is not None:
        with mind:
            yield mind
        return
    with TemporaryDirectory() as folder:
        place = StoreFile(Path(folder) / "preview.db")
        with Mind.build(run.settings.model_copy(update={"store": place})) as empty:
            yield empty


def _reply_exported(run: Session, file: str, done: Exported) -> None:
    """Say what was written, where it does not mix with what was written."""
    if file != STANDARD:
        counted = f"{memory_count(done.memories)} and {many(done.links, 'link')}"
        run.say({"file": file, **codec.to_data(done)}, f"Exported {counted} to {file}")
    if done.shared and not run.as_json:
        left_out = memory_count(done.shared)
        are = "is" if done.shared == 1 else "are"
        run.note(f"note: {left_out} shared with you {are} not in it")


def _imported_lines(done: FilesImported) -> Iterator[RenderableType]:
    for file, name in done.formats.items():
        if name != OWN:
            yield styled(f"{file}: {name}", QUIET)
    preview = "Preview: " if done.dry_run else ""
    yield styled(f"{preview}{_summary(done)}")
    for kind, count in done.imported.secrets.items():
        yield styled(f"secrets: {kind} in {count:,}", QUIET)
    for name, count in done.dropped.items():
        yield styled(f"not kept: {name} of {many(count, 'record')}, too long or too many", QUIET)
    for skip in done.skipped[:SHOWN_PROBLEMS]:
        yield styled(f"skipped: {skip.file} line {skip.line}: {skip.message}", QUIET)
    if len(done.skipped) > SHOWN_PROBLEMS:
        yield styled(f"and {len(done.skipped) - SHOWN_PROBLEMS:,} more; --json lists them", QUIET)
    if done.proposed and not done.dry_run:
        yield styled("`bearinmind curate inbox` shows what is proposed.", QUIET)


def _summary(done: FilesImported) -> str:
    counts = done.imported
    parts = [
        f"{memory_count(counts.stored)} stored",
        f"{memory_count(counts.known)} known already",
        f"{many(counts.links_stored, 'link')} added",
        f"{many(counts.links_known, 'link')} known already",
    ]
    if counts.sensitive:
        parts[0] += f" ({counts.sensitive:,} of them sensitive)"
    if done.split:
        parts.append(f"{many(done.split, 'long record')} split")
    if done.proposed:
        parts.append(f"{many(done.proposed, 'lesson')} proposed")
    if done.skipped:
        parts.append(f"{len(done.skipped):,} skipped")
    bad = [f"{many(counts.bad, 'bad line')} skipped"] if counts.bad else []
    return ", ".join(parts + bad)


def migrate_store(
    run: Session,
    from_: str = argument("FROM", "The store to move, named as for --store. It is only read."),
    to: str = argument("TO", "An empty store; it is made if there is none."),
    dry_run: bool = flag("--dry-run", "Show what would be moved, and move nothing."),
    restart: bool = flag("--restart", "Start an unfinished move into TO from the beginning."),
) -> None:
    """Move a whole store, of every user, into an empty one."""
    source, target = store_name(from_), store_name(to)
    places = {"from": str(source), "to": str(target)}
    access = Access(busy_timeout=run.settings.busy_timeout)
    if dry_run:
        with open_source(source, access) as one, open_existing_target(target, access) as other:
            seen = look_at(one, other)
        there = seen.moved or 0
        would = f"{many(sum(seen.rows.values()) - there, 'row')} would be moved into {target}"
        would += f"; {there:,} are there already" if there else ""
        run.reply({**places, **codec.to_data(seen)}, lambda: [_counted(seen.rows), styled(would)])
        return
    done = _move(source, target, access, restart=restart, note=run.note)
    run.reply(
        {**places, **codec.to_data(done)}, lambda: _moved_lines(done, str(source), str(target))
    )


class Moved(NamedTuple):
    """A move that is done."""

    tables: Sequence[Compared]
    resumed: bool  #: it had been interrupted
    renumbered: bool  #: relations have other numbers now


def _move(
    source: StoreName,
    target: StoreName,
    access: Access,
    *,
    restart: bool,
    note: Callable[[str], None],
) -> Moved:
    """Move a store, and show how far that is."""
    with (
        open_source(source, access) as one,
        open_target(target, access) as other,
        open_move(one, other, restart=restart) as going,
    ):
        if going.resumed:
            note(f"going on with an unfinished move: {going.moved:,} rows are there already")
        rows = sum(going.rows.values())
        with counting("moving", rows, "rows") as advance:
            advance(going.moved)
            going.copy(advance)
        with counting("comparing", 2 * rows, "rows") as advance:
            compared = going.verify(advance)
    renumbered = going.renumbered and going.rows["relations"] > 0
    return Moved(compared, going.resumed, renumbered)


#: Not tables of their own: a column, and counts beside the rows.
_LESSER = {"standing", "index_facts"}


def _moved_lines(value: Moved, source: str, target: str) -> Iterator[RenderableType]:
    yield _counted({each.table: each.rows for each in value.tables})
    yield styled(f"Moved into {target}: counts and hashes are the same at both ends", GOOD)
    if value.renumbered:
        yield styled("Relations have other numbers there: several users had used the same ones")
    yield styled(
        f"{source} was not changed; set `store`, or give --store, to use the new one", QUIET
    )


def _counted(rows: Mapping[str, int]) -> RenderableType:
    """How many rows the tables have that have any."""
    shown = [(name, f"{n:,}") for name, n in rows.items() if n and name not in _LESSER]
    return grid("-", ">", rows=shown)
