"""Turns what Postgres and its driver say into what Recollect says.

Of what the server says only the first line is passed on: the others quote what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as said

from recollect import errors

_UNREACHABLE = "Check that the server runs and that the URL in `store` is right; try again."

#: The most telling ones first.
_MEANINGS: tuple[tuple[type[Exception] | tuple[type[Exception], ...], type[errors.StoreFailure]], ...] = (
    ((said.LockNotAvailable, said.DeadlockDetected, said.SerializationFailure), errors.StoreBusy),
    ((said.QueryCanceled, said.TooManyConnections), errors.StoreBusy),
    ((said.DiskFull, said.OutOfMemory), errors.StoreFull),
    ((said.ReadOnlySqlTransaction, said.InsufficientPrivilege), errors.StoreReadOnly),
    ((said.DataCorrupted, said.IndexCorrupted), errors.StoreDamaged),
    ((said.UndefinedTable, said.UndefinedColumn), errors.StoreDamaged),
)


def first_line(exc: psycopg.Error) -> str:
    """What the server, or else the driver, says first."""
    return (exc.diag.message_primary or str(exc)).strip().partition("\n")[0]


def is_lost(exc: psycopg.Error) -> bool:
    """Whether the connection is of no more use, and another one may be."""
    lost = isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError)
    known = any(isinstance(exc, kind) for kind, _ in _MEANINGS)
    return isinstance(exc, said.ReadOnlySqlTransaction) or (lost and not known)


def translate(exc: psycopg.Error, place: str) -> errors.StoreFailure:
    """The error of Recollect that says the same."""
    message = f"{place}: {first_line(exc)}"
    for kind, meaning in _MEANINGS:
        if isinstance(exc, kind):
            return meaning(message)
    if isinstance(exc, psycopg.OperationalError | psycopg.InterfaceError):
        return errors.StoreUnavailable(message, hint=_UNREACHABLE)
    return errors.StoreFailure(message)


@contextmanager
def translated(place: str) -> Iterator[None]:
    """Translates whatever is raised inside."""
    try:
        yield
    except psycopg.Error as exc:
        raise translate(exc, place) from exc
