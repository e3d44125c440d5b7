"""What curation compares, and what it finds: live memories that are not sensitive, and findings."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from bearinmind.curate.differences import Tokens, read
from bearinmind.outdates.verdicts import is_less_trusted
from bearinmind.proposals import Proposal, ProposalKind
from bearinmind.protocols import Store, every_memory
from bearinmind.text import ids
from bearinmind.types import Filter, Memory, MemoryId, Right, Scope, Share, UserId, is_expired

PAGE = 500  # memories that are read at once
CONSOLIDATION = "consolidation"
CONTRADICTION = "contradiction"
CLAIM = "claim"
DISAGREEMENT = "disagreement"
STALENESS = "staleness"
HYGIENE = "hygiene"

_read = lru_cache(maxsize=20_000)(read)  # a text is compared with several others


class Candidate(NamedTuple):
    """A memory, and what others may do with it."""

    memory: Memory
    readers: Mapping[UserId, Right]

    @property
    def tokens(self) -> Tokens:
        """The words of its text."""
        return _read(self.memory.content)


def gather(store: Store, scope: Scope, now: datetime) -> Iterator[Candidate]:
    """Every live memory of a user that is not sensitive, oldest first."""
    shares = store.shares(scope)
    for memory in every_memory(store, Filter(scope=scope, now=now), PAGE):
        if not memory.sensitive:
            yield Candidate(memory, readers(memory, shares))


def live(
    store: Store, scope: Scope, ids: Sequence[MemoryId], now: datetime
) -> dict[MemoryId, Candidate]:
    """Those of these memories that are live now."""
    shares = store.shares(scope)
    superseded = {link.target for link in store.newer(scope, ids)}
    return {
        id_: Candidate(memory, readers(memory, shares))
        for id_, memory in store.get_many(scope, ids).items()
        if id_ not in superseded and memory.deleted_at is None and not is_expired(memory, now)
    }


def readers(memory: Memory, shares: Sequence[Share]) -> dict[UserId, Right]:
    """Who else sees a memory, and the most that each may do."""
    rights: dict[UserId, Right] = {}
    for share in shares:
        is_covered = share.memory == memory.id or share.tag in memory.tags
        if is_covered and (share.right is Right.WRITE or share.reader not in rights):
            rights[share.reader] = share.right
    return rights


def obstacles(keeper: Candidate, other: Candidate) -> list[str]:
    """Why the keeper cannot be served in place of the other memory, whatever the texts say."""
    kept, gone = keeper.memory, other.memory
    reasons = {
        "it is another owner's": kept.owner != gone.owner,
        "it is sensitive": kept.sensitive or gone.sensitive,
        "its category is another": kept.category != gone.category,
        "its project is another": kept.provenance.project != gone.provenance.project,
        "it has not all the tags": not {*gone.tags} <= {*kept.tags},
        "it is trusted less": is_less_trusted(kept, gone),
        "it holds for another time": not _is_valid_whenever(kept, gone),
        "others could not see it": not all(
            keeper.readers.get(reader) in (Right.WRITE, right)
            for reader, right in other.readers.items()
        ),
    }
    return [reason for reason, applies in reasons.items() if applies]


def _is_valid_whenever(kept: Memory, gone: Memory) -> bool:
    """Whether one memory is valid at all times at which another is."""
    begins = kept.valid_from is None or (
        gone.valid_from is not None and kept.valid_from <= gone.valid_from
    )
    ends = kept.valid_to is None or (gone.valid_to is not None and kept.valid_to >= gone.valid_to)
    return begins and ends


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """Something that could be proposed."""

    kind: ProposalKind
    origin: str
    memories: Sequence[Memory]
    reason: str
    evidence: Mapping[str, Any] = field(default_factory=dict)
    change: Mapping[str, Any] = field(default_factory=dict)


def proposal(finding: Finding, now: datetime) -> Proposal:
    """A proposal whose digest is equal for the same change to the same texts."""
    parts = [finding.kind, finding.origin, repr(sorted(finding.change.items()))]
    parts += [f"{memory.id} {memory.category} {memory.content}" for memory in finding.memories]
    digest = hashlib.sha256("\0".join(parts).encode()).digest()
    return Proposal(
        id=ids.derived(digest),
        kind=finding.kind,
        origin=finding.origin,
        memories=tuple(memory.id for memory in finding.memories),
        reason=finding.reason,
        evidence=dict(finding.evidence),
        change=dict(finding.change),
        digest=digest.hex(),
        created_at=now,
    )
