"""The write path: admit, acknowledge durably, keep everything that was."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind import errors
from bearinmind.protocols import History, Sealed, Secrets, Store, Vault
from bearinmind.remember.admit import CONTENT_LIMIT, Rules, admit, check_text
from bearinmind.remember.sensitive import (
    Boundary,
    Reveal,
    hidden,
    is_placeholder,
    named_kinds,
    record_of,
    under_present_key,
)
from bearinmind.remember.update import (
    Changes,
    Update,
    deleted_version,
    draft_of,
    restored_version,
    with_draft,
)
from bearinmind.text import ids
from bearinmind.types import (
    AlreadyKnown,
    Draft,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Scope,
    Stored,
    UserId,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Arrival:
    """Admits whole histories."""

    store: Secrets
    rules: Rules
    clock: Callable[[], datetime]
    boundary: Boundary

    def __call__(
        self, scope: Scope, versions: Sequence[Memory], sealed: Sequence[Sealed] = ()
    ) -> History:
        """A memory from elsewhere, every version of it held to the same rules as a new one.

        `sealed` is what its sensitive versions say, as it was sealed there.

        Raises:
            InvalidInput: a version breaks a rule.
            InvalidRecord: the versions do not follow one another, or a secret is missing.
        """
        records = {record.version: record for record in self._adopt(scope, sealed)}
        admitted: list[Memory] = []
        for version in versions:
            self.boundary.refuse_in_clear_fields(draft_of(version))
            if version.sensitive and is_placeholder(version.content):
                if record_of([*records.values()], version.version) is None:
                    raise errors.InvalidRecord(f"what memory {version.id} says is not in the file")
                admitted.append(self._sealed_elsewhere(scope, version))
            else:
                kept, new = self.boundary.guard(self._admitted(scope, version, self.rules))
                records |= {record.version: record for record in new}
                admitted.append(kept)
        _check_order(admitted)
        present = {version.version for version in admitted if version.sensitive}
        return History(
            versions=tuple(admitted),
            sealed=tuple(record for at, record in sorted(records.items()) if at in present),
        )

    def renamed(self, scope: Scope, versions: Sequence[Memory]) -> Sequence[Memory]:
        """The same under an id that tells nothing about the content, if that is sensitive.

        It follows from the content and the key: importing a file again adds nothing.
        """
        if not any(x.sensitive or self.boundary.kinds(x.content) for x in versions):
            return versions
        digest = self.boundary.vault.fingerprint(scope.user, versions[-1].content)
        return [replace(version, id=ids.derived(digest)) for version in versions]

    def _admitted(self, scope: Scope, version: Memory, rules: Rules) -> Memory:
        draft = admit(draft_of(version), rules, self.clock())
        return replace(with_draft(version, draft), owner=scope.user)

    def _sealed_elsewhere(self, scope: Scope, version: Memory) -> Memory:
        """A version with its placeholder made anew: nothing else may stand in its place."""
        rules = replace(self.rules, content_limit=CONTENT_LIMIT)  # the limit is for what it says
        return hidden(self._admitted(scope, version, rules), named_kinds(version.content))

    def _adopt(self, scope: Scope, sealed: Sequence[Sealed]) -> list[Sealed]:
        """Records from elsewhere, as far as this store takes them."""
        records = self.boundary.adopt(scope.user, sealed)
        retired = self.store.retired_keys() if records else frozenset()
        for record in records:
            if record.key_id in retired:
                raise errors.InvalidRecord(
                    f"memory {record.id} is sealed under the key {record.key_id}, "
                    "which was rotated away here",
                    hint="Bring the key back beside the present one, and repeat the import.",
                )
        return records


def _check_order(versions: Sequence[Memory]) -> None:
    for earlier, later in itertools.pairwise(versions):
        if later.version <= earlier.version or later.updated_at < earlier.updated_at:
            raise errors.InvalidRecord(
                f"version {later.version} of {later.id} does not follow {earlier.version}"
            )


KEY_LIMIT = 255  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class Once:
    """Keeps a draft unless it was kept under the same key before.

    The id is made from the owner and the key. So whoever sends the same again, after whatever went
    wrong and to whichever process, meets the memory that was kept; no table of keys is needed.
    """

    store: Store
    vault: Vault

    def __call__(
        self, scope: Scope, draft: Draft, key: str, add: Callable[[MemoryId], Outcome]
    ) -> Outcome:
        """What became of the draft, now or when it was first sent.

        Raises:
            IdempotencyKeyReused: another draft was kept under this key.
        """
        id_ = id_of(scope.user, key)
        before = self._kept(scope, draft, id_)
        if before is not None:
            return before
        try:
            outcome = add(id_)
        except errors.IdTaken:
            meanwhile = self._kept(scope, draft, id_)
            if meanwhile is None:
                raise
            return meanwhile
        if outcome.memory.id == id_:  # known already when it was sent twice at the same time
            return Stored(memory=outcome.memory)
        return outcome

    def _kept(self, scope: Scope, draft: Draft, id_: MemoryId) -> Stored | None:
        """The memory that was kept under this id, as it is now."""
        versions = self.store.versions(scope, id_)
        if not versions:
            return None
        if not self._says(scope, versions[0], draft):
            raise errors.IdempotencyKeyReused(
                f"this idempotency key was used for another memory, {id_}"
            )
        return Stored(memory=versions[-1])

    def _says(self, scope: Scope, first: Memory, draft: Draft) -> bool:
        """Whether a draft is what the first version of a memory was made of."""
        return (
            self._holds(scope, first, draft.content)
            and (first.sensitive or not draft.sensitive)
            and draft.created_at in {None, first.created_at}
            and (first.category, first.tags, first.keywords, first.importance)
            == (draft.category, draft.tags, draft.keywords, draft.importance)
            and (first.valid_from, first.valid_to, first.provenance)
            == (draft.valid_from, draft.valid_to, draft.provenance)
        )

    def _holds(self, scope: Scope, first: Memory, content: str) -> bool:
        """Whether a version says this, in clear or sealed."""
        if not first.sensitive:
            return first.content == content
        record = record_of(self.store.sealed(scope, first.id), first.version)
        if record is None:
            return False
        return record.fingerprint == self.vault.fingerprint(scope.user, content)


def id_of(owner: UserId, key: str) -> MemoryId:
    """The id that an owner's idempotency key stands for."""
    if not key or len(key) > KEY_LIMIT:
        raise errors.InvalidRequest(
            f"the idempotency key has {len(key):,} characters; it has 1 to {KEY_LIMIT}",
            hint="Make one for every memory, such as a UUID.",
        )
    text = check_text(key, "the idempotency key")
    return ids.derived(hashlib.sha256(f"{owner}\0{text}".encode()).digest())


__all__ = ["Changes", "PurgePlan", "Remember"]


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
    boundary: Boundary
    reveal: Reveal

    def add(
        self,
        scope: Scope,
        draft: Draft,
        supersedes: Sequence[Memory] = (),
        *,
        idempotency_key: str | None = None,
    ) -> Outcome:
        """Keep a draft as a new memory that takes the place of the given ones.

        When a memory says the same already, that one takes their place. One that holds a secret
        becomes sensitive. What was kept under an idempotency key is not kept again.
        """
        now = self.clock()
        self.boundary.refuse_in_clear_fields(draft)
        admitted = admit(draft, self.rules, now)

        def add(id_: MemoryId) -> Outcome:
            return self._add(scope, _new(scope, admitted, id_, now), supersedes)

        if idempotency_key is None:
            return add(self.new_id())
        once = Once(store=self.store, vault=self.boundary.vault)
        return once(scope, admitted, idempotency_key, add)

    def _add(self, scope: Scope, memory: Memory, supersedes: Sequence[Memory]) -> Outcome:
        """Keep a new memory that takes the place of the given ones."""
        _refuse_deleted(supersedes)
        links = [
            Link(
                source=memory.id,
                target=old.id,
                kind=LinkKind.SUPERSEDES,
                created_at=max(memory.created_at, old.created_at),
            )
            for old in {old.id: old for old in supersedes}.values()
        ]

        def put() -> Outcome:
            kept, sealed = self.boundary.guard(memory)
            return self.store.put(scope, kept, links, sealed)

        outcome = under_present_key(self.boundary.vault, put)
        if isinstance(outcome, AlreadyKnown):
            for old in supersedes:
                if old.id != outcome.memory.id:
                    with suppress(errors.DuplicateLink):
                        self.link(scope, outcome.memory, LinkKind.SUPERSEDES, old)
        return outcome

    def admit_history(
        self,
        scope: Scope,
        versions: Sequence[Memory],
        sealed: Sequence[Sealed] = (),
        *,
        made_id: bool = False,
    ) -> History:
        """A memory from elsewhere, every version of it held to the same rules as a new one.

        `sealed` is what its sensitive versions say, as it was sealed there. With `made_id` its id
        was made from its content: were that sensitive, the id would tell.
        """
        arrival = Arrival(
            store=self.store, rules=self.rules, clock=self.clock, boundary=self.boundary
        )
        if made_id:
            versions = arrival.renamed(scope, versions)
        return arrival(scope, versions, sealed)

    def update(
        self,
        scope: Scope,
        memory: Memory,
        changes: Changes,
        expected_version: int | None = None,
    ) -> Memory:
        """Change a memory; the version before stays readable. Changing nothing writes nothing."""
        update = Update(
            store=self.store,
            rules=self.rules,
            clock=self.clock,
            boundary=self.boundary,
            reveal=self.reveal,
        )
        return update(scope, memory, changes, expected_version)

    def delete(self, scope: Scope, memory: Memory) -> Memory:
        """Hide a memory from recall; it can be restored.

        Where it stood inside a supersede chain, its neighbours are linked to each other, so that
        what it had superseded does not come back.
        """
        deleted = deleted_version(memory, self.clock())
        self.store.replace(scope, deleted, self._bridge(scope, memory.id, deleted.updated_at))
        return deleted

    def restore(self, scope: Scope, memory: Memory) -> Memory:
        """Bring a deleted memory back."""
        restored = restored_version(memory, self.clock())
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


def _new(scope: Scope, draft: Draft, id_: MemoryId, now: datetime) -> Memory:
    """The first version of a memory."""
    created_at = draft.created_at or now
    return Memory(
        id=id_,
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


def _refuse_deleted(memories: Sequence[Memory]) -> None:
    for memory in memories:
        if memory.deleted_at is not None:
            raise errors.AlreadyDeleted(f"memory {memory.id} is deleted and cannot be linked")
