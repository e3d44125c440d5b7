"""What is said of the states of one thing: judged as the scorer does, and read again."""

from __future__ import annotations

from bearinmind.app import Mind
from bearinmind.protocols import Store
from bearinmind.types import (
    Decider,
    Judgement,
    Link,
    LinkKind,
    Memory,
    MemoryId,
    Scope,
    UserId,
)

OUTDATES = LinkKind.OUTDATES
ADA = Scope(user=UserId("ada"))


def infer(store: Store, newer: Memory, older: Memory, probability: float = 0.95) -> None:
    """Link two memories as the scorer does."""
    link = Link(
        source=newer.id,
        target=older.id,
        kind=OUTDATES,
        created_at=newer.updated_at,
        judgement=Judgement(probability=probability, by=Decider.SCORER),
    )
    store.add_link(ADA, link)


def judged(mind: Mind, memory: Memory) -> list[tuple[str, str, float, Decider]]:
    """The judgements at a memory."""
    return [
        (link.source, link.target, link.judgement.probability, link.judgement.by)
        for link in mind.links(memory.id)
        if link.judgement
    ]


def marked(mind: Mind, *memories: Memory) -> dict[MemoryId, MemoryId]:
    """Which of these are outdated, and by which."""
    return {id_: each.by for id_, each in mind.outdated(memories).items()}
