"""What a server might answer a client, about one memory."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any

from bearinmind import AsyncClient, Client

KINDS = ("Client", "AsyncClient")


class Awaiting:
    """An `AsyncClient`, or a group of its verbs, each awaited here and now on a loop of its own."""

    def __init__(self, client: Any, loop: asyncio.Runner) -> None:
        self._client = client
        self._loop = loop

    def __getattr__(self, name: str) -> Any:
        verb = getattr(self._client, name)
        if not callable(verb):
            return Awaiting(verb, self._loop)

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


KEY = "rk-very-secret-123"
ID = "k7f29qmxt4hd"
NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
MEMORIES = "/api/v1/memories"
MEMORY: dict[str, Any] = {
    "id": ID,
    "owner": "ada",
    "content": "The key is under the mat.",
    "category": "facts",
    "tags": ["home"],
    "keywords": [],
    "importance": 0.5,
    "sensitive": False,
    "created_at": "2026-03-01T12:00:00Z",
    "updated_at": "2026-03-01T12:00:00Z",
    "deleted_at": None,
    "valid_from": None,
    "valid_to": None,
    "provenance": {
        "agent": None,
        "session": "monday",
        "project": None,
        "source": None,
        "trust": "user",
    },
    "version": 1,
}
SHARE: dict[str, Any] = {
    "owner": "ada",
    "reader": "bob",
    "right": "read",
    "memory": ID,
    "tag": None,
    "created_at": "2026-03-01T12:00:00Z",
    "ended_at": None,
}
LINK: dict[str, Any] = {
    "source": ID,
    "target": "k2",
    "kind": "causes",
    "created_at": "2026-03-01T12:00:00Z",
    "removed_at": None,
}


def whole(**changed: Any) -> dict[str, Any]:
    """What a server answers when the memory is requested."""
    return {
        "memory": MEMORY | changed,
        "state": "live",
        "earlier": [],
        "links": [LINK],
        "as_data": [],
    }


def page(memories: list[dict[str, Any]], following: str | None = None) -> dict[str, Any]:
    """What a server answers when a list is requested."""
    return {"memories": memories, "states": {}, "as_data": [], "next": following}


STORED = {"kind": "stored", "memory": MEMORY}
KNOWN = {"kind": "already_known", "memory": MEMORY}
WHOLE = whole()
NOWHERE = "http://127.0.0.1:9"  # the port of `discard`: nobody listens
