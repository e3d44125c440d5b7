"""Moving a store as people read it in a terminal."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from rich.console import RenderableType

from bearinmind.store.migrate_store import Preview
from bearinmind.surfaces.moving import Moved
from bearinmind.surfaces.render import GOOD, QUIET, data, grid, many

#: Not tables of their own: a column, and counts beside the rows.
_LESSER = {"standing", "index_facts"}


def look(value: Preview, target: str) -> Iterator[RenderableType]:
    """What would be moved."""
    yield _counted(value.rows)
    there = value.moved or 0
    would = f"{many(sum(value.rows.values()) - there, 'row')} would be moved into {target}"
    yield data(f"{would}; {there:,} are there already" if there else would)


def moved(value: Moved, source: str, target: str) -> Iterator[RenderableType]:
    """What was moved."""
    yield _counted({each.table: each.rows for each in value.tables})
    yield data(f"Moved into {target}: counts and hashes are the same at both ends", GOOD)
    if value.renumbered:
        yield data("Relations have other numbers there: several users had used the same ones")
    yield data(f"{source} was not changed; set `store`, or give --store, to use the new one", QUIET)


def _counted(rows: Mapping[str, int]) -> RenderableType:
    """How many rows the tables have that have any."""
    table = grid("-", ">")
    for name, count in rows.items():
        if count and name not in _LESSER:
            table.add_row(name, f"{count:,}")
    return table
