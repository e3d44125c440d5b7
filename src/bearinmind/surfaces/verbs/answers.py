"""Answers that hold more than one noun. Every other verb answers with the noun itself.

A memory's text goes into the context of models. `as_data` names the memories whose text is data,
never instructions: another user wrote it, or its source is unverified. The server decides this,
since only it knows who asks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from bearinmind.proposals import Proposal
from bearinmind.protocols import AuditEntry, User
from bearinmind.recall.history import Step
from bearinmind.trace import Trace
from bearinmind.types import Hit, Key, Link, Memory, MemoryId, Query, Share, State


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAnswer:
    """The memories that matter for a question, best first."""

    query: str
    hits: tuple[Hit, ...]
    degraded: tuple[str, ...]  #: what is missing from the answer, in words
    as_data: tuple[MemoryId, ...]
    understood: Query | None = None  #: the question with every default filled in; with a trace
    trace: Trace | None = None  #: how the recall came to its answer, if that was requested


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAnswer:
    """A page of memories."""

    memories: tuple[Memory, ...]
    states: Mapping[MemoryId, State]
    as_data: tuple[MemoryId, ...]
    next: str | None  #: where the next page begins; null on the last one


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAnswer:
    """A memory with its past and its links; of another user's memory neither is seen."""

    memory: Memory
    state: State
    earlier: tuple[Memory, ...]
    links: tuple[Link, ...]
    as_data: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyAnswer:
    """What led to a memory."""

    memory: Memory
    versions: tuple[Memory, ...]
    steps: tuple[Step, ...]
    superseded_by: tuple[Memory, ...]
    as_data: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineAnswer:
    """What was remembered around a moment, oldest first."""

    moment: datetime
    anchor: Memory | None
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]
    states: Mapping[MemoryId, State]
    as_data: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefAnswer:
    """What a session should begin with, the weightiest first."""

    memories: tuple[Memory, ...]
    as_data: tuple[MemoryId, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAnswer:
    """What a sensitive memory says."""

    id: MemoryId
    content: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesAnswer:
    """What is shared."""

    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalsAnswer:
    """Proposals, those that were made or decided last first."""

    proposals: tuple[Proposal, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersAnswer:
    """Every user whom the server knows."""

    users: tuple[User, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysAnswer:
    """Keys, without what makes them keys."""

    keys: tuple[Key, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAnswer:
    """What was done, youngest first."""

    entries: tuple[AuditEntry, ...]
