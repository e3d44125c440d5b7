"""Processes that die: before a write, inside of its transaction, or after it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Any, cast

from bearinmind.protocols import Store
from bearinmind.store.postgres.pool import PostgresTransaction
from bearinmind.store.rows import OnDatabase

WRITES = frozenset(
    {
        "put",
        "put_many",
        "replace",
        "purge",
        "add_link",
        "remove_link",
        "change_links",
        "finish_comparison",
        "add_share",
        "end_share",
        "resolve_conflict",
        "note",
        "open_feed",
        "close_feed",
        "receive",
        "keep_peer",
        "settle",
        "refuse",
        "carry_vectors",
    }
)
_STATEMENTS = frozenset({"rows", "row", "rows_of_each", "change", "change_each", "insert"})


class Crash(BaseException):
    """The process is killed here; nobody catches it, as nobody catches a kill."""


class Moment(Enum):
    """When something happens to a write. Every write of a store is one transaction."""

    BEFORE = auto()  #: the process dies, and nothing was written
    INSIDE = auto()  #: it dies at a statement of the transaction, which is left open
    AFTER = auto()  #: it dies, and nobody hears that it was written
    CUT = auto()  #: it lives on, and its connection to the database is lost inside


class Dying:
    """A store whose process is killed at one of its next writes."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self._left: int | None = None
        self._moment = Moment.BEFORE
        self._statements = 0

    def die(self, writes: int, moment: Moment, statements: int = 0) -> None:
        """Be killed at the write behind so many; inside of it, behind so many statements."""
        self._left, self._moment, self._statements = writes, moment, statements

    def live(self) -> None:
        """Be killed no more."""
        self._left = None

    def begin_anew(self, store: Store) -> None:
        """Be the next process, which opened what the last one left behind."""
        vars(self).clear()
        vars(self).update(vars(Dying(store)))

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.store, name)
        vars(self)[name] = kept = self._watched(found) if name in WRITES else found
        return kept

    def _watched(self, write: Callable[..., Any]) -> Callable[..., Any]:
        def watched(*args: Any, **kwargs: Any) -> Any:
            left = self._left
            if left is not None:
                self._left = left - 1
            if left != 0:
                return write(*args, **kwargs)
            return self._struck(lambda: write(*args, **kwargs))

        return watched

    def _struck(self, write: Callable[[], Any]) -> Any:
        """The write at which it happens."""
        if self._moment in (Moment.INSIDE, Moment.CUT):
            assert isinstance(self.store, OnDatabase)
            with _breaking(self.store, self._statements, dies=self._moment is Moment.INSIDE):
                written = write()
        elif self._moment is Moment.AFTER:
            written = write()
        if self._moment is Moment.CUT:
            return written
        raise Crash  # also where the transaction had fewer statements

    @property
    def as_store(self) -> Store:
        """What it is to everybody else."""
        return cast("Store", self)


@contextmanager
def _breaking(store: OnDatabase, statements: int, *, dies: bool) -> Iterator[None]:
    """Have the transactions of a store break off behind so many statements."""
    database = store._database
    store._database = cast("Any", _BreakingDatabase(database, statements, dies=dies))
    try:
        yield
    finally:
        store._database = database


class _BreakingDatabase:
    """A database in which a transaction breaks off."""

    def __init__(self, database: Any, statements: int, *, dies: bool) -> None:
        self._database = database
        self._left = statements
        self._dies = dies

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @contextmanager
    def writing(self, *owners: Any, alone: bool = False) -> Iterator[Any]:
        with self._database.writing(*owners, alone=alone) as transaction:
            yield _BreakingTransaction(transaction, self)

    def strike(self, transaction: Any) -> None:
        """One more statement; the last one is not run any more."""
        self._left -= 1
        if self._left < 0:
            # That of SQLite ends with its process; for Postgres it ends with its connection.
            if isinstance(transaction, PostgresTransaction):
                transaction._connection.close()
            if self._dies:
                raise Crash


class _BreakingTransaction:
    """A transaction that breaks off."""

    def __init__(self, transaction: Any, database: _BreakingDatabase) -> None:
        self._transaction = transaction
        self._database = database

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._transaction, name)
        if name not in _STATEMENTS:
            return found

        def struck(*args: Any, **kwargs: Any) -> Any:
            self._database.strike(self._transaction)
            return found(*args, **kwargs)

        return struck
