"""What a store keeps for servers: sessions of browsers, counts, and what administrators see."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import date, datetime
from typing import Any

from bearinmind import errors
from bearinmind.protocols import (
    BrowserSession,
    DeadJob,
    OwnerSize,
    OwnerUse,
    Step,
    TrafficCount,
    TrafficPoint,
    UserTraffic,
)
from bearinmind.store import rows
from bearinmind.store.database import Row
from bearinmind.store.rows import OnDatabase
from bearinmind.types import Access, Scope, Share


class ServerInDatabase(OnDatabase):
    """Satisfies `bearinmind.protocols.BrowserSessions` and `bearinmind.protocols.ServerCounts`."""

    def add_session(self, session: BrowserSession, *, instead_of: bytes | None = None) -> bool:
        with self._database.writing() as transaction:
            if instead_of and not transaction.change("end_session", {"hash": instead_of}):
                return False
            transaction.change("forget_sessions", {"now": rows.from_time(session.created_at)})
            if not transaction.change("add_session", rows.from_noun(session)):
                raise errors.UserNotFound(f"there is no user {session.user!r}")
        return True

    def session(self, token_hash: bytes) -> BrowserSession | None:
        records = self._database.read("session_to_let_in", {"hash": token_hash})
        if not records:
            return None
        return rows.to_noun(BrowserSession, records[0], hash=bytes, access=Access, is_link=bool)

    def end_session(self, token_hash: bytes) -> bool:
        with self._database.writing() as transaction:
            return bool(transaction.change("end_session", {"hash": token_hash}))

    def count_traffic(self, counts: Sequence[TrafficCount], now: datetime) -> None:
        with self._database.writing() as transaction:
            transaction.change_each("count_traffic", _steps_of(counts))
            for step in Step:
                before = rows.from_time(now - step.kept)
                transaction.change("forget_traffic", {"step": _seconds(step), "before": before})

    def traffic(self, scope: Scope, step: Step, since: datetime) -> list[TrafficPoint]:
        return _points(self._read(scope, "traffic_of", **_span(step, since)))

    def whole_traffic(self, step: Step, since: datetime) -> list[TrafficPoint]:
        return _points(self._database.read("traffic_of_all", _span(step, since)))

    def traffic_by_user(self, step: Step, since: datetime) -> list[UserTraffic]:
        records = self._database.read("users_in_traffic", _span(step, since))
        return [UserTraffic(user, **counts) for user, counts in _by_first(records).items()]

    def writes_on(self, day: date) -> dict[str, int]:
        return dict(self._database.read("uses_of_day", {"day": rows.from_day(day)}))

    def all_shares(self, limit: int) -> list[Share]:
        return [*map(rows.to_share, self._database.read("all_shares", {"limit": limit}))]

    def sizes_by_owner(self, limit: int) -> list[OwnerSize]:
        records = self._database.read("versions_by_owner", {"limit": limit})
        return [OwnerSize(*record) for record in records]

    def uses_by_owner(self) -> list[OwnerUse]:
        return [OwnerUse(*record) for record in self._database.read("uses_by_owner")]

    def queue_ends(self) -> list[tuple[str, int, int]]:
        return [(kind, first, last) for kind, first, last in self._database.read("queue_ends")]

    def dead_jobs(self, limit: int) -> list[DeadJob]:
        records = self._database.read("dead_jobs", {"limit": limit})
        return [DeadJob(*record) for record in records]


def _span(step: Step, since: datetime) -> dict[str, Any]:
    return {"step": _seconds(step), "since": rows.from_time(since)}


def _seconds(step: Step) -> int:
    return int(step.length.total_seconds())


def _steps_of(counts: Sequence[TrafficCount]) -> list[dict[str, Any]]:
    """The minutes and the hours of counts, in one order: two servers must not wait crosswise."""
    sums: Counter[tuple[str, str, int, int]] = Counter()
    for counted in counts:
        moment = rows.moment(counted.at)
        for step in Step:
            width = _seconds(step) * 1_000_000
            place = (counted.user, counted.kind, _seconds(step), moment // width * width)
            sums[place] += counted.number
    names = ("owner", "kind", "step", "start")
    return [dict(zip(names, place, strict=True), count=sums[place]) for place in sorted(sums)]


def _points(records: Sequence[Row]) -> list[TrafficPoint]:
    turned = [(start, kind, count) for kind, start, count in records]
    return [
        TrafficPoint(rows.to_time(start), **counts) for start, counts in _by_first(turned).items()
    ]


def _by_first(records: Sequence[Row]) -> dict[Any, dict[str, int]]:
    """Counts by kind, of all records that begin alike."""
    grouped: dict[Any, dict[str, int]] = {}
    for first, kind, count in records:
        grouped.setdefault(first, {})[kind] = count
    return grouped
