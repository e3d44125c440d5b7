"""Moves a whole store into an empty one, page by page; the source is only read.

Every page is written in one transaction with the progress of the move: an interrupted move goes on
after the last page that was written. The target cannot be opened until all of it was compared with
the source.
"""

from __future__ import annotations

import json
import marshal
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from hashlib import blake2b
from importlib.metadata import version
from itertools import pairwise
from typing import NamedTuple

from bearinmind import errors
from bearinmind.store.database import Parameters, Row, Transaction
from bearinmind.store.transfer import INDEXED, STANDING, TABLES, VECTORS, Endpoint, Snapshot, Table
from bearinmind.text.analysis import Entry
from bearinmind.types import UserId

PAGE = 2_000  # rows
_SETTLED = "settled"  # the stage after the last table

Advance = Callable[[int], None]


class Preview(NamedTuple):
    """How many rows there are to move, and how many were moved before."""

    rows: Counts
    moved: int | None  #: rows of an unfinished move; None when none was begun


def preview(source: Endpoint, target: Endpoint | None) -> Preview:
    """Look at both ends without changing anything; there may be no target yet."""
    with source.snapshot() as snapshot:
        described = Description.of(snapshot)
    if target is None or not target.is_there():
        return Preview(described.rows, None)
    so_far = resume_point(target, described)
    if so_far is None:
        _refuse_unless_empty(target, target.database.read("holds_anything"))
    return Preview(described.rows, so_far.moved if so_far else None)


@contextmanager
def open_move(
    source: Endpoint,
    target: Endpoint,
    *,
    restart: bool = False,
    page: int = PAGE,
    shifts: Shifts | None = None,
) -> Iterator[Move]:
    """A move from one store into another: a new one, or one that was not finished.

    With `restart` the rows of an unfinished move are removed first. A page has `page` rows. The
    numbers of owners are shifted by `shifts`; if none are given, where they could not stay.
    """
    with source.snapshot() as snapshot:
        described = Description.of(snapshot)
        if restart and _is_unfinished(target):
            target.discard()
        if described.rows["vectors"]:
            target.refuse_vectors()
        if shifts is None:
            shifts = {} if target.numbers_by_owner else shifts_of(snapshot)
        source_rows = SourceRows(snapshot, shifts, page)
        yield Move(source_rows, target, described, resume_point(target, described))


class Compared(NamedTuple):
    """A table that is the same at both ends."""

    table: str
    rows: int
    digest: str


class Move:
    """A running move: first everything is copied, then all of it is compared."""

    def __init__(
        self,
        source_rows: SourceRows,
        target: Endpoint,
        described: Description,
        so_far: Progress | None,
    ) -> None:
        self.rows = described.rows  #: how many there are to move, by table
        self.resumed = so_far is not None
        self.shifts = source_rows.shifts
        self.renumbered = bool(self.shifts)
        self._source_rows = source_rows
        self._target = target
        self._progress = so_far or _begin(target, described)

    @property
    def moved(self) -> int:
        """How many rows the target has."""
        return self._progress.moved

    def copy(self, advance: Advance) -> None:
        """Write the rows that the target does not have yet."""
        if self._progress.stage == _SETTLED:
            return
        stages = [table.name for table in TABLES].index(self._progress.stage)
        for table in TABLES[stages:]:
            if table.derived:
                continue
            after = self._progress.after if self._progress.stage == table.name else None
            for page in self._source_rows.pages(table, after):
                counted = len(page.rows) if table.name in self.rows else 0
                self._write(table, page, counted)
                advance(counted)
        with self._target.database.writing() as transaction:
            settled = self._progress.noted(transaction, self._target, 0, _SETTLED, {})
            for statement in self._target.steps.settling:
                transaction.change(statement)
        self._progress = settled

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
        """Compare every table by its count and hash; when all are the same, the move is done."""
        with self._target.snapshot() as there:
            digests = [(table, *self._digests(table, there, advance)) for table in TABLES]
        wrong = [_difference(*each) for each in digests if each[1] != each[2]]
        if wrong:
            raise errors.MoveNotVerified(
                f"{self._target.place} does not hold what was moved into it: {'; '.join(wrong)}"
            )
        with self._target.database.writing(alone=True) as transaction:
            if transaction.rows("is_unfinished")[0][0]:  # another process may have ended it
                for statement in ("end_move", *self._target.steps.ending):
                    transaction.change(statement)
        self._target.rest()
        return [Compared(table.name, actual.rows, str(actual)) for table, _, actual in digests]

    def _digests(self, table: Table, there: Snapshot, advance: Advance) -> tuple[Digest, Digest]:
        expected, actual = Digest(), Digest()
        for page in self._source_rows.pages(table):
            expected.add(page.rows)
            advance(len(page.rows) if table.name in self.rows else 0)
        for rows in there.pages(table, table.beginning, self._source_rows.size):
            actual.add(rows)
            advance(len(rows) if table.name in self.rows else 0)
        return expected, actual


def _difference(table: Table, expected: Digest, actual: Digest) -> str:
    if expected.rows == actual.rows:
        return f"{table.name}: {expected.rows:,} rows, but not the same ones"
    return f"{table.name}: {actual.rows:,} rows of {expected.rows:,}"


Shifts = Mapping[UserId, int]  #: by how much the numbers of an owner change


class Page(NamedTuple):
    """Some rows of a table."""

    rows: Sequence[Row]
    last: Parameters  #: the key of the last one in the source: the next page is behind it


@dataclass(frozen=True, slots=True)
class SourceRows:
    """The rows of a source as they are in the target."""

    snapshot: Snapshot
    shifts: Shifts
    size: int  #: rows of a page

    def pages(self, table: Table, after: Parameters | None = None) -> Iterator[Page]:
        """The rows of a table, behind a key of the source or from the first."""
        places = [table.columns.index(name) for name in table.numbered] if self.shifts else []
        pages = self.snapshot.pages(table, after or table.beginning, self.size)
        for rows in pages:
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

    Empty when no two do. The order of an owner's numbers stays.
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


Counts = Mapping[str, int]  #: rows by table


class Description(NamedTuple):
    """Counts and marks of every table: they differ when the store has changed."""

    rows: Counts
    text: str

    @classmethod
    def of(cls, snapshot: Snapshot) -> Description:
        facts = {name: [rows, str(mark)] for name, rows, mark in snapshot.read("moving_facts")}
        described = {"release": version("bearinmind"), "tables": facts}
        counts = {name: rows for name, (rows, _) in facts.items()}
        return cls(counts, json.dumps(described, sort_keys=True))

    def differs_from(self, before: str) -> str:
        """What has changed since an earlier description, for messages."""
        was, now = json.loads(before), json.loads(self.text)
        if was["release"] != now["release"]:
            return f"it was begun by Bear in Mind {was['release']}, this is {now['release']}"
        changed = [name for name, facts in now["tables"].items() if facts != was["tables"][name]]
        return f"other {', '.join(changed)}"


class Progress(NamedTuple):
    """The progress of a move."""

    moved: int  #: rows
    stage: str  #: the table that was written last
    after: Parameters  #: the key of its last row

    def noted(
        self, transaction: Transaction, target: Endpoint, rows: int, stage: str, after: Parameters
    ) -> Progress:
        """Record the progress after `rows` more rows; it locks out other writers until the end."""
        noted = transaction.change(
            "note_progress",
            {
                "rows": rows,
                "stage": stage,
                "after": json.dumps(dict(after)),
                "moved": self.moved,
                "before": self.stage,
            },
        )
        if not noted:
            raise errors.StoreBusy(
                f"another process moves into {target.place}",
                hint="Let it finish, or stop it and run the command again.",
            )
        return Progress(self.moved + rows, stage, after)


def _is_unfinished(target: Endpoint) -> bool:
    return bool(target.is_there() and target.database.read("is_unfinished")[0][0])


def resume_point(target: Endpoint, described: Description) -> Progress | None:
    """The progress of an unfinished move from this source; None when none was begun."""
    if not _is_unfinished(target):
        return None
    [[before, moved, stage, after]] = target.database.read("progress")
    if before != described.text:
        raise errors.StoreChanged(
            f"{target.place} holds an unfinished move from a store that was not what this one is"
            f" now: {described.differs_from(before)}"
        )
    return Progress(moved, stage, json.loads(after))


def _begin(target: Endpoint, described: Description) -> Progress:
    """Make an empty store the target of a move."""
    first = TABLES[0]
    with target.database.writing(alone=True) as transaction:
        _refuse_unless_empty(target, transaction.rows("holds_anything"))
        for statement in (*target.steps.beginning, "begin_move"):
            transaction.change(statement)
        place = {"stage": first.name, "after": json.dumps(dict(first.beginning))}
        transaction.change("begin_progress", {"source": described.text, **place})
    return Progress(0, first.name, first.beginning)


def _refuse_unless_empty(target: Endpoint, holds_anything: list[Row]) -> None:
    if holds_anything[0][0]:
        raise errors.StoreNotEmpty(f"{target.place} is not empty")


_BYTES = 16
_MODULUS = 2 ** (8 * _BYTES)
_PLAIN = 2  # the last version of marshal's form in which equal values have equal bytes


@dataclass(slots=True)
class Digest:
    """How many rows there were, and the sum of their hashes.

    Each store gives its rows in the order of its own keys; a sum is the same in any.
    """

    rows: int = 0
    total: int = 0

    def add(self, rows: Iterable[Row]) -> None:
        for row in rows:
            hashed = blake2b(marshal.dumps(row, _PLAIN), digest_size=_BYTES)
            self.rows += 1
            self.total = (self.total + int.from_bytes(hashed.digest())) % _MODULUS

    def __str__(self) -> str:
        return f"{self.total:0{2 * _BYTES}x}"
