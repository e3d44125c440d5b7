"""Doing what a proposal says, and taking it back. Everything goes by the ordinary verbs."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Protocol

from bearinmind.curate.candidates import Held, hindrances, live, readers
from bearinmind.curate.differences import compare
from bearinmind.curate.duplicates import takes_place
from bearinmind.errors import (
    AlreadyDeleted,
    CannotUndo,
    DuplicateLink,
    InvalidLink,
    LinkNotFound,
    MemoryNotFound,
    ProposalDecided,
    WouldLoseFact,
)
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Store
from bearinmind.types import Link, LinkKind, Memory, MemoryId, Outcome, Scope, Stored, choose


def check_takes_place(
    store: Store, scope: Scope, keeper: MemoryId, other: MemoryId, now: datetime
) -> tuple[Memory, Memory]:
    """The two memories, if the one can be served in place of the other and nothing is lost.

    Raises:
        WouldLoseFact: it cannot; the message says why.
        AlreadyDeleted, DuplicateLink, MemoryNotFound: there is nothing left to be done.
    """
    found = live(store, scope, [keeper, other], now)
    if keeper not in found:
        raise WouldLoseFact(f"memory {keeper} is not recalled itself: nothing would say it")
    if other not in found:
        raise _not_live(store, scope, other)
    _check(found[keeper], found[other])
    _check_below(store, scope, found[keeper], found[other])
    return found[keeper].memory, found[other].memory


def still_holds(
    store: Store, scope: Scope, keeper: MemoryId, other: MemoryId, now: datetime
) -> bool:
    """Whether a memory that is superseded now is said by the one in its place."""
    kept = live(store, scope, [keeper], now).get(keeper)
    gone = store.get(scope, other)
    if gone is None or gone.deleted_at is not None:
        return True
    if kept is None:  # a deleted memory supersedes nothing
        above = store.get(scope, keeper)
        return above is None or above.deleted_at is not None
    return takes_place(kept, Held(gone, readers(gone, store.shares(scope)))) is not None


def _check(keeper: Held, other: Held) -> None:
    pair = f"memory {keeper.memory.id} cannot stand for {other.memory.id}"
    reasons = hindrances(keeper, other)
    if reasons:
        raise WouldLoseFact(f"{pair}: {'; '.join(reasons)}")
    comparison = compare(keeper.memory.content, other.memory.content)
    if not comparison.is_same:
        said = "; ".join(map(str, comparison.differences[:3]))
        raise WouldLoseFact(f"{pair}: they differ in {said}")
    if comparison.more < 0:
        raise WouldLoseFact(f"{pair}: it says less")


def _check_below(store: Store, scope: Scope, keeper: Held, other: Held) -> None:
    """What the other memory stands for already, the keeper must stand for too."""
    for memory in _below(store, scope, other.memory.id):
        stood_for = compare(other.memory.content, memory.content).is_same
        if stood_for and not compare(keeper.memory.content, memory.content).is_same:
            raise WouldLoseFact(
                f"memory {other.memory.id} stands for {memory.id} as well, "
                f"and {keeper.memory.id} does not say that"
            )


def _below(store: Store, scope: Scope, top: MemoryId) -> Iterator[Memory]:
    """What a memory supersedes, directly or not."""
    frontier, seen = [top], {top}
    while frontier:
        links = store.links(scope, frontier)
        found = {
            link.target
            for link in links
            if link.kind is LinkKind.SUPERSEDES and link.source in frontier
        } - seen
        seen |= found
        frontier = [*found]
        if frontier:
            yield from store.get_many(scope, frontier).values()


def _not_live(store: Store, scope: Scope, id_: MemoryId) -> Exception:
    memory = store.get(scope, id_)
    if memory is None:
        return MemoryNotFound(f"memory {id_} is no longer there")
    if memory.deleted_at is not None:
        return AlreadyDeleted(f"memory {id_} is deleted already")
    return DuplicateLink(f"memory {id_} is superseded or expired already")


#: The fields of a memory that a proposal may change.
FIELDS = ("content", "category", "tags", "keywords", "importance", "valid_from", "valid_to")

Undo = dict[str, Any]


class Hands(Protocol):
    """The ordinary verbs, for one user."""

    def link(self, source: Memory, kind: LinkKind, target: Memory) -> Link:
        """Link two memories."""

    def unlink(self, source: MemoryId, kind: LinkKind, target: MemoryId) -> Link:
        """End a link."""

    def change(self, memory: Memory, fields: Mapping[str, Any], version: int) -> Memory:
        """Give a memory that has this version these fields, named as in `FIELDS`."""

    def add(self, fields: Mapping[str, Any], supersedes: Sequence[Memory]) -> Outcome:
        """Keep a new memory in place of others."""

    def delete(self, memory: Memory) -> Memory:
        """Hide a memory."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Deciding:
    """Decides on the proposals of one user."""

    store: Store
    scope: Scope
    hands: Hands
    clock: Callable[[], datetime]

    def apply(self, proposal: Proposal) -> Proposal:
        """Do what a proposal says; what it needs to be undone is kept with it.

        Raises:
            ProposalDecided: somebody decided on it before.
            WouldLoseFact: the last retrievable copy of a fact would disappear.
        """
        self._check_open(proposal)
        undo = self._do(proposal)
        applied = self._decided(proposal, ProposalState.APPLIED, undo)
        if not self.store.decide(self.scope, applied, ProposalState.OPEN):
            now = self.store.proposal(self.scope, proposal.id)
            if now is None or now.state is not ProposalState.APPLIED:
                self._take_back(applied)
            raise self._was_decided(now or proposal)
        return applied

    def dismiss(self, proposal: Proposal) -> Proposal:
        """Decide against a proposal; it is not made again."""
        self._check_open(proposal)
        dismissed = self._decided(proposal, ProposalState.DISMISSED, {})
        if not self.store.decide(self.scope, dismissed, ProposalState.OPEN):
            raise self._was_decided(proposal)
        return dismissed

    def undo(self, proposal: Proposal) -> Proposal:
        """Take back what a proposal did.

        Raises:
            CannotUndo: it was not applied, or what it changed was changed since.
        """
        if proposal.state is not ProposalState.APPLIED:
            raise CannotUndo(f"proposal {proposal.id} is {proposal.state}, not applied")
        self._check_unchanged(proposal)
        self._take_back(proposal)
        undone = self._decided(proposal, ProposalState.UNDONE, proposal.undo)
        if not self.store.decide(self.scope, undone, ProposalState.APPLIED):
            raise CannotUndo(f"proposal {proposal.id} was undone by somebody else just now")
        return undone

    # ---- doing ---------------------------------------------------------------------------------

    def _do(self, proposal: Proposal) -> Undo:
        match proposal.kind:
            case ProposalKind.SUPERSEDE:
                keeper, *others = proposal.memories
                return self._supersede(keeper, others)
            case ProposalKind.UPDATE | ProposalKind.EXPIRE:
                return self._change(proposal.memories[0], proposal.change)
            case ProposalKind.LINK:
                return self._link(proposal)
            case ProposalKind.UNLINK:
                source, target = proposal.memories
                kind = _kind(proposal)
                self.hands.unlink(source, kind, target)
                return {"ended": [[source, kind.value, target]]}
            case ProposalKind.STORE:
                return self._store(proposal)
            case ProposalKind.REVIEW:
                return {}

    def _supersede(self, keeper: MemoryId, others: Sequence[MemoryId]) -> Undo:
        now = self.clock()
        pairs = [check_takes_place(self.store, self.scope, keeper, id_, now) for id_ in others]
        made: list[Link] = []
        for kept, other in pairs:
            made.append(self.hands.link(kept, LinkKind.SUPERSEDES, other))
            if not still_holds(self.store, self.scope, kept.id, other.id, now):
                for link in made:
                    self.hands.unlink(link.source, link.kind, link.target)
                raise WouldLoseFact(f"memory {kept.id} or {other.id} was changed just now")
        return {"links": _listed(made), "versions": _versions([m for pair in pairs for m in pair])}

    def _change(self, id_: MemoryId, change: Mapping[str, Any]) -> Undo:
        memory = self._memory(id_)
        fields = {name: change[name] for name in FIELDS if name in change}
        content = fields.get("content")
        if content is not None:
            comparison = compare(str(content), memory.content)
            if not comparison.is_same or comparison.more < 0:
                said = "; ".join(map(str, comparison.differences[:3])) or "it says less"
                raise WouldLoseFact(f"the new text of memory {id_} is another: {said}")
        changed = self.hands.change(memory, fields, memory.version)
        if changed.version == memory.version:
            return {}
        # Not what it said: were it to become sensitive, that would stand here in clear.
        return {"before": memory.version, "fields": [*fields], "versions": _versions([changed])}

    def _link(self, proposal: Proposal) -> Undo:
        source, target = proposal.memories
        kind = _kind(proposal)
        if kind is LinkKind.SUPERSEDES:
            return self._supersede(source, [target])
        link = self.hands.link(self._memory(source), kind, self._memory(target))
        return {"links": _listed([link])}

    def _store(self, proposal: Proposal) -> Undo:
        """A new memory; what it replaces was named to whoever decided, and stays in history."""
        replaced = [self._memory(id_) for id_ in proposal.memories]
        before = self._supersedes_links(proposal.memories)
        outcome = self.hands.add(proposal.change, replaced)
        made = self._supersedes_links(proposal.memories) - before
        links = [[source, LinkKind.SUPERSEDES.value, target] for source, target in sorted(made)]
        if isinstance(outcome, Stored):
            return {"stored": outcome.memory.id, "versions": _versions([outcome.memory])}
        return {"links": links}

    def _supersedes_links(self, ids: Sequence[MemoryId]) -> set[tuple[MemoryId, MemoryId]]:
        links = self.store.links(self.scope, ids) if ids else []
        return {(x.source, x.target) for x in links if x.kind is LinkKind.SUPERSEDES}

    # ---- taking back ---------------------------------------------------------------------------

    def _check_unchanged(self, proposal: Proposal) -> None:
        undo = proposal.undo
        versions: Mapping[MemoryId, int] = undo.get("versions", {})
        found = self.store.get_many(self.scope, [*versions])
        for id_, version in versions.items():
            if id_ not in found:
                raise CannotUndo(f"memory {id_} is no longer there")
            if found[id_].version != version:
                raise CannotUndo(
                    f"memory {id_} has version {found[id_].version}, and was left at {version}"
                )
        for source, kind, target in undo.get("links", []):
            links = self.store.links(self.scope, [target])
            if not any((x.source, x.kind, x.target) == (source, kind, target) for x in links):
                raise CannotUndo(f"the link {source} {kind} {target} was ended since")

    def _take_back(self, proposal: Proposal) -> None:
        undo = proposal.undo
        for source, kind, target in undo.get("links", []):
            with suppress(LinkNotFound):  # ended by somebody else just now
                self.hands.unlink(source, LinkKind(kind), target)
        for source, kind, target in undo.get("ended", []):
            self.hands.link(self._memory(source), LinkKind(kind), self._memory(target))
        if "before" in undo:
            self._change_back(undo)
        if "stored" in undo:
            self.hands.delete(self._memory(undo["stored"]))

    def _change_back(self, undo: Mapping[str, Any]) -> None:
        """Give a memory the fields again that it had before."""
        [(id_, version)] = undo["versions"].items()
        versions = self.store.versions(self.scope, id_)
        before = next((each for each in versions if each.version == undo["before"]), None)
        if before is None:
            raise CannotUndo(f"memory {id_} has no version {undo['before']} any more")
        names = {*undo["fields"]}
        if names & {"valid_from", "valid_to"}:  # they are given together
            names |= {"valid_from", "valid_to"}
        fields = {name: _plain(getattr(before, name)) for name in sorted(names)}
        self.hands.change(self._memory(id_), fields, version)

    # ---- what these are made of ----------------------------------------------------------------

    def _memory(self, id_: MemoryId) -> Memory:
        memory = self.store.get(self.scope, id_)
        if memory is None:
            raise MemoryNotFound(f"memory {id_} is no longer there")
        return memory

    def _decided(self, proposal: Proposal, state: ProposalState, undo: Undo) -> Proposal:
        return replace(proposal, state=state, decided_at=self.clock(), undo=undo)

    def _check_open(self, proposal: Proposal) -> None:
        if proposal.state is not ProposalState.OPEN:
            raise self._was_decided(proposal)

    def _was_decided(self, proposal: Proposal) -> ProposalDecided:
        return ProposalDecided(f"proposal {proposal.id} is {proposal.state} already")


def _kind(proposal: Proposal) -> LinkKind:
    return choose(LinkKind, str(proposal.change.get("kind", "")), InvalidLink)


def _versions(memories: Sequence[Memory]) -> dict[MemoryId, int]:
    return {memory.id: memory.version for memory in memories}


def _listed(links: Sequence[Link]) -> list[list[str]]:
    return [[link.source, link.kind.value, link.target] for link in links]


def _plain(value: object) -> object:
    """A field as it can be written down."""
    if isinstance(value, datetime):
        return value.isoformat()
    return [*value] if isinstance(value, tuple) else value
