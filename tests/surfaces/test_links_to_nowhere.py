"""A link whose other end has not come yet, as between two syncs, breaks no verb."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from bearinmind.app import Mind
from bearinmind.changes import LinkState, link_subject
from bearinmind.protocols import Received
from bearinmind.store.sqlite import SqliteStore
from bearinmind.types import Link, LinkKind, MemoryId

ABSENT = MemoryId("absent")


@pytest.fixture
def linked(memory: Mind, path: Path) -> MemoryId:
    """A memory with a link of every kind, both ways, to one that is not there."""
    kept = memory.store("The heron stands in the reeds.").memory
    ends = [(kept.id, ABSENT), (ABSENT, kept.id)]
    links = [
        Link(source=source, target=target, kind=kind, created_at=datetime(2026, 3, 1, tzinfo=UTC))
        for kind in LinkKind
        for source, target in ends
        if (kind, source) != (LinkKind.SUPERSEDES, kept.id)
    ]
    store = SqliteStore(path)
    received = [
        Received(link_subject(x.source, x.kind, x.target), LinkState((x,)), 0) for x in links
    ]
    store.receive(memory.scope, received)
    store.close()
    assert len(memory.links(kept.id)) == len(links)
    return kept.id


def test_a_memory_with_links_to_nowhere_is_found_and_explained(
    memory: Mind, linked: MemoryId
) -> None:
    [hit] = memory.recall("heron").hits
    assert hit.memory.id == linked
    assert (hit.attached, hit.pointers) == ((), ())
    assert memory.why(linked).steps == ()
    assert memory.states([memory.get(linked)]) == {linked: "live"}


def test_a_memory_with_links_to_nowhere_is_changed_deleted_and_purged(
    memory: Mind, linked: MemoryId
) -> None:
    memory.update(linked, content="The heron has left.")
    memory.delete(linked)
    memory.restore(linked)
    memory.delete(linked)
    memory.purge(memory.plan_purge([linked]))
    assert memory.recall("heron").hits == ()


@pytest.mark.usefixtures("by_words")
def test_a_memory_with_links_to_nowhere_is_shown_and_exported(
    run: Callable[..., Any], linked: MemoryId
) -> None:
    for command in (["get", linked], ["get", linked, "--json"], ["why", linked], ["export"]):
        shown = run(*command)
        assert shown.code == 0, shown.err
        assert "heron" in shown.out
