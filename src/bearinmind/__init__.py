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


def __dir__() -> list[str]:
    """The public names alone."""
    return __all__


def __getattr__(name: str) -> object:
    """Load a name when it is first used: `bearinmind --help` needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    match name:
        case "Mind":
            from bearinmind import app  # noqa: PLC0415

            return app.Mind
        case "Settings":
            from bearinmind import config  # noqa: PLC0415

            return config.Settings
        case "AsyncClient" | "Client" | "connect":
            from bearinmind.surfaces.client import clients  # noqa: PLC0415

            return getattr(clients, name)
        case "Answer" | "Trace" | "WhyNot":
            from bearinmind import trace  # noqa: PLC0415

            return getattr(trace, name)
    from bearinmind import errors, types  # noqa: PLC0415

    return errors.MindError if name == "MindError" else getattr(types, name)
