"""The client of a server, for programs that wait and for programs that do not."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Self, TypedDict, Unpack

from pydantic import SecretStr

from bearinmind.app.requests import ListFields
from bearinmind.config import Configuration
from bearinmind.errors import InvalidSetting
from bearinmind.models.server_calls import Server
from bearinmind.surfaces.client.verb_calls import Awaiting, Blocking, Requests, Way
from bearinmind.surfaces.client.verbs import ServerVerbs
from bearinmind.types import Memory

_TIMEOUT = 35.0  # seconds of one try: somewhat more than a server takes by itself
_RETRIES = 4
_PATIENCE = 60.0  # seconds for everything, pauses included
_PAGE = 100  # memories that are fetched together


class Waiting(TypedDict, total=False):
    """How long a client waits for a server, see `Client`."""

    timeout: float
    retries: int
    patience: float


class _AnyClient(ServerVerbs[Way]):
    """What clients have in common: the address of the server, and the key."""

    _new_runner: Callable[[Server], Way]

    def __init__(
        self,
        url: str,
        key: str | SecretStr | None = None,
        *,
        timeout: float = _TIMEOUT,
        retries: int = _RETRIES,
        patience: float = _PATIENCE,
    ) -> None:
        """Nothing is sent before the first verb.

        Args:
            url: the address of the server, such as http://127.0.0.1:8377.
            key: the bearer key, where the server wants one.
            timeout: seconds to wait for one answer.
            retries: how often a verb is tried again at most, where that is safe.
            patience: seconds for a verb with all its tries, pauses included.
        """
        text = key.get_secret_value() if isinstance(key, SecretStr) else key
        server = Server.at(url, text, timeout=timeout, retries=retries, patience=patience)
        super().__init__(Requests(server=server, clock=time.monotonic), self._new_runner(server))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._calls.server.where!r})"


class Client(_AnyClient[Blocking]):
    """A memory on a server: the verbs of `Mind`, with the same arguments and answers.

    It may be shared among threads. What is safe to send again is sent again when an answer is lost
    or the server is busy; everything else fails with an error that says so.
    """

    _new_runner = Blocking

    def every(self, *, newest_first: bool = True, **fields: Unpack[ListFields]) -> Iterator[Memory]:
        """All memories by creation time, fetched page by page."""
        after: str | None = None
        while True:
            page = self.page(limit=_PAGE, after=after, newest_first=newest_first, **fields)
            yield from page.memories
            after = page.next
            if after is None or not page.memories:
                return

    def close(self) -> None:
        """Release the connections."""
        self._runner.http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(_AnyClient[Awaiting]):
    """A `Client` for programs that do not wait: every verb is awaited.

    It belongs to one event loop.
    """

    _new_runner = Awaiting

    async def every(
        self, *, newest_first: bool = True, **fields: Unpack[ListFields]
    ) -> AsyncIterator[Memory]:
        """All memories by creation time, fetched page by page."""
        after: str | None = None
        while True:
            page = await self.page(limit=_PAGE, after=after, newest_first=newest_first, **fields)
            for memory in page.memories:
                yield memory
            after = page.next
            if after is None or not page.memories:
                return

    async def aclose(self) -> None:
        """Release the connections."""
        await self._runner.http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()


def connect(
    url: str | None = None, key: str | SecretStr | None = None, **options: Unpack[Waiting]
) -> Client:
    """A client of a server; by default of the one in the settings `server` and `server_key`."""
    settings = Configuration.load().settings
    where = url or settings.server
    if where is None:
        raise InvalidSetting(
            "no server is named",
            hint="Give its address, or set BEARINMIND_SERVER; `bearinmind serve` starts one.",
        )
    return Client(where, key or settings.server_key, **options)
