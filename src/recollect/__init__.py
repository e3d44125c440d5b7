"""Recollect: a persistent memory for AI agents that explains what it recalls."""

from recollect.app import Recollect
from recollect.config import Settings
from recollect.errors import RecollectError
from recollect.trace import Recollection, Trace, WhyNot
from recollect.types import (
    AlreadyKnown,
    Hit,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Provenance,
    SortBy,
    State,
    Stored,
    Trust,
)

__all__ = [
    "AlreadyKnown",
    "Hit",
    "Link",
    "LinkKind",
    "Memory",
    "MemoryId",
    "Outcome",
    "Provenance",
    "Recollect",
    "RecollectError",
    "Recollection",
    "Settings",
    "SortBy",
    "State",
    "Stored",
    "Trace",
    "Trust",
    "WhyNot",
]
