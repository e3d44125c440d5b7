"""A store that lives and dies with the process."""

from __future__ import annotations

import operator
from collections import Counter
from collections.abc import Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Self

from bearinmind import errors
from bearinmind.filters import says_more
from bearinmind.mirrors import owner_of
from bearinmind.protocols import (
    Finding,
    History,
    LexicalMatch,
    LexicalStatistics,
    Page,
    Sealed,
    Statistics,
    StoreFacts,
)
from bearinmind.testing.accounts import AccountsInMemory
from bearinmind.testing.graph import GraphInMemory
from bearinmind.testing.holdings import (
    TAGS_COUNTED,
    Holdings,
    Indexed,
    age,
    bm25,
    identity,
    most,
    owned_by,
    statistics,
    when_made,
)
from bearinmind.testing.receiving import SyncingInMemory
from bearinmind.testing.secrets import SecretsInMemory
from bearinmind.types import (
    AlreadyKnown,
    Filter,
    Link,
    Memory,
    MemoryId,
    Outcome,
    Scope,
    State,
    Stored,
)


class MemoryStore(
    AccountsInMemory,
    SecretsInMemory,
    SyncingInMemory,
    GraphInMemory,
):
    """A store that lives and dies with the process; satisfies `bearinmind.protocols.Store`."""

    @contextmanager
    def _write(self, scope: Scope, *, noted: bool = True) -> Iterator[Holdings]:
        """One transaction: all of it, or nothing when it raises; what it writes is numbered."""
        with self._lock:
            owned = self._holdings[scope.user]
            changed = Holdings([*owned.rows], [*owned.links], [*owned.sealed])
            yield changed
            self._holdings[scope.user] = changed
            self._follow(owned, changed)
            if noted:
                self._note_written(scope, owned, changed)

    def _read(self, scope: Scope) -> Holdings:
        """What a user has: a value that no later transaction changes."""
        with self._lock:
            return self._holdings[scope.user]

    # ---- writing -------------------------------------------------------------------------------

    def put(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
    ) -> Outcome:
        """Keep a new memory with its links, unless a live one has the same content."""
        with self._write(scope) as owned:
            before = len(owned.sealed)
            self._keep_sealed(owned, sealed)
            known = owned.known(memory)
            if known is not None:
                del owned.sealed[before:]
                return AlreadyKnown(memory=known)
            if memory.id in owned.at(None):
                raise errors.IdTaken(f"a memory with the id {memory.id!r} exists already")
            owned.insert(owned_by(scope.user, memory))
            for link in links:
                owned.link(link)
        return Stored(memory=memory)

    def put_many(
        self, scope: Scope, histories: Sequence[History], siblings: Container[MemoryId] = ()
    ) -> list[Outcome | None]:
        """Keep many in one transaction; None where that id is stored already, in any state."""
        outcomes: list[Outcome | None] = []
        with self._write(scope) as owned:
            for history in histories:
                present = history.versions[-1]
                if present.id in owned.at(None):
                    outcomes.append(None)
                    continue
                before = len(owned.sealed)
                self._keep_sealed(owned, history.sealed)
                known = None if present.deleted_at else owned.known(present)
                if known is not None and known.id not in siblings:
                    del owned.sealed[before:]
                    outcomes.append(AlreadyKnown(memory=known))
                else:
                    ends = [later.updated_at for later in history.versions[1:]]
                    for memory, end in zip(history.versions, [*ends, None], strict=True):
                        owned.insert(owned_by(scope.user, memory), end)
                    outcomes.append(Stored(memory=present))
        return outcomes

    def replace(
        self,
        scope: Scope,
        memory: Memory,
        links: Sequence[Link] = (),
        sealed: Sequence[Sealed] = (),
        concealed: Sequence[Memory] = (),
    ) -> None:
        """Make `memory` the present version of its id, and keep these links with it."""
        with self._write(scope) as owned:
            present = owned.before(memory)
            self._keep_sealed(owned, sealed)
            says_other = says_more(present.memory, memory) or bool(sealed)
            known = owned.known(memory) if says_other else None
            if known is not None:
                raise errors.DuplicateContent(f"memory {known.id} already says exactly this")
            owned.close(present, memory.updated_at)
            for earlier in concealed:
                owned.conceal(replace(earlier, owner=scope.user))
            owned.insert(owned_by(scope.user, memory))
            for link in links:
                owned.link(link)

    def replace_shared(self, filter: Filter, memory: Memory) -> None:
        """Make `memory` the present version of its id, as the reader, who has the right to write.

        That the owner has a memory which says the same is told only where the reader sees it.
        """
        with self._write(filter.scope) as owned:
            self._require_write(filter, memory)
            present = owned.before(memory)
            known = owned.known(memory) if says_more(present.memory, memory) else None
            if known is not None and self.visible(filter, [known.id]):
                raise errors.DuplicateContent(f"memory {known.id} already says exactly this")
            owned.close(present, memory.updated_at)
            owned.insert(replace(memory, owner=filter.scope.user))

    def purge(self, scope: Scope, ids: Sequence[MemoryId]) -> bool:
        """Remove these memories, their versions and their links for good."""
        gone = frozenset(ids)
        with self._lock:
            with self._write(scope) as owned:
                owned.forget(gone)
            self._note(scope, dict.fromkeys(self._forget_shares(scope, gone), ()))
            self._redact(scope, ids)
        return True

    # ---- reading -------------------------------------------------------------------------------

    def get(self, scope: Scope, id: MemoryId, as_of: datetime | None = None) -> Memory | None:
        """The version of a memory that was the present one at a moment, deleted or not."""
        return self.get_many(scope, [id], as_of).get(id)

    def get_many(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> dict[MemoryId, Memory]:
        """The same for many."""
        held = self._read(scope).at(as_of)
        return {id_: held[id_].memory for id_ in ids if id_ in held}

    def resolve(self, scope: Scope, prefix: str, limit: int = 5) -> list[MemoryId]:
        """The ids that begin so, in order."""
        return sorted(x for x in self._read(scope).at(None) if x.startswith(prefix))[:limit]

    def versions(self, scope: Scope, id: MemoryId) -> list[Memory]:
        """Every version of a memory, oldest first."""
        versions = [row.memory for row in self._read(scope).rows if row.memory.id == id]
        return sorted(versions, key=lambda memory: memory.version)

    def said_by(self, scope: Scope, memory: Memory) -> Memory | None:
        """The oldest other memory with the same content that is neither deleted nor superseded."""
        return None if memory.sensitive else self._read(scope).known(memory)

    def browse(self, filter: Filter, page: Page) -> list[Memory]:
        """The memories that a filter admits, by creation time and then id."""
        found = self._in_states(filter)
        found.sort(key=when_made, reverse=page.newest_first)
        if page.after is not None:
            beyond = operator.lt if page.newest_first else operator.gt
            found = [memory for memory in found if beyond(when_made(memory), page.after)]
        return found[: page.limit]

    def count(self, filter: Filter) -> int:
        """How many memories a filter admits."""
        return len(self._in_states(filter))

    def _in_states(self, filter: Filter) -> list[Memory]:
        states = self._read(filter.scope).states(filter.as_of, filter.now)
        held = [row.memory for row in self._admitted(filter)]
        meant = [memory for memory in held if states[memory.id] in filter.states]
        return [replace(memory, owner=owner_of(memory.owner)) for memory in meant]

    def statistics(self, scope: Scope, now: datetime) -> Statistics:
        """Counts of what a scope holds."""
        owned = self._read(scope)
        states = owned.states(None, now)
        counts = Counter(states.values())
        held = [row.memory for row in owned.at(None).values()]
        live = [memory for memory in held if states[memory.id] is State.LIVE]
        times = [memory.created_at for memory in held if memory.deleted_at is None]
        return Statistics(
            live=counts[State.LIVE],
            superseded=counts[State.SUPERSEDED],
            expired=counts[State.EXPIRED],
            deleted=counts[State.DELETED],
            earlier_versions=len(owned.rows) - len(held),
            links=len(owned.links_at(None)),
            categories=dict(most(Counter(memory.category for memory in live))),
            tags=dict(most(Counter(t for m in live for t in m.tags))[:TAGS_COUNTED]),
            oldest=min(times, default=None),
            newest=max(times, default=None),
        )

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link; duplicates and supersede cycles are refused."""
        with self._write(scope) as owned:
            owned.link(link)

    def remove_link(self, scope: Scope, link: Link) -> bool:
        """Close a link at `link.removed_at`; False when there is none to close."""
        with self._write(scope) as owned:
            for place, kept in enumerate(owned.links):
                if identity(kept) == identity(replace(link, removed_at=None)):
                    owned.links[place] = replace(kept, removed_at=link.removed_at)
                    return True
        return False

    def has_links(self, scope: Scope) -> bool:
        """Whether a scope has any link, past or present."""
        return bool(self._read(scope).links)

    def links(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The links that begin or end at these memories, oldest first."""
        holding = self._read(scope).links_at(as_of)
        return sorted((x for x in holding if x.source in ids or x.target in ids), key=age)

    def all_links(self, scope: Scope) -> Iterator[Link]:
        """Every link ever made in a scope, removed ones too."""
        return iter(sorted(self._read(scope).links, key=age))

    def superseding(
        self, scope: Scope, ids: Sequence[MemoryId], as_of: datetime | None = None
    ) -> list[Link]:
        """The supersedes links above these memories, as far as their chains go."""
        links = self._read(scope).superseding(as_of)
        reached = frozenset(ids)
        while more := {link.source for link in links if link.target in reached} - reached:
            reached |= more
        return sorted((link for link in links if link.target in reached), key=age)

    def _index(self) -> list[Indexed]:
        with self._lock:
            return [row.indexed for row in self._rows() if row.indexed]

    def lexical_statistics(self, scope: Scope, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent the terms are among what the scope holds."""
        return statistics(self._read(scope).rows, terms)

    def visible_statistics(self, filter: Filter, terms: Sequence[str]) -> LexicalStatistics:
        """How frequent terms are among what the reader can see."""
        return statistics(self._held(filter), terms)

    def lexical_matches(
        self, filter: Filter, terms: Sequence[str], *, every: bool, limit: int
    ) -> list[LexicalMatch]:
        """The best `limit` admitted memories that hold every, or any, of the terms, by BM25."""
        score = bm25(self._index(), terms)
        wanted = len({*terms}) if every else 1
        found: list[tuple[float, LexicalMatch]] = []
        for _, memory, _, indexed in self._admitted(filter):
            held = len(indexed.weights.keys() & {*terms}) if indexed else 0
            if indexed and held and held >= wanted:
                load = partial(replace, memory, owner=owner_of(memory.owner))
                match = LexicalMatch(memory.id, memory.content, *indexed.entry, load)
                found.append((score(indexed), match))
        found.sort(key=lambda match: -match[0])  # stable: equal scores stay in the order of writing
        return [match for _, match in found[:limit]]

    def for_recall(self) -> Self:
        """There is no copy of it."""
        return self

    def facts(self) -> StoreFacts:
        """It takes no room that could be counted."""
        return StoreFacts(0, {})

    def check(self) -> list[Finding]:
        """There is no file to be damaged."""
        return []

    def close(self) -> None:
        """There is nothing to release."""
