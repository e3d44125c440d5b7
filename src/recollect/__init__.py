"""Recollect: a persistent memory for AI agents that explains what it recalls."""

import importlib
from typing import TYPE_CHECKING

from recollect.app import Recollect, companions
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

if TYPE_CHECKING:
    from recollect.interfaces.client.clients import AsyncClient, Client, connect

__all__ = [
    "AlreadyKnown",
    "AsyncClient",
    "Client",
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
    "connect",
]


def _kept_in_step(app: Recollect) -> companions.Companion | None:
    """Syncing in the background; it is loaded for whoever opens a memory to stay."""
    begun: companions.Companion | None = importlib.import_module(
        "recollect.interfaces.syncing.background"
    ).keep(app)
    return begun


def _curated(app: Recollect) -> companions.Companion | None:
    """Curation in the background, for whoever turned it on."""
    begun: companions.Companion | None = importlib.import_module("recollect.app.curating").begin(
        app
    )
    return begun


companions.add(_kept_in_step)
companions.add(_curated)

_OF_CLIENTS = ("AsyncClient", "Client", "connect")  # whoever talks to no server needs no httpx


def __getattr__(name: str) -> object:
    if name in _OF_CLIENTS:
        return getattr(importlib.import_module("recollect.interfaces.client.clients"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
