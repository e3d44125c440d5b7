"""What a memory must hold after any verbs, in dicts: versions, links, states and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection
from dataclasses import replace
from datetime import datetime
from itertools import product

from bearinmind.errors import AlreadyDeleted, DuplicateLink, MindError, SelfLink, SupersedeCycle
from bearinmind.protocols import Statistics
from bearinmind.types import Decider, Judgement, Link, LinkKind, Memory, MemoryId, State

BY_AN_AGENT = Judgement(probability=1.0, by=Decider.AGENT)


class MemoryModel:
    """The memories of one user, each with all its versions, and every link there was."""

    def __init__(self) -> None:
        self.versions: dict[MemoryId, list[Memory]] = {}
        self.links: list[Link] = []

    # ---- writing -------------------------------------------------------------------------------

    def keep(self, memory: Memory) -> None:
        """A memory has a new version, unless nothing was changed."""
        versions = self.versions.setdefault(memory.id, [])
        if memory not in versions:
            versions.append(memory)

    def purge(self, id: MemoryId) -> None:
        """A memory is gone with its versions and its links."""
        del self.versions[id]
        self.links = [link for link in self.links if id not in (link.source, link.target)]

    def link(
        self,
        source: MemoryId,
        kind: LinkKind,
        target: MemoryId,
        at: datetime,
        judgement: Judgement | None = None,
    ) -> None:
        """Two memories are linked."""
        link = Link(source=source, kind=kind, target=target, created_at=at, judgement=judgement)
        self.links.append(link)

    def unlink(self, source: MemoryId, kind: LinkKind, target: MemoryId, at: datetime) -> None:
        """They are not linked any more; that they were is kept."""
        [link] = self._like(source, kind, target)
        self.links[self.links.index(link)] = replace(link, removed_at=at)

    def bridge(self, middle: MemoryId, at: datetime) -> None:
        """A memory was deleted: what supersedes it now supersedes what it had superseded."""
        chain = [x for x in self.holding() if x.kind is LinkKind.SUPERSEDES]
        there = {(x.source, x.target) for x in chain}
        above = [x for x in chain if x.target == middle]
        below = [x for x in chain if x.source == middle]
        for newer, older in product(above, below):
            if (newer.source, older.target) not in there:
                judgement = newer.judgement or older.judgement  # a person's if both are
                self.link(newer.source, LinkKind.SUPERSEDES, older.target, at, judgement)

    def _like(self, source: MemoryId, kind: LinkKind, target: MemoryId) -> list[Link]:
        ends = (source, kind, target)
        return [link for link in self.holding() if (link.source, link.kind, link.target) == ends]

    # ---- what is refused -----------------------------------------------------------------------

    def twin(self, content: str) -> Memory | None:
        """The oldest memory that says this and is neither deleted nor superseded."""
        hidden = self._superseded(None)
        live = [x for x in self.present().values() if not x.deleted_at and x.id not in hidden]
        return min((x for x in live if x.content == content), key=_place, default=None)

    def refusal(self, source: MemoryId, kind: LinkKind, target: MemoryId) -> type[MindError] | None:
        """Why a link cannot be made."""
        if source == target:
            return SelfLink
        if any(self.versions[id_][-1].deleted_at for id_ in (source, target)):
            return AlreadyDeleted
        if kind is LinkKind.SUPERSEDES and source in self._below(target):
            return SupersedeCycle
        return DuplicateLink if self._like(source, kind, target) else None

    def _below(self, id: MemoryId) -> set[MemoryId]:
        """A memory, what it supersedes, what that supersedes, and so on."""
        below = {id}
        newer = [x for x in self.holding() if x.kind is LinkKind.SUPERSEDES]
        while more := {x.target for x in newer if x.source in below} - below:
            below |= more
        return below

    # ---- reading -------------------------------------------------------------------------------

    def present(self, as_of: datetime | None = None) -> dict[MemoryId, Memory]:
        """The last version of every memory, as of a moment."""
        known = {
            id_: [x for x in versions if as_of is None or x.updated_at <= as_of]
            for id_, versions in self.versions.items()
        }
        return {id_: versions[-1] for id_, versions in known.items() if versions}

    def holding(self, as_of: datetime | None = None) -> list[Link]:
        """The links that hold, or held at a moment."""
        if as_of is None:
            return [link for link in self.links if link.removed_at is None]
        made = [link for link in self.links if link.created_at <= as_of]
        return [link for link in made if link.removed_at is None or link.removed_at > as_of]

    def _superseded(self, as_of: datetime | None) -> set[MemoryId]:
        """What something supersedes that is not deleted itself."""
        present = self.present(as_of)
        newer = [x for x in self.holding(as_of) if x.kind is LinkKind.SUPERSEDES]
        return {x.target for x in newer if x.source in present and not present[x.source].deleted_at}

    def states(self, now: datetime, as_of: datetime | None = None) -> dict[MemoryId, State]:
        """Where every memory stands: deleted before superseded before expired."""
        states: dict[MemoryId, State] = {}
        for id_, memory in self.present(as_of).items():
            begun = memory.valid_from is None or memory.valid_from <= now
            valid = begun and (memory.valid_to is None or memory.valid_to > now)
            states[id_] = State.LIVE if valid else State.EXPIRED
        states |= dict.fromkeys(self._superseded(as_of) & {*states}, State.SUPERSEDED)
        deleted = [id_ for id_, memory in self.present(as_of).items() if memory.deleted_at]
        return states | dict.fromkeys(deleted, State.DELETED)

    def listed(
        self, states: Collection[State], now: datetime, as_of: datetime | None = None
    ) -> list[Memory]:
        """The memories in these states, the newest first."""
        stands = self.states(now, as_of)
        found = [x for x in self.present(as_of).values() if stands[x.id] in states]
        return sorted(found, key=_place, reverse=True)

    def statistics(self, now: datetime) -> Statistics:
        """Counts of everything."""
        counts = Counter(self.states(now).values())
        live = self.listed([State.LIVE], now)
        over = self.listed([State.EXPIRED], now)
        early = sum(x.valid_from is not None and x.valid_from > now for x in over)
        times = [x.created_at for x in self.present().values() if not x.deleted_at]
        return Statistics(
            live=counts[State.LIVE],
            superseded=counts[State.SUPERSEDED],
            expired=counts[State.EXPIRED] - early,
            not_yet_valid=early,
            deleted=counts[State.DELETED],
            earlier_versions=sum(len(versions) - 1 for versions in self.versions.values()),
            links=len(self.holding()),
            categories=Counter(memory.category for memory in live),
            tags=Counter(tag for memory in live for tag in memory.tags),
            oldest=min(times, default=None),
            newest=max(times, default=None),
        )


def _place(memory: Memory) -> tuple[datetime, MemoryId]:
    return memory.created_at, memory.id
