"""A standby that answers recalls as long as it is known to be recent enough.

A standby cannot tell by itself how old its answers are: an idle primary and one that is lost look
the same to it. So the primary is asked now and then for the end of its log. A standby that shows so
much of the log has everything that was acknowledged before that question.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from enum import StrEnum
from math import inf
from typing import Any, NamedTuple, TypeVar
from weakref import WeakKeyDictionary

import psycopg
from psycopg import Connection
from psycopg_pool import PoolTimeout

from bearinmind.errors import StoreUnavailable
from bearinmind.models import forks
from bearinmind.store import database
from bearinmind.store.postgres.connection_pool import Connections, is_lost, with_defaults
from bearinmind.store.postgres.queries import StoreConnection
from bearinmind.text.sql_statements import statements_of

logger = logging.getLogger(__name__)

_STATEMENTS = statements_of(database.read_sql("postgres", "replica.sql"))
_WAIT = 1.0  # seconds for a connection; after that a recall reads from the primary
_TRY_AGAIN = 5.0  # seconds without a try after a failed one, so that not every recall waits
_LOOK_AGAIN = 0.05  # seconds without a look at a standby that is behind; most catch up in less
_LOOKS = 20  # at a standby that is behind, until it is said to be
_REMEMBERED = 128  # positions of the primary; at one for each look, more than any staleness needs


Answer = TypeVar("Answer")

#: The defaults of a standby's URL: a standby, any of several, and no long wait.
_URL_DEFAULTS = {
    "target_session_attrs": "prefer-standby",
    "load_balance_hosts": "random",
    "connect_timeout": "2",
}


class Source(StrEnum):
    """Where a read goes, and why it goes to the primary."""

    REPLICA = "replica"
    BEHIND = "primary: the replica is behind"
    OWN_WRITES = "primary: the replica has not seen our last write yet"
    UNREACHABLE = "primary: the replica does not answer"
    BUSY = "primary: every connection to the replica is in use"
    NO_STANDBY = "primary: the replica is none"


#: States that come and go within moments, and are not logged.
_PASSING = {Source.OWN_WRITES, Source.BUSY}


class ReadRoute(NamedTuple):
    """The connection and the source of a read."""

    connection: StoreConnection | None  #: to the standby; None when the primary must be read
    source: Source


class Position(NamedTuple):
    """A place in the log of a cluster."""

    timeline: int  #: it changes with every fail-over
    bytes: int

    def has(self, other: Position) -> bool:
        """Whether this position includes everything up to the other one."""
        return self.timeline == other.timeline and self.bytes >= other.bytes


class Sample(NamedTuple):
    """The end of the primary's log, and when it was read."""

    asked_at: float
    position: Position


def known_as_of(shown: Position, samples: Iterable[Sample]) -> float:
    """The last moment up to which a standby at this position is known to have everything."""
    return max((each.asked_at for each in samples if shown.has(each.position)), default=-inf)


def source_of(as_of: float, *, now: float, wrote_at: float, staleness: float) -> Source:
    """Where to read, by the moment up to which the standby is known to have everything."""
    if as_of < now - staleness:
        return Source.BEHIND
    return Source.OWN_WRITES if as_of < wrote_at else Source.REPLICA


class Replica:
    """Reads from a standby that lags at most `staleness` seconds and has all our own writes.

    The primary answers what it cannot. It never fails: the primary reports what is wrong.
    """

    def __init__(
        self,
        url: str,
        primary: Connections,
        *,
        staleness: float,
        connections: int = 16,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._standby = Connections(
            with_defaults(url, _URL_DEFAULTS, "replica"), most=connections, patience=_WAIT
        )
        self._primary = primary
        self._staleness = staleness
        self._clock = clock
        self._samples: deque[Sample] = deque(maxlen=_REMEMBERED)
        self._asking = forks.Lock()
        # By connection, not by URL: one URL may name several standbys.
        self._known: WeakKeyDictionary[Connection[Any], float] = WeakKeyDictionary()
        self._wrote_at = -inf
        self._silent_until = -inf  # the primary
        self._left = (-inf, Source.REPLICA)  # until when the standby is not tried, and why
        self._source = self._told = Source.REPLICA

    @property
    def place(self) -> str:
        return self._standby.place

    @property
    def source(self) -> Source:
        """The source of the last read."""
        return self._source

    def close(self) -> None:
        self._standby.close()

    def wrote(self) -> None:
        """Record that a write of this process was just acknowledged: later reads must have it."""
        self._wrote_at = self._clock()

    def lag(self) -> float:
        """For how many seconds the standby may lack something; infinite when it does not answer.

        Mostly how long it takes to show what the primary has just written.
        """
        asked_at, as_of = self._clock(), -inf
        self._ask_primary(asked_at)
        try:
            with self._standby.connection(patience=_WAIT) as connection:
                for _ in range(_LOOKS):
                    shown = _position(connection, "replica_position")
                    if shown is None:  # it is none
                        return inf
                    as_of = known_as_of(shown, [*self._samples])
                    if as_of >= asked_at:
                        return self._clock() - asked_at
                    time.sleep(_LOOK_AGAIN)
        except (psycopg.Error, StoreUnavailable):
            return inf
        return self._clock() - as_of

    def answer(self, read: Callable[[StoreConnection], Answer]) -> Answer | None:
        """The standby's answer; None when the primary must be read."""
        try:
            with self.connection_for_reading() as reading:
                return None if reading.connection is None else read(reading.connection)
        except psycopg.Error as exc:  # it died, or a row was needed that the replay had to remove
            if is_lost(exc):
                self._tell(self._leave(Source.UNREACHABLE, _TRY_AGAIN).source)
            return None

    @contextmanager
    def connection_for_reading(self) -> Iterator[ReadRoute]:
        """A connection to the standby, or none and the reason why the primary must be read."""
        reading = self._reading()
        self._tell(reading.source)
        try:
            yield reading
        finally:
            if reading.connection is not None:
                self._standby.pool.putconn(reading.connection)

    def _reading(self) -> ReadRoute:
        left_until, why = self._left
        if self._clock() < left_until:
            return ReadRoute(None, why)
        try:
            pool = self._standby.pool
            connection = pool.getconn(timeout=_WAIT)
        except StoreUnavailable as exc:
            logger.info("%s", exc, extra={"action": "replica"})
            return self._leave(Source.UNREACHABLE, _TRY_AGAIN)
        except PoolTimeout:
            if pool.get_stats()["pool_size"]:
                return ReadRoute(None, Source.BUSY)
            return self._leave(Source.UNREACHABLE, _TRY_AGAIN)
        source = self._judge(connection)
        if source is Source.REPLICA:
            return ReadRoute(connection, source)
        if source is Source.NO_STANDBY:
            connection.close()  # the next one may lead to a standby
        pool.putconn(connection)
        lagging = source in {Source.BEHIND, Source.OWN_WRITES}
        return self._leave(source, _LOOK_AGAIN if lagging else _TRY_AGAIN)

    def _judge(self, connection: Connection[Any]) -> Source:
        """Whether a standby is recent enough; checked again when half of `staleness` is over."""
        now, wrote_at = self._clock(), self._wrote_at
        as_of = self._known.get(connection, -inf)
        if as_of < max(now - self._staleness / 2, wrote_at):
            self._ask_primary(max(now - self._staleness / 4, wrote_at))
            try:
                shown = _position(connection, "replica_position")
            except psycopg.Error:
                return Source.UNREACHABLE
            if shown is None:
                return Source.NO_STANDBY
            as_of = max(as_of, known_as_of(shown, [*self._samples]))
            self._known[connection] = as_of
        return source_of(as_of, now=self._clock(), wrote_at=wrote_at, staleness=self._staleness)

    def _ask_primary(self, needed_since: float) -> None:
        """Read the end of the primary's log, unless that is known recently enough."""
        if self._samples and self._samples[-1].asked_at >= needed_since:
            return
        if self._clock() < self._silent_until or not self._asking.acquire(0):
            return
        try:
            asked_at = self._clock()
            with self._primary.connection(patience=_WAIT) as connection:
                position = _position(connection, "primary_position")
            if position is not None:
                self._samples.append(Sample(asked_at, position))
        except (psycopg.Error, StoreUnavailable):  # the next read of the primary reports it
            self._silent_until = self._clock() + _TRY_AGAIN
        finally:
            self._asking.release()

    def _leave(self, source: Source, seconds: float) -> ReadRoute:
        self._left = (self._clock() + seconds, source)
        return ReadRoute(None, source)

    def _tell(self, source: Source) -> None:
        """Log when recalls move to the primary for more than a moment, and when they return."""
        self._source = source
        if source is not self._told and source not in _PASSING:
            self._told = source
            level = logging.INFO if source is Source.REPLICA else logging.WARNING
            logger.log(level, "recalls read from %s", source, extra={"action": "replica"})


def _position(connection: Connection[Any], statement: str) -> Position | None:
    row = connection.execute(_STATEMENTS[statement]).fetchone()
    return Position(*row) if row else None
