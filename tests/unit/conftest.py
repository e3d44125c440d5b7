"""What the tests of the pure stages are made of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from recollect.testing import counting_ids
from recollect.types import Filter, Memory, MemoryId, Provenance, Query, Scope, UserId


@pytest.fixture
def noon() -> datetime:
    return datetime(2026, 3, 1, 12, tzinfo=UTC)


@pytest.fixture
def make(noon: datetime) -> Callable[..., Memory]:
    """Makes a memory; whatever is not given has a plain value."""
    new_id = counting_ids()

    def make_memory(content: str = "", **fields: object) -> Memory:
        id_ = MemoryId(str(fields.pop("id", None) or new_id()))
        created_at = fields.pop("created_at", noon)
        plain: dict[str, object] = {
            "id": id_,
            "owner": UserId("ada"),
            "content": content or f"memory {id_}",
            "category": "facts",
            "tags": (),
            "keywords": (),
            "importance": 0.5,
            "sensitive": False,
            "created_at": created_at,
            "updated_at": created_at,
            "deleted_at": None,
            "valid_from": None,
            "valid_to": None,
            "provenance": Provenance(),
            "version": 1,
        }
        return Memory(**(plain | fields))  # type: ignore[arg-type]

    return make_memory


@pytest.fixture
def ask(noon: datetime) -> Callable[..., Query]:
    """Makes a query of Ada's."""

    def make_query(text: str = "", **fields: object) -> Query:
        filter_ = Filter(scope=Scope(user=UserId("ada")), now=noon)
        return Query(**({"text": text, "filter": filter_} | fields))  # type: ignore[arg-type]

    return make_query
