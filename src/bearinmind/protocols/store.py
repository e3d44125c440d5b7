"""A store as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from bearinmind.protocols.accounts import Accounts
from bearinmind.protocols.graph import Graph
from bearinmind.protocols.inbox import Inbox
from bearinmind.protocols.memories import Links, Memories
from bearinmind.protocols.search import LexicalSearch, Spaces
from bearinmind.protocols.secrets import Secrets
from bearinmind.protocols.sharing import Shares
from bearinmind.protocols.syncing import Syncing
from bearinmind.protocols.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that a check of the store looked at."""

    name: str
    good: bool
    detail: str


class StoreFacts(NamedTuple):
    """What a store stands on."""

    bytes: int | None  #: of everything in it, whoever's it is; None when nobody can say
    versions: Mapping[str, str]  #: by name: what it runs on beside this process

    def __str__(self) -> str:
        size = [] if self.bytes is None else [f"{self.bytes / 2**20:,.1f} MiB"]
        return ", ".join([*size, *map(" ".join, self.versions.items())])


class Store(
    Memories,
    Links,
    LexicalSearch,
    Spaces,
    Work,
    Secrets,
    Graph,
    Shares,
    Accounts,
    Syncing,
    Inbox,
    Protocol,
):
    """All that a store does."""

    def check(self) -> list[Finding]:
        """Look for damage; reads only."""

    def for_recall(self) -> Store:
        """What recalls read: this store, or a copy of it that is recent enough."""

    def facts(self) -> StoreFacts:
        """How large it is, and on what it runs."""

    def close(self) -> None:
        """Release files and connections."""
