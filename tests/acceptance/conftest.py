"""The kinds of store that must survive what happens to them, each by its name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture(params=["sqlite", "postgres"])
def place(
    request: pytest.FixtureRequest, tmp_path: Path, migrated_database: Callable[[], str]
) -> str:
    """The name of an empty store of each kind, by which any process opens it."""
    return migrated_database() if request.param == "postgres" else str(tmp_path / "memories.db")


@pytest.fixture(params=["sqlite", "postgres"])
def new_place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """The name of a store of each kind that whoever opens it first has to make."""
    if request.param == "postgres":
        return str(request.getfixturevalue("postgres_url"))
    return str(tmp_path / "memories.db")
