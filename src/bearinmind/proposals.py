"""The nouns of curation: what might be changed, why, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any, NamedTuple

from bearinmind.types import Memory, MemoryId

#: The reason of a proposal that named a memory which was purged: nothing of what it said is left.
REDACTED = "what it said is gone with a memory that was purged"
#: The same of a memory which became sensitive.
CONCEALED = "what it said is gone: a memory that it names became sensitive"


class ProposalKind(StrEnum):
    """What a proposal would do."""

    STORE = "store"  #: keep a new memory, which may take the place of others
    SUPERSEDE = "supersede"  #: let the first memory be served in place of the others
    UPDATE = "update"  #: change the first memory as the draft says
    LINK = "link"  #: link the first memory to the second
    UNLINK = "unlink"  #: end a link
    OUTDATE = "outdate"  #: the first memory states what holds now of what the second states
    EXPIRE = "expire"  #: end the validity of the first memory
    REVIEW = "review"  #: nothing by itself: somebody should look


class ProposalState(StrEnum):
    """What became of a proposal."""

    OPEN = "open"
    APPLIED = "applied"
    DISMISSED = "dismissed"
    UNDONE = "undone"  #: the decision was taken back; another one can be made


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """A change that somebody is to decide on; once decided it is the record of what was done."""

    id: str
    kind: ProposalKind
    origin: str  #: what found it: consolidation, contradiction, staleness, hygiene, learning
    memories: tuple[MemoryId, ...]
    reason: str  #: in one sentence, for the person who decides
    evidence: dict[str, Any] = field(default_factory=dict)  #: figures behind the reason
    change: dict[str, Any] = field(default_factory=dict)  #: a draft, or the fields to change
    digest: str  #: equal for the same proposal: what was dismissed is not proposed again
    created_at: datetime
    state: ProposalState = ProposalState.OPEN
    decided_at: datetime | None = None
    undo: dict[str, Any] = field(default_factory=dict)  #: what taking it back needs

    @property
    def says_nothing(self) -> bool:
        """Whether what it said was removed: it can be neither applied nor undone."""
        return self.reason in {REDACTED, CONCEALED}


@dataclass(frozen=True, slots=True, kw_only=True)
class Conflict:
    """Two memories of which one may have replaced the other; nobody has decided which holds."""

    newer: MemoryId
    older: MemoryId
    probability: float  #: that the newer one replaces the older one
    because: str


class Action(StrEnum):
    """What to do with a new text."""

    ADD = "add"  #: it is new
    UPDATE = "update"  #: a memory says the same and less: give it this text
    SUPERSEDE = "supersede"  #: it contradicts a memory, and is the newer
    NOOP = "noop"  #: a memory says it already


class Decision(NamedTuple):
    """What to do with a new text, with which memory, and why."""

    kind: Action
    memory: Memory | None
    reason: str
