"""Machines with a memory each, and a server that they sync with, in one process."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.models.embedders import Embedders
from bearinmind.protocols import Store
from bearinmind.sync.replica import SyncReport
from bearinmind.testing import FixedClock
from bearinmind.vault.keys import Key
from support.embedders import WordEmbedder

KEY = Key(bytes(range(32))).text  # what all machines of one user have


@dataclass
class Machines:
    """A server, and as many replicas of it as are asked for."""

    store: Callable[[], Store]
    clock: FixedClock
    opened: ExitStack

    def __post_init__(self) -> None:
        self.server = self.memory(vault_key=None)

    def memory(self, **fields: Any) -> Mind:
        """A memory of Ada's on a store of its own."""
        settings = Settings.model_validate(
            {"user": "ada", "vault_key": KEY, "embedder": "none", **fields}
        )
        by_words = Embedders.among(WordEmbedder())
        made = Mind(self.store(), settings, clock=self.clock, embedders=by_words)
        return self.opened.enter_context(made)

    def replica(self, **fields: Any) -> Mind:
        """A memory that is synced with the server."""
        made = self.memory(**fields)
        made.sync.connect("https://memory.example", "ada")
        return made

    def sync(self, *replicas: Mind) -> list[SyncReport]:
        """A round of each, in order; time passes before each."""
        reports: list[SyncReport] = []
        for replica in replicas:
            self.clock.advance(minutes=1)
            reports.append(replica.sync.run(self.server.sync.server()))
            for error in (reports[-1].pull_error, reports[-1].push_error):
                if error is not None:
                    raise error
        return reports


@contextmanager
def machines(store: Callable[[], Store], clock: FixedClock) -> Iterator[Machines]:
    """A server with an empty store."""
    with ExitStack() as opened:
        yield Machines(store, clock, opened)


def contents(memory: Mind, id: str) -> list[str]:
    """What the versions of a memory say, as far as it is in clear, oldest first."""
    return [version.content for version in memory.versions(id)]
