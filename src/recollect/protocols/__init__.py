"""The joints: what the verbs ask of a store, a leg and a model, and nothing more."""

from __future__ import annotations

from typing import TYPE_CHECKING

from recollect.protocols.accounts import Accounts, User
from recollect.protocols.graph import (
    Connections,
    Extractor,
    Graph,
    GraphCounts,
    GraphSearch,
    ReadSoFar,
)
from recollect.protocols.inbox import Inbox
from recollect.protocols.memories import History, Links, Memories, Page, Sealed, Statistics
from recollect.protocols.models import Current, Embedder, Passage, Reranker, Unavailable
from recollect.protocols.recall import Following, Fusion, Leg, Readable
from recollect.protocols.search import (
    DenseAnswer,
    KnownSpace,
    LexicalMatch,
    LexicalSearch,
    LexicalStatistics,
    Meanings,
    Nearby,
    Spaces,
    SpaceState,
)
from recollect.protocols.secrets import AuditEntry, Secrets, Vault
from recollect.protocols.sharing import Shares, Sighting
from recollect.protocols.store import Finding, Store, StoreFacts
from recollect.protocols.syncing import Gone, Received, Settled, SubjectState, Syncing
from recollect.protocols.work import Job, Work, WorkCount, WorkState

if TYPE_CHECKING:  # numpy, which most commands need nothing of
    from recollect.protocols.vectors import Vector, Vectors

__all__ = [
    "Accounts",
    "AuditEntry",
    "Connections",
    "Current",
    "DenseAnswer",
    "Embedder",
    "Extractor",
    "Finding",
    "Following",
    "Fusion",
    "Gone",
    "Graph",
    "GraphCounts",
    "GraphSearch",
    "History",
    "Inbox",
    "Job",
    "KnownSpace",
    "Leg",
    "LexicalMatch",
    "LexicalSearch",
    "LexicalStatistics",
    "Links",
    "Meanings",
    "Memories",
    "Nearby",
    "Page",
    "Passage",
    "ReadSoFar",
    "Readable",
    "Received",
    "Reranker",
    "Sealed",
    "Secrets",
    "Settled",
    "Shares",
    "Sighting",
    "SpaceState",
    "Spaces",
    "Statistics",
    "Store",
    "StoreFacts",
    "SubjectState",
    "Syncing",
    "Unavailable",
    "User",
    "Vault",
    "Vector",
    "Vectors",
    "Work",
    "WorkCount",
    "WorkState",
]
