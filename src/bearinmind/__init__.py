"""Bear in Mind: a persistent memory for AI agents that explains what it recalls."""

import importlib
from typing import TYPE_CHECKING

from bearinmind.app import Mind, companions
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


def _kept_in_step(app: Mind) -> companions.Companion | None:
    """Syncing in the background; it is loaded for whoever opens a memory to stay."""
    from bearinmind.surfaces.sync_setup import keep_in_step  # noqa: PLC0415  for those alone

    return keep_in_step(app)


def _curated(app: Mind) -> companions.Companion | None:
    """Curation in the background, for whoever turned it on."""
    begun: companions.Companion | None = importlib.import_module("bearinmind.app.curating").begin(
        app
    )
    return begun


companions.add(_kept_in_step)
companions.add(_curated)

_OF_CLIENTS = ("AsyncClient", "Client", "connect")  # whoever talks to no server needs no httpx


def __getattr__(name: str) -> object:
    if name in _OF_CLIENTS:
        return getattr(importlib.import_module("bearinmind.surfaces.client.clients"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
