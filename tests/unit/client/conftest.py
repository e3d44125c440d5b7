"""Both clients, and a server that answers them as it is told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from support.clients import KEY, KINDS, client_of
from support.faulty_server import FaultyServer, faulty


@pytest.fixture
def server() -> Iterator[FaultyServer]:
    with faulty() as server:
        yield server


@pytest.fixture(params=KINDS)
def client(request: pytest.FixtureRequest, server: FaultyServer) -> Iterator[Any]:
    with client_of(request.param, server.url, KEY, timeout=5, retries=3) as client:
        yield client


@pytest.fixture(params=KINDS)
def make(request: pytest.FixtureRequest) -> Iterator[Callable[..., Any]]:
    """Makes clients that are closed in the end."""
    with ExitStack() as stack:
        yield lambda *args, **options: stack.enter_context(
            client_of(request.param, *args, **options)
        )
