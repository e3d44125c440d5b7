"""A store as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from recollect.protocols.graph import Graph
from recollect.protocols.memories import Links, Memories
from recollect.protocols.search import LexicalSearch, Spaces
from recollect.protocols.secrets import Secrets
from recollect.protocols.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check of the store looked at."""

    name: str
    good: bool
    detail: str


class Store(Memories, Links, LexicalSearch, Spaces, Work, Secrets, Graph, Protocol):
    """All that a store does."""

    def check(self) -> list[Finding]:
        """Look for damage; reads only."""

    def close(self) -> None:
        """Release files and connections."""
