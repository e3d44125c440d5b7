"""What `bearinmind migrate-store` does, and shows while it does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bearinmind.store.factory import Access, open_existing_target, open_source, open_target
from bearinmind.store.migrate_store import Compared, Preview, open_move
from bearinmind.store.migrate_store import preview as look_at
from bearinmind.store_name import StoreName
from bearinmind.surfaces import progress

_ROWS = "rows"


class Moved(NamedTuple):
    """A move that is done."""

    tables: Sequence[Compared]
    resumed: bool  #: it had been interrupted
    renumbered: bool  #: relations have other numbers now


def look(source: StoreName, target: StoreName, access: Access) -> Preview:
    """What would be moved."""
    with open_source(source, access) as one, open_existing_target(target, access) as other:
        return look_at(one, other)


def move(
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
        with progress.counting("moving", rows, _ROWS) as advance:
            advance(going.moved)
            going.copy(advance)
        with progress.counting("comparing", 2 * rows, _ROWS) as advance:
            compared = going.verify(advance)
    return Moved(compared, going.resumed, going.renumbered)
