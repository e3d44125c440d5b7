"""What somebody decides about two memories: which one holds now, that both do, or one for both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from bearinmind import errors
from bearinmind.changes import MOST_CONFLICTS
from bearinmind.outdates.verdicts import (
    REPLACING,
    contradict,
    is_less_trusted,
    judgement_of,
    prevailing_of_pairs,
    says,
)
from bearinmind.protocols import Store
from bearinmind.types import Decider, Judgement, Link, LinkKind, Memory, MemoryId, Resolution, Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Resolved:
    """What was decided about a memory beside others."""

    id: MemoryId
    resolution: Resolution
    links: tuple[Link, ...]  #: that say so, one for each of the others


def resolve(
    store: Store,
    scope: Scope,
    memory: Memory,
    others: Sequence[Memory],
    verdict: tuple[Resolution, Decider],
    now: datetime,
) -> Resolved:
    """Decide about a memory and each of the others; what is decided so already stays as it is.

    A conflict between machines about two of them is over, if somebody no less decides.
    """
    resolution, by = verdict
    links = store.links(scope, [memory.id])
    decided: list[Link] = []
    ended: list[Link] = []
    new: list[Link] = []
    for other in {other.id: other for other in others}.values():
        link = _decision(memory, other, resolution, by, now)
        ends = {memory.id, other.id}
        between = [x for x in links if x.kind in REPLACING and {x.source, x.target} == ends]
        same = [x for x in prevailing_of_pairs(between) if _is_same(x, link)]
        if not same:
            if by is not Decider.PERSON:
                by_id = {memory.id: memory, other.id: other}
                _refuse(between, link, by_id[link.source], by_id[link.target])
            ended += [replace(x, removed_at=now) for x in between]
            new.append(link)
        elif judgement_of(same[0]).by is by:
            ended += [replace(x, removed_at=now) for x in between if contradict(same[0], x)]
        decided += same or [link]
    if new or ended:
        store.change_links(scope, ended, new)
    pairs = {frozenset((x.source, x.target)) for x in decided if judgement_of(x).by is by}
    for conflict in store.conflicts(scope, MOST_CONFLICTS):
        if conflict.pair in pairs:
            store.resolve_conflict(scope, conflict.number, now)
    return Resolved(id=memory.id, resolution=resolution, links=tuple(decided))


def _decision(
    memory: Memory, other: Memory, resolution: Resolution, by: Decider, now: datetime
) -> Link:
    """The link that says what was decided; of two that are merged the later one is served."""
    if memory.id == other.id:
        raise errors.SelfLink(f"memory {memory.id} cannot be compared with itself")
    for each in (memory, other):
        if each.deleted_at is not None:
            raise errors.AlreadyDeleted(f"memory {each.id} is deleted: nothing is decided about it")
    newer, older = memory, other
    if resolution is Resolution.OLDER:
        newer, older = other, memory
    elif resolution is Resolution.MERGE:
        older, newer = sorted((memory, other), key=lambda each: (each.created_at, each.id))
    link = Link(source=newer.id, target=older.id, kind=LinkKind.OUTDATES, created_at=now)
    if resolution is Resolution.MERGE:
        return superseding(newer, older, by, now)
    probability = 0.0 if resolution is Resolution.BOTH else 1.0
    return replace(link, judgement=Judgement(probability=probability, by=by))


def superseding(newer: Memory, older: Memory, by: Decider, at: datetime) -> Link:
    """The link that lets a memory supersede another: a claim if it is trusted less.

    A person who decides that it does all the same is named with the link.
    """
    link = Link(source=newer.id, target=older.id, kind=LinkKind.SUPERSEDES, created_at=at)
    if by is not Decider.PERSON or not is_less_trusted(newer, older):
        return link
    return replace(link, judgement=Judgement(probability=1.0, by=by))


def _is_same(held: Link, decided: Link) -> bool:
    """Whether a link already says what was decided, and somebody no less said so."""
    before, now = judgement_of(held), judgement_of(decided)
    says_it = says(held, decided.source) is says(decided, decided.source)
    if held.kind is LinkKind.SUPERSEDES and held.judgement is None:
        says_it = says_it and decided.judgement is None  # else it was no more than a claim
    return says_it and before.by in (now.by, Decider.PERSON)


def _refuse(between: Sequence[Link], decided: Link, newer: Memory, older: Memory) -> None:
    """Refuse an agent what only a person can decide."""
    of_person = [x for x in between if x.kind is LinkKind.OUTDATES]
    if any(judgement_of(x).by is Decider.PERSON for x in of_person):
        raise errors.PersonDecides(
            f"a person has decided otherwise about {newer.id} and {older.id}"
        )
    both_hold = judgement_of(decided).probability == 0.0
    if is_less_trusted(newer, older) and not both_hold:
        raise errors.PersonDecides(
            f"memory {newer.id} is trusted less than {older.id}, and cannot replace it"
        )
