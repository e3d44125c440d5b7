"""Import and export over HTTP: of any length, in bounded memory, the same way as the commands.

A thread of its own reads lines or writes them; the loop carries parts of the request to it, or
parts of the answer from it, and lets it wait when the client is slow.
"""

from __future__ import annotations

import asyncio
import io
from collections.abc import AsyncIterator, Callable
from concurrent.futures import Future
from dataclasses import asdict
from functools import partial
from importlib.metadata import version
from itertools import chain, repeat

import pydantic_core
from fastapi import FastAPI
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response, StreamingResponse
from starlette.types import Receive, Scope, Send

from bearinmind.accounts.keys import Caller
from bearinmind.app import Mind
from bearinmind.errors import InvalidRecord, MindError, QuotaUsedUp
from bearinmind.surfaces import lines, transfer
from bearinmind.surfaces.http import logs, openapi, responses
from bearinmind.surfaces.http.auth import Service
from bearinmind.surfaces.http.middleware import Pool
from bearinmind.surfaces.http.routes import ROOT, check_media
from bearinmind.types import Access

LINES = "application/x-ndjson"

_PART = 65_536  # bytes of an answer that are sent at once
_PARTS = 4  # that wait for a slow client
_MOST_PROBLEMS = 1_000  # bad lines that are named


def add(app: FastAPI, service: Service) -> None:
    """Give import and export their routes."""
    for path, endpoint, method, described in (
        ("/import", _import, "POST", openapi.of_import(LINES)),
        ("/export", _export, "GET", openapi.of_export(LINES)),
    ):
        app.add_api_route(
            ROOT + path,
            partial(endpoint, service),
            methods=[method],
            response_model=None,
            response_class=StreamingResponse,
            **described,
        )


# ---- import ------------------------------------------------------------------------------------


async def _import(service: Service, request: Request) -> Response:
    """Add memories and links from the lines of the body, and tell how far that is."""
    app = await service.pool.run(partial(service.admit, request, Access.WRITE))
    check_media(request.headers, LINES, "Send one JSON object a line")
    arriving = _Arriving(request, service.streams, service.settings.request_seconds)
    progress = _Progress()
    caller: Caller = request.state.caller
    taking = partial(_take_in, app, arriving, _charge(service, caller), progress.advance)
    done = service.streams.begin(taking, user=caller.user)
    return _Flowing(_told(done, progress, request.state.request_id))


def _charge(service: Service, caller: Caller) -> Callable[[int], None]:
    """What counts how much is about to be written; being let in counted for one."""
    authenticator = service.authenticator
    counts = chain([authenticator.count_all], repeat(authenticator.count_writes))
    return lambda records: next(counts)(caller, records)


def _take_in(
    app: Mind,
    arriving: _Arriving,
    charge: Callable[[int], None],
    advance: Callable[[int], None],
) -> transfer.Imported:
    """Import what arrives; on a thread."""
    stream: io.BufferedReader = io.BufferedReader(arriving, buffer_size=_PART)
    try:
        unpacked = lines.unpacked(stream)
    except OSError as exc:  # not even its beginning
        raise InvalidRecord(f"nothing was imported: {exc}") from exc
    importing = transfer.Import(app, most_problems=_MOST_PROBLEMS, advance=advance, charge=charge)
    try:
        return importing(lines.numbered(unpacked))
    except QuotaUsedUp as exc:
        if importing.taken:
            exc.hint += f" Up to line {importing.taken:,} all is stored: go on with the next one."
        raise


async def _told(
    done: Future[transfer.Imported], progress: _Progress, request_id: str
) -> AsyncIterator[bytes]:
    """A line for how far it is whenever that changed, and a last one for how it ended."""
    ended = asyncio.wrap_future(done)
    ended.add_done_callback(lambda _: progress.changed.set())
    while not ended.done():
        await progress.changed.wait()
        progress.changed.clear()
        if not ended.done():
            yield _line({"progress": {"records": progress.records}})
    try:
        yield _line({"summary": asdict(ended.result())})
    except MindError as exc:
        yield _line({"problem": responses.problem_of(exc, request_id).model_dump()})
    except Exception as exc:  # noqa: BLE001  the answer has begun, so this is how it can be told
        logs.failure(exc, request_id)
        fault = responses.problem_of(responses.fault(), request_id)
        yield _line({"problem": fault.model_dump()})


def _line(data: object) -> bytes:
    return pydantic_core.to_json(data) + b"\n"


class _Flowing(Response):
    """An answer that flows while the request still arrives.

    Starlette's own listens meanwhile for the client to leave, and so takes parts of the request.
    """

    media_type = LINES

    def __init__(self, parts: AsyncIterator[bytes]) -> None:
        super().__init__()
        del self.headers["Content-Length"]  # nobody knows yet
        self._parts = parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send the parts as they come."""
        del scope, receive
        start = {"status": self.status_code, "headers": self.raw_headers}
        await send({"type": "http.response.start", **start})
        async for part in self._parts:
            await send({"type": "http.response.body", "body": part, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


class _Progress:
    """How many records are done; a slow reader may miss some of the numbers."""

    def __init__(self) -> None:
        self.records = 0
        self.changed = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def advance(self, more: int) -> None:
        """Say that more are done; called on the thread."""
        self.records += more
        self._loop.call_soon_threadsafe(self.changed.set)


class _Arriving(io.RawIOBase):
    """The body of a request as a file, which a thread reads while the loop receives it."""

    def __init__(self, request: Request, pool: Pool, seconds: float) -> None:
        super().__init__()
        self._pool = pool
        self._parts = request.stream()
        self._seconds = seconds
        self._loop = asyncio.get_running_loop()
        self._rest = b""

    def readable(self) -> bool:
        """It is."""
        return True

    def readinto(self, place: memoryview) -> int:  # type: ignore[override]  # the only kind given
        """Wait for more of the body."""
        if not self._rest:
            asked = asyncio.run_coroutine_threadsafe(self._next(), self._loop)
            try:
                self._rest = self._pool.wait_for(asked, 2 * self._seconds)
            except TimeoutError:
                raise OSError("it stopped arriving") from None
        size = min(len(place), len(self._rest))
        place[:size] = self._rest[:size]
        self._rest = self._rest[size:]
        return size

    async def _next(self) -> bytes:
        try:
            async with asyncio.timeout(self._seconds):
                async for part in self._parts:
                    if part:
                        return part
        except (TimeoutError, ClientDisconnect):
            # Lines that arrived are kept; sent again, they are known.
            raise OSError("it stopped arriving") from None
        return b""


# ---- export ------------------------------------------------------------------------------------


async def _export(service: Service, request: Request) -> Response:
    """Write every memory, version and link as lines."""
    app = await service.pool.run(partial(service.admit, request, Access.READ))
    leaving = _Leaving(service.streams, service.settings.request_seconds)
    caller: Caller = request.state.caller
    service.streams.begin(partial(_give_out, app, leaving), user=caller.user)
    return StreamingResponse(leaving.parts(), media_type=LINES)


def _give_out(app: Mind, leaving: _Leaving) -> None:
    """Export into an answer; on a thread."""
    try:
        transfer.export(app, leaving.write, version("bearinmind"), lambda _: None)
        leaving.finish()
    except _ClientLeft:
        pass
    except BaseException as exc:
        leaving.fail(exc)
        raise


class _ClientLeft(Exception):
    """Nobody reads the answer any more."""


class _Leaving:
    """An answer that a thread writes while the loop sends it, a few parts behind."""

    def __init__(self, pool: Pool, seconds: float) -> None:
        self._pool = pool
        self._seconds = seconds  # for a client to read a part
        self._loop = asyncio.get_running_loop()
        self._queue: asyncio.Queue[bytes | BaseException | None] = asyncio.Queue(_PARTS)
        self._gathered = bytearray()
        self._left = False

    def write(self, line: bytes) -> None:
        """Add a line; waits while the client has not read what came before."""
        self._gathered += line
        if len(self._gathered) >= _PART:
            self._put(bytes(self._gathered))
            self._gathered.clear()

    def finish(self) -> None:
        """Say that this was all."""
        if self._gathered:
            self._put(bytes(self._gathered))
        self._put(None)

    def fail(self, error: BaseException) -> None:
        """Say that the rest will not come."""
        self._put(error)

    def _put(self, item: bytes | BaseException | None) -> None:
        if self._left:
            raise _ClientLeft
        put = asyncio.run_coroutine_threadsafe(self._queue.put(item), self._loop)
        try:
            # The connection of a client who does not read is ended before.
            self._pool.wait_for(put, 2 * self._seconds)
        except TimeoutError:
            raise _ClientLeft from None

    async def parts(self) -> AsyncIterator[bytes]:
        """The parts as they come."""
        try:
            while (item := await self._queue.get()) is not None:
                if isinstance(item, BaseException):
                    raise item  # the connection breaks: nobody takes what came for the whole
                yield item
        finally:
            self._left = True
            while not self._queue.empty():  # lets the thread go on, to find that out
                self._queue.get_nowait()
