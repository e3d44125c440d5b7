"""A store takes histories with gaps in their numbers, and says which numbers cannot be."""

from __future__ import annotations

from dataclasses import replace

from bearinmind.changes import memory_subject
from bearinmind.protocols import History, Received, Store
from bearinmind.types import Memory, Scope
from support.extractors import HOUR, Make


def numbered(first: Memory, *numbers: int) -> History:
    """Versions of a memory with these numbers."""
    return History(
        versions=tuple(
            replace(
                first,
                version=number,
                content=f"heron {number}",
                updated_at=first.created_at + number * HOUR,
            )
            for number in numbers
        )
    )


def test_a_history_with_gaps_is_appended_to_replaced_and_cut_at_its_own_numbers(
    store: Store, scope: Scope, make: Make
) -> None:
    first = make()
    subject = memory_subject(first.id)
    lives = [(2, 5), (2, 5, 9), (2, 7), (2, 7, 8, 20), (2,), (3,)]
    for numbers in lives:
        history = numbered(first, *numbers)
        store.receive(scope, [Received(subject, history, 0)])
        assert store.versions(scope, first.id) == [*history.versions]
        assert store.get(scope, first.id) == history.versions[-1]
        assert store.states(scope, [subject]) == {subject: history}
    for hours, version in ((2, None), (3, 3), (9, 3)):
        seen = store.get(scope, first.id, first.created_at + hours * HOUR)
        assert (seen.version if seen else None) == version
