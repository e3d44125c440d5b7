"""A server with memories for a browser, made once: what a test adds disturbs no other."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from bearinmind.types import Access
from support.browser import Browser
from support.http_server import serving
from support.page_views import LEGS, Filled, fill


@pytest.fixture(autouse=True)
def screen(request: pytest.FixtureRequest) -> None:
    """Every test begins on the same screen, whatever the one before did."""
    if "tab" in request.fixturenames:
        tab: Browser = request.getfixturevalue("tab")
        tab.resize(1_280)
        tab.prefer("light")


@pytest.fixture(scope="session")
def filled(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Filled]:
    folder = tmp_path_factory.mktemp("filled")
    with serving(folder / "memories.db", vault_key_file=folder / "vault.keys", **LEGS) as server:
        for user in ("ada", "bob"):
            server.key(user, Access.READ)
        ada, bob = (server.bearinmind.for_user(user) for user in ("ada", "bob"))
        yield Filled(server=server, ids=fill(ada, bob))
