"""Finds the earlier memories that a memory outdates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from bearinmind.protocols import Store
from bearinmind.types import Link, Memory, Scope


@dataclass(frozen=True, slots=True)
class Finder:
    """Compares a memory with the few that may be states of the same thing."""

    store: Store

    def links(
        self, scope: Scope, memory: Memory, now: datetime
    ) -> tuple[Sequence[Link], Sequence[Link]]:
        """The `outdates` links that follow from a memory, and those that no longer do."""
        return (), ()
