"""CrewAI's memory over our storage."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from crewai.llms.base_llm import BaseLLM
from crewai.memory.storage.backend import StorageBackend
from crewai.memory.types import MemoryRecord
from crewai.memory.unified_memory import Memory

from bearinmind import Mind
from bearinmind_adapters.crewai import BearInMindStorage


class NoModel(BaseLLM):
    """A model that must not be asked."""

    def call(self, *_: Any, **__: Any) -> Any:
        raise AssertionError("the model was asked")


@pytest.fixture(params=["mind", "client"])
def storage(request: pytest.FixtureRequest) -> BearInMindStorage:
    return BearInMindStorage(request.getfixturevalue(request.param))


@pytest.fixture
def memory(storage: BearInMindStorage) -> Iterator[Memory]:
    made = Memory(
        storage=storage,
        embedder=storage.embedder,
        llm=NoModel(model="none"),
        consolidation_threshold=1.0,
    )
    yield made
    made.close()


def remember(memory: Memory, content: str, scope: str = "/team", **fields: Any) -> MemoryRecord:
    given = {"categories": ["facts"], "importance": 0.5, **fields}
    record = memory.remember(content, scope=scope, **given)
    assert record is not None
    return record


def test_it_is_a_storage_of_crewai(storage: BearInMindStorage) -> None:
    assert isinstance(storage, StorageBackend)


def test_a_crew_remembers_and_recalls(memory: Memory, storage: BearInMindStorage) -> None:
    blades = remember(memory, "The turbine in hall 4 has seven blades.", "/team/plant")
    remember(memory, "Ana likes ramen.", "/team/people", metadata={"by": "ben"})
    if isinstance(storage._documents._mind, Mind):
        storage._documents._mind.work.run()

    matches = memory.recall("How many blades has the turbine?", depth="shallow", limit=1)

    assert [match.record.content for match in matches] == [blades.content]
    elsewhere = memory.recall("turbine blades", scope="/team/people", depth="shallow")
    assert {match.record.scope for match in elsewhere} <= {"/team/people"}
    assert memory.list_scopes("/team") == ["/team/people", "/team/plant"]
    assert memory.info("/team").record_count == 2


def test_records_are_listed_updated_and_deleted(storage: BearInMindStorage) -> None:
    old = datetime.now(UTC) - timedelta(days=3)
    first = MemoryRecord(content="one", scope="/a/b", categories=["x"], created_at=old)
    second = MemoryRecord(content="two " * 1_000, scope="/a", metadata={"k": 1})
    storage.save([first, second])

    assert storage.get_record(second.id) == second
    assert [record.id for record in storage.list_records("/a")] == [second.id, first.id]
    assert storage.count() == 2
    assert storage.list_categories("/a") == {"x": 1}
    storage.update(first.model_copy(update={"content": "uno", "scope": "/c"}))
    assert storage.get_record(first.id).content == "uno"  # type: ignore[union-attr]
    assert (storage.count("/a"), storage.count("/c")) == (1, 1)
    info = storage.get_scope_info("/")
    assert (info.record_count, info.child_scopes) == (2, ["/a", "/c"])
    assert storage.delete(older_than=datetime.now(UTC) - timedelta(days=1)) == 1
    assert storage.delete(metadata_filter={"k": 2}) == 0
    assert storage.delete(record_ids=[second.id]) == 1
    assert storage.get_record(second.id) is None


def test_a_vector_of_another_embedder_is_refused_with_the_remedy(mind: Mind) -> None:
    with pytest.raises(ValueError, match=r"embedder=storage\.embedder"):
        BearInMindStorage(mind).search([0.5] * 64)
