from __future__ import annotations

from collections.abc import Callable

from bearinmind.protocols import Store, StoreFacts
from bearinmind.types import Memory, Scope


def test_a_store_grows_with_what_it_holds(
    stores: dict[str, Store], scope: Scope, make: Callable[..., Memory]
) -> None:
    for store in stores.values():
        before = store.facts().bytes
        for number in range(300):
            store.put(scope, make(f"memory {number} " + "of words " * 100))
        after = store.facts().bytes
        assert before is not None
        assert after is not None
        assert after > before


def test_only_what_runs_beside_this_process_has_a_version(stores: dict[str, Store]) -> None:
    named = {kind: {*store.facts().versions} for kind, store in stores.items()}
    assert named == {"sqlite": set(), "postgres": {"postgres", "pgvector"}}


def test_facts_are_told_in_words() -> None:
    assert str(StoreFacts(3 * 2**20, {"postgres": "18.6"})) == "3.0 MiB, postgres 18.6"
    assert str(StoreFacts(None, {})) == ""


def test_what_recalls_read_has_what_was_just_stored(
    store: Store, scope: Scope, make: Callable[..., Memory]
) -> None:
    memory = make("tea")
    store.put(scope, memory)
    assert store.for_recall().get(scope, memory.id) == memory
