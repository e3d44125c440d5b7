"""Moves a whole store into an empty one, page by page; what is moved from is only read.

Every page is written in one transaction with how far the move is: one that was interrupted, by
whatever, goes on behind the last page that was written. Nobody can open the store that is moved
into until all of it was compared with what it was moved from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import NamedTuple

from bearinmind import errors
from bearinmind.analysis import Entry
from bearinmind.store.database import Parameters, Row
from bearinmind.store.moving import progress
from bearinmind.store.moving.digests import Digest
from bearinmind.store.moving.ends import End, Snapshot
from bearinmind.store.moving.given import Given, Page, shifts_of
from bearinmind.store.moving.progress import Counts, Description, Progress
from bearinmind.store.moving.tables import INDEXED, STANDING, TABLES, VECTORS, Table

PAGE = 2_000  # rows
_SETTLED = "settled"  # the stage after the last table

Advance = Callable[[int], None]


class Look(NamedTuple):
    """What there is to move, and how much of it was moved before."""

    rows: Counts
    moved: int | None  #: rows of an unfinished move; None when none was begun


def look(source: End, target: End | None) -> Look:
    """Look at both ends without changing anything; there may be no target yet.

    Raises:
        StoreNotEmpty: there is something else in the target.
        StoreChanged: an unfinished move began with another source, or with another state of it.
    """
    with source.snapshot() as snapshot:
        described = Description.of(snapshot)
    if target is None or not target.is_there():
        return Look(described.rows, None)
    so_far = progress.unfinished(target, described)
    if so_far is None:
        progress.refuse_unless_empty(target, target.database.read("holds_anything"))
    return Look(described.rows, so_far.moved if so_far else None)


@contextmanager
def begun(source: End, target: End, *, restart: bool = False, page: int = PAGE) -> Iterator[Move]:
    """A move from one store into another: a new one, or one that was not finished.

    With `restart` what an unfinished one has written is thrown away first. A page of so many rows
    is written in one transaction.

    Raises:
        StoreNotEmpty: there is something else in the target.
        StoreChanged: an unfinished move began with another source, or with another state of it.
        StoreUnavailable: there are vectors, and the target cannot keep any.
    """
    with source.snapshot() as snapshot:
        described = Description.of(snapshot)
        if restart and progress.is_unfinished(target):
            target.discard()
        if described.rows["vectors"]:
            target.refuse_vectors()
        shifts = {} if target.numbers_by_owner else shifts_of(snapshot)
        given = Given(snapshot, shifts, page)
        yield Move(given, target, described, progress.unfinished(target, described))


class Compared(NamedTuple):
    """A table that is the same at both ends."""

    table: str
    rows: int
    digest: str


class Move:
    """A move that goes on: first everything is copied, then all of it is compared."""

    def __init__(
        self, given: Given, target: End, described: Description, so_far: Progress | None
    ) -> None:
        self.rows = described.rows  #: how many there are to move, by table
        self.resumed = so_far is not None
        self.renumbered = bool(given.shifts)
        self._given = given
        self._target = target
        self._progress = so_far or progress.begin(target, described)

    @property
    def moved(self) -> int:
        """How many rows are there already."""
        return self._progress.moved

    def copy(self, advance: Advance) -> None:
        """Write all that is not there yet."""
        if self._progress.stage == _SETTLED:
            return
        stages = [table.name for table in TABLES].index(self._progress.stage)
        for table in TABLES[stages:]:
            if not table.derived:
                self._copy(table, advance)
        with self._target.database.writing() as transaction:
            settled = self._progress.noted(transaction, self._target, 0, _SETTLED, {})
            for statement in self._target.steps.settling:
                transaction.change(statement)
        self._progress = settled

    def _copy(self, table: Table, advance: Advance) -> None:
        after = self._progress.after if self._progress.stage == table.name else None
        for page in self._given.pages(table, after):
            counted = len(page.rows) if table.name in self.rows else 0
            self._write(table, page, counted)
            advance(counted)

    def _write(self, table: Table, page: Page, counted: int) -> None:
        rows = [self._parameters(table, row) for row in page.rows]
        statements = self._target.steps.taking.get(table.name, (f"take_{table.name}",))
        with self._target.database.writing() as transaction:
            now = self._progress.noted(transaction, self._target, counted, table.name, page.last)
            write = transaction.change_each if table is STANDING else transaction.insert
            for statement in statements:
                write(statement, rows)
        self._progress = now

    def _parameters(self, table: Table, row: Row) -> Parameters:
        if table is INDEXED:
            owner, number, *entry = row
            found_by = self._target.database.entry_parameters(owner, Entry._make(entry))
            return {"owner": owner, "row": number, **found_by}
        named = table.named(row)
        if table is VECTORS:
            return {**named, **self._target.vector_parameters(named["vector"])}
        return named

    def verify(self, advance: Advance) -> list[Compared]:
        """Compare every table by its count and hash; when all are the same, the move is done.

        Raises:
            MoveNotVerified: some are not; the target stays closed to everybody.
        """
        with self._target.snapshot() as there:
            found = [(table, *self._digests(table, there, advance)) for table in TABLES]
        wrong = [_difference(*each) for each in found if each[1] != each[2]]
        if wrong:
            raise errors.MoveNotVerified(
                f"{self._target.place} does not hold what was moved into it: {'; '.join(wrong)}"
            )
        progress.end(self._target)
        self._target.rest()
        return [Compared(table.name, taken.rows, str(taken)) for table, _, taken in found]

    def _digests(self, table: Table, there: Snapshot, advance: Advance) -> tuple[Digest, Digest]:
        """What was given, and what is there."""
        given, taken = Digest(), Digest()
        for page in self._given.pages(table):
            given.add(page.rows)
            advance(len(page.rows) if table.name in self.rows else 0)
        for rows in there.pages(table, table.beginning, self._given.size):
            taken.add(rows)
            advance(len(rows) if table.name in self.rows else 0)
        return given, taken


def _difference(table: Table, given: Digest, taken: Digest) -> str:
    if given.rows == taken.rows:
        return f"{table.name}: {given.rows:,} rows, but not the same ones"
    return f"{table.name}: {taken.rows:,} rows of {given.rows:,}"
