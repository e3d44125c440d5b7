"""A Postgres database: reading it, and writing it in transactions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from copy import copy
from itertools import count
from time import monotonic, sleep
from typing import TYPE_CHECKING, Any, LiteralString

import psycopg
from psycopg import Connection

from bearinmind import errors
from bearinmind.store.database import NOTHING, Parameters, Row, Steps
from bearinmind.store.postgres.connection_pool import (
    UNCHANGED,
    UNKNOWN,
    Connections,
    is_lost,
    translate,
    translated,
)
from bearinmind.store.postgres.lexicon import mark
from bearinmind.store.postgres.queries import (
    SQL,
    StoreConnection,
    copy_form,
    numbered,
    set_everywhere,
)
from bearinmind.store.rows import form_of
from bearinmind.text.analysis import Entry
from bearinmind.trace import StepKind, measured, step
from bearinmind.types import Space, UserId

if TYPE_CHECKING:
    from bearinmind.protocols import Vectors
    from bearinmind.store.postgres.replica import Replica

_COPY_FROM = 20  # rows; fewer are inserted faster one by one
_ATTEMPTS = 3  # at beginning a transaction; each is on another connection
_COMES_BACK = 10.0  # seconds that a machine of a spread store may need to say what it has
_PAUSE = 0.5  # seconds between two such questions
_EACH = "each_"  # before the name of a parameter that is a list
_NUMBERS = 16  # an owner's numbers that a transaction takes at once; most need fewer


class Pool:
    """Satisfies `bearinmind.store.database.Database`."""

    steps = Steps(
        keep_vector=("keep_vector",),
        copy_vector=("copy_vector",),
        drop_space=("drop_space", "drop_vectors", "drop_counts"),
        closed=("delay_jobs",),
        unembedded=("queue_comparisons",),
        indexed=("count_indexed",),
        forgotten=(),
        vectors_erased=("erase_embedded",),
    )

    def __init__(
        self,
        url: str,
        *,
        connections: int = 16,
        busy_timeout: float = 60.0,
        patience: float = 60.0,
        absence: float = 30.0,
    ) -> None:
        self.connections = Connections(url, most=connections, patience=patience)
        self._limits = {"waiting": _milliseconds(busy_timeout), "absent": _milliseconds(absence)}
        self._replica: Replica | None = None
        self._reads_replica = False
        self.is_spread = False  #: over other machines, on which settings have to hold too

    @property
    def place(self) -> str:
        return self.connections.place

    def close(self) -> None:
        if self._replica is not None:
            self._replica.close()
        self.connections.close()

    def followed_by(self, replica: Replica) -> Pool:
        """This database, read from a replica that is told of every write through this pool."""
        self._replica = replica
        other = copy(self)
        other._reads_replica = True  # noqa: SLF001  (its own kind)
        return other

    def replica_lag(self) -> float | None:
        return None if self._replica is None else self._replica.lag()

    # ---- reading -------------------------------------------------------------------------------

    @measured
    def read(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        form = form_of(statement, parameters)
        return self._reading(lambda connection: connection.reads.rows(form, parameters))

    def read_with(
        self, settings: Mapping[str, str], statement: str, parameters: Parameters = NOTHING
    ) -> list[Row]:
        """All rows of a statement, with settings for this statement alone; in one round trip."""
        text = SQL[form_of(statement, parameters)]

        def read(connection: StoreConnection) -> list[Row]:
            with connection.pipeline(), connection.transaction():
                if self.is_spread:
                    set_everywhere(connection, settings)
                else:
                    named = {"names": [*settings], "values": [*settings.values()]}
                    connection.execute(SQL["set_all_for_transaction"], named)
                cursor = connection.execute(text, parameters, binary=True)
            return cursor.fetchall()

        with step(StepKind.SQL, statement):
            return self._reading(read)

    def _reading(self, read: Callable[[StoreConnection], list[Row]]) -> list[Row]:
        """Read, and read again when the connection was lost."""
        if self._replica is not None and self._reads_replica:
            answer = self._replica.answer(read)
            if answer is not None:
                return answer
        with translated(self.place):
            try:
                with self.connections.connection() as connection:
                    return read(connection)
            except psycopg.Error as exc:
                if not is_lost(exc):
                    raise
                with self.connections.connection() as connection:
                    return read(connection)

    # ---- writing -------------------------------------------------------------------------------

    @contextmanager
    def writing(self, *owners: UserId, alone: bool = False) -> Iterator[PostgresTransaction]:
        try:
            with (
                translated(self.place, UNCHANGED),
                self._begun(sorted({*owners}), alone=alone) as transaction,
            ):
                yield transaction
                lost = transaction.commit()
        finally:  # even when it failed: perhaps it happened
            if self._replica is not None:
                self._replica.wrote()
        if lost is None:
            return
        kept = self._is_kept(transaction.version)
        if not kept:
            raise translate(lost, self.place, UNKNOWN if kept is None else UNCHANGED) from lost
        if self.is_spread and transaction.jobs:  # the coordinator may not have committed
            with suppress(errors.StoreFailure), self.writing() as again:  # a sweep finds the rest
                again.change_each("insert_lost_job", transaction.jobs)

    @contextmanager
    def _begun(self, owners: Sequence[UserId], *, alone: bool) -> Iterator[PostgresTransaction]:
        """Begin, on another connection when one is lost."""
        for attempt in count(1):
            with self.connections.connection() as connection:
                transaction = PostgresTransaction(connection, is_spread=self.is_spread)
                try:
                    with step(StepKind.SQL, "begin"):
                        transaction.begin(owners, self._limits, alone=alone)
                except psycopg.Error as exc:
                    transaction.abandon(exc)
                    if attempt == _ATTEMPTS or not is_lost(exc):
                        raise
                    continue
                try:
                    yield transaction
                except BaseException as exc:
                    transaction.abandon(exc)
                    raise
                return

    def _is_kept(self, version: Parameters | None) -> bool | None:
        """Whether a version of a memory is stored durably; None when that is unknown."""
        deadline = monotonic() + (_COMES_BACK if self.is_spread else 0.0)
        while version is not None:
            try:
                # The turn comes when the other transaction has ended, and what comes after it in
                # the log is not durable before it.
                with self.writing(version["owner"]) as transaction:
                    return transaction.row("kept_version", version) is not None
            except errors.StoreFailure:
                if monotonic() >= deadline:
                    break
                sleep(_PAUSE)  # a machine that died may be back in a moment
        return None

    def alone(self, statement: LiteralString, parameters: Parameters = NOTHING) -> list[Row]:
        """Run one statement outside of any transaction, on a connection of its own."""
        with translated(self.place), self.connections.alone() as connection:
            return _fetch(connection, statement, parameters)

    # ---- parameters ----------------------------------------------------------------------------

    def entry_parameters(self, owner: UserId, entry: Entry) -> Parameters:
        return entry._asdict() | {"mark": mark(owner)}

    def vector_parameters(self, space: Space, vectors: Vectors, count: int) -> list[Parameters]:
        """The `count` vectors of a space, each in half precision."""
        from bearinmind.store.half_precision import halves_of  # noqa: PLC0415 (numpy is slow to import)
        from bearinmind.store.postgres.vectors import to_halfvec  # noqa: PLC0415 (numpy is slow to import)

        halves = halves_of(vectors, count, space.dimensions)
        return [{"vector": to_halfvec(half)} for half in halves]


class PostgresTransaction:
    """Satisfies `bearinmind.store.database.Transaction`."""

    def __init__(self, connection: Connection[Any], *, is_spread: bool = False) -> None:
        self.version: Parameters | None = None  #: of a memory, the last one that was added
        self.jobs: list[Parameters] = []  #: that were queued
        self._connection = connection
        self._is_spread = is_spread
        self._numbers: dict[UserId, range] = {}

    def begin(self, owners: Sequence[UserId], limits: Parameters, *, alone: bool) -> None:
        """Begin, and lock these owners, always in the same order."""
        lock = "keep_others_out" if alone else "keep_loners_out"
        with self._connection.pipeline():
            self._connection.execute("BEGIN")
            self._connection.execute(SQL["limit_transaction"], limits)
            if self._is_spread:
                set_everywhere(self._connection, {"lock_timeout": limits["waiting"]})
            if owners or alone:
                self._connection.execute(SQL[lock])
            turns = [
                self._connection.execute(SQL["take_turn"], {"owner": owner, "count": _NUMBERS})
                for owner in owners
            ]
        for owner, turn in zip(owners, turns, strict=True):
            [[last]] = turn.fetchall()
            self._numbers[owner] = range(last - _NUMBERS + 1, last + 1)

    def commit(self) -> psycopg.Error | None:
        """Commit, durably. The error when the answer is lost: the commit may have happened.

        Any error may mean that on a spread store: the machine of the rows commits first.
        """
        try:
            with step(StepKind.SQL, "commit"):
                self._connection.execute("COMMIT")
        except psycopg.Error as exc:
            if not is_lost(exc) and not self._is_spread:
                raise
            self._connection.close()
            return exc
        return None

    def abandon(self, reason: BaseException) -> None:
        """Roll back. A lost connection has been rolled back by the server."""
        if is_lost(reason):
            self._connection.close()
            return
        try:
            self._connection.execute("ROLLBACK")
        except psycopg.Error:
            self._connection.close()

    @measured
    def rows(self, statement: str, parameters: Parameters = NOTHING) -> list[Row]:
        self._note(statement, parameters)
        return _fetch(self._connection, SQL[form_of(statement, parameters)], parameters)

    @measured
    def row(self, statement: str, parameters: Parameters = NOTHING) -> Row | None:
        return self._connection.execute(SQL[form_of(statement, parameters)], parameters).fetchone()

    @measured
    def rows_of_each(self, statement: str, each: Sequence[Parameters]) -> list[list[Row]]:
        if len(each) > 1 and f"{statement}_many" in SQL:
            answers: list[list[Row]] = [[] for _ in each]
            for given in _listed(f"{statement}_many", each):  # all are of one owner
                for place, *row in _fetch(self._connection, SQL[f"{statement}_many"], given):
                    answers[place - 1].append(tuple(row))
            return answers
        with self._connection.pipeline():
            cursors = [self._connection.execute(SQL[statement], parameters) for parameters in each]
        return [cursor.fetchall() for cursor in cursors]

    @measured
    def change(self, statement: str, parameters: Parameters = NOTHING) -> int:
        return self._connection.execute(SQL[form_of(statement, parameters)], parameters).rowcount

    @measured
    def change_each(self, statement: str, each: Sequence[Parameters]) -> int:
        if not each:
            return 0
        if len(each) > 1 and f"{statement}_many" in SQL:
            many = SQL[f"{statement}_many"]
            listed = _listed(f"{statement}_many", each)
            return sum(self._connection.execute(many, given).rowcount for given in listed)
        with self._connection.cursor() as cursor:
            cursor.executemany(SQL[statement], each)
            return cursor.rowcount

    @measured
    def insert(self, statement: str, each: Sequence[Parameters]) -> None:
        """Add rows that are known to be new; many of them by COPY."""
        self._note(statement, *each)
        if len(each) < _COPY_FROM:
            self.change_each(statement, each)
            return
        copy = copy_form(statement)
        with self._connection.cursor() as cursor, cursor.copy(copy.statement) as into:
            for parameters in each:
                into.write_row([parameters[name] for name in copy.parameters])

    def numbers(self, owner: UserId, count: int) -> Sequence[int]:
        left = self._numbers[owner]
        if len(left) < count:
            [[last]] = self.rows("take_turn", {"owner": owner, "count": count})
            left = range(last - count + 1, last + 1)
        self._numbers[owner] = left[count:]
        return left[:count]

    def _note(self, statement: str, *each: Parameters) -> None:
        """Remember an added version: it shows later whether the transaction happened; and jobs."""
        if statement == "insert_memory" and each:
            self.version = each[-1]
        elif statement == "insert_job":
            self.jobs += each


def _milliseconds(seconds: float) -> str:
    return f"{max(1, round(seconds * 1e3))}ms"  # none would mean for ever


def _fetch(
    connection: Connection[Any], statement: LiteralString, parameters: Parameters
) -> list[Row]:
    # Numbers, and vectors above all, are read several times faster in their binary form.
    cursor = connection.execute(statement, parameters or None, binary=True)
    # Not `cursor.description`, which makes an object of every column.
    return cursor.fetchall() if cursor.pgresult and cursor.pgresult.nfields else []


def _listed(statement: str, each: Sequence[Parameters]) -> list[Parameters]:
    """The parameters of the form of a statement that takes a list `each_name` for every `name`.

    What has no such list is the same for all of a run. Of a statement of several steps each may go
    to another machine, so that one run for all is far faster.
    """
    names = numbered(statement).names
    lists = {name: name.removeprefix(_EACH) for name in names if name.startswith(_EACH)}
    shared = [name for name in names if name not in lists]
    alike: dict[tuple[Any, ...], list[Parameters]] = {}
    for parameters in each:
        alike.setdefault(tuple(parameters[name] for name in shared), []).append(parameters)
    return [
        dict(zip(shared, values, strict=True))
        | {name: [one[of] for one in group] for name, of in lists.items()}
        for values, group in alike.items()
    ]
