"""What is sent twice with one key is kept once, on every store."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bearinmind import errors
from bearinmind.app import Mind
from bearinmind.protocols import Store
from bearinmind.testing import FixedClock
from bearinmind.types import AlreadyKnown, Stored
from support.households import household

KEY = "AKIA" + "Q3EXAMPLEKEY4567"  # in two parts, so that nobody takes this file for a leak


@pytest.fixture
def ada(new_store: Callable[[], Store], clock: FixedClock) -> Iterator[Mind]:
    with household(new_store(), clock, embedder="none") as memory:
        yield memory


@pytest.fixture
def grace(ada: Mind) -> Mind:
    return ada.for_user("grace", key="key-of-grace")


def test_what_is_sent_twice_with_one_key_is_kept_once(ada: Mind, grace: Mind) -> None:
    first = ada.store("The walrus.", tags=["Zoo"], idempotency_key="k1")
    again = ada.store("The walrus. ", tags=["zoo"], idempotency_key="k1")
    assert isinstance(first, Stored)
    assert again == first
    assert len(ada.list()) == 1
    ada.update(first.memory.id, content="The seal.")
    assert ada.store("The walrus.", tags=["zoo"], idempotency_key="k1") == Stored(
        memory=ada.get(first.memory.id)
    )
    other = grace.store("The walrus.", tags=["zoo"], idempotency_key="k1")
    assert other.memory.id != first.memory.id


@pytest.mark.parametrize(
    "change",
    [
        {"content": "The seal."},
        {"tags": ["red"]},
        {"importance": 0.9},
        {"source": "elsewhere"},
        {"sensitive": True},
    ],
)
def test_a_key_is_for_one_memory(ada: Mind, change: dict[str, Any]) -> None:
    asked: dict[str, Any] = {"content": "The walrus.", "tags": ["zoo"], "idempotency_key": "k1"}
    ada.store(**asked)
    with pytest.raises(errors.IdempotencyKeyReused):
        ada.store(**(asked | change))
    assert len(ada.list()) == 1


def test_a_secret_that_is_sent_twice_is_kept_once(ada: Mind) -> None:
    first = ada.store(f"the key is {KEY}", idempotency_key="k1")
    assert first.memory.sensitive
    assert ada.store(f"the key is {KEY}", idempotency_key="k1") == first
    with pytest.raises(errors.IdempotencyKeyReused) as raised:
        ada.store(f"the other key is {KEY}", idempotency_key="k1")
    assert KEY not in raised.value.message


def test_a_key_does_not_keep_what_is_known_already(ada: Mind) -> None:
    known = ada.store("The walrus.").memory
    for _ in range(2):
        assert ada.store("The walrus.", idempotency_key="k1") == AlreadyKnown(memory=known)


def test_what_is_sent_many_times_at_once_is_kept_once(ada: Mind) -> None:
    with ThreadPoolExecutor(8) as threads:
        sent = [
            threads.submit(ada.store, "The walrus.", idempotency_key="k1", tags=["zoo"])
            for _ in range(24)
        ]
        outcomes = [each.result() for each in sent]
    assert all(isinstance(each, Stored) for each in outcomes)
    assert {each.memory.id for each in outcomes} == {each.id for each in ada.list()}
    assert len(ada.list()) == 1


@pytest.mark.parametrize("key", ["", "x" * 256, "a\x00b"])
def test_a_key_is_a_short_text(ada: Mind, key: str) -> None:
    with pytest.raises(errors.InvalidInput):
        ada.store("The walrus.", idempotency_key=key)
    assert ada.list() == []
