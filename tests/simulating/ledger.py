"""What must hold when everything is over, told apart from the code that is to see to it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import pairwise

from recollect.changes import ConflictKind, SyncConflict, digest
from recollect.protocols import Page, Store, Vault
from recollect.remember.sensitive import record_of
from recollect.types import Filter, Link, Memory, MemoryId, Scope, State
from simulating.clocks import START

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
    purged: set[MemoryId] = field(default_factory=set)
    flagged: set[MemoryId] = field(default_factory=set)  #: sealed with all their versions
    unsealed: set[MemoryId] = field(default_factory=set)  #: of those: laid open again
    deleted: set[MemoryId] = field(default_factory=set)

    def heard(self, message: object) -> None:
        """Something crosses the network."""
        if SECRET in repr(message):
            raise Broken("a secret crossed the network in clear")

    def acknowledge(self, mark: str, id: MemoryId) -> None:
        """A write was acknowledged; its mark is in some field of the version that it made."""
        self.written[mark] = id

    def purge(self, store: Store, vault: Vault, id: MemoryId) -> None:
        """A memory is about to be purged by somebody who knows of these writes."""
        self.purged.add(id)
        self.deleted.discard(id)
        texts = [text for each in texts_of(store, vault, self.scope, id) for text in each]
        self.removed |= {
            mark
            for mark, where in self.written.items()
            if where == id and any(mark in text for text in texts)
        }


def texts_of(store: Store, vault: Vault, scope: Scope, id: MemoryId) -> list[list[str]]:
    """By version: all words in which a write may have left its mark."""
    records = store.sealed(scope, id)
    found: list[list[str]] = []
    for memory in store.versions(scope, id):
        content = memory.content
        if memory.sensitive:
            record = record_of(records, memory.version)
            if record is None:
                raise Broken(f"what version {memory.version} of {id} says is not there")
            content = vault.open(record)
        found.append([*content.split(), *memory.tags, *memory.keywords])
    return found


def memories_of(store: Store, scope: Scope) -> list[Memory]:
    """The present version of every memory."""
    every = Filter(scope=scope, now=START, states=frozenset(State))
    return store.browse(every, Page(limit=10_000))


def snapshot(store: Store, scope: Scope) -> dict[str, object]:
    """All that must be the same everywhere."""
    found: dict[str, object] = {
        f"memory {memory.id}": [*map(digest, store.versions(scope, memory.id))]
        for memory in memories_of(store, scope)
    }
    for link in store.all_links(scope):
        name = f"link {link.source} {link.kind} {link.target} {link.created_at.isoformat()}"
        found[name] = link.removed_at
    for share in store.shares(scope):
        found[f"share {share.reader} {share.memory or share.tag}"] = share.right
    return found


def check_same(stores: dict[str, Store], scope: Scope) -> None:
    """All stores hold the same."""
    snapshots = {name: snapshot(store, scope) for name, store in stores.items()}
    (first, expected), *others = snapshots.items()
    for name, found in others:
        if found != expected:
            differing = sorted(
                key
                for key in {*found, *expected}
                if found.get(key, "nothing") != expected.get(key, "nothing")
            )
            raise Broken(f"{name} and {first} differ in {differing}")


def check_nothing_lost(
    ledger: Ledger, store: Store, vault: Vault, conflicts: Iterable[SyncConflict]
) -> None:
    """Every acknowledged write is in the history of its memory, and nowhere else.

    A link may be dropped for another one that makes it impossible, but then a conflict says so.
    """
    marks: dict[str, set[MemoryId]] = {}
    for memory in memories_of(store, ledger.scope):
        words = {w for each in texts_of(store, vault, ledger.scope, memory.id) for w in each}
        for word in words:
            marks.setdefault(word, set()).add(memory.id)
    for mark, id_ in ledger.written.items():
        found = marks.get(mark, set())
        if not found and mark not in ledger.removed:
            raise Broken(f"the write {mark} of {id_} is lost")
        if found - {id_}:
            raise Broken(f"the write {mark} of {id_} is also in {sorted(found - {id_})}")
    links = store.all_links(ledger.scope)
    there: set[tuple[str, ...]] = {(x.source, x.kind.value, x.target) for x in links}
    there |= {x.subject.parts for x in conflicts if x.kind is ConflictKind.LINKED}
    for triple in {*ledger.linked} - ledger.unlinked - there:
        if ledger.purged.isdisjoint((MemoryId(triple[0]), MemoryId(triple[2]))):
            raise Broken(f"the link {triple} is lost")


def check_histories(store: Store, vault: Vault, ledger: Ledger) -> None:
    """Every history goes on without a gap, and holds no version twice; secrets are sealed."""
    for memory in memories_of(store, ledger.scope):
        versions = store.versions(ledger.scope, memory.id)
        texts_of(store, vault, ledger.scope, memory.id)  # every secret opens
        if [version.version for version in versions] != [*range(1, len(versions) + 1)]:
            raise Broken(f"{memory.id} has versions {[x.version for x in versions]}")
        if any(later.updated_at < earlier.updated_at for earlier, later in pairwise(versions)):
            raise Broken(f"the versions of {memory.id} are not in the order of time")
        if max(Counter(map(digest, versions)).values()) > 1:
            raise Broken(f"a version of {memory.id} is there twice")
        if any(SECRET in repr(version) for version in versions):
            raise Broken(f"{memory.id} has a secret in clear")
        if memory.id in ledger.deleted and not any(version.deleted_at for version in versions):
            raise Broken(f"{memory.id} was deleted, and its history does not say so")
        sealed = memory.id in ledger.flagged - ledger.purged - ledger.unsealed
        if sealed and not all(version.sensitive for version in versions):
            raise Broken(f"{memory.id} was sealed, and has versions in clear")
