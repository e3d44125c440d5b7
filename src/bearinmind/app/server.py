"""What a server counts, and what those who look after it want to know."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from bearinmind.config import Settings
from bearinmind.errors import InvalidInput
from bearinmind.protocols import (
    AgentSession,
    OwnerSize,
    Step,
    Store,
    StoreFacts,
    TrafficCount,
    TrafficPoint,
    UserTraffic,
)
from bearinmind.recall.pipeline import LARGEST_POOL, check_number
from bearinmind.types import Scope, Share, choose

_MOST_SHARES = 1_000
_MOST_OWNERS = 1_000
_REPORTS = "*.html"


@dataclass(frozen=True, slots=True, kw_only=True)
class Traffic:
    """How often something was done, in steps of a minute or an hour."""

    step: Step
    since: datetime
    points: Sequence[TrafficPoint]  #: oldest first; steps in which nothing was done are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeTraffic(Traffic):
    """How often everybody did something, in all and each."""

    users: Sequence[UserTraffic]


class Bucket(StrEnum):
    """The spans of time in which memories are counted."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"

    def start(self, day: datetime) -> datetime:
        """The first day of the span that a day is in; weeks begin on Mondays."""
        if self is Bucket.MONTH:
            return day.replace(day=1)
        return day - timedelta(days=day.weekday()) if self is Bucket.WEEK else day


class DensitySpan(NamedTuple):
    """How many memories were made in a span of time."""

    start: datetime
    memories: int
    categories: Mapping[str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Density:
    """How many live memories were made when."""

    bucket: Bucket
    spans: Sequence[DensitySpan]  #: oldest first; those in which none was made are left out


@dataclass(frozen=True, slots=True, kw_only=True)
class Sizes:
    """How large a store is, and whose that is."""

    facts: StoreFacts
    owners: Sequence[OwnerSize]  #: the largest first


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """A benchmark report in the folder of the setting `reports`."""

    name: str
    bytes: int
    written_at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Server:
    """Counts over time, sizes, shares and reports."""

    store: Store
    scope: Scope
    settings: Settings
    clock: Callable[[], datetime]

    def count(self, counts: Sequence[TrafficCount]) -> None:
        """Keep what a server has counted."""
        self.store.count_traffic(counts, self.clock())

    def traffic(self, step: Step | str = Step.MINUTE) -> Traffic:
        """What this user did: by minute for a day, by hour for 90 days."""
        chosen, since = self._span(step)
        points = self.store.traffic(self.scope, chosen, since)
        return Traffic(step=chosen, since=since, points=points)

    def whole_traffic(self, step: Step | str = Step.MINUTE) -> WholeTraffic:
        """What everybody did: by minute for a day, by hour for 90 days."""
        chosen, since = self._span(step)
        return WholeTraffic(
            step=chosen,
            since=since,
            points=self.store.whole_traffic(chosen, since),
            users=self.store.traffic_by_user(chosen, since),
        )

    def density(self, bucket: Bucket | str = Bucket.DAY) -> Density:
        """How many live memories of this user were made in each day, week or month."""
        chosen = choose(Bucket, bucket, InvalidInput)
        counts: dict[datetime, Counter[str]] = {}
        for day, category, count in self.store.density(self.scope, timedelta(days=1)):
            counts.setdefault(chosen.start(day), Counter())[category] += count
        spans = [DensitySpan(start, each.total(), dict(each)) for start, each in counts.items()]
        return Density(bucket=chosen, spans=spans)

    def agent_sessions(self, limit: int = 100) -> Sequence[AgentSession]:
        """The sessions of agents in which this user's memories were made, the latest first."""
        return self.store.agent_sessions(self.scope, check_number("limit", limit, LARGEST_POOL))

    def sizes(self) -> Sizes:
        """How large the store is, and who has how much."""
        return Sizes(facts=self.store.facts(), owners=self.store.sizes_by_owner(_MOST_OWNERS))

    def shares(self) -> Sequence[Share]:
        """What everybody shares, by owner; at most 1,000."""
        return self.store.all_shares(_MOST_SHARES)

    def reports(self) -> Sequence[Report]:
        """The benchmark reports in the folder of the settings, the youngest first."""
        folder = self.settings.reports
        if folder is None or not folder.is_dir():
            return []
        files = [(each.name, each.stat()) for each in folder.glob(_REPORTS) if each.is_file()]
        listed = [
            Report(
                name=name,
                bytes=facts.st_size,
                written_at=datetime.fromtimestamp(facts.st_mtime, UTC),
            )
            for name, facts in files
        ]
        return sorted(listed, key=lambda report: (report.written_at, report.name), reverse=True)

    def _span(self, step: Step | str) -> tuple[Step, datetime]:
        chosen = choose(Step, step, InvalidInput)
        return chosen, self.clock() - chosen.kept
