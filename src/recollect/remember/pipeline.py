"""The write path: admit, acknowledge durably, keep everything that was."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from recollect import errors
from recollect.protocols import History, Store
from recollect.remember.admit import Rules, admit
from recollect.types import (
    AlreadyKnown,
    Draft,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Provenance,
    Scope,
    UserId,
)

_TICK = timedelta(microseconds=1)


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """What an update changes; None leaves a field as it is."""

    content: str | None = None
    category: str | None = None
    tags: tuple[str, ...] | None = None
    keywords: tuple[str, ...] | None = None
    importance: float | None = None
    valid_from: datetime | None = None
    valid_to: datetime | None = None
    always_valid: bool = False  #: take the valid-from / valid-to span away
    provenance: Provenance | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan:
    """What a purge removes for good."""

    memories: tuple[Memory, ...]
    versions: int
    links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember:
    """Everything that changes what is stored."""

    store: Store
    rules: Rules
    clock: Callable[[], datetime]
    new_id: Callable[[], MemoryId]

    def add(self, scope: Scope, draft: Draft, supersedes: Sequence[Memory] = ()) -> Outcome:
        """Keep a draft as a new memory that takes the place of the given ones.

        When a memory says the same already, that one takes their place.
        """
        now = self.clock()
        _refuse_deleted(supersedes)
        memory = self._new(scope, admit(draft, self.rules, now), now)
        links = [
            Link(
                source=memory.id,
                target=old.id,
                kind=LinkKind.SUPERSEDES,
                created_at=max(memory.created_at, old.created_at),
            )
            for old in {old.id: old for old in supersedes}.values()
        ]
        outcome = self.store.put(scope, memory, links)
        if isinstance(outcome, AlreadyKnown):
            for old in supersedes:
                if old.id != outcome.memory.id:
                    with suppress(errors.DuplicateLink):
                        self.link(scope, outcome.memory, LinkKind.SUPERSEDES, old)
        return outcome

    def admit_history(self, scope: Scope, versions: Sequence[Memory]) -> History:
        """A memory from elsewhere, every version of it held to the same rules as a new one.

        Raises:
            InvalidInput: a version breaks a rule.
            InvalidRecord: the versions do not follow one another.
        """
        now = self.clock()
        admitted = tuple(
            _with(version, admit(_draft_of(version), self.rules, now), owner=scope.user)
            for version in versions
        )
        for earlier, later in itertools.pairwise(admitted):
            if later.version <= earlier.version or later.updated_at < earlier.updated_at:
                raise errors.InvalidRecord(
                    f"version {later.version} of {later.id} does not follow {earlier.version}"
                )
        return History(versions=admitted)

    def update(
        self,
        scope: Scope,
        memory: Memory,
        changes: Changes,
        expected_version: int | None = None,
    ) -> Memory:
        """Change a memory; the version before stays readable. Changing nothing writes nothing."""
        if memory.deleted_at is not None:
            raise errors.AlreadyDeleted(f"memory {memory.id} is deleted and cannot be changed")
        if expected_version is not None and expected_version != memory.version:
            raise errors.VersionConflict(
                f"memory {memory.id} has version {memory.version}, not {expected_version}"
            )
        draft = admit(_apply(changes, _draft_of(memory)), self.rules, self.clock())
        changed = _with(memory, draft, owner=memory.owner)
        if changed == memory:
            return memory
        changed = self._next(changed)
        self.store.replace(scope, changed)
        return changed

    def delete(self, scope: Scope, memory: Memory) -> Memory:
        """Hide a memory from recall; it can be restored.

        Where it stood inside a supersede chain, its neighbours are linked to each other, so that
        what it had superseded does not come back.
        """
        if memory.deleted_at is not None:
            raise errors.AlreadyDeleted(f"memory {memory.id} is deleted already")
        deleted = self._next(memory)
        deleted = replace(deleted, deleted_at=deleted.updated_at)
        self.store.replace(scope, deleted, self._bridge(scope, memory.id, deleted.updated_at))
        return deleted

    def restore(self, scope: Scope, memory: Memory) -> Memory:
        """Bring a deleted memory back."""
        if memory.deleted_at is None:
            raise errors.NotDeleted(f"memory {memory.id} is not deleted")
        restored = self._next(replace(memory, deleted_at=None))
        self.store.replace(scope, restored)
        return restored

    def plan_purge(self, scope: Scope, memories: Sequence[Memory]) -> PurgePlan:
        """What a purge of these deleted memories would remove for good."""
        for memory in memories:
            if memory.deleted_at is None:
                raise errors.NotDeleted(f"memory {memory.id} is not deleted: only those are purged")
        ids = {memory.id for memory in memories}
        return PurgePlan(
            memories=tuple(memories),
            versions=sum(len(self.store.versions(scope, id_)) for id_ in ids),
            links=sum(
                link.source in ids or link.target in ids for link in self.store.all_links(scope)
            ),
        )

    def purge(self, scope: Scope, plan: PurgePlan) -> bool:
        """Carry out a plan, unless something was restored meanwhile; this cannot be undone."""
        ids = [memory.id for memory in plan.memories]
        self.plan_purge(scope, [*self.store.get_many(scope, ids).values()])
        return self.store.purge(scope, ids)

    def link(self, scope: Scope, source: Memory, kind: LinkKind, target: Memory) -> Link:
        """Link two memories."""
        if source.id == target.id:
            raise errors.SelfLink(f"memory {source.id} cannot be linked to itself")
        _refuse_deleted((source, target))
        link = Link(source=source.id, target=target.id, kind=kind, created_at=self.clock())
        self.store.add_link(scope, link)
        return link

    def add_link(self, scope: Scope, link: Link) -> None:
        """Keep a link from elsewhere, with its times; both memories must be there."""
        if link.source == link.target:
            raise errors.SelfLink(f"memory {link.source} cannot be linked to itself")
        found = self.store.get_many(scope, [link.source, link.target])
        for id_ in (link.source, link.target):
            if id_ not in found:
                raise errors.MemoryNotFound(f"the link names {id_}, which is not stored")
        self.store.add_link(scope, link)

    def unlink(self, scope: Scope, source: MemoryId, kind: LinkKind, target: MemoryId) -> Link:
        """End a link; that it was there stays known."""
        now = self.clock()
        link = Link(source=source, target=target, kind=kind, created_at=now, removed_at=now)
        if not self.store.remove_link(scope, link):
            raise errors.LinkNotFound(f"there is no link {source} {kind} {target}")
        return link

    def _new(self, scope: Scope, draft: Draft, now: datetime) -> Memory:
        created_at = draft.created_at or now
        return Memory(
            id=self.new_id(),
            owner=scope.user,
            content=draft.content,
            category=draft.category,
            tags=draft.tags,
            keywords=draft.keywords,
            importance=draft.importance,
            sensitive=draft.sensitive,
            created_at=created_at,
            updated_at=created_at,
            deleted_at=None,
            valid_from=draft.valid_from,
            valid_to=draft.valid_to,
            provenance=draft.provenance,
            version=1,
        )

    def _next(self, memory: Memory) -> Memory:
        """The next version, written now; never before the last, whatever the clock says."""
        now = max(self.clock(), memory.updated_at + _TICK)
        return replace(memory, version=memory.version + 1, updated_at=now)

    def _bridge(self, scope: Scope, middle: MemoryId, now: datetime) -> list[Link]:
        """Links from what supersedes a memory to what it supersedes."""
        chain = [
            link for link in self.store.links(scope, [middle]) if link.kind is LinkKind.SUPERSEDES
        ]
        above = [link.source for link in chain if link.target == middle]
        below = [link.target for link in chain if link.source == middle]
        there = {
            (link.source, link.target)
            for link in self.store.links(scope, below)
            if link.kind is LinkKind.SUPERSEDES
        }
        return [
            Link(source=source, target=target, kind=LinkKind.SUPERSEDES, created_at=now)
            for source in above
            for target in below
            if (source, target) not in there
        ]


def _refuse_deleted(memories: Sequence[Memory]) -> None:
    for memory in memories:
        if memory.deleted_at is not None:
            raise errors.AlreadyDeleted(f"memory {memory.id} is deleted and cannot be linked")


def _draft_of(memory: Memory) -> Draft:
    return Draft(
        content=memory.content,
        category=memory.category,
        tags=memory.tags,
        keywords=memory.keywords,
        importance=memory.importance,
        sensitive=memory.sensitive,
        created_at=memory.created_at,
        valid_from=memory.valid_from,
        valid_to=memory.valid_to,
        provenance=memory.provenance,
    )


def _apply(changes: Changes, draft: Draft) -> Draft:
    given = {
        name: value
        for name in Changes.__dataclass_fields__
        if name != "always_valid" and (value := getattr(changes, name)) is not None
    }
    spans = {"valid_from": None, "valid_to": None} if changes.always_valid else {}
    return replace(draft, **(spans | given))


def _with(memory: Memory, draft: Draft, owner: UserId) -> Memory:
    return replace(
        memory,
        owner=owner,
        content=draft.content,
        category=draft.category,
        tags=draft.tags,
        keywords=draft.keywords,
        importance=draft.importance,
        created_at=draft.created_at or memory.created_at,
        valid_from=draft.valid_from,
        valid_to=draft.valid_to,
        provenance=draft.provenance,
    )
