"""Every write that was acknowledged, and how to find it again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from bearinmind.protocols import History, Page, Store, Vault
from bearinmind.remember.secrets import record_of
from bearinmind.types import Decider, Filter, Link, Memory, MemoryId, Scope, State
from support.simulator.clocks import START

SECRET = "sesame-"  # noqa: S105  what every secret of the simulator begins with


class Broken(AssertionError):
    """Something that must hold does not."""


@dataclass
class Ledger:
    """Every write that was acknowledged, and everything that travelled in clear."""

    scope: Scope
    written: dict[str, MemoryId] = field(default_factory=dict)  #: by the mark that it left
    removed: set[str] = field(default_factory=set)  #: marks that a purge knew of
    linked: dict[tuple[str, ...], Link] = field(default_factory=dict)
    unlinked: set[tuple[str, ...]] = field(default_factory=set)
    #: Which of two memories holds, as somebody decided: by whom, under the probability alone.
    decided: dict[frozenset[str], dict[float, Decider]] = field(default_factory=dict)
    overruled: set[float] = field(default_factory=set)  #: decisions that a later decider knew
    purged: set[MemoryId] = field(default_factory=set)
    flagged: set[MemoryId] = field(default_factory=set)  #: sealed with all their versions
    unsealed: set[MemoryId] = field(default_factory=set)  #: of those: laid open again
    deleted: set[MemoryId] = field(default_factory=set)
    #: What crossed the network before, by identity: most of it crosses again and again.
    _clean: dict[int, object] = field(default_factory=dict)

    def heard(self, message: object) -> None:
        """Something crosses the network."""
        for each in _leaves(message):
            if id(each) not in self._clean:
                if SECRET in repr(each):
                    raise Broken("a secret crossed the network in clear")
                self._clean[id(each)] = each

    def acknowledge(self, mark: str, id: MemoryId) -> None:
        """A write was acknowledged; its mark is in some field of the version that it made."""
        self.written[mark] = id

    def purge(self, store: Store, vault: Vault, id: MemoryId) -> None:
        """A memory is about to be purged by somebody who knows of these writes."""
        self.purged.add(id)
        self.deleted.discard(id)
        versions = store.versions(self.scope, id)
        words = [word for each in words_of(store, vault, self.scope, versions) for word in each]
        self.removed |= {
            mark
            for mark, where in self.written.items()
            if where == id and any(mark in word for word in words)
        }


def _leaves(message: object) -> Iterator[object]:
    """What a message is made of."""
    parts = [message]
    while parts:
        part = parts.pop()
        if isinstance(part, History):
            parts += [*part.versions, *part.sealed]
        elif isinstance(part, tuple | list):
            parts += part
        else:
            yield part


def words_of(
    store: Store, vault: Vault, scope: Scope, versions: Sequence[Memory]
) -> list[list[str]]:
    """By version of a memory: all words in which a write may have left its mark."""
    secret = [memory.id for memory in versions if memory.sensitive]
    records = store.sealed(scope, secret[0]) if secret else []
    found: list[list[str]] = []
    for memory in versions:
        content = memory.content
        if memory.sensitive:
            record = record_of(records, memory.version)
            if record is None:
                raise Broken(f"what version {memory.version} of {memory.id} says is not there")
            content = vault.open(record)
        found.append([*content.split(), *memory.tags, *memory.keywords])
    return found


def memories_of(store: Store, scope: Scope) -> list[Memory]:
    """The present version of every memory."""
    every = Filter(scope=scope, now=START, states=frozenset(State))
    return store.browse(every, Page(limit=10_000))
