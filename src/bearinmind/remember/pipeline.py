"""The write path: admit, store durably, keep every earlier version."""

from __future__ import annotations

import dataclasses
import hashlib
import itertools
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial

from bearinmind import errors
from bearinmind.changes import flaw_of_judgement
from bearinmind.outdates import verdicts
from bearinmind.protocols import History, Sealed
from bearinmind.remember.admit import CONTENT_LIMIT, Rules, admit, check_text, draft_values
from bearinmind.remember.resolve import Resolved, resolve, superseding
from bearinmind.remember.secret_values import Kind
from bearinmind.remember.secrets import (
    hidden,
    is_placeholder,
    named_kinds,
    record_of,
    under_present_key,
)
from bearinmind.remember.update import (
    Changes,
    Deleted,
    Update,
    deleted_version,
    draft_of,
    restored_version,
    with_draft,
)
from bearinmind.text import ids
from bearinmind.types import (
    AlreadyKnown,
    Decider,
    Draft,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Resolution,
    Scope,
    Stored,
    Trust,
    UserId,
)

__all__ = ["Changes", "PurgePlan", "Remember"]

KEY_LIMIT = 255  # characters


@dataclass(frozen=True, slots=True, kw_only=True)
class PurgePlan:
    """What a purge removes for good."""

    memories: tuple[Memory, ...]
    versions: int
    links: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Remember(Update):
    """Everything that changes what is stored."""

    new_id: Callable[[], MemoryId]
    by_person: bool = False  #: a person says what is stored, whatever trust it is given

    def add(
        self,
        scope: Scope,
        draft: Draft,
        supersedes: Sequence[Memory] = (),
        *,
        idempotency_key: str | None = None,
    ) -> Outcome:
        """Store a draft as a new memory that supersedes the given ones.

        When a memory says the same already, that one supersedes them. One that holds a secret
        becomes sensitive. The id of one with an idempotency key is made from its owner and the key:
        a draft that is sent again, to any process, meets the memory that was stored before.
        """
        now = self.clock()
        self.boundary.refuse_in_clear_fields(draft)
        admitted = admit(draft, self.rules, now)
        if idempotency_key is None:
            return self._add(scope, _new(scope, admitted, self.new_id(), now), supersedes)
        id_ = id_of(scope.user, idempotency_key)
        before = self._stored_before(scope, admitted, id_)
        if before is not None:
            return before
        try:
            outcome = self._add(scope, _new(scope, admitted, id_, now), supersedes)
        except errors.IdTaken:
            meanwhile = self._stored_before(scope, admitted, id_)
            if meanwhile is None:
                raise
            return meanwhile
        if outcome.memory.id == id_:  # known already when it was sent twice at the same time
            return Stored(memory=outcome.memory)
        return outcome

    def unstored(self, scope: Scope, draft: Draft) -> Memory:
        """The memory that a draft would become."""
        now = self.clock()
        return _new(scope, admit(draft, self.rules, now), self.new_id(), now)

    def _stored_before(self, scope: Scope, draft: Draft, id_: MemoryId) -> Stored | None:
        """The memory that was stored under this id, as it is now, if it was made of this draft."""
        versions = self.store.versions(scope, id_)
        if not versions:
            return None
        first = versions[0]
        rest = replace(
            draft,
            content=first.content,
            sensitive=first.sensitive,
            created_at=draft.created_at or first.created_at,
        )
        is_same = (
            self._holds(scope, first, draft.content)
            and (first.sensitive or not draft.sensitive)
            and rest == draft_of(first)
        )
        if not is_same:
            raise errors.IdempotencyKeyReused(
                f"this idempotency key was used for another memory, {id_}"
            )
        return Stored(memory=versions[-1])

    def _holds(self, scope: Scope, version: Memory, content: str) -> bool:
        """Whether a version has this content, in clear or sealed."""
        if not version.sensitive:
            return version.content == content
        record = record_of(self.store.sealed(scope, version.id), version.version)
        if record is None:
            return False
        return record.fingerprint == self.boundary.vault.fingerprint(scope.user, content)

    def _add(self, scope: Scope, memory: Memory, supersedes: Sequence[Memory]) -> Outcome:
        """Store a new memory that supersedes the given ones."""
        _refuse_deleted(supersedes)
        links = [
            superseding(self.store, scope, (memory, old), self._decider(memory, old), at)
            for old in {old.id: old for old in supersedes}.values()
            for at in [max(memory.created_at, old.created_at)]
        ]

        def put() -> Outcome:
            kept, sealed = self.boundary.guard(memory)
            return self.store.put(scope, kept, links, sealed)

        outcome = self._sealed_now(scope, memory) or under_present_key(self.boundary.vault, put)
        if isinstance(outcome, AlreadyKnown):
            return self._known(scope, memory, outcome, supersedes)
        return outcome

    def _decider(self, newer: Memory, older: Memory) -> Decider:
        """Whose word it is that a new memory supersedes one; one that is trusted less claims it."""
        is_person = self.by_person or newer.provenance.trust is Trust.USER
        counts = is_person and not verdicts.is_less_trusted(newer, older)
        return Decider.PERSON if counts else Decider.AGENT

    def _sealed_now(self, scope: Scope, memory: Memory) -> AlreadyKnown | None:
        """The memory that says the same in clear, sealed from now on; None if none does."""
        in_clear = replace(memory, sensitive=False)
        known = self.store.same_content(scope, in_clear) if memory.sensitive else None
        sensitive = Changes(sensitive=True)
        return AlreadyKnown(memory=self.update(scope, known, sensitive)) if known else None

    def _known(
        self, scope: Scope, memory: Memory, outcome: AlreadyKnown, supersedes: Sequence[Memory]
    ) -> AlreadyKnown:
        """The memory that says the same supersedes the others, as far as the new one might.

        What a person says again is trusted as a person's from then on.
        """
        known, trust = outcome.memory, memory.provenance.trust
        if trust is Trust.USER and known.provenance.trust is not Trust.USER:
            provenance = replace(known.provenance, trust=trust)
            known = self.update(scope, known, Changes(provenance=provenance))
        for old in supersedes:
            if old.id != known.id and not verdicts.is_less_trusted(memory, old):
                with suppress(errors.DuplicateLink):
                    by = self._decider(memory, old)
                    self.link(scope, known, LinkKind.SUPERSEDES, old, by)
        return replace(outcome, memory=known)

    def admit_history(
        self,
        scope: Scope,
        versions: Sequence[Memory],
        sealed: Sequence[Sealed] = (),
        *,
        made_id: bool = False,
    ) -> History:
        """A memory from elsewhere, every version of it held to the same rules as a new one.

        `sealed` holds the contents of its sensitive versions, as they were sealed there. With
        `made_id` its id was made from its content: a sensitive one gets an id from content and key,
        which gives nothing away and is the same when the file is imported again.
        """
        boundary = self.boundary
        # Whatever is too long is refused before anything else reads it.
        in_clear = (self._admitted(scope, x, self.rules) for x in versions if not x.sensitive)
        if made_id and (
            any(x.sensitive for x in versions) or any(boundary.kinds(x.content) for x in in_clear)
        ):
            digest = boundary.vault.fingerprint(scope.user, versions[-1].content)
            versions = [replace(version, id=ids.derived(digest)) for version in versions]
        records = {record.version: record for record in self._adopt(scope, sealed)}
        admitted: list[Memory] = []
        for version in versions:
            if version.sensitive and is_placeholder(version.content):
                if record_of([*records.values()], version.version) is None:
                    raise errors.InvalidRecord(f"what memory {version.id} says is not in the file")
                admitted.append(self._sealed_elsewhere(scope, version))
            else:
                kept, new = boundary.guard(self._admitted(scope, version, self.rules))
                records |= {record.version: record for record in new}
                admitted.append(kept)
            boundary.refuse_in_clear_fields(draft_of(version))
        _check_order(admitted)
        present = {version.version for version in admitted if version.sensitive}
        return History(
            versions=tuple(admitted),
            sealed=tuple(record for at, record in sorted(records.items()) if at in present),
        )

    def preview_history(
        self, scope: Scope, versions: Sequence[Memory]
    ) -> tuple[Memory, tuple[Kind, ...]]:
        """What a memory from elsewhere would be, and the secrets in it; nothing is sealed."""
        kinds: dict[Kind, None] = {}
        admitted: list[Memory] = []
        for version in versions:
            if version.sensitive and is_placeholder(version.content):
                admitted.append(version)
                kinds |= dict.fromkeys(named_kinds(version.content))
            else:
                admitted.append(self._admitted(scope, version, self.rules))
                kinds |= dict.fromkeys(self.boundary.kinds(version.content))
            self.boundary.refuse_in_clear_fields(draft_of(version))
        _check_order(admitted)
        present = admitted[-1]
        return replace(present, sensitive=present.sensitive or bool(kinds)), tuple(kinds)

    def _admitted(self, scope: Scope, version: Memory, rules: Rules) -> Memory:
        draft = admit(draft_of(version), rules, self.clock())
        return replace(with_draft(version, draft), owner=scope.user)

    def _sealed_elsewhere(self, scope: Scope, version: Memory) -> Memory:
        """A version with its placeholder made anew: no other text is accepted in its place."""
        rules = replace(self.rules, content_limit=CONTENT_LIMIT)  # the limit is for the content
        return hidden(self._admitted(scope, version, rules), named_kinds(version.content))

    def _adopt(self, scope: Scope, sealed: Sequence[Sealed]) -> list[Sealed]:
        """Records from elsewhere, if this store can keep them."""
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

    def delete(self, scope: Scope, memory: Memory, *, with_earlier: bool = False) -> Deleted:
        """Hide a memory from recall; it can be restored.

        Inside a supersede chain its neighbours are linked to each other, so that the memories it
        had superseded stay superseded. At its end the one before is live again, or with
        `with_earlier` deleted as well, and so on down the chain.
        """
        links = self.store.links(scope, [memory.id])
        below = [x.target for x in links if x.kind is LinkKind.SUPERSEDES and x.source == memory.id]
        deleted = deleted_version(memory, self.clock())
        self.store.replace(scope, deleted, self._bridge(scope, memory.id, deleted.updated_at))
        superseded = {link.target for link in self.store.newer(scope, below)} if below else {*below}
        earlier = self.store.get_many(scope, [x for x in below if x not in superseded])
        free = [each for each in earlier.values() if each.deleted_at is None]
        fields = {each.name: getattr(deleted, each.name) for each in dataclasses.fields(Memory)}
        if not with_earlier:
            return Deleted(**fields, live_again=tuple(each.id for each in free))
        further = [self.delete(scope, each, with_earlier=True) for each in free]
        too = tuple(id_ for each in further for id_ in (each.id, *each.deleted_too))
        return Deleted(**fields, deleted_too=too)

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

    def link(
        self,
        scope: Scope,
        source: Memory,
        kind: LinkKind,
        target: Memory,
        by: Decider = Decider.AGENT,
    ) -> Link:
        """Link two memories; that one outdates another is decided as `resolve` decides it.

        What derives from a memory is trusted no more than that, unless a person links them.
        """
        if kind is LinkKind.OUTDATES:
            return self.resolve(scope, source, [target], Resolution.NEWER, by).links[0]
        if source.id == target.id:
            raise errors.SelfLink(f"memory {source.id} cannot be linked to itself")
        _refuse_deleted((source, target))
        link = Link(source=source.id, target=target.id, kind=kind, created_at=self.clock())
        if kind is LinkKind.SUPERSEDES:
            link = superseding(self.store, scope, (source, target), by, link.created_at)
        self.store.add_link(scope, link)
        if kind is LinkKind.DERIVES_FROM and by is not Decider.PERSON:
            self._trust_no_more(scope, source, target.provenance.trust)
        return link

    def _trust_no_more(self, scope: Scope, memory: Memory, trust: Trust) -> None:
        """Give a memory, and all that derives from it, at most this trust."""
        frontier, seen = [memory], {memory.id}
        while frontier:
            for each in frontier:
                if verdicts.is_less(trust, each.provenance.trust) and each.deleted_at is None:
                    provenance = replace(each.provenance, trust=trust)
                    self.update(scope, each, Changes(provenance=provenance))
            links = self.store.links(scope, [each.id for each in frontier])
            derived = {x.source for x in links if x.kind is LinkKind.DERIVES_FROM} - seen
            seen |= derived
            frontier = [*self.store.get_many(scope, [*derived]).values()] if derived else []

    def resolve(
        self,
        scope: Scope,
        memory: Memory,
        others: Sequence[Memory],
        resolution: Resolution,
        by: Decider,
    ) -> Resolved:
        """Decide which of some memories hold now; an agent does not overturn a person."""
        decide = partial(resolve, self.store, scope, memory, others, (resolution, by), self.clock())
        try:
            return decide()
        except errors.DuplicateLink:  # they were compared in the background meanwhile
            return decide()

    def add_link(self, scope: Scope, link: Link, *, decided: bool = True) -> None:
        """Store a link from elsewhere, with its times; both memories must be there.

        Unless it was `decided` by somebody who is trusted, it counts as an agent's.
        """
        if link.source == link.target:
            raise errors.SelfLink(f"memory {link.source} cannot be linked to itself")
        self.check_judgement(link)
        memories = self.store.get_many(scope, [link.source, link.target])
        for id_ in (link.source, link.target):
            if id_ not in memories:
                raise errors.MemoryNotFound(f"the link names {id_}, which is not stored")
        self.store.add_link(scope, link if decided else _undecided(link))
        if link.kind is LinkKind.DERIVES_FROM and link.removed_at is None and not decided:
            trust = memories[link.target].provenance.trust
            self._trust_no_more(scope, memories[link.source], trust)

    def check_judgement(self, link: Link) -> None:
        """Make sure that the judgement of a link from elsewhere can be kept, in clear."""
        if flaw := flaw_of_judgement(link):
            words = f"{link.source} {link.kind} {link.target}"
            raise errors.InvalidLink(f"{words} has a judgement that {flaw}")
        judgement = link.judgement
        for text in (judgement.thing, judgement.aspect, *judgement.evidence) if judgement else ():
            check_text(text, "the judgement of a link")
            self.boundary.refuse_in_clear("the judgement of a link", text)

    def unlink(self, scope: Scope, source: MemoryId, kind: LinkKind, target: MemoryId) -> Link:
        """End a link; that it was there stays known.

        Of two memories of which one no longer outdates the other, both hold: nobody asks again.
        """
        now = self.clock()
        link = Link(source=source, target=target, kind=kind, created_at=now, removed_at=now)
        missing = errors.LinkNotFound(f"there is no link {source} {kind} {target}")
        if kind is LinkKind.OUTDATES:
            held = [x for x in self.store.links(scope, [source]) if x.target == target]
            if not any(x.kind is kind and verdicts.judgement_of(x).probability for x in held):
                raise missing
            both = Judgement(probability=0.0, by=Decider.PERSON)
            self.store.change_links(scope, [link], [replace(link, removed_at=None, judgement=both)])
        elif not self.store.remove_link(scope, link):
            raise missing
        return link

    def _bridge(self, scope: Scope, middle: MemoryId, now: datetime) -> list[Link]:
        """Links from what supersedes or outdates a memory to what it supersedes or outdates."""
        links = [link for link in self.store.links(scope, [middle]) if _replaces(link)]
        ends = [*{end for link in links for end in (link.source, link.target)}]
        memories = self.store.get_many(scope, ends) if links else {}
        # A link may lead to a memory that is purged, or not here yet.
        whole = [link for link in links if {link.source, link.target} <= memories.keys()]
        links = [link for link in whole if verdicts.is_trusted(link, memories)]
        above = [link for link in links if link.target == middle]
        below = [link for link in links if link.source == middle]
        there = {
            (link.source, link.kind, link.target)
            for link in self.store.links(scope, [link.target for link in below])
        }
        return [
            # As sure as the less sure of the two, and no person's unless both are.
            replace(
                min(newer, older, key=_certainty),
                source=newer.source,
                target=older.target,
                created_at=now,
            )
            for newer in above
            for older in below
            if newer.kind is older.kind and newer.source != older.target
            if (newer.source, newer.kind, older.target) not in there
        ]


def _undecided(link: Link) -> Link:
    """A link with no more than an agent's word in place of a person's."""
    if verdicts.judgement_of(link).by is not Decider.PERSON or link.kind not in verdicts.REPLACING:
        return link
    return replace(link, judgement=replace(verdicts.judgement_of(link), by=Decider.AGENT))


def _replaces(link: Link) -> bool:
    """Whether the target of a link gives its place to the source."""
    if link.kind is LinkKind.OUTDATES:
        return verdicts.judgement_of(link).probability >= verdicts.MARK
    return link.kind is LinkKind.SUPERSEDES


def _new(scope: Scope, draft: Draft, id_: MemoryId, now: datetime) -> Memory:
    """The first version of a memory."""
    created_at = draft.created_at or now
    values = draft_values(draft) | {"created_at": created_at, "updated_at": created_at}
    return Memory(id=id_, owner=scope.user, deleted_at=None, version=1, **values)


def id_of(owner: UserId, key: str) -> MemoryId:
    """The id that is made from an owner and an idempotency key."""
    if not key or len(key) > KEY_LIMIT:
        raise errors.InvalidRequest(
            f"the idempotency key has {len(key):,} characters; it has 1 to {KEY_LIMIT}",
            hint="Make one for every memory, such as a UUID.",
        )
    text = check_text(key, "the idempotency key")
    return ids.derived(hashlib.sha256(f"{owner}\0{text}".encode()).digest())


def _check_order(versions: Sequence[Memory]) -> None:
    for earlier, later in itertools.pairwise(versions):
        if later.version <= earlier.version or later.updated_at < earlier.updated_at:
            raise errors.InvalidRecord(
                f"version {later.version} of {later.id} does not follow {earlier.version}"
            )


def _refuse_deleted(memories: Sequence[Memory]) -> None:
    for memory in memories:
        if memory.deleted_at is not None:
            raise errors.AlreadyDeleted(f"memory {memory.id} is deleted and cannot be linked")


def _certainty(link: Link) -> tuple[float, bool]:
    judgement = verdicts.judgement_of(link)
    return judgement.probability, judgement.by is Decider.PERSON
