"""What the rooms need of a store, a leg and a model."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bearinmind.protocols.graph import (
    Connections,
    Extractor,
    Graph,
    GraphCounts,
    GraphSearch,
    ReadSoFar,
)
from bearinmind.protocols.memories import (
    History,
    Links,
    Memories,
    Page,
    Sealed,
    Statistics,
)
from bearinmind.protocols.search import (
    Current,
    DenseAnswer,
    Embedder,
    Following,
    Fusion,
    KnownSpace,
    Leg,
    LexicalMatch,
    LexicalSearch,
    LexicalStatistics,
    Meanings,
    Nearby,
    Passage,
    Readable,
    Reranker,
    Spaces,
    SpaceState,
    Unavailable,
)
from bearinmind.protocols.store import (
    Accounts,
    AuditEntry,
    Finding,
    Secrets,
    Shares,
    Sighting,
    Store,
    StoreFacts,
    User,
    Vault,
)
from bearinmind.protocols.sync_feed import Gone, Received, Settled, SubjectState, Syncing
from bearinmind.protocols.work import Inbox, Job, Work, WorkCount, WorkState

if TYPE_CHECKING:  # numpy, which most commands need nothing of
    from bearinmind.protocols.search import Vector, Vectors

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
