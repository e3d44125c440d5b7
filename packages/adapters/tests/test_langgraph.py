"""LangGraph with our store: its own published tests of a store, and a graph that remembers."""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import START, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import SearchItem

from bearinmind import Client, Mind
from bearinmind_adapters.langgraph import BearInMindStore

PUBLISHED = (
    Path(__file__).parents[3]
    / ".integrations/langgraph_checkpoint_sqlite-3.1.2/tests/test_store.py"
)


def published() -> dict[str, Callable[..., None]]:
    """The tests of LangGraph's SQLite store that need nothing but a store."""
    spec = importlib.util.spec_from_file_location("published_store_tests", PUBLISHED)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    tests = {name: each for name, each in vars(module).items() if name.startswith("test_")}
    return {
        name: each
        for name, each in tests.items()
        if [*inspect.signature(each).parameters] == ["store"]
    }


TESTS = published()


@pytest.mark.parametrize("name", TESTS)
def test_the_store_passes_the_tests_that_langgraph_publishes(mind: Mind, name: str) -> None:
    TESTS[name](store=BearInMindStore(mind))


def test_there_are_as_many_published_tests_as_were_counted() -> None:
    assert len(TESTS) >= 15


def test_a_search_ranks_by_meaning_and_says_how_probable_each_item_is(mind: Mind) -> None:
    store = BearInMindStore(mind)
    store.put(("users", "ana"), "car", {"text": "Ana drives an old Volvo to work."})
    store.put(("users", "ana"), "food", {"text": "Ana likes ramen most of all."})
    store.put(("users", "ben"), "car", {"text": "Ben drives an electric car."})
    store.put(("users", "ana"), "hidden", {"text": "Ana drives a tractor."}, index=False)
    mind.work.run()

    items = store.search(("users", "ana"), query="which vehicle does she have?", limit=2)

    assert all(isinstance(item, SearchItem) for item in items)
    assert (items[0].namespace, items[0].key) == (("users", "ana"), "car")
    assert 0 < (items[0].score or 0) <= 1
    assert "hidden" not in {item.key for item in items}
    assert store.search(("users",), query="vehicle", filter={"text": {"$eq": "x"}}) == []


def test_every_version_of_a_value_is_kept_whatever_its_length(mind: Mind) -> None:
    store = BearInMindStore(mind)
    long = {"text": "é\u0301 \r\n" * 2_000, "list": [1, None, {"a": True}]}

    store.put(("a",), "k", {"text": "first"})
    store.put(("a",), "k", long)
    found = store.get(("a",), "k")
    assert found is not None
    assert found.value == long
    assert found.updated_at >= found.created_at
    store.put(("a",), "k", {"text": "last"})

    [memory] = mind.list()
    assert [version.version for version in mind.versions(memory.id)] == [1, 2, 3]
    assert "first" in mind.versions(memory.id)[0].content


async def remembers_across_threads(memories: Any) -> None:
    class State(TypedDict):
        said: str

    async def remember(state: State, runtime: Runtime[None]) -> State:
        store = runtime.store
        assert store is not None
        before = await store.asearch(("notes",), query=state["said"])
        await store.aput(("notes",), state["said"], {"text": state["said"]})
        return {"said": ", ".join(item.value["text"] for item in before)}

    graph = StateGraph(State)
    graph.add_node("remember", remember)
    graph.add_edge(START, "remember")
    compiled = graph.compile(store=BearInMindStore(memories))

    assert (await compiled.ainvoke({"said": "The turbine has seven blades."}))["said"] == ""
    answered = await compiled.ainvoke({"said": "How many blades has the turbine?"})
    assert "seven blades" in answered["said"]


def test_a_graph_remembers_across_threads(mind: Mind) -> None:
    asyncio.run(remembers_across_threads(mind))


def test_a_graph_remembers_on_a_server(client: Client) -> None:
    asyncio.run(remembers_across_threads(client))
