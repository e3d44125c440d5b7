"""From what was found to a proposal: the same find is always the same proposal. Pure."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from bearinmind import ids
from bearinmind.proposals import Proposal, ProposalKind
from bearinmind.types import Memory

CONSOLIDATION = "consolidation"
CONTRADICTION = "contradiction"
STALENESS = "staleness"
HYGIENE = "hygiene"


@dataclass(frozen=True, slots=True, kw_only=True)
class Find:
    """What was found, before it is proposed."""

    kind: ProposalKind
    origin: str
    memories: Sequence[Memory]
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, Any] = field(default_factory=dict)


def proposal(find: Find, now: datetime) -> Proposal:
    """A proposal whose digest is equal for the same change to the same texts."""
    said = [find.kind, find.origin, repr(sorted(find.change.items()))]
    said += [f"{memory.id} {memory.category} {memory.content}" for memory in find.memories]
    digest = hashlib.sha256("\0".join(said).encode()).digest()
    return Proposal(
        id=ids.derived(digest),
        kind=find.kind,
        origin=find.origin,
        memories=tuple(memory.id for memory in find.memories),
        reason=find.reason,
        evidence=dict(find.evidence),
        change=dict(find.change),
        digest=digest.hex(),
        created_at=now,
    )
