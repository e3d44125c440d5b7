"""Bear in Mind: a persistent memory for AI agents that explains what it recalls."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bearinmind.app import Mind
    from bearinmind.config import Settings
    from bearinmind.errors import MindError
    from bearinmind.surfaces.client.clients import AsyncClient, Client, connect
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
    """Load a name when it is first used: `bearinmind --help` needs none of them."""
    match name:
        case "Mind":
            from bearinmind import app as home  # noqa: PLC0415
        case "Settings":
            from bearinmind import config as home  # noqa: PLC0415
        case "MindError":
            from bearinmind import errors as home  # noqa: PLC0415
        case "AsyncClient" | "Client" | "connect":
            from bearinmind.surfaces.client import clients as home  # noqa: PLC0415
        case "Answer" | "Trace" | "WhyNot":
            from bearinmind import trace as home  # noqa: PLC0415
        case _ if name in __all__:
            from bearinmind import types as home  # noqa: PLC0415
        case _:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = globals()[name] = getattr(home, name)
    return value
