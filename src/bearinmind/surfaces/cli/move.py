"""The commands that move memories between stores: export, import, and migrate-store."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from bearinmind import codec
from bearinmind.store.factory import Access, open_existing_target, open_source, open_target
from bearinmind.store.migrate_store import Compared, Preview, open_move
from bearinmind.store.migrate_store import preview as look_at
from bearinmind.surfaces import transfer
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.session import SHOWN_PROBLEMS, Session, version
from bearinmind.surfaces.cli.terminal import GOOD, QUIET, counting, grid, many, memory_count, styled
from bearinmind.surfaces.lines import STANDARD, created, numbered, opened
from bearinmind.text.store_name import StoreName, store_name

if TYPE_CHECKING:
    from rich.console import RenderableType

    from bearinmind.surfaces.transfer import Exported, Imported


def export_memories(
    run: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="Where to; `.gz` compresses it.")
    ] = "-",
) -> None:
    """Write every memory, version and link as JSON Lines.

    What others share is not in it: it is theirs to export.
    """
    with (
        run.existing_store("nothing was exported.") as mind,
        counting("exporting", mind.stats().held) as advance,
        created(file) as write,
    ):
        done = transfer.export(mind, write, version(), advance)
    _reply_exported(run, file, done)


def import_memories(
    run: Session,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="JSON Lines: an export, or any with `content`.")
    ],
    wait: options.Wait = False,
) -> None:
    """Add memories and links from JSON Lines."""
    with opened(file) as stream, run.open() as mind:
        with counting("importing") as advance:
            importing = transfer.Import(
                mind, most_problems=None if run.as_json else SHOWN_PROBLEMS, advance=advance
            )
            done = importing(numbered(stream))
        run.note_new_key(mind.secrets.vault)
        if wait:
            run.wait_for_work(mind)
    if done.stored and not wait:
        run.start_worker()
    run.say(done, _summary(done))
    run.end_import(done.problems, done.bad)


def _reply_exported(run: Session, file: str, done: Exported) -> None:
    """Say what was written, where it does not mix with what was written."""
    if file != STANDARD:
        counted = f"{memory_count(done.memories)} and {many(done.links, 'link')}"
        run.say({"file": file, **codec.to_data(done)}, f"Exported {counted} to {file}")
    if done.shared and not run.as_json:
        left_out = memory_count(done.shared)
        are = "is" if done.shared == 1 else "are"
        run.note(f"note: {left_out} shared with you {are} not in it")


def _summary(done: Imported) -> str:
    parts = [
        f"{memory_count(done.stored)} stored",
        f"{memory_count(done.known)} known already",
        f"{many(done.links_stored, 'link')} added",
        f"{many(done.links_known, 'link')} known already",
    ]
    if done.sensitive:
        parts[0] += f" ({done.sensitive:,} of them sensitive)"
    bad = [f"{many(done.bad, 'bad line')} skipped"] if done.bad else []
    return ", ".join(parts + bad)


def migrate_store(
    run: Session,
    from_: Annotated[
        str,
        typer.Argument(
            metavar="FROM", help="The store to move, named as for --store. It is only read."
        ),
    ],
    to: Annotated[
        str, typer.Argument(metavar="TO", help="An empty store; it is made if there is none.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would be moved, and move nothing.")
    ] = False,
    restart: Annotated[
        bool, typer.Option("--restart", help="Start an unfinished move into TO from the beginning.")
    ] = False,
) -> None:
    """Move a whole store, of every user, into an empty one."""
    source, target = store_name(from_), store_name(to)
    places = {"from": str(source), "to": str(target)}
    access = Access(busy_timeout=run.settings.busy_timeout)
    if dry_run:
        with open_source(source, access) as one, open_existing_target(target, access) as other:
            seen = look_at(one, other)
        run.reply({**places, **codec.to_data(seen)}, lambda: _look_lines(seen, str(target)))
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
    return Moved(compared, going.resumed, going.renumbered)


#: Not tables of their own: a column, and counts beside the rows.
_LESSER = {"standing", "index_facts"}


def _look_lines(value: Preview, target: str) -> Iterator[RenderableType]:
    """What would be moved."""
    yield _counted(value.rows)
    there = value.moved or 0
    would = f"{many(sum(value.rows.values()) - there, 'row')} would be moved into {target}"
    yield styled(f"{would}; {there:,} are there already" if there else would)


def _moved_lines(value: Moved, source: str, target: str) -> Iterator[RenderableType]:
    """What was moved."""
    yield _counted({each.table: each.rows for each in value.tables})
    yield styled(f"Moved into {target}: counts and hashes are the same at both ends", GOOD)
    if value.renumbered:
        yield styled("Relations have other numbers there: several users had used the same ones")
    yield styled(
        f"{source} was not changed; set `store`, or give --store, to use the new one", QUIET
    )


def _counted(rows: Mapping[str, int]) -> RenderableType:
    """How many rows the tables have that have any."""
    table = grid("-", ">")
    for name, count in rows.items():
        if count and name not in _LESSER:
            table.add_row(name, f"{count:,}")
    return table
