"""The memories that curation looks at: all that are live and in clear, and who may see each."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from bearinmind.curate.differences import Tokens, read
from bearinmind.proposals import Proposal, ProposalKind
from bearinmind.protocols import Page, Store
from bearinmind.text import ids
from bearinmind.types import (
    Filter,
    Memory,
    MemoryId,
    Right,
    Scope,
    Share,
    State,
    Trust,
    UserId,
    is_expired,
)

PAGE = 500  # memories that are read at once

_TRUST = (Trust.EXTERNAL, Trust.AGENT, Trust.USER)  # the least first


class Held(NamedTuple):
    """A memory, and what others may do with it."""

    memory: Memory
    readers: Mapping[UserId, Right]

    @property
    def tokens(self) -> Tokens:
        """What it says, word by word."""
        return _read(self.memory.content)


_read = lru_cache(maxsize=20_000)(read)  # a text is held against several others


def gather(store: Store, scope: Scope, now: datetime) -> Iterator[Held]:
    """Every live memory of a user that is not sensitive, oldest first."""
    shares = store.shares(scope)
    for memory in browse(store, Filter(scope=scope, now=now)):
        if not memory.sensitive:
            yield Held(memory, readers(memory, shares))


def browse(store: Store, filter: Filter) -> Iterator[Memory]:
    """Every memory that a filter admits, oldest first, a page at a time."""
    page = Page(limit=PAGE, newest_first=False)
    while found := store.browse(filter, page):
        yield from found
        last = found[-1]
        page = Page(limit=PAGE, after=(last.created_at, last.id), newest_first=False)


def live(
    store: Store, scope: Scope, ids: Sequence[MemoryId], now: datetime
) -> dict[MemoryId, Held]:
    """Those of these memories that are live this very moment."""
    shares = store.shares(scope)
    superseded = {link.target for link in store.superseding(scope, ids)}
    return {
        id_: Held(memory, readers(memory, shares))
        for id_, memory in store.get_many(scope, ids).items()
        if id_ not in superseded and memory.deleted_at is None and not is_expired(memory, now)
    }


def readers(memory: Memory, shares: Sequence[Share]) -> dict[UserId, Right]:
    """Who else sees a memory, and the most that each may do."""
    found: dict[UserId, Right] = {}
    for share in shares:
        if share.memory == memory.id or share.tag in memory.tags:
            is_more = share.right is Right.WRITE or share.reader not in found
            found[share.reader] = share.right if is_more else found[share.reader]
    return found


def hindrances(keeper: Held, other: Held) -> list[str]:
    """Why somebody would miss a memory when another one is served in its place.

    That both say the same is another question.
    """
    kept, gone = keeper.memory, other.memory
    reasons = {
        "it is another owner's": kept.owner != gone.owner,
        "it is sensitive": kept.sensitive or gone.sensitive,
        "its category is another": kept.category != gone.category,
        "its project is another": kept.provenance.project != gone.provenance.project,
        "it has not all the tags": not {*gone.tags} <= {*kept.tags},
        "it is trusted less": _TRUST.index(kept.provenance.trust)
        < _TRUST.index(gone.provenance.trust),
        "it holds for another time": not _spans(kept, gone),
        "others could not see it": not _is_seen_by_all(keeper.readers, other.readers),
    }
    return [reason for reason, hinders in reasons.items() if hinders]


def _spans(kept: Memory, gone: Memory) -> bool:
    """Whether one memory is valid whenever another one is."""
    begins = kept.valid_from is None or (
        gone.valid_from is not None and kept.valid_from <= gone.valid_from
    )
    ends = kept.valid_to is None or (gone.valid_to is not None and kept.valid_to >= gone.valid_to)
    return begins and ends


def _is_seen_by_all(keeper: Mapping[UserId, Right], other: Mapping[UserId, Right]) -> bool:
    return all(
        keeper.get(reader) is Right.WRITE or keeper.get(reader) is right
        for reader, right in other.items()
    )


EVERY_STATE = frozenset({State.LIVE, State.SUPERSEDED, State.EXPIRED})  #: but deleted


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
