"""What `bearinmind migrate-store` does, and shows while it does it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bearinmind.store.choose import Access
from bearinmind.store.moving.move import Compared, Look, begun
from bearinmind.store.moving.move import look as look_at
from bearinmind.store.moving.opening import found_target, opened_source, opened_target
from bearinmind.store_name import StoreName
from bearinmind.surfaces import progress

_ROWS = "rows"


class Moved(NamedTuple):
    """A move that is done."""

    tables: Sequence[Compared]
    resumed: bool  #: it had been interrupted
    renumbered: bool  #: relations have other numbers now


def look(source: StoreName, target: StoreName, access: Access) -> Look:
    """What would be moved."""
    with opened_source(source, access) as one, found_target(target, access) as other:
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
        opened_source(source, access) as one,
        opened_target(target, access) as other,
        begun(one, other, restart=restart) as going,
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
