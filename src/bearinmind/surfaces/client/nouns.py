"""From what a server answered to the nouns that a memory in this process gives back."""

from __future__ import annotations

from collections.abc import Iterable

from bearinmind.protocols import Statistics
from bearinmind.recall.history import Step, Timeline, Why
from bearinmind.surfaces.verbs import answers as a
from bearinmind.types import (
    AlreadyKnown,
    Link,
    Memory,
    MemoryId,
    Outcome,
    Provenance,
    Share,
    Stored,
    UserId,
)


def memory(said: a.MemoryAnswer) -> Memory:
    """A memory."""
    return Memory(
        id=MemoryId(said.id),
        owner=UserId(said.owner),
        content=said.content,
        category=said.category,
        tags=tuple(said.tags),
        keywords=tuple(said.keywords),
        importance=said.importance,
        sensitive=said.sensitive,
        created_at=said.created_at,
        updated_at=said.updated_at,
        deleted_at=said.deleted_at,
        valid_from=said.valid_from,
        valid_to=said.valid_to,
        provenance=Provenance(
            agent=said.agent,
            session=said.session,
            project=said.project,
            source=said.source,
            trust=said.trust,
        ),
        version=said.version,
    )


def memories(said: Iterable[a.MemoryAnswer]) -> tuple[Memory, ...]:
    """Memories in their order."""
    return tuple(map(memory, said))


def outcome(said: a.StoreAnswer) -> Outcome:
    """What became of something to remember."""
    kept = memory(said.memory)
    return Stored(memory=kept) if said.outcome == "stored" else AlreadyKnown(memory=kept)


def link(said: a.LinkAnswer) -> Link:
    """A link."""
    return Link(
        source=MemoryId(said.source),
        target=MemoryId(said.target),
        kind=said.kind,
        created_at=said.created_at,
        removed_at=said.removed_at,
    )


def share(said: a.ShareAnswer) -> Share:
    """That an owner shares something with somebody."""
    return Share(
        owner=UserId(said.owner),
        reader=UserId(said.reader),
        right=said.right,
        memory=None if said.memory is None else MemoryId(said.memory),
        tag=said.tag,
        created_at=said.created_at,
        ended_at=said.ended_at,
    )


def shares(said: a.SharesAnswer) -> tuple[Share, ...]:
    """What is shared."""
    return tuple(map(share, said.shares))


def why(said: a.WhyAnswer) -> Why:
    """What led to a memory."""
    return Why(
        memory=memory(said.memory),
        versions=memories(said.versions),
        steps=tuple(
            Step(depth=step.depth, link=link(step.link), memory=memory(step.memory))
            for step in said.steps
        ),
        superseded_by=memories(said.superseded_by),
    )


def timeline(said: a.TimelineAnswer) -> Timeline:
    """What was remembered around a moment."""
    return Timeline(
        moment=said.moment,
        anchor=None if said.anchor is None else memory(said.anchor),
        before=memories(said.before),
        after=memories(said.after),
    )


def statistics(said: a.CountAnswer) -> Statistics:
    """Counts of what is stored."""
    return Statistics(
        live=said.live,
        superseded=said.superseded,
        expired=said.expired,
        deleted=said.deleted,
        earlier_versions=said.earlier_versions,
        links=said.links,
        categories=said.categories,
        tags=said.tags,
        oldest=said.oldest,
        newest=said.newest,
        shared=said.shared,
        sharers=said.sharers,
    )
