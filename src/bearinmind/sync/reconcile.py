"""What a replica keeps where its server has a thing otherwise, and where the two disagree."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import NamedTuple

from bearinmind.changes import (
    ConflictKind,
    ConflictState,
    LinkState,
    ShareState,
    Subject,
    SyncConflict,
    Taken,
    covers,
    digest,
    link_subject,
)
from bearinmind.errors import InvalidChange
from bearinmind.outdates.verdicts import (
    REPLACING,
    contradict,
    is_trusted,
    judgement_of,
    prevailing_of_pairs,
    says,
)
from bearinmind.protocols import Gone, History, Received, Store, SubjectState
from bearinmind.sync.merge import merge
from bearinmind.sync.model import Arrived, Sealing
from bearinmind.types import Decider, Link, LinkKind, MemoryId, Scope

_NEVER = datetime.max.replace(tzinfo=UTC)


class Reconciled(NamedTuple):
    """The state that a thing is to have here."""

    state: SubjectState
    settled: bool  #: whether the server has exactly this
    conflict: SyncConflict | None = None


class Reconciliation(NamedTuple):
    """Merges the state of a subject on a replica with its state on the server."""

    sealing: Sealing
    now: datetime

    def __call__(
        self, subject: Subject, local: SubjectState, server: SubjectState, *, pending: bool
    ) -> Reconciled:
        """The state that a thing is to have; `pending`: it was changed here, and not sent yet."""
        match local, server:
            case History(), History():
                return self._both(subject, local, server)
            case Gone(), Gone():
                merged = Reconciled(server, settled=True)
            case Gone(), History():
                merged = self._purged(subject, local, server, here=True)
            case History(), Gone():
                merged = self._purged(subject, server, local, here=False)
            case LinkState(), LinkState():
                is_judged = subject.parts[1] == LinkKind.OUTDATES
                merged = (_judged_links if is_judged else _links)(local, server)
            case ShareState(), ShareState():
                # What is shared here is sent to the server, unless the server has it already.
                rights = [state.share and state.share.right for state in (local, server)]
                same = rights[0] == rights[1]
                merged = Reconciled(server if same else local, settled=same)
            case ConflictState(), ConflictState():
                merged = _conflicts(local, server)
            case _:
                kind = type(server).__name__
                raise InvalidChange(
                    f"the server sent a {kind} for the {subject.kind} {subject.name}"
                )
        return merged if pending else Reconciled(server, settled=True)

    def _both(self, subject: Subject, local: History, server: History) -> Reconciled:
        merged = merge(local, server, self.sealing, self.now)
        if not merged.fields:
            return Reconciled(merged.history, merged.settled)
        detail = f"both changed {', '.join(merged.fields)}"
        sides = merged.served, merged.other
        conflict = SyncConflict(0, ConflictKind.EDITED, subject, *sides, detail, self.now)
        return Reconciled(merged.history, merged.settled, conflict)

    def _purged(self, subject: Subject, gone: Gone, kept: History, *, here: bool) -> Reconciled:
        """A purge holds if every version that it removes was known where it was done."""
        if covers(gone.digests, kept):
            return Reconciled(gone, settled=not here)
        detail = "purged elsewhere, changed here: it was kept"
        if here:
            detail = "purged here, changed elsewhere: it came back"
        served = digest(kept.versions[-1])
        conflict = SyncConflict(0, ConflictKind.PURGED, subject, served, "", detail, self.now)
        return Reconciled(kept, settled=here, conflict=conflict)


def _conflicts(local: ConflictState, server: ConflictState) -> Reconciled:
    """A conflict that was decided on either side is decided, unless it came up again later."""
    ours, theirs = local.conflict, server.conflict
    if ours is None or theirs is None:
        return Reconciled(server if ours is None else local, settled=ours is None)
    joined = ConflictState(theirs.joined(ours))
    return Reconciled(joined, settled=joined == server)


def _links(local: LinkState, server: LinkState) -> Reconciled:
    """Every link that either side knows; one that ended on either side has ended."""
    if _is_live(local.links) == _is_live(server.links):
        return Reconciled(server, settled=True)
    known = {link.created_at: link for link in server.links}
    for link in local.links:
        before = known.get(link.created_at)
        if before is None or before.removed_at is None:
            known[link.created_at] = link
    united = LinkState(_one_at_a_time(known.values()))
    return Reconciled(united, settled=united == server)


def _judged_links(local: LinkState, server: LinkState) -> Reconciled:
    """Every judgement that either side knows; of those that hold, only the prevailing one goes on.

    A judgement that ended on either side has ended: whoever ended it had seen it. Two decisions
    that hold beside each other are a conflict if they are contrary.
    """
    sides = [_by_judgement(state.links) for state in (server, local)]
    known = [
        link
        for judgement in dict.fromkeys([*sides[0], *sides[1]])
        for link in _later_state(*(side.get(judgement, ()) for side in sides))
    ]
    live = sorted((link for link in known if link.removed_at is None), key=_weight)
    ended = [
        replace(link, removed_at=max(link.created_at, live[-1].created_at))
        if link.removed_at is None and link is not live[-1]
        else link
        for link in known
    ]
    united = LinkState(_ending_apart(ended))
    conflict = disagreement(live[-1], live) if live else None
    return Reconciled(united, united == server, conflict)


def disagreement(held: Link, links: Iterable[Link]) -> SyncConflict | None:
    """That two machines decided contrary things, neither knowing of the other.

    It is the same wherever it is found, so that all machines list it once.
    """
    contrary = [link for link in links if contradict(held, link)]
    if not contrary:
        return None
    later, other = (str(says(x, held.source)) for x in (held, max(contrary, key=_weight)))
    subject = link_subject(held.source, held.kind, held.target)
    detail = f"as {other} on one machine, later as {later} on another"
    return SyncConflict(0, ConflictKind.DECIDED, subject, later, other, detail, held.created_at)


def _by_judgement(links: Iterable[Link]) -> Mapping[object, Sequence[Link]]:
    """Links by when and how somebody judged; the texts may have been removed from one of two."""
    known: defaultdict[object, list[Link]] = defaultdict(list)
    for link in links:
        judgement = link.judgement
        how = (judgement.by, judgement.probability) if judgement else None
        known[link.created_at, how].append(link)
    return known


def _later_state(*sides: Sequence[Link]) -> Sequence[Link]:
    """Of what two sides know of one judgement: that it was made again, or ended; else the first."""
    return max(sides, key=lambda links: (len(links), not _is_live(links)))


def _weight(link: Link) -> tuple[int, datetime, float]:
    """Which judgement prevails: that of the later decider, then the later one."""
    judgement = judgement_of(link)
    return [*Decider].index(judgement.by), link.created_at, judgement.probability


def _ending_apart(links: Iterable[Link]) -> tuple[Link, ...]:
    """Links in order; where two end at the same moment, the later one ends a little later."""
    apart: dict[datetime | None, Link] = {}
    for link in sorted(links, key=_in_time):
        end = link.removed_at
        while end is not None and end in apart:
            end += timedelta(microseconds=1)
        apart[end] = replace(link, removed_at=end)
    return tuple(sorted(apart.values(), key=_in_time))


def _in_time(link: Link) -> tuple[datetime, datetime]:
    return link.created_at, link.removed_at or _NEVER


def _is_live(links: Iterable[Link]) -> bool:
    return any(link.removed_at is None for link in links)


def _one_at_a_time(links: Iterable[Link]) -> tuple[Link, ...]:
    """Links of one kind between two memories; no two of them end at the same moment."""
    created_at = attrgetter("created_at")
    by_end = {link.removed_at: link for link in sorted(links, key=created_at, reverse=True)}
    return tuple(sorted(by_end.values(), key=created_at))


def disagreements(
    store: Store, scope: Scope, pairs: Collection[frozenset[str]]
) -> Iterator[SyncConflict]:
    """The contrary decisions about pairs of memories: different links, such as `older` and `newer`.

    Whoever pulls both finds it, also when the page is taken again after a crash.
    """
    memories = store.get_many(scope, [MemoryId(id_) for pair in pairs for id_ in pair])
    links = store.links(scope, [*memories]) if memories else []
    for pair in pairs:
        if memories.keys() >= pair:
            between = [x for x in links if x.kind in REPLACING and {x.source, x.target} == pair]
            decided = [x for x in between if is_trusted(x, memories)]
            for held in prevailing_of_pairs(decided):
                if conflict := disagreement(held, decided):
                    yield conflict


# ---- links that are impossible beside each other -------------------------------------------------


def drop_one_in_the_way(store: Store, scope: Scope, change: Arrived, now: datetime) -> bool:
    """Drop a link of this replica that makes a link of the server impossible."""
    source, _, target = change.subject.parts
    way = _way_down(store, scope, MemoryId(target), MemoryId(source))
    subjects = [link_subject(link.source, link.kind, link.target) for link in way]
    pending = store.numbers(scope, subjects)
    why = f"{source} supersedes {target} on the server"
    first = next((subject for subject in subjects if subject in pending), None)
    return first is not None and drop_link(store, scope, first, pending[first], why, now)


def _way_down(store: Store, scope: Scope, top: MemoryId, bottom: MemoryId) -> list[Link]:
    """The supersedes links that lead from one memory to another, if any do."""
    ways: dict[MemoryId, list[Link]] = {top: []}
    edge = [top]
    while edge and bottom not in ways:
        below = [
            link
            for link in store.links(scope, edge)
            if link.kind is LinkKind.SUPERSEDES and link.source in edge and link.target not in ways
        ]
        for link in below:
            ways.setdefault(link.target, [*ways[link.source], link])
        edge = [*dict.fromkeys(link.target for link in below)]
    return ways.get(bottom, [])


def drop_link(
    store: Store, scope: Scope, subject: Subject, number: int, why: str, now: datetime
) -> bool:
    """Drop a link that was made here and cannot be; False when it changed meanwhile."""
    state = store.states(scope, [subject])[subject]
    if not isinstance(state, LinkState):
        raise InvalidChange(f"{subject} is not a link")
    ended = LinkState(tuple(link for link in state.links if link.removed_at is not None))
    conflict = SyncConflict(0, ConflictKind.LINKED, subject, "", "", why, now)
    known = store.peer_numbers(scope, [subject])
    settled = not ended.links and subject not in known  # the server does not know the link
    received = Received(subject, ended, number, settled=settled, conflict=conflict)
    return isinstance(store.receive(scope, [received])[0], Taken)
