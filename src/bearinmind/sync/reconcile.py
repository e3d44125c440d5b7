"""Merges the state of a subject on a replica with its state on the server."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
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
    digest,
)
from bearinmind.errors import InvalidChange
from bearinmind.outdates.verdicts import judgement_of
from bearinmind.protocols import Gone, History, SubjectState
from bearinmind.receipts import covers
from bearinmind.sync.merge import merge
from bearinmind.sync.model import Sealing
from bearinmind.types import Decider, Link, LinkKind

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
                merged = self._purged_here(subject, local, server)
            case History(), Gone():
                merged = self._purged_there(subject, local, server)
            case LinkState(), LinkState():
                is_judged = subject.parts[1] == LinkKind.OUTDATES
                merged = (_judged_links if is_judged else _links)(local, server)
            case ShareState(), ShareState():
                merged = _shares(local, server)
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

    def _purged_here(self, subject: Subject, local: Gone, server: History) -> Reconciled:
        """A purge holds if every version that it removes was known here."""
        if covers(local.digests, server):
            return Reconciled(local, settled=False)
        detail = "purged here, changed elsewhere: it came back"
        return Reconciled(server, settled=True, conflict=self._purged(subject, server, detail))

    def _purged_there(self, subject: Subject, local: History, server: Gone) -> Reconciled:
        if covers(server.digests, local):
            return Reconciled(server, settled=True)
        detail = "purged elsewhere, changed here: it was kept"
        return Reconciled(local, settled=False, conflict=self._purged(subject, local, detail))

    def _purged(self, subject: Subject, kept: History, detail: str) -> SyncConflict:
        served = digest(kept.versions[-1])
        return SyncConflict(0, ConflictKind.PURGED, subject, served, "", detail, self.now)


def _shares(local: ShareState, server: ShareState) -> Reconciled:
    """What is shared here is sent to the server, unless the server has it already."""
    rights = [state.share and state.share.right for state in (local, server)]
    same = rights[0] == rights[1]
    return Reconciled(server if same else local, settled=same)


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

    A judgement that ended on either side has ended: whoever ended it had seen it.
    """
    sides = [_by_judgement(state.links) for state in (server, local)]
    known = [
        link
        for judgement in dict.fromkeys([*sides[0], *sides[1]])
        for link in _later_state(*(side.get(judgement, ()) for side in sides))
    ]
    held = max((link for link in known if link.removed_at is None), key=_weight, default=None)
    ended = [
        replace(link, removed_at=max(link.created_at, held.created_at))
        if held is not None and link.removed_at is None and link is not held
        else link
        for link in known
    ]
    united = LinkState(_ending_apart(ended))
    return Reconciled(united, settled=united == server)


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
