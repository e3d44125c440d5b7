"""Bear in Mind: a persistent memory for AI agents that explains what it recalls."""

from typing import TYPE_CHECKING

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import MindError
from bearinmind.trace import Answer, Trace, WhyNot
from bearinmind.types import (
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

if TYPE_CHECKING:
    from bearinmind.surfaces.client.clients import AsyncClient, Client, connect

__all__ = [
    "AlreadyKnown",
    "Answer",
    "AsyncClient",
    "Client",
    "Hit",
    "Link",
    "LinkKind",
    "Memory",
    "MemoryId",
    "Mind",
    "MindError",
    "Outcome",
    "Provenance",
    "Settings",
    "SortBy",
    "State",
    "Stored",
    "Trace",
    "Trust",
    "WhyNot",
    "connect",
]


def __getattr__(name: str) -> object:
    if name in ("AsyncClient", "Client", "connect"):  # httpx is loaded only for them
        from bearinmind.surfaces.client import clients  # noqa: PLC0415

        return getattr(clients, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
