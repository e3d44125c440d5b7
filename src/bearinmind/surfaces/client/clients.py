"""The client of a server, for programs that wait and for programs that do not."""

from __future__ import annotations

import asyncio
import functools
import time
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypedDict, TypeVar, Unpack

import httpx
from pydantic import SecretStr

from bearinmind.app.requests import ListFields
from bearinmind.config import Configuration
from bearinmind.errors import InvalidSetting
from bearinmind.models import server_calls
from bearinmind.models.server_calls import Pause, Paused, Reply, Send, Server, Steps
from bearinmind.surfaces.client.verbs import ServerVerbs
from bearinmind.types import Memory

_TIMEOUT = 35.0  # seconds of one try: somewhat more than a server takes by itself
_RETRIES = 4
_PATIENCE = 60.0  # seconds for everything, pauses included
_PAGE = 100  # memories that are fetched together

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Http = TypeVar("Http")
VerbSteps = Callable[Concatenate[ServerVerbs, Arguments], Steps[Result]]


class Waiting(TypedDict, total=False):
    """How long a client waits for a server, see `Client`."""

    timeout: float
    retries: int
    patience: float


class _AnyClient(Generic[Http]):
    """What clients have in common: where the server is, and who asks."""

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
            patience: seconds for a verb with all that, pauses included.
        """
        text = key.get_secret_value() if isinstance(key, SecretStr) else key
        self._server = Server.at(url, text, timeout=timeout, retries=retries, patience=patience)
        self._verbs = ServerVerbs(server=self._server, clock=time.monotonic)
        self._http = self._opened()

    def _opened(self) -> Http:
        """What sends and receives."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._server.where!r})"


def _blocking(
    verb: VerbSteps[Arguments, Result],
) -> Callable[Concatenate[Client, Arguments], Result]:
    """A verb that waits for its answer."""

    def method(self: Client, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        return self._run(verb(self._verbs, *args, **kwargs))

    functools.update_wrapper(method, verb)
    return method


def _awaited(
    verb: VerbSteps[Arguments, Result],
) -> Callable[Concatenate[AsyncClient, Arguments], Coroutine[Any, Any, Result]]:
    """A verb whose answer is awaited."""

    async def method(
        self: AsyncClient, /, *args: Arguments.args, **kwargs: Arguments.kwargs
    ) -> Result:
        return await self._run(verb(self._verbs, *args, **kwargs))

    functools.update_wrapper(method, verb)
    return method


class Client(_AnyClient[httpx.Client]):
    """A memory on a server: the verbs of `Mind`, with the same arguments and answers.

    It may be shared among threads. What is safe to send again is sent again when an answer is lost
    or the server is busy; everything else fails with an error that says so.
    """

    def _opened(self) -> httpx.Client:
        return httpx.Client(**self._server.http_options())

    ask = _blocking(ServerVerbs.ask)
    store = _blocking(ServerVerbs.store)
    recall = _blocking(ServerVerbs.recall)
    why_not = _blocking(ServerVerbs.why_not)
    list = _blocking(ServerVerbs.list)
    page = _blocking(ServerVerbs.page)
    get = _blocking(ServerVerbs.get)
    versions = _blocking(ServerVerbs.versions)
    links = _blocking(ServerVerbs.links)
    update = _blocking(ServerVerbs.update)
    delete = _blocking(ServerVerbs.delete)
    restore = _blocking(ServerVerbs.restore)
    link = _blocking(ServerVerbs.link)
    unlink = _blocking(ServerVerbs.unlink)
    why = _blocking(ServerVerbs.why)
    timeline = _blocking(ServerVerbs.timeline)
    stats = _blocking(ServerVerbs.stats)
    secret_get = _blocking(ServerVerbs.secret_get)
    share = _blocking(ServerVerbs.share)
    unshare = _blocking(ServerVerbs.unshare)
    share_tag = _blocking(ServerVerbs.share_tag)
    unshare_tag = _blocking(ServerVerbs.unshare_tag)
    shared_with_me = _blocking(ServerVerbs.shared_with_me)
    my_shares = _blocking(ServerVerbs.my_shares)
    learn = _blocking(ServerVerbs.learn)
    brief = _blocking(ServerVerbs.brief)
    proposals = _blocking(ServerVerbs.proposals)
    proposal = _blocking(ServerVerbs.proposal)
    apply_proposal = _blocking(ServerVerbs.apply_proposal)
    dismiss_proposal = _blocking(ServerVerbs.dismiss_proposal)
    undo_proposal = _blocking(ServerVerbs.undo_proposal)
    users = _blocking(ServerVerbs.users)
    add_user = _blocking(ServerVerbs.add_user)
    disable_user = _blocking(ServerVerbs.disable_user)
    enable_user = _blocking(ServerVerbs.enable_user)
    keys = _blocking(ServerVerbs.keys)
    create_key = _blocking(ServerVerbs.create_key)
    renew_key = _blocking(ServerVerbs.renew_key)
    revoke_key = _blocking(ServerVerbs.revoke_key)
    audit_log = _blocking(ServerVerbs.audit_log)

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
        self._http.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _run(self, steps: Steps[Result]) -> Result:
        """Take the steps of a verb, one after the other."""
        return server_calls.run(steps, self._http, self._server)


class AsyncClient(_AnyClient[httpx.AsyncClient]):
    """A `Client` for programs that do not wait: every verb is awaited.

    It belongs to one event loop.
    """

    def _opened(self) -> httpx.AsyncClient:
        return httpx.AsyncClient(**self._server.http_options())

    ask = _awaited(ServerVerbs.ask)
    store = _awaited(ServerVerbs.store)
    recall = _awaited(ServerVerbs.recall)
    why_not = _awaited(ServerVerbs.why_not)
    list = _awaited(ServerVerbs.list)
    page = _awaited(ServerVerbs.page)
    get = _awaited(ServerVerbs.get)
    versions = _awaited(ServerVerbs.versions)
    links = _awaited(ServerVerbs.links)
    update = _awaited(ServerVerbs.update)
    delete = _awaited(ServerVerbs.delete)
    restore = _awaited(ServerVerbs.restore)
    link = _awaited(ServerVerbs.link)
    unlink = _awaited(ServerVerbs.unlink)
    why = _awaited(ServerVerbs.why)
    timeline = _awaited(ServerVerbs.timeline)
    stats = _awaited(ServerVerbs.stats)
    secret_get = _awaited(ServerVerbs.secret_get)
    share = _awaited(ServerVerbs.share)
    unshare = _awaited(ServerVerbs.unshare)
    share_tag = _awaited(ServerVerbs.share_tag)
    unshare_tag = _awaited(ServerVerbs.unshare_tag)
    shared_with_me = _awaited(ServerVerbs.shared_with_me)
    my_shares = _awaited(ServerVerbs.my_shares)
    learn = _awaited(ServerVerbs.learn)
    brief = _awaited(ServerVerbs.brief)
    proposals = _awaited(ServerVerbs.proposals)
    proposal = _awaited(ServerVerbs.proposal)
    apply_proposal = _awaited(ServerVerbs.apply_proposal)
    dismiss_proposal = _awaited(ServerVerbs.dismiss_proposal)
    undo_proposal = _awaited(ServerVerbs.undo_proposal)
    users = _awaited(ServerVerbs.users)
    add_user = _awaited(ServerVerbs.add_user)
    disable_user = _awaited(ServerVerbs.disable_user)
    enable_user = _awaited(ServerVerbs.enable_user)
    keys = _awaited(ServerVerbs.keys)
    create_key = _awaited(ServerVerbs.create_key)
    renew_key = _awaited(ServerVerbs.renew_key)
    revoke_key = _awaited(ServerVerbs.revoke_key)
    audit_log = _awaited(ServerVerbs.audit_log)

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
        await self._http.aclose()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def _run(self, steps: Steps[Result]) -> Result:
        """Take the steps of a verb, one after the other."""
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._take(step))
        except StopIteration as done:
            result: Result = done.value
            return result

    async def _take(self, step: Send | Pause) -> Reply | Paused:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return Paused()
        incoming = server_calls.Incoming(step.seconds)
        arguments = server_calls.stream_arguments(step, self._server)
        try:
            async with self._http.stream(**arguments) as response:
                async for piece in response.aiter_bytes():
                    if not incoming.add(piece):
                        break
        except httpx.HTTPError as exc:
            return server_calls.lost(exc)
        return incoming.answered(response)


def connect(
    url: str | None = None, key: str | SecretStr | None = None, **options: Unpack[Waiting]
) -> Client:
    """A client of a server; by default of the one in the settings `server` and `server_key`.

    Raises:
        InvalidSetting: neither an argument nor a setting names the server.
    """
    settings = Configuration.load().settings
    where = url or settings.server
    if where is None:
        raise InvalidSetting(
            "no server is named",
            hint="Give its address, or set BEARINMIND_SERVER; `bearinmind serve` starts one.",
        )
    return Client(where, key or settings.server_key, **options)
