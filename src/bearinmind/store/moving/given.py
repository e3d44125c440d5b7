"""The rows of a source as a move gives them, under numbers that nobody else has in the target."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

from bearinmind.store.database import Parameters, Row
from bearinmind.store.moving.ends import Snapshot
from bearinmind.store.moving.tables import Table
from bearinmind.types import UserId

Shifts = Mapping[UserId, int]  #: by how much the numbers of an owner change


class Page(NamedTuple):
    """Some rows of a table."""

    rows: Sequence[Row]
    last: Parameters  #: the key of the last one in the source: the next page is behind it


@dataclass(frozen=True, slots=True)
class Given:
    """The rows of a source as they are in the target."""

    snapshot: Snapshot
    shifts: Shifts
    size: int  #: rows of a page

    def pages(self, table: Table, after: Parameters | None = None) -> Iterator[Page]:
        """The rows of a table, behind a key of the source or from the first."""
        places = [table.columns.index(name) for name in table.numbered] if self.shifts else []
        found = self.snapshot.pages(table, after or table.beginning, self.size)
        for rows in found:
            shifted = (
                [_shifted(row, places, self.shifts[row[0]]) for row in rows] if places else rows
            )
            yield Page(shifted, table.key_of(rows[-1]))


def _shifted(row: Row, places: Sequence[int], shift: int) -> Row:
    values = [*row]
    for place in places:
        values[place] += shift
    return tuple(values)


def shifts_of(snapshot: Snapshot) -> Shifts:
    """How the numbers of each owner change so that no two owners use the same one.

    None changes when no two do. The order of an owner's numbers stays what it is.
    """
    ranges = snapshot.read("number_ranges")
    in_order = sorted((first, last) for _, first, last in ranges)
    if all(one[1] < other[0] for one, other in pairwise(in_order)):
        return {}
    shifts: dict[UserId, int] = {}
    free = 1
    for owner, first, last in ranges:
        shifts[owner] = free - first
        free += last - first + 1
    return shifts
