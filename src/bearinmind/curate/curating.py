"""One look at all memories of a user: what could be proposed. Nothing is changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime

from bearinmind.curate import consolidate, contradictions, hygiene, staleness
from bearinmind.curate.deciding import Judge, What
from bearinmind.curate.gathering import Held, gather
from bearinmind.curate.guarding import still_holds
from bearinmind.curate.neighbours import Meaning, Near
from bearinmind.curate.proposing import CONSOLIDATION, Find, proposal
from bearinmind.errors import WorkFailure
from bearinmind.proposals import Proposal, ProposalKind, ProposalState
from bearinmind.protocols import Store
from bearinmind.types import LinkKind, MemoryId, Scope

_AT_ONCE = 500  # proposals that are read at once


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """How curation looks."""

    cosine: float = 0.95  #: from which on two memories are near
    temporary_days: int = 30  #: after which what is said to be temporary is looked at
    categories: tuple[str, ...] = ()
    since: datetime | None = None  #: only what was written since, and what it is near to


@dataclass(frozen=True, slots=True, kw_only=True)
class Look:
    """What one look found."""

    memories: int  #: that were looked at
    by_meaning: bool  #: whether vectors were there to go by
    proposals: tuple[Proposal, ...]
    known: frozenset[str] = field(default_factory=frozenset)  #: ids of those in the inbox before
    trouble: str = ""  #: why a model was not asked about all that is doubtful


def look(
    store: Store, scope: Scope, now: datetime, options: Options, judge: Judge | None = None
) -> Look:
    """Everything that could be proposed now, also what was proposed before.

    A judge is asked about pairs that may say the same; those that it takes for two are left out.
    """
    held = {each.memory.id: each for each in gather(store, scope, now)}
    meaning = Meaning(store, scope, now)
    found = {proposal(x, now).id: x for x in _finds(store, scope, held, meaning, now, options)}
    known = frozenset(id_ for id_ in found if store.proposal(scope, id_) is not None)
    trouble = _ask(judge, found, known) if judge else ""
    return Look(
        memories=len(held),
        by_meaning=meaning.is_there,
        proposals=tuple(proposal(find, now) for find in found.values()),
        known=known,
        trouble=trouble,
    )


def _ask(judge: Judge, found: dict[str, Find], known: frozenset[str]) -> str:
    """Ask about what is doubtful and new; why not all was asked, if so."""
    for id_, find in [*found.items()]:
        if id_ in known or (find.kind, find.origin) != (ProposalKind.REVIEW, CONSOLIDATION):
            continue
        newer, older = find.memories
        try:
            decision = judge(newer.content, newer.category, [older])
        except WorkFailure as exc:
            return exc.message
        if decision.kind is What.ADD:
            del found[id_]
        else:
            found[id_] = replace(find, evidence={**find.evidence, "model": decision.kind.value})
    return ""


def _finds(
    store: Store,
    scope: Scope,
    held: dict[MemoryId, Held],
    meaning: Meaning,
    now: datetime,
    options: Options,
) -> Iterator[Find]:
    since = options.since
    new = {id_ for id_, x in held.items() if since is None or x.memory.updated_at >= since}
    settled: set[frozenset[MemoryId]] = set()
    for twins in consolidate.twins(held, new, meaning.cosine, options.cosine):
        settled.add(frozenset({twins.keeper.memory.id, twins.other.memory.id}))
        yield consolidate.supersede(twins)
    near = [*meaning.near(held, [*new], options.cosine)]
    for found in contradictions.contradictions(held.values(), near, new):
        settled.add(frozenset({found.older.memory.id, found.newer.memory.id}))
        yield contradictions.review(found)
    yield from _doubtful(near, settled)
    memories = {id_: each.memory for id_, each in held.items() if id_ in new}
    for memory in memories.values():
        yield from staleness.stale(memory, now, options.temporary_days)
    yield from hygiene.mend_categories(memories, options.categories)
    yield from _not_said_any_more(store, scope, now)


def _doubtful(near: list[Near], settled: set[frozenset[MemoryId]]) -> Iterator[Find]:
    for pair in near:
        if frozenset({pair.one.memory.id, pair.other.memory.id}) not in settled:
            find = consolidate.doubtful(pair)
            if find is not None:
                yield find


def _not_said_any_more(store: Store, scope: Scope, now: datetime) -> Iterator[Find]:
    """What was superseded as the same, and is not said any more by what stands in its place.

    Somebody changed one of the two since; whether the old one is wanted back, they know.
    """
    for applied in all_proposals(store, scope, ProposalState.APPLIED):
        if applied.kind is not ProposalKind.SUPERSEDE:
            continue
        for source, kind, target in applied.undo.get("links", []):
            is_there = any(
                (link.source, link.kind, link.target) == (source, kind, target)
                for link in store.links(scope, [target])
            )
            if not is_there or still_holds(store, scope, source, target, now):
                continue
            found = store.get_many(scope, [source, target])
            yield Find(
                kind=ProposalKind.UNLINK,
                origin=CONSOLIDATION,
                memories=(found[source], found[target]),
                reason=f"{source} was changed since, and does not say what {target} says",
                change={"kind": LinkKind.SUPERSEDES.value},
            )


def all_proposals(store: Store, scope: Scope, *states: ProposalState) -> Iterator[Proposal]:
    """Every proposal in one of these states, a page at a time."""
    after: str | None = None
    while found := store.proposals(scope, states, _AT_ONCE, after):
        yield from found
        after = found[-1].id
