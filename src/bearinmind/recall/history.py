"""Where a memory came from, what was remembered around it, what has changed; lists of memories."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum

from bearinmind import errors
from bearinmind.outdates.verdicts import (
    MARK,
    OFFER,
    is_decided,
    judgement_of,
    outdated,
    prevailing_of_pairs,
)
from bearinmind.protocols import Page, Readable, Statistics, Store
from bearinmind.recall.pipeline import LARGEST_LIMIT, check_number
from bearinmind.recall.selection import heads
from bearinmind.text import ids
from bearinmind.types import (
    Filter,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Outdated,
    Scope,
    State,
    UserId,
    is_expired,
    owner_of,
)

USUAL_DEPTH, DEEPEST = 10, 100  # steps of a provenance walk
# A brief: what people expect an agent to know before it is asked.
LEADING = frozenset({"preferences", "decisions"})
_LEADING_BONUS = 0.25
_OWN_PROJECT_BONUS = 0.25
_RECENT = 0.5  # what a memory of this moment has beside its importance
_FADES = timedelta(days=30)  # after so long that is down to 1/e
_POOL = 300  # the newest memories, among which a brief is chosen
_NEAREST = 3  # memories of a brief that answer its query
MOST_BYTES = 1_000_000
_CHANGING = (LinkKind.OUTDATES, LinkKind.SUPERSEDES)
_MOST_IN_CHAINS = 1_000  # memories that are looked at for the history of a thing
#: In which states others' memories are seen; what is deleted or superseded is its owner's alone.
_SEEN = frozenset({State.LIVE, State.EXPIRED})


class Whose(StrEnum):
    """Owners of listed memories in a word; any other owner is given by name."""

    ME = "me"  #: the user who asks
    OTHERS = "others"  #: all users who share something with them


Owner = Whose | UserId | None  #: whose memories are meant; None for all that can be seen
#: Of pairs, the older first: how probably the newer one states what holds now of a thing.
Prefer = Callable[[Sequence[tuple[Memory, Memory]]], Mapping[frozenset[MemoryId], float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One step back along the provenance of a memory."""

    depth: int
    link: Link
    memory: Memory


@dataclass(frozen=True, slots=True, kw_only=True)
class Why:
    """Where a memory came from."""

    memory: Memory
    versions: tuple[Memory, ...]
    steps: tuple[Step, ...]
    superseded_by: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Timeline:
    """What was remembered around a moment, oldest first."""

    moment: datetime
    anchor: Memory | None
    before: tuple[Memory, ...]
    after: tuple[Memory, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingState:
    """One state of a thing: what held, from when until when."""

    memory: Memory
    since: datetime | None  #: None when it was stored only after it had ended
    until: datetime | None = None  #: None for what holds now
    outdated: Outdated | None = None  #: by which memory, and who decided; None for what holds now


@dataclass(frozen=True, slots=True, kw_only=True)
class ThingHistory:
    """What has changed about a thing: chains of states, each from the oldest to the present one."""

    thing: str
    chains: tuple[tuple[ThingState, ...], ...]


def find(store: Store, scope: Scope, text: str) -> Memory:
    """The own memory with this id, or with the only id that begins so, deleted or not."""
    owner, prefix = ids.parse(text)
    typed = text.strip().rpartition(":")[2]  # as it was, which `prefix` is not
    matches = store.resolve(scope, prefix) if owner in (None, scope.user) else []
    if not matches:
        raise not_found(typed)
    check_one(typed, matches)
    memory = store.get(scope, matches[0])
    if memory is None:
        raise errors.MemoryNotFound(f"memory {matches[0]} is no longer there")
    return memory


def check_one(prefix: str, matches: Collection[MemoryId]) -> None:
    """Refuse a prefix with which more than one id begins."""
    if len(matches) > 1:
        raise errors.AmbiguousId(f"{prefix!r} is the beginning of {', '.join(matches)}")


def not_found(prefix: str) -> errors.MemoryNotFound:
    """The error for an id that does not exist, and for one that the user may not see."""
    return errors.MemoryNotFound(f"no memory has an id that begins with {prefix!r}")


def version_of(store: Store, scope: Scope, id: MemoryId, version: int) -> Memory:
    """One version of a memory, if it has that version."""
    for memory in store.versions(scope, id):
        if memory.version == version:
            return memory
    hint = f"`bearinmind get {id} --versions` lists them."
    raise errors.MemoryNotFound(f"memory {id} has no version {version}", hint=hint)


def states(
    store: Store, scope: Scope, memories: Sequence[Memory], now: datetime
) -> dict[MemoryId, State]:
    """The state of each of these memories; a superseded one of another owner is not seen at all."""
    own = [memory.id for memory in memories if memory.owner == scope.user]
    superseded = {link.target for link in store.newer(scope, own)}

    def state(memory: Memory) -> State:
        if memory.deleted_at is not None:
            return State.DELETED
        if memory.owner == scope.user and memory.id in superseded:
            return State.SUPERSEDED
        return State.EXPIRED if is_expired(memory, now) else State.LIVE

    return {key: state(memory) for key, memory in by_name(scope, memories).items()}


def by_name(scope: Scope, memories: Iterable[Memory]) -> dict[MemoryId, Memory]:
    """Memories by id; one that has the id of another before it is named with its owner."""
    named: dict[MemoryId, Memory] = {}
    for memory in sorted(memories, key=lambda each: each.owner != scope.user):
        if named.setdefault(memory.id, memory) != memory:
            named[ids.with_owner(memory.owner, memory.id)] = memory
    return named


def verdicts_above(
    view: Readable, filter: Filter, ids: Sequence[MemoryId]
) -> dict[MemoryId, Outdated]:
    """Which of these memories, and of those above them in their chains, one that is seen outdates.

    A successor that was superseded gives its place to the memory that superseded it.
    """
    if not ids or not view.has_links(filter.scope):
        return {}
    links = view.newer(filter.scope, ids, filter.as_of, _CHANGING)
    memories = view.get_many(filter.scope, _ends(links), filter.as_of) if links else {}
    holding = {x.id for x in memories.values() if not is_expired(x, filter.now)}
    outdating = [x for x in links if x.kind is LinkKind.OUTDATES and x.source in holding]
    served = heads(link for link in links if link.kind is LinkKind.SUPERSEDES)
    verdicts = {}
    for id_, verdict in outdated(outdating, memories).items():
        by = served.get(verdict.by, verdict.by)
        if by in holding and not memories[by].sensitive:
            verdicts[id_] = replace(verdict, by=by)
    return verdicts


def thing_history(
    view: Readable, filter: Filter, thing: str, hits: Sequence[Memory], limit: int, prefer: Prefer
) -> ThingHistory:
    """The states of what the best hits are about, by what supersedes or outdates what.

    Of two hits that may be states of one thing `prefer` says whether the newer one is its present
    state. Where nothing has changed, the best hit is the only state.
    """
    links = _chains_of(view, filter, [memory.id for memory in hits])
    memories = {x.id: x for x in hits} | view.get_many(filter.scope, _ends(links))
    seen = {id_: x for id_, x in memories.items() if not x.sensitive and x.deleted_at is None}
    links += _preferred(links, {x.id: x for x in hits if x.id in seen}, prefer)
    verdicts = outdated(links, seen)
    paths = {id_: _path(verdicts, id_) for id_ in seen}
    in_order = sorted(seen.values(), key=lambda x: (-len(paths[x.id]), x.created_at, x.id))
    chains: dict[MemoryId, list[ThingState]] = {
        paths[memory.id][-1]: [] for memory in hits if memory.id in seen
    }
    for memory in in_order:
        if paths[memory.id][-1] in chains:
            chains[paths[memory.id][-1]].append(_state(memory, verdicts.get(memory.id)))
    changed = [chain for chain in chains.values() if len(chain) > 1]
    best = (changed or [*chains.values()][:1])[:limit]
    return ThingHistory(thing=thing, chains=tuple(map(tuple, best)))


def _preferred(
    links: Iterable[Link], hits: Mapping[MemoryId, Memory], prefer: Prefer
) -> list[Link]:
    """The doubtful links between two hits that a look at both confirms, as probable as it says."""
    doubtful = [
        x
        for x in prevailing_of_pairs(links)
        if hits.keys() >= {x.source, x.target} and 0 < judgement_of(x).probability < MARK
    ]
    preferred = prefer([(hits[x.target], hits[x.source]) for x in doubtful])
    return [
        replace(x, judgement=replace(judgement_of(x), probability=probability))
        for x in doubtful
        if (probability := preferred.get(frozenset((x.source, x.target)), 0.0)) >= MARK
    ]


def _chains_of(view: Readable, filter: Filter, ids: Sequence[MemoryId]) -> list[Link]:
    """The links by which these memories are part of chains, up and down."""
    links: dict[Link, None] = {}
    frontier, seen = [*ids], {*ids}
    while frontier and len(seen) <= _MOST_IN_CHAINS:
        around = [x for x in view.links(filter.scope, frontier) if x.kind in _CHANGING]
        above = view.newer(filter.scope, frontier, None, _CHANGING)
        links |= {
            x: None
            for x in (*around, *above)
            if is_decided(x) or judgement_of(x).probability >= OFFER
        }
        frontier = [end for end in _ends(links) if end not in seen]
        seen |= {*frontier}
    return [*links]


def _ends(links: Iterable[Link]) -> list[MemoryId]:
    return [*dict.fromkeys(end for link in links for end in (link.source, link.target))]


def _path(verdicts: Mapping[MemoryId, Outdated], id_: MemoryId) -> list[MemoryId]:
    """A memory, then what outdates it, and so on up to what holds now."""
    path = [id_]
    while path[-1] in verdicts and verdicts[path[-1]].by not in path:
        path.append(verdicts[path[-1]].by)
    return path


def _state(memory: Memory, verdict: Outdated | None) -> ThingState:
    """A memory with the span in which it held, as far as that is known."""
    ends = [each for each in (memory.valid_to, verdict and verdict.until) if each]
    since, until = memory.valid_from or memory.created_at, min(ends, default=None)
    was_over = until is not None and until <= since
    return ThingState(
        memory=memory, since=None if was_over else since, until=until, outdated=verdict
    )


def timeline(
    browse: Callable[[Page], Sequence[Memory]],
    anchor: Memory | datetime,
    *,
    before: int,
    after: int,
) -> Timeline:
    """The memories of a list next to a memory or a moment, by time."""
    if isinstance(anchor, Memory):
        moment, place = anchor.created_at, (anchor.created_at, anchor.id)
    else:
        # Earlier means strictly before the moment; the empty id comes before every other.
        moment, place = anchor, (anchor, MemoryId(""))
    earlier = browse(Page(limit=before, after=place)) if before else []
    later = browse(Page(limit=after, after=place, newest_first=False)) if after else []
    return Timeline(
        moment=moment,
        anchor=anchor if isinstance(anchor, Memory) else None,
        before=tuple(reversed(earlier)),
        after=tuple(later),
    )


def why(store: Store, scope: Scope, memory: Memory, depth: int = USUAL_DEPTH) -> Why:
    """Walk back from a memory over what it derives from, what caused it and what it superseded."""
    check_number("depth", depth, DEEPEST)
    steps: list[Step] = []
    seen = {memory.id}
    frontier = [memory.id]
    for level in range(1, depth + 1):
        links = store.links(scope, frontier)
        origins = [(link, origin) for link in links if (origin := _origin(link, frontier))]
        memories = store.get_many(scope, [origin for _, origin in origins])
        frontier = []
        for link, origin in origins:
            if origin not in seen and origin in memories:
                seen.add(origin)
                frontier.append(origin)
                steps.append(Step(depth=level, link=link, memory=memories[origin]))
        if not frontier:
            break
    newer = [link.source for link in store.newer(scope, [memory.id])]
    heads = store.get_many(scope, newer)
    return Why(
        memory=memory,
        versions=tuple(store.versions(scope, memory.id)),
        steps=tuple(steps),
        superseded_by=tuple(heads[id_] for id_ in dict.fromkeys(newer) if id_ in heads),
    )


def _origin(link: Link, frontier: Sequence[MemoryId]) -> MemoryId | None:
    """The end of a link that lies further back, seen from one of these memories."""
    if link.kind in (LinkKind.DERIVES_FROM, LinkKind.SUPERSEDES) and link.source in frontier:
        return link.target
    if link.kind is LinkKind.CAUSES and link.target in frontier:
        return link.source
    return None


@dataclass(frozen=True, slots=True)
class Listing:
    """All that a user may list of what a filter admits."""

    store: Store
    views: tuple[Filter, ...]  #: the own memories, then those of each who shares, by name

    def browse(self, page: Page) -> list[Memory]:
        """A page of the list, by creation time and then id; own memories before others' of one id.

        A page does not end between memories of one time and id: the next would begin behind both.
        """
        memories = [memory for view in self.views for memory in self.store.browse(view, page)]
        if page.by_importance:
            memories.sort(key=lambda each: (each.importance, *_place(each)), reverse=True)
            return memories[: page.limit]
        memories.sort(key=_place, reverse=page.newest_first)
        behind = memories[page.limit :]
        last = _place(memories[page.limit - 1]) if behind else None
        ties = [*itertools.takewhile(lambda each: _place(each) == last, behind)]
        return [*memories[: page.limit], *ties]

    def counts(self) -> list[int]:
        """How many memories each view has."""
        return [self.store.count(view) for view in self.views]


def _place(memory: Memory) -> tuple[datetime, MemoryId]:
    return memory.created_at, memory.id


def listing(store: Store, filter: Filter, owner: Owner = None) -> Listing:
    """What the user of a filter may list just now, of everybody or of one owner."""
    named = owner in (Whose.ME, filter.scope.user) and owner != Whose.OTHERS
    own = (filter,) if owner is None or named else ()
    return Listing(store, (*own, *_of_others(store, filter, owner)))


def statistics(store: Store, scope: Scope, now: datetime) -> Statistics:
    """Counts of what a scope holds, and of what others share with its user."""
    others = listing(store, Filter(scope=scope, now=now), Whose.OTHERS).counts()
    own = store.statistics(scope, now)
    return replace(own, shared=sum(others), sharers=sum(map(bool, others)))


def _of_others(store: Store, filter: Filter, owner: Owner) -> Sequence[Filter]:
    """One filter for each user who shares anything, as far as the owner asked for includes them."""
    seen = filter.states & _SEEN
    if owner == Whose.ME or filter.as_of is not None or not seen:
        return []
    reader = filter.scope.user
    return [
        replace(filter, scope=Scope(user=sharer), reader=reader, states=seen)
        for sharer in store.sharers(reader)
        if owner in (None, Whose.OTHERS, owner_of(sharer))
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefRequest:
    """What a brief is for, and how long it may be."""

    project: str | None
    session: str | None
    query: str | None
    limit: int
    budget_bytes: int

    def __post_init__(self) -> None:
        check_number("limit", self.limit, LARGEST_LIMIT)
        check_number("budget_bytes", self.budget_bytes, MOST_BYTES)


def brief(
    store: Store,
    own: Filter,
    request: BriefRequest,
    nearest: Callable[[str, int], Sequence[Memory]],
) -> Sequence[Memory]:
    """The memories of a session first, then those nearest to the query, then the weightiest.

    Each is there whole or not at all. Sensitive memories, and those of other projects, are not.
    """
    project, page = request.project, Page(limit=_POOL)
    pool = store.browse(own, page)
    if project is not None:
        pool = [*store.browse(replace(own, project=project), page), *pool]
    first: list[Memory] = []
    if request.session is not None:
        in_session = replace(own, session=request.session)
        first += store.browse(in_session, Page(limit=request.limit))
    if request.query:
        answers = nearest(request.query, _NEAREST)
        first += [memory for memory in answers if memory.provenance.project in (project, None)]
    eligible = {x.id: x for x in pool if x.provenance.project in (project, None)}
    ranked = sorted(eligible.values(), key=lambda each: (-_weight(each, project, own.now), each.id))
    chosen: dict[MemoryId, Memory] = {}
    left = request.budget_bytes
    for memory in _current(store, own, [*first, *ranked], project):
        size = len(memory.content.encode())
        if memory.id not in chosen and not memory.sensitive and size <= left:
            chosen[memory.id] = memory
            left -= size
        if len(chosen) == request.limit:
            break
    return [*chosen.values()]


def _current(
    store: Store, own: Filter, memories: Sequence[Memory], project: str | None
) -> list[Memory]:
    """The memories with what holds now in place of outdated ones; none of another project."""
    verdicts = verdicts_above(store, own, [memory.id for memory in memories])
    if not verdicts:
        return [*memories]
    newest = {memory.id: _path(verdicts, memory.id)[-1] for memory in memories}
    held = {x.id: x for x in memories} | store.get_many(own.scope, [*newest.values()])
    return [
        held[newest[memory.id]]
        for memory in memories
        if memory.id not in verdicts
        or held[newest[memory.id]].provenance.project in (project, None)
    ]


def _weight(memory: Memory, project: str | None, now: datetime) -> float:
    age = max(now - memory.updated_at, timedelta())
    weight = memory.importance + _RECENT * math.exp(-age / _FADES)
    weight += _LEADING_BONUS if memory.category in LEADING else 0.0
    is_own = project is not None and memory.provenance.project == project
    return weight + (_OWN_PROJECT_BONUS if is_own else 0.0)
