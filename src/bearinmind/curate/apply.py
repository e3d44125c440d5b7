"""Applies, dismisses and undoes proposals, with the ordinary verbs of their user.

A memory is superseded only when nothing is lost: the memory that replaces it must be served to
everybody who could see it, and must say everything that it says.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any

from bearinmind import errors
from bearinmind.changes import MOST_CONFLICTS
from bearinmind.curate.candidates import DISAGREEMENT, Candidate, live, obstacles, readers
from bearinmind.curate.differences import Comparison, compare
from bearinmind.curate.duplicates import compare_replaceable
from bearinmind.curate.hygiene import said_end
from bearinmind.outdates.verdicts import (
    REPLACING,
    is_bridged,
    is_decided,
    is_trusted,
    prevailing,
    prevailing_of_pairs,
)
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Store
from bearinmind.types import (
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outcome,
    Resolution,
    Scope,
    Stored,
    choose,
)

#: The fields of a memory that a proposal may change.
FIELDS = ("content", "category", "tags", "keywords", "importance", "valid_from", "valid_to")

_UNDECIDED = frozenset({ProposalState.OPEN, ProposalState.UNDONE})

Undo = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verbs:
    """The ordinary verbs of one user."""

    link: Callable[[Memory, LinkKind, Memory], Link]
    unlink: Callable[[MemoryId, LinkKind, MemoryId], Link]
    delete: Callable[[Memory], Memory]
    #: Gives a memory that has a version these fields, named as in `FIELDS`.
    change: Callable[[Memory, Mapping[str, Any], int], Memory]
    #: Stores a new memory that supersedes others.
    add: Callable[[Mapping[str, Any], Sequence[Memory]], Outcome]
    resolve: Callable[[Memory, Memory, Resolution], Link]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalDecider:
    """Decides on the proposals of one user."""

    store: Store
    scope: Scope
    verbs: Verbs
    clock: Callable[[], datetime]

    def apply(self, proposal: Proposal, resolution: Resolution | None = None) -> Proposal:
        """Do what a proposal says, unless the last copy of a fact would disappear.

        What undoing it needs is stored with it. A resolution says which of two memories holds; that
        both hold dismisses the proposal.
        """
        self._check_open(proposal)
        if resolution is not None and proposal.kind is not ProposalKind.OUTDATE:
            raise errors.InvalidInput(
                f"proposal {proposal.id} is not about which of two memories holds",
                hint=f"Apply or dismiss it without `{resolution}`.",
            )
        if resolution is Resolution.BOTH:
            return self.dismiss(proposal)
        undo = self._do(proposal, resolution or Resolution.NEWER)
        return self._keep(proposal, ProposalState.APPLIED, undo)

    def dismiss(self, proposal: Proposal) -> Proposal:
        """Decide against a proposal; it is not made again. Of two memories both hold then."""
        self._check_open(proposal)
        undo: Undo = {}
        if proposal.kind is ProposalKind.OUTDATE:
            with suppress(
                errors.MemoryNotFound, errors.AlreadyDeleted
            ):  # then there is nothing to decide
                undo = self._resolve(proposal, Resolution.BOTH)
        return self._keep(proposal, ProposalState.DISMISSED, undo)

    def close(self, proposal: Proposal) -> bool:
        """Dismiss a proposal that somebody settled elsewhere, and write nothing else."""
        closed = self._decided(proposal, ProposalState.DISMISSED, {})
        return self.store.decide(self.scope, closed, ProposalState.OPEN)

    def undo(self, proposal: Proposal) -> Proposal:
        """Take back what a decision did, unless that was changed since; decide again if wanted."""
        before = proposal.state
        if before in _UNDECIDED:
            raise errors.CannotUndo(f"proposal {proposal.id} is {before}: nothing is to take back")
        if proposal.says_nothing:
            raise errors.CannotUndo(f"of proposal {proposal.id} {proposal.reason}")
        self._check_unchanged(proposal)
        self._take_back(proposal)
        undone = self._decided(proposal, ProposalState.UNDONE, proposal.undo)
        if not self.store.decide(self.scope, undone, before):
            raise errors.CannotUndo(f"proposal {proposal.id} was undone by somebody else just now")
        return undone

    def _keep(self, proposal: Proposal, state: ProposalState, undo: Undo) -> Proposal:
        """Keep the decision on a proposal; what it did is taken back if another came first."""
        decided = self._decided(proposal, state, undo)
        if not self.store.decide(self.scope, decided, proposal.state):
            now = self.store.proposal(self.scope, proposal.id)
            if now is None or now.state is not state:
                self._take_back(decided)
            raise _was_decided(now or proposal)
        return decided

    def _check_open(self, proposal: Proposal) -> None:
        if proposal.state not in _UNDECIDED or proposal.says_nothing:
            raise _was_decided(proposal)

    def _check_unsettled(self, proposal: Proposal) -> None:
        if settled(self.store, self.scope, [replace(proposal, state=ProposalState.OPEN)]):
            self.close(proposal)
            raise errors.ProposalDecided(f"what {proposal.id} is about was settled meanwhile")

    def _decided(self, proposal: Proposal, state: ProposalState, undo: Undo) -> Proposal:
        return replace(proposal, state=state, decided_at=self.clock(), undo=undo)

    # ---- apply ---------------------------------------------------------------------------------

    def _do(self, proposal: Proposal, resolution: Resolution) -> Undo:  # noqa: PLR0911  one a kind
        match proposal.kind:
            case ProposalKind.OUTDATE:
                return self._resolve(proposal, resolution)
            case ProposalKind.SUPERSEDE:
                keeper, *others = proposal.memories
                return self._supersede(keeper, others)
            case ProposalKind.UPDATE | ProposalKind.EXPIRE:
                self._check_unsettled(proposal)
                return self._change(proposal.memories[0], proposal.change)
            case ProposalKind.LINK:
                return self._link(proposal)
            case ProposalKind.UNLINK:
                source, target = proposal.memories
                kind = _link_kind(proposal)
                self.verbs.unlink(source, kind, target)
                return {"ended": [[source, kind.value, target]]}
            case ProposalKind.STORE:
                return self._store(proposal)
            case ProposalKind.REVIEW:
                return {}

    def _resolve(self, proposal: Proposal, resolution: Resolution) -> Undo:
        """Keep which of two memories holds."""
        newer, older = map(self._memory, proposal.memories)
        for memory in (newer, older):
            if memory.deleted_at is not None:
                raise errors.AlreadyDeleted(
                    f"memory {memory.id} is deleted: there is nothing to decide"
                )
        self._check_unsettled(proposal)
        link = self.verbs.resolve(newer, older, resolution)
        return {
            "resolution": resolution.value,
            "judged": [link.source, link.target, link.created_at.isoformat()],
        }

    def _supersede(self, keeper: MemoryId, others: Sequence[MemoryId]) -> Undo:
        now = self.clock()
        pairs = [check_replaceable(self.store, self.scope, keeper, id_, now) for id_ in others]
        links: list[Link] = []
        for kept, other in pairs:
            links.append(self.verbs.link(kept, LinkKind.SUPERSEDES, other))
            if not is_still_said(self.store, self.scope, kept.id, other.id, now):
                for link in links:
                    self.verbs.unlink(link.source, link.kind, link.target)
                raise errors.WouldLoseFact(f"memory {kept.id} or {other.id} was changed just now")
        return {
            "links": _as_lists(links),
            "versions": _versions([m for pair in pairs for m in pair]),
        }

    def _link(self, proposal: Proposal) -> Undo:
        source, target = proposal.memories
        kind = _link_kind(proposal)
        if kind is LinkKind.SUPERSEDES:
            return self._supersede(source, [target])
        link = self.verbs.link(self._memory(source), kind, self._memory(target))
        return {"links": _as_lists([link])}

    def _change(self, id_: MemoryId, change: Mapping[str, Any]) -> Undo:
        memory = self._memory(id_)
        fields = {name: change[name] for name in FIELDS if name in change}
        content = fields.get("content")
        if content is not None:
            comparison = compare(str(content), memory.content)
            if not comparison.is_same or comparison.more < 0:
                reason = _differences(comparison) or "it says less"
                raise errors.WouldLoseFact(f"the new text of memory {id_} is another: {reason}")
        changed = self.verbs.change(memory, fields, memory.version)
        if changed.version == memory.version:
            return {}
        # Not the old text: if the memory becomes sensitive, the text would stand here in clear.
        return {"before": memory.version, "fields": [*fields], "versions": _versions([changed])}

    def _store(self, proposal: Proposal) -> Undo:
        """Store a new memory; what it replaces was named to the user, and stays in history."""
        replaced = [self._memory(id_) for id_ in proposal.memories]
        before = self._supersedes_links(proposal.memories)
        outcome = self.verbs.add(proposal.change, replaced)
        new = self._supersedes_links(proposal.memories) - before
        if isinstance(outcome, Stored):
            return {"stored": outcome.memory.id, "versions": _versions([outcome.memory])}
        links = [[source, LinkKind.SUPERSEDES.value, end] for source, end in sorted(new)]
        # Named, so that the text leaves the proposal when it leaves the memory.
        return {"known": outcome.memory.id, "links": links}

    def _supersedes_links(self, ids: Sequence[MemoryId]) -> set[tuple[MemoryId, MemoryId]]:
        links = self.store.links(self.scope, ids) if ids else []
        return {(x.source, x.target) for x in links if x.kind is LinkKind.SUPERSEDES}

    # ---- undo ----------------------------------------------------------------------------------

    def _check_unchanged(self, proposal: Proposal) -> None:
        undo = proposal.undo
        versions: Mapping[MemoryId, int] = undo.get("versions", {})
        memories = self.store.get_many(self.scope, [*versions])
        for id_, version in versions.items():
            if id_ not in memories:
                raise errors.CannotUndo(f"memory {id_} is no longer there")
            if memories[id_].version != version:
                raise errors.CannotUndo(
                    f"memory {id_} has version {memories[id_].version}, and was left at {version}"
                )
        for source, kind, target in undo.get("links", []):
            if not has_link(self.store, self.scope, source, kind, target):
                raise errors.CannotUndo(f"the link {source} {kind} {target} was ended since")
        if "judged" in undo:
            source, target, moment = undo["judged"]
            judged = judgements(self.store, self.scope, (source, target))
            decision = source, datetime.fromisoformat(moment)
            if decision not in [(link.source, link.created_at) for link in judged]:
                raise errors.CannotUndo(
                    f"what proposal {proposal.id} is about was decided otherwise since"
                )

    def _take_back(self, proposal: Proposal) -> None:
        undo = proposal.undo
        for source, kind, target in undo.get("links", []):
            with suppress(errors.LinkNotFound):  # ended by somebody else just now
                self.verbs.unlink(source, LinkKind(kind), target)
        for source, kind, target in undo.get("ended", []):
            self.verbs.link(self._memory(source), LinkKind(kind), self._memory(target))
        if "before" in undo:
            self._change_back(undo)
        if "stored" in undo:
            self.verbs.delete(self._memory(undo["stored"]))
        if "judged" in undo:
            source, target, moment = undo["judged"]  # what was judged just before holds again
            then = datetime.fromisoformat(moment) - timedelta(microseconds=1)
            before = judgements(self.store, self.scope, (source, target), then)
            now = self.clock()
            restored = [replace(link, created_at=now, removed_at=None) for link in before]
            judge(self.store, self.scope, (source, target), restored, now)

    def _change_back(self, undo: Mapping[str, Any]) -> None:
        """Give a memory the fields that it had before."""
        [(id_, version)] = undo["versions"].items()
        versions = self.store.versions(self.scope, id_)
        before = next((each for each in versions if each.version == undo["before"]), None)
        if before is None:
            raise errors.CannotUndo(f"memory {id_} has no version {undo['before']} any more")
        names = {*undo["fields"]}
        if names & {"valid_from", "valid_to"}:  # a verb takes both or none
            names |= {"valid_from", "valid_to"}
        fields = {name: _json_value(getattr(before, name)) for name in sorted(names)}
        self.verbs.change(self._memory(id_), fields, version)

    def _memory(self, id_: MemoryId) -> Memory:
        memory = self.store.get(self.scope, id_)
        if memory is None:
            raise errors.MemoryNotFound(f"memory {id_} is no longer there")
        return memory


def judgements(
    store: Store, scope: Scope, pair: tuple[MemoryId, MemoryId], as_of: datetime | None = None
) -> list[Link]:
    """The links between two memories that say which of them holds."""
    links = store.links(scope, [pair[0]], as_of)
    return [x for x in links if x.kind in REPLACING and {x.source, x.target} == {*pair}]


def judge(
    store: Store,
    scope: Scope,
    pair: tuple[MemoryId, MemoryId],
    links: Sequence[Link],
    now: datetime,
) -> None:
    """Keep what is judged about two memories in place of what was judged before."""
    ended = [replace(link, removed_at=now) for link in judgements(store, scope, pair)]
    store.change_links(scope, ended, links)


def settled(store: Store, scope: Scope, proposals: Iterable[Proposal]) -> list[Proposal]:
    """Those open proposals of the kinds `outdate` and `expire` that somebody settled elsewhere.

    Somebody decided about the two memories, let one supersede the other, or deleted one. One that
    was to end was deleted, was given an end, or no longer says that it ended then.
    """
    kinds = (ProposalKind.OUTDATE, ProposalKind.EXPIRE)
    asked = [x for x in proposals if x.kind in kinds and x.state is ProposalState.OPEN]
    ids = [*{id_ for each in asked for id_ in each.memories}]
    if not ids:
        return []
    links, memories = store.links(scope, ids), store.get_many(scope, ids)
    present = {id_: memory for id_, memory in memories.items() if memory.deleted_at is None}
    ends = store.get_many(scope, [*{end for x in links for end in (x.source, x.target)}])
    disputed: set[frozenset[str]] = set()
    if any(each.origin == DISAGREEMENT for each in asked):
        disputed = {x.pair for x in store.conflicts(scope, MOST_CONFLICTS)}
    judged = prevailing_of_pairs(x for x in links if x.kind in REPLACING and is_trusted(x, ends))
    settling = [x for x in judged if is_decided(x)]
    decided = {frozenset({x.source, x.target}) for x in settling}
    steps = prevailing(settling, ends)  # both ends of a chain are decided, too
    decided |= {
        frozenset(x.memories)
        for x in asked
        if x.kind is ProposalKind.OUTDATE and is_bridged(steps, *x.memories)
    }
    return [
        each
        for each in asked
        if frozenset(each.memories)
        in (decided - disputed if each.origin == DISAGREEMENT else decided)
        or not present.keys() >= {*each.memories}
        or (each.kind is ProposalKind.EXPIRE and not _is_to_end(present[each.memories[0]], each))
    ]


def _is_to_end(memory: Memory, proposal: Proposal) -> bool:
    """Whether a memory still says that it ended when a proposal says so, and has no end yet."""
    ended = said_end(memory.content) if memory.valid_to is None else None
    return ended is not None and ended.isoformat() == proposal.change.get("valid_to")


def check_replaceable(
    store: Store, scope: Scope, keeper: MemoryId, other: MemoryId, now: datetime
) -> tuple[Memory, Memory]:
    """The two memories, if nothing is lost when the keeper is served in place of the other.

    Otherwise it raises `WouldLoseFact` with the reason, or says that there is nothing left to do.
    """
    candidates = live(store, scope, [keeper, other], now)
    if keeper not in candidates:
        raise errors.WouldLoseFact(f"memory {keeper} is not recalled itself: nothing would say it")
    if other not in candidates:
        raise _not_live(store, scope, other)
    kept, gone = candidates[keeper], candidates[other]
    _check_pair(kept, gone)
    for memory in _superseded_by(store, scope, other):
        was_said = compare(gone.memory.content, memory.content).is_same
        if was_said and not compare(kept.memory.content, memory.content).is_same:
            raise errors.WouldLoseFact(
                f"memory {other} stands for {memory.id} as well, and {keeper} does not say that"
            )
    return kept.memory, gone.memory


def is_still_said(
    store: Store, scope: Scope, keeper: MemoryId, other: MemoryId, now: datetime
) -> bool:
    """Whether a superseded memory is still said by the one that superseded it."""
    kept = live(store, scope, [keeper], now).get(keeper)
    gone = store.get(scope, other)
    if gone is None or gone.deleted_at is not None:
        return True
    if kept is None:  # a deleted memory supersedes nothing
        above = store.get(scope, keeper)
        return above is None or above.deleted_at is not None
    return (
        compare_replaceable(kept, Candidate(gone, readers(gone, store.shares(scope)))) is not None
    )


def has_link(store: Store, scope: Scope, source: str, kind: str, target: MemoryId) -> bool:
    """Whether the two memories are linked so now."""
    links = store.links(scope, [target])
    return any((link.source, link.kind, link.target) == (source, kind, target) for link in links)


def _check_pair(keeper: Candidate, other: Candidate) -> None:
    pair = f"memory {keeper.memory.id} cannot stand for {other.memory.id}"
    reasons = obstacles(keeper, other)
    if reasons:
        raise errors.WouldLoseFact(f"{pair}: {'; '.join(reasons)}")
    comparison = compare(keeper.memory.content, other.memory.content)
    if not comparison.is_same:
        raise errors.WouldLoseFact(f"{pair}: they differ in {_differences(comparison)}")
    if comparison.more < 0:
        raise errors.WouldLoseFact(f"{pair}: it says less")


def _differences(comparison: Comparison) -> str:
    return "; ".join(map(str, comparison.differences[:3]))


def _superseded_by(store: Store, scope: Scope, top: MemoryId) -> Iterator[Memory]:
    """The memories that one supersedes, directly or not."""
    frontier, seen = [top], {top}
    while frontier:
        links = store.links(scope, frontier)
        targets = {
            link.target
            for link in links
            if link.kind is LinkKind.SUPERSEDES and link.source in frontier
        } - seen
        seen |= targets
        frontier = [*targets]
        if frontier:
            yield from store.get_many(scope, frontier).values()


def _not_live(store: Store, scope: Scope, id_: MemoryId) -> Exception:
    memory = store.get(scope, id_)
    if memory is None:
        return errors.MemoryNotFound(f"memory {id_} is no longer there")
    if memory.deleted_at is not None:
        return errors.AlreadyDeleted(f"memory {id_} is deleted already")
    return errors.DuplicateLink(f"memory {id_} is superseded or expired already")


def _was_decided(proposal: Proposal) -> errors.ProposalDecided:
    return errors.ProposalDecided(f"proposal {proposal.id} is {proposal.state} already")


def _link_kind(proposal: Proposal) -> LinkKind:
    return choose(LinkKind, str(proposal.change.get("kind", "")), errors.InvalidLink)


def _versions(memories: Sequence[Memory]) -> dict[MemoryId, int]:
    return {memory.id: memory.version for memory in memories}


def _as_lists(links: Sequence[Link]) -> list[list[str]]:
    return [[link.source, link.kind.value, link.target] for link in links]


def _json_value(value: object) -> object:
    if isinstance(value, datetime):
        return value.isoformat()
    return [*value] if isinstance(value, tuple) else value
