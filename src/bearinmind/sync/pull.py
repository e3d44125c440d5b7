"""Takes the changes of a server into a replica."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

from bearinmind.changes import (
    ConflictKind,
    ConflictState,
    LinkState,
    Refused,
    ShareState,
    Stale,
    Subject,
    SubjectKind,
    SyncConflict,
    Taken,
    conflict_subject,
    covers,
    digest,
    link_subject,
)
from bearinmind.errors import DuplicateLink, InvalidChange, StoreBusy, SupersedeCycle, VaultFailure
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
from bearinmind.types import Decider, Link, LinkKind, Memory, MemoryId, Scope

if TYPE_CHECKING:  # it imports this module
    from bearinmind.sync.replica import SyncReport

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
    conflict = _disagreement(live[-1], live) if live else None
    return Reconciled(united, united == server, conflict)


def _disagreement(held: Link, links: Iterable[Link]) -> SyncConflict | None:
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


TRIES = 5  # against writers of this store that are faster: each try is over in milliseconds
_SUPERSEDES = LinkKind.SUPERSEDES


@dataclass(slots=True, kw_only=True)
class Pull:
    """Takes changes of a server, each merged with what was changed here."""

    store: Store
    scope: Scope
    sealing: Sealing
    clock: Callable[[], datetime]
    report: SyncReport
    #: Links that are impossible beside another one; perhaps that one ends later in the feed.
    deferred: list[Arrived] = field(default_factory=list)

    def take(self, changes: Sequence[Arrived]) -> None:
        """Take changes, in order; what is known already changes nothing."""
        known = self.store.peer_numbers(self.scope, [change.subject for change in changes])
        new = [change for change in changes if change.number > known.get(change.subject, 0)]
        # Memories before links: a purge here removes links, and what the server has is merged then.
        for kinds in (Gone, History, LinkState | ShareState | ConflictState):
            self._take_all([change for change in new if isinstance(change.state, kinds)])
        self._join_twins(changes)
        self._compare_decisions(
            [change.subject.parts for change in changes if change.subject.kind is SubjectKind.LINK]
        )

    def _take_all(self, changes: Sequence[Arrived]) -> None:
        """Take changes, as often as another writer is faster."""
        left = [*changes]
        for _ in range(TRIES):
            if not left:
                return
            left = self._take(left)
        if left:
            raise StoreBusy(f"{len(left)} changed things are being changed here all the time")

    def _take(self, changes: Sequence[Arrived]) -> list[Arrived]:
        """Take changes; those that were not taken because another writer was faster."""
        subjects = [change.subject for change in changes]
        # Numbers before states: a change between them makes the number stale, and is seen.
        numbers = self.store.numbers(self.scope, subjects)
        states = self.store.states(self.scope, subjects)
        received: list[Received] = []
        for change in changes:
            number = numbers.get(change.subject, 0)
            each = self._received(change, states[change.subject], number)
            received += [] if each is None else [each]
        verdicts = self.store.receive(self.scope, received) if received else []
        by_subject = {change.subject: change for change in changes}
        overtaken: list[Arrived] = []
        for each, verdict in zip(received, verdicts, strict=True):
            change = by_subject[each.subject]
            match verdict:
                case Taken():
                    self.report.pulled += 1
                    self.report.merged += not each.settled
                    self.report.conflicts += each.conflict is not None
                case Stale():
                    overtaken.append(change)
                case Refused(SupersedeCycle()):
                    self.deferred.append(change)
                case Refused(error):
                    raise error
        return overtaken

    def _received(self, change: Arrived, local: SubjectState, number: int) -> Received | None:
        """What is to be kept; None when the merge needs a key that is not here."""
        if number and local == LinkState(()):
            source, _, target = map(MemoryId, change.subject.parts)
            if len(self.store.get_many(self.scope, [source, target])) < 2:  # noqa: PLR2004 (both)
                settled = change.state == local  # a purge has removed it
                return Received(change.subject, local, number, settled, change.number)
        reconcile = Reconciliation(self.sealing, self.clock())
        try:
            state, settled, conflict = reconcile(
                change.subject, local, change.state, pending=number > 0
            )
        except VaultFailure as error:
            self.report.waiting += 1
            reason = f"it cannot be merged with what the server has: {error.message}"
            self.store.refuse(self.scope, change.subject, number, reason)
            return None
        if isinstance(state, History):
            state = self._under_present_key(state)
        return Received(change.subject, state, number, settled, change.number, conflict)

    def _under_present_key(self, history: History) -> History:
        """The history; what was sealed under a key that was rotated away here is sealed anew."""
        retired = self.store.retired_keys() if history.sealed else frozenset()
        if retired.isdisjoint(record.key_id for record in history.sealed):
            return history
        vault = self.sealing.vault
        sealed = [
            vault.seal(x.owner, x.id, x.version, vault.open(x)) if x.key_id in retired else x
            for x in history.sealed
        ]
        return replace(history, sealed=tuple(sealed))

    # ---- links that are impossible beside each other -------------------------------------------

    def finish(self) -> None:
        """Take the links that were impossible, once everything else was taken.

        A link of this replica that still makes one impossible is dropped: the server was first.
        """
        deferred, self.deferred = self.deferred, []
        for change in deferred:
            while self._drop_one_in_the_way(change):
                pass
            self.take([change])

    def _drop_one_in_the_way(self, change: Arrived) -> bool:
        """Drop a link of this replica that makes a link of the server impossible."""
        source, _, target = change.subject.parts
        way = self._way_down(MemoryId(target), MemoryId(source))
        subjects = [link_subject(link.source, link.kind, link.target) for link in way]
        pending = self.store.numbers(self.scope, subjects)
        for subject in subjects:
            if subject in pending:
                why = f"{source} supersedes {target} on the server"
                return drop_link(
                    self.store, self.scope, subject, pending[subject], why, self.clock()
                )
        return False

    def _way_down(self, top: MemoryId, bottom: MemoryId) -> list[Link]:
        """The supersedes links that lead from one memory to another, if any do."""
        ways: dict[MemoryId, list[Link]] = {top: []}
        edge = [top]
        while edge and bottom not in ways:
            below = [
                link
                for link in self.store.links(self.scope, edge)
                if link.kind is _SUPERSEDES and link.source in edge and link.target not in ways
            ]
            for link in below:
                ways.setdefault(link.target, [*ways[link.source], link])
            edge = [*dict.fromkeys(link.target for link in below)]
        return ways.get(bottom, [])

    # ---- decisions about the same memories ---------------------------------------------------

    def _compare_decisions(self, arrived: Sequence[tuple[str, ...]]) -> None:
        """Keep the conflict of decisions that are different links: `older` and `newer`, `merge`.

        Whoever pulls both finds it, also when the page is taken again after a crash.
        """
        pairs = {frozenset((x[0], x[2])) for x in arrived if x[1] in REPLACING}
        ids = [MemoryId(id_) for pair in pairs for id_ in pair]
        memories = self.store.get_many(self.scope, ids) if ids else {}
        links = self.store.links(self.scope, [*memories]) if memories else []
        for pair in pairs:
            if memories.keys() >= pair:
                between = [x for x in links if x.kind in REPLACING and {x.source, x.target} == pair]
                decided = [x for x in between if is_trusted(x, memories)]
                for held in prevailing_of_pairs(decided):
                    self._keep_conflict(_disagreement(held, decided))

    def _keep_conflict(self, conflict: SyncConflict | None) -> None:
        """Keep a conflict, unless it is known, open or resolved."""
        if conflict is None:
            return
        subject = conflict_subject(conflict)
        number = self.store.numbers(self.scope, [subject]).get(subject, 0)
        state = self.store.states(self.scope, [subject])[subject]
        known = state.conflict if isinstance(state, ConflictState) else None
        if known is None or known.at < conflict.at:
            self.store.receive(self.scope, [Received(subject, ConflictState(conflict), number)])
            self.report.conflicts += 1

    # ---- memories that say the same ------------------------------------------------------------

    def _join_twins(self, changes: Sequence[Arrived]) -> None:
        """Of two memories that say the same, made on two machines, the older one is served.

        Every replica makes the same link. The texts of sensitive memories are not compared.
        """
        ids = [
            MemoryId(change.subject.parts[0])
            for change in changes
            if change.subject.kind is SubjectKind.MEMORY
        ]
        superseded = {link.target for link in self.store.newer(self.scope, ids)}
        for memory in self.store.get_many(self.scope, ids).values():
            if memory.deleted_at is None and memory.id not in superseded:
                twin = self.store.same_content(self.scope, memory)
                if twin is not None:
                    self._join(*sorted((memory, twin), key=lambda x: (x.created_at, x.id)))

    def _join(self, older: Memory, younger: Memory) -> None:
        link = Link(
            source=older.id,
            target=younger.id,
            kind=_SUPERSEDES,
            created_at=max(self.clock(), younger.created_at),
        )
        with suppress(DuplicateLink, SupersedeCycle):
            self.store.add_link(self.scope, link)
            self.report.joined += 1


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
