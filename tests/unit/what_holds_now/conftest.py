"""A thing in three states, on every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from bearinmind.app import Mind
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from bearinmind.types import Memory
from support.households import household


@pytest.fixture
def store(new_store: Callable[[], Store]) -> Store:
    return new_store()


@pytest.fixture
def ada(store: Store, clock: FixedClock) -> Iterator[Mind]:
    with household(store, clock, embedder="none") as memory:
        yield memory


@pytest.fixture
def states(ada: Mind, clock: FixedClock) -> list[Memory]:
    """Three states of one thing, a month apart, without links."""
    texts = ("Jenkins runs our builds", "our builds run on Actions", "our builds run on GitLab CI")
    memories = []
    for text in texts:
        memories.append(ada.store(text).memory)
        clock.advance(days=30)
    return memories
