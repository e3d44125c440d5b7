"""Turns what Postgres and its driver say into what Bear in Mind says.

Of what the server says only the first line is passed on: the others quote what was stored.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
from psycopg import errors as said

from bearinmind import errors

_UNREACHABLE = "Check that the server runs and that the URL in `store` is right; try again."
_LOOK = "Look whether it was; trying again stores nothing twice."

#: What a write that failed has left behind.
UNCHANGED = "nothing was changed"
UNKNOWN = "whether anything was changed is not known"

#: The most telling ones first.
_MEANINGS: tuple[
    tuple[type[Exception] | tuple[type[Exception], ...], type[errors.StoreFailure]], ...
] = (
    ((said.LockNotAvailable, said.DeadlockDetected, said.SerializationFailure), errors.StoreBusy),
    ((said.QueryCanceled, said.TooManyConnections), errors.StoreBusy),
    ((said.DiskFull, said.OutOfMemory), errors.StoreFull),
    ((said.ReadOnlySqlTransaction, said.InsufficientPrivilege), errors.StoreReadOnly),
    ((said.DataCorrupted, said.IndexCorrupted), errors.StoreDamaged),
    ((said.UndefinedTable, said.UndefinedColumn), errors.StoreDamaged),
)

#: Where what is told of a file would not help.
_HINTS: dict[type[errors.StoreFailure], str] = {
    errors.StoreReadOnly: "Check what the role in the URL was granted, and that the server leads.",
    errors.StoreFull: "Free some disk space on the server, and try again.",
    errors.StoreDamaged: "`bearinmind doctor` and the log of the server say what is wrong.",
}

_LOST = (psycopg.OperationalError, psycopg.InterfaceError, said.IdleInTransactionSessionTimeout)


def first_line(exc: psycopg.Error) -> str:
    """What the server, or else the driver, says first."""
    return (exc.diag.message_primary or str(exc)).strip().partition("\n")[0]


def is_lost(exc: BaseException) -> bool:
    """Whether the connection is of no more use, and another one may be.

    So it is on a server that led a moment ago and only follows by now.
    """
    if isinstance(exc, said.ReadOnlySqlTransaction):
        return True
    return isinstance(exc, _LOST) and not any(isinstance(exc, kind) for kind, _ in _MEANINGS)


def translate(exc: psycopg.Error, place: str, left_behind: str = "") -> errors.StoreFailure:
    """The error of Bear in Mind that says the same, and what it has left behind."""
    message = "; ".join(filter(None, (f"{place}: {first_line(exc)}", left_behind)))
    for kind, meaning in _MEANINGS:
        if isinstance(exc, kind):
            return meaning(message, hint=_HINTS.get(meaning, ""))
    if isinstance(exc, _LOST):
        hint = _LOOK if left_behind == UNKNOWN else _UNREACHABLE
        return errors.StoreUnavailable(message, hint=hint)
    return errors.StoreFailure(message)


@contextmanager
def translated(place: str, left_behind: str = "") -> Iterator[None]:
    """Translates whatever is raised inside, which leaves that behind."""
    try:
        yield
    except psycopg.Error as exc:
        raise translate(exc, place, left_behind) from exc
