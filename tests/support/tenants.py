"""What each of many tenants of a store holds, kept so plainly that it can hardly be wrong."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import dataclass, field, replace
from datetime import datetime
from itertools import count
from typing import Any, NamedTuple

from bearinmind.concepts import ConceptName
from bearinmind.protocols import AuditEntry, Sealed
from bearinmind.recall.selection import admits
from bearinmind.store.postgres.lexicon import mark
from bearinmind.text.names import name_of
from bearinmind.types import Filter, Link, LinkKind, Memory, MemoryId, Right, Scope, UserId

Edge = tuple[MemoryId, str, MemoryId]  #: a link: from where, of which kind, and to where


def visible(scope: Scope, memory: Memory) -> bool:
    """Whether somebody may see a memory. All that a model says of others goes by this."""
    return memory.owner == scope.user


def alike(name: str) -> list[Scope]:
    """Users whose names are easily taken for one another, or for more than names."""
    names = [
        name,
        f"{name}1",
        name.upper(),
        f"{name}%",
        f"{name}_",
        f" {name}",
        f"{name} ",
        f"{name}' OR '1' = '1",
        f"{name}\\",
        f"{name}.*",
        f"{name}\u00e9",
        f"{name}e\u0301",
        f"{name}".ljust(128, "\U00010000"),
        *_marked_alike(name),
    ]
    return [Scope(user=UserId(each)) for each in names]


def _marked_alike(name: str) -> tuple[str, str]:
    """Two users whose terms have the same mark in the index of a Postgres store."""
    seen: dict[str, str] = {}
    for number in count():
        other = f"{name}-{number}"
        same = seen.setdefault(mark.__wrapped__(UserId(other)), other)
        if same != other:
            return same, other
    raise AssertionError


def _sets() -> defaultdict[Scope, set[Any]]:
    return defaultdict(set)


def _counters() -> defaultdict[Scope, Counter[str]]:
    return defaultdict(Counter)


class Held(NamedTuple):
    """A version of a memory, and until when it was the present one."""

    memory: Memory
    until: datetime | None = None


class Thing(NamedTuple):
    """What is shared by whom with whom: one memory, or whatever has a tag."""

    owner: UserId
    reader: UserId
    id: MemoryId | None = None
    tag: str | None = None


@dataclass
class Tenants:
    """All that anybody holds: every version, and what belongs to each user beside."""

    held: list[Held] = field(default_factory=list)
    embedded: set[Memory] = field(default_factory=set)  #: versions that have their vector
    read: set[Memory] = field(default_factory=set)  #: versions that mention something
    names: dict[Scope, set[ConceptName]] = field(default_factory=_sets)  #: of what was ever said
    said: dict[Scope, Counter[str]] = field(default_factory=_counters)  #: by ever so many versions
    links: dict[Scope, set[Edge]] = field(default_factory=_sets)  #: that were ever made
    holding: dict[Scope, set[Edge]] = field(default_factory=_sets)  #: of those, what was not undone
    sealed: dict[Scope, set[tuple[MemoryId, int]]] = field(default_factory=_sets)
    noted: dict[Scope, list[AuditEntry]] = field(default_factory=lambda: defaultdict(list))
    mentions: dict[Memory, set[ConceptName]] = field(default_factory=lambda: defaultdict(set))
    shares: dict[Thing, Right] = field(default_factory=dict)  #: that have not ended

    def keep(self, scope: Scope, memory: Memory) -> None:
        """A version becomes the present one of its memory."""
        if not memory.sensitive:
            words = {name_of(word) for word in memory.content.split()}
            self.names[scope] |= words
            self.said[scope].update(words)
        self.held = [
            each._replace(until=memory.updated_at)
            if each.until is None and _is(each.memory, scope, memory.id)
            else each
            for each in self.held
        ]
        self.held.append(Held(replace(memory, owner=scope.user)))

    def conceal(self, scope: Scope, id_: MemoryId, content: str) -> None:
        """Every version so far says something else, and is sensitive."""
        self.held = [
            each._replace(memory=replace(each.memory, content=content, sensitive=True))
            if _is(each.memory, scope, id_) and not each.memory.sensitive
            else each
            for each in self.held
        ]

    def purge(self, scope: Scope, id_: MemoryId) -> None:
        self.held = [each for each in self.held if not _is(each.memory, scope, id_)]
        self.sealed[scope] = {each for each in self.sealed[scope] if each[0] != id_}
        self.shares = {x: y for x, y in self.shares.items() if (x.owner, x.id) != (scope.user, id_)}
        for links in (self.links, self.holding):
            links[scope] = {each for each in links[scope] if id_ not in each}

    def link(self, scope: Scope, link: Link) -> None:
        edge = (link.source, str(link.kind), link.target)
        self.links[scope].add(edge)
        self.holding[scope].add(edge)

    def unlink(self, scope: Scope, link: Link) -> None:
        self.holding[scope].discard((link.source, str(link.kind), link.target))

    def versions(self, scope: Scope) -> list[Memory]:
        """Every version that somebody may see, oldest first."""
        return [each.memory for each in self.held if visible(scope, each.memory)]

    def present(self, scope: Scope, as_of: datetime | None = None) -> dict[MemoryId, Memory]:
        """What somebody could see at a moment, deleted or not."""
        return {
            memory.id: memory
            for memory, until in self.held
            if visible(scope, memory)
            and (until is None if as_of is None else memory.updated_at <= as_of)
            and (until is None or (as_of is not None and until > as_of))
        }

    def admitted(self, filter: Filter) -> dict[MemoryId, Memory]:
        """Those of them that a filter admits, deleted or not."""
        present = self.present(filter.scope, filter.as_of)
        if filter.reader is not None:
            present = self.shared(filter)
        return {id_: memory for id_, memory in present.items() if admits(filter, memory)}

    def findable(self, filter: Filter) -> dict[MemoryId, Memory]:
        """Those of them that a leg may find."""
        admitted = self.admitted(filter)
        return {id_: memory for id_, memory in admitted.items() if memory.deleted_at is None}

    def shared(self, filter: Filter) -> dict[MemoryId, Memory]:
        """What an owner shares with a reader now: nothing as of any moment."""
        if filter.as_of is not None:
            return {}
        replaced = self.replaced(filter.scope)
        return {
            id_: memory
            for id_, memory in self.present(filter.scope).items()
            if memory.deleted_at is None
            and id_ not in replaced
            and self.right(filter, memory) is not None
        }

    def visible_to(self, filter: Filter) -> list[Memory]:
        """What somebody has, and what they see of everybody else, oldest first."""
        others = {x.memory.owner for x in self.held} - {filter.scope.user}
        views = [replace(filter, scope=Scope(user=x), reader=filter.scope.user) for x in others]
        found = [memory for view in (filter, *views) for memory in self.admitted(view).values()]
        return sorted(found, key=lambda memory: (memory.created_at, memory.id))

    def replaced(self, scope: Scope) -> set[MemoryId]:
        """What is superseded by something that is not deleted."""
        present = self.present(scope)
        live = {id_ for id_, memory in present.items() if memory.deleted_at is None}
        superseding = [x for x in self.holding[scope] if x[1] == LinkKind.SUPERSEDES]
        return {target for source, _, target in superseding if source in live}

    def right(self, filter: Filter, memory: Memory) -> Right | None:
        """What a reader may do with a memory, be it deleted or superseded."""
        rights = {
            right
            for thing, right in self.shares.items()
            if (thing.owner, thing.reader) == (memory.owner, filter.reader)
            and (thing.id == memory.id or thing.tag in memory.tags)
        }
        return None if memory.sensitive else max(rights, key=[*Right].index, default=None)


def sealed(scope: Scope, memory: Memory) -> Sealed:
    """The record of a version that is hidden."""
    return Sealed(
        owner=scope.user,
        id=memory.id,
        version=memory.version,
        key_id="key",
        nonce=b"0",
        ciphertext=b"hidden",
        fingerprint=f"{memory.id} {memory.version}".encode(),
    )


def _is(memory: Memory, scope: Scope, id_: MemoryId) -> bool:
    return (memory.owner, memory.id) == (scope.user, id_)
