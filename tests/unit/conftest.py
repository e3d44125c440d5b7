"""What the tests of the pure stages are made of."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import datetime

import pytest

from bearinmind.models import factory
from bearinmind.protocols import Store
from bearinmind.types import Filter, Query, Scope, UserId
from support.households import KINDS, open_kind


@pytest.fixture(autouse=True, scope="module")
def _runs_by_words_alone(request: pytest.FixtureRequest) -> Iterator[None]:
    """How runs are made and compared needs no model, which would take seconds for each of them."""
    with pytest.MonkeyPatch.context() as patched:
        if request.module.__name__.rpartition(".")[2].startswith(("test_bench_", "test_own_")):
            patched.setattr(factory, "DEFAULT_EMBEDDER", "none")
        yield


@pytest.fixture
def ask(noon: datetime) -> Callable[..., Query]:
    """Makes a query of Ada's."""

    def make_query(text: str = "", **fields: object) -> Query:
        filter_ = Filter(scope=Scope(user=UserId("ada")), now=noon)
        return Query(**({"text": text, "filter": filter_} | fields))  # type: ignore[arg-type]

    return make_query


@pytest.fixture(params=KINDS)
def new_store(
    request: pytest.FixtureRequest, migrated_database: Callable[[], str]
) -> Callable[[], Store]:
    """Makes empty stores of one kind, for each kind that there is."""
    return lambda: open_kind(request.param, migrated_database)
