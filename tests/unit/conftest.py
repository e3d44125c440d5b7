"""What the tests of the pure stages are made of."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import pytest

from recollect.types import Filter, Query, Scope, UserId


@pytest.fixture
def ask(noon: datetime) -> Callable[..., Query]:
    """Makes a query of Ada's."""

    def make_query(text: str = "", **fields: object) -> Query:
        filter_ = Filter(scope=Scope(user=UserId("ada")), now=noon)
        return Query(**({"text": text, "filter": filter_} | fields))  # type: ignore[arg-type]

    return make_query
