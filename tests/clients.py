"""Both clients of a server, driven in the same way: a test of one is a test of the other."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from bearinmind import AsyncClient, Client

KINDS = ("Client", "AsyncClient")


class Awaiting:
    """An `AsyncClient` whose verbs are awaited here and now, on a loop of its own."""

    def __init__(self, client: AsyncClient, loop: asyncio.Runner) -> None:
        self._client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._client, name)

        def wait(*args: Any, **kwargs: Any) -> Any:
            found = verb(*args, **kwargs)
            whole = _all(found) if inspect.isasyncgen(found) else found
            return self._loop.run(whole)

        return wait

    def __repr__(self) -> str:
        return repr(self._client)


async def _all(found: Any) -> list[Any]:
    return [each async for each in found]


@contextmanager
def client_of(kind: str, url: str, key: str | None = None, **options: Any) -> Iterator[Any]:
    """A client of this kind, closed in the end."""
    if kind == "Client":
        with Client(url, key, **options) as client:
            yield client
        return
    with asyncio.Runner() as loop:
        awaiting = Awaiting(AsyncClient(url, key, **options), loop)
        yield awaiting
        awaiting.aclose()
