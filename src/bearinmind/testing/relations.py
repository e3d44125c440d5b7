"""The relations of a store in memory."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import NamedTuple

from bearinmind.concepts import ConceptName, Statement
from bearinmind.testing.holdings import Row, holds
from bearinmind.types import UserId


class Says(NamedTuple):
    """From when and until when a version is evidence."""

    since: datetime
    until: datetime | None = None
    given: bool = False  #: by somebody: reading anew does not end it


@dataclass(slots=True, kw_only=True)
class KeptRelation:
    """A relation and the versions that say so."""

    number: int = 0
    owner: UserId
    source: ConceptName
    type: str
    target: ConceptName
    weight: float
    valid_from: datetime | None
    valid_to: datetime | None
    origin: str
    founded: bool  #: has evidence, and is nothing without
    recorded_at: datetime
    retracted_at: datetime | None = None
    decided: bool = False  #: retracted on purpose
    evidence: dict[int, Says] = field(default_factory=dict)

    @classmethod
    def of(
        cls, owner: UserId, statement: Statement, origin: str, since: datetime, *, founded: bool
    ) -> KeptRelation:
        """What is stated."""
        return cls(
            owner=owner,
            source=statement.source.name,
            type=statement.type,
            target=statement.target.name,
            weight=min(max(statement.weight, 0.0), 1.0),
            valid_from=statement.valid_from,
            valid_to=statement.valid_to,
            origin=origin,
            founded=founded,
            recorded_at=since,
        )

    def says(self) -> tuple[object, ...]:
        """What two relations have in common that say the same."""
        ends = (self.owner, self.source, self.type, self.target)
        return (*ends, self.valid_from, self.valid_to, self.founded)

    def takes(self, stated: KeptRelation) -> bool:
        """Whether it is what was stated: what was said before it was retracted on purpose is."""
        if self.says() != stated.says():
            return False
        covered = self.retracted_at is not None and self.retracted_at > stated.recorded_at
        return not self.decided or (self.founded and covered)

    def support(self, row: int, says: Says) -> None:
        """Let a version be evidence."""
        before = self.evidence.get(row, says)
        since, given = min(before.since, says.since), before.given or says.given
        self.evidence[row] = Says(since, None, given)

    def is_said(self, row: Row, as_of: datetime | None) -> bool:
        """Whether a version says so at a moment, or now."""
        says = self.evidence.get(row.number)
        return says is not None and holds(says.since, says.until, as_of)

    def span(self, rows: Mapping[int, Row]) -> tuple[datetime, datetime | None]:
        """From when and until when it is believed."""
        if self.decided or not self.founded:
            return self.recorded_at, self.retracted_at
        ends = {_first(says.until, rows[n].replaced_at) for n, says in self.evidence.items()}
        last = None if None in ends else max(end for end in ends if end is not None)
        return min(says.since for says in self.evidence.values()), last


def _first(one: datetime | None, other: datetime | None) -> datetime | None:
    return min((end for end in (one, other) if end is not None), default=None)
