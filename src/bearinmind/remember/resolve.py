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
    is_trusted,
    judgement_of,
    prevailing_of_pairs,
    says,
)
from bearinmind.protocols import Store
from bearinmind.text.analysis import fingerprint
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
        by_id = {memory.id: memory, other.id: other}
        # A claim decides nothing.
        deciding = [x for x in between if is_trusted(x, by_id) or not judgement_of(x).probability]
        same = [x for x in prevailing_of_pairs(deciding) if _is_same(x, link)]
        if not same:
            if by is not Decider.PERSON:
                _refuse(deciding, link, by_id[link.source], by_id[link.target])
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
        return _superseding(newer, older, by, now)
    probability = 0.0 if resolution is Resolution.BOTH else 1.0
    if newer.sensitive and probability:
        raise errors.InvalidLink(
            f"memory {newer.id} is sealed, and outdates nothing",
            hint=f"`bearinmind link {newer.id} supersedes {older.id}` lets it replace the other.",
        )
    return replace(link, judgement=Judgement(probability=probability, by=by))


def superseding(
    store: Store, scope: Scope, pair: tuple[Memory, Memory], by: Decider, at: datetime
) -> Link:
    """The link that lets the first memory supersede the second; no agent overturns a person.

    From anybody but a person it is a claim if the first is trusted less.
    """
    if by is not Decider.PERSON and not is_less_trusted(*pair):
        _refuse_overturning(store, scope, *pair)
    return _superseding(*pair, by, at)


def _superseding(newer: Memory, older: Memory, by: Decider, at: datetime) -> Link:
    """The link that lets a memory supersede another; an agent who says so is named with it.

    A person is named if the memory is trusted less, and replaces the other all the same. One whose
    trust falls later does not: somebody else may have written another text into it.
    """
    is_plain = by is Decider.PERSON and not is_less_trusted(newer, older)
    return Link(
        source=newer.id,
        target=older.id,
        kind=LinkKind.SUPERSEDES,
        created_at=at,
        judgement=None if is_plain else Judgement(probability=1.0, by=by),
    )


def _is_same(held: Link, decided: Link) -> bool:
    """Whether a link already says what was decided, and somebody no less said so."""
    before, now = judgement_of(held), judgement_of(decided)
    says_it = says(held, decided.source) is says(decided, decided.source)
    return says_it and before.by in (now.by, Decider.PERSON)


def _refuse(decisions: Sequence[Link], decided: Link, newer: Memory, older: Memory) -> None:
    """Refuse an agent what only a person can decide."""
    if any(judgement_of(x).by is Decider.PERSON for x in decisions):
        raise _decided_otherwise(newer, older)
    both_hold = judgement_of(decided).probability == 0.0
    if is_less_trusted(newer, older) and not both_hold:
        raise errors.PersonDecides(
            f"memory {newer.id} is trusted less than {older.id}, and cannot replace it"
        )


def _refuse_overturning(store: Store, scope: Scope, newer: Memory, older: Memory) -> None:
    """Refuse an agent to let a memory supersede one that a person said to hold, or to be newer.

    What was decided about another memory with the same words counts as well.
    """
    links = [x for x in store.links(scope, [older.id]) if x.kind in REPLACING]
    ends = {end for x in links for end in (x.source, x.target)}
    memories = store.get_many(scope, [*ends]) if ends else {}
    whole = [x for x in links if {x.source, x.target} <= memories.keys()]
    for link in prevailing_of_pairs(x for x in whole if is_trusted(x, memories)):
        other = memories[link.target if link.source == older.id else link.source]
        is_same = not other.sensitive and fingerprint(other.content) == fingerprint(newer.content)
        judgement = judgement_of(link)
        holds = link.source == older.id or not judgement.probability
        if holds and judgement.by is Decider.PERSON and (is_same or other.id == newer.id):
            raise _decided_otherwise(newer, older)


def _decided_otherwise(newer: Memory, older: Memory) -> errors.PersonDecides:
    return errors.PersonDecides(f"a person has decided otherwise about {newer.id} and {older.id}")
