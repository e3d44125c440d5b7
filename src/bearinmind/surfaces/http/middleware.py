"""What holds for every request: its bounds, under which name it is asked, and what is written down.

Around all is a plain ASGI application, so that nothing that goes wrong inside gets past it.
"""

from __future__ import annotations

import asyncio
import contextvars
import re
import secrets
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from http import HTTPStatus
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Final, TypeVar
from urllib.parse import urlsplit

import uvicorn
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from bearinmind.config import Settings
from bearinmind.errors import (
    AddressTooLong,
    HeadTooLong,
    MindError,
    NotAllowed,
    RequestTooLarge,
    ServerOverloaded,
    TimedOut,
    UnreadableRequest,
)
from bearinmind.remember.secrets import find, masked
from bearinmind.surfaces.http import logs, responses
from bearinmind.text.addresses import is_loopback
from bearinmind.trace import OBSERVER

if TYPE_CHECKING:
    from bearinmind.surfaces.http.metrics import Metrics, Telemetry, TrafficCounter

Result = TypeVar("Result")

_LOOK = 0.2  # seconds after which a thread that waits looks whether it is to end
OTHER: Final = "other"  #: the label of what the server does not know: methods, routes, hooks
REQUEST_ID = "X-Request-Id"
HOOK = "X-Bear-In-Mind-Hook"  #: what became of the last run of a hook on the sender's machine

_LONGEST_HEAD = 65_536  # bytes of a request line and headers
_LONGEST_ADDRESS = 32_768  # bytes of a path and its parameters
_GOOD_ID = re.compile(r"[\w.-]{1,64}", re.ASCII)
#: Unless the answer says otherwise. What is answered is private, and is no page.
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
}


# ---- the head of a request -----------------------------------------------------------------------

# uvicorn reads a head of any length for as long as it takes. Our protocol bounds both: otherwise a
# few clients who never end theirs could take all memory or all connections.


class BoundedConfig(uvicorn.Config):
    """The configuration of uvicorn, with how long clients may take."""

    client_seconds = 30.0


class BoundedProtocol(HttpToolsProtocol):
    """Reads requests whose heads are neither too long nor too late."""

    _in_head = True
    _head_bytes = 0
    _late: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a head."""
        super().connection_made(transport)
        self._wait_for_head()

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait no more."""
        self._arrived()
        self._read()
        super().connection_lost(exc)

    def on_message_begin(self) -> None:
        """Begin to wait for the rest of this head: every one of a connection has its time."""
        super().on_message_begin()
        if self._late is None:
            self._wait_for_head()

    def _wait_for_head(self) -> None:
        self._late = self.loop.call_later(self._seconds, self._end_if_idle)

    def _end_if_idle(self) -> None:
        """End a connection whose head is late, once the answer before it is sent."""
        self._late = None
        if self.cycle is not None and not self.cycle.response_complete:
            self._wait_for_head()
        else:
            self.transport.close()

    def pause_writing(self) -> None:
        """Give a client who does not read so long to go on, and no longer."""
        super().pause_writing()
        self._unread = self.loop.call_later(self._seconds, self.transport.abort)

    def resume_writing(self) -> None:
        """Wait no more: the client reads."""
        self._read()
        super().resume_writing()

    def _read(self) -> None:
        if self._unread is not None:
            self._unread.cancel()
            self._unread = None

    @property
    def _seconds(self) -> float:
        """How long a client may take for a head, and for reading a part of an answer."""
        assert isinstance(self.config, BoundedConfig)  # noqa: S101  `Server` makes no other
        return self.config.client_seconds

    def data_received(self, data: bytes) -> None:
        """Read on, unless this head is too long by now."""
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._in_head and self._head_bytes > _LONGEST_HEAD and not self.transport.is_closing():
            self._refuse(
                HeadTooLong(f"the head of the request is longer than {_LONGEST_HEAD:,} bytes")
            )

    def send_400_response(self, msg: str) -> None:
        """Tell somebody that what they sent is not HTTP."""
        self._refuse(UnreadableRequest(msg, hint="Send HTTP/1.1."))

    def _refuse(self, error: MindError) -> None:
        """Answer before anybody was asked, and end the connection."""
        answer = responses.problem(error, secrets.token_hex(16), {"Connection": "close"})
        status = HTTPStatus(answer.status_code)
        lines = [f"HTTP/1.1 {status.value} {status.phrase}".encode()]
        lines += [name + b": " + value for name, value in answer.raw_headers]
        self.transport.write(b"\r\n".join([*lines, b"", answer.body]))
        self.transport.close()

    def on_headers_complete(self) -> None:
        """What comes now is a body."""
        self._in_head = False
        self._arrived()
        super().on_headers_complete()

    def on_message_complete(self) -> None:
        """What comes now is another head."""
        super().on_message_complete()
        self._in_head, self._head_bytes = True, 0

    def _arrived(self) -> None:
        if self._late is not None:
            self._late.cancel()
            self._late = None


# ---- how much is taken on ----------------------------------------------------------------------


class Pool:
    """Threads that work on requests, and a queue before them that is never longer than it may be.

    Verbs block: they read and write files and ask servers. The loop that talks to clients never
    waits for one. Only that loop calls `run`, so counting needs no lock.
    """

    def __init__(self, name: str, *, threads: int, queue: int, seconds: float | None) -> None:
        self.threads = threads
        self.running = 0  #: requests in hand, those that wait included
        self._most = threads + queue
        self._running_of: Counter[str] = Counter()
        self._most_of_one = max(1, (threads + queue) // 2)
        self._seconds = seconds
        self._closing = False
        self._executor = ThreadPoolExecutor(threads, thread_name_prefix=name)

    @property
    def waiting(self) -> int:
        """Requests that wait for a thread."""
        return max(0, self.running - self.threads)

    async def run(self, job: Callable[[], Result], *, seconds: float | None = None) -> Result:
        """Have a thread do something, and wait for so long, or for as long as the pool waits."""
        begun = self.begin(job)
        answer = asyncio.wrap_future(begun)
        # An error that comes when nobody waits for the answer any more is looked at, too.
        answer.add_done_callback(lambda done: done.cancelled() or done.exception())
        seconds = seconds or self._seconds
        try:
            async with asyncio.timeout(seconds) as patience:
                return await asyncio.shield(answer)
        except TimeoutError:
            if not patience.expired():  # the job's own
                raise
            raise _timed_out(seconds, never_begun=begun.cancel()) from None

    def begin(self, job: Callable[[], Result], *, user: str | None = None) -> Future[Result]:
        """Have a thread do something, and wait for nothing; a user has half of the places."""
        if user is not None and self._running_of[user] >= self._most_of_one:
            raise ServerOverloaded(
                f"{self._running_of[user]:,} requests of {user} are in hand, as many as may be",
                hint="Wait for them to end.",
            )
        if self.running >= self._most:
            raise ServerOverloaded(f"{self.running:,} requests are in hand, as many as may be")
        loop = asyncio.get_running_loop()
        self.running += 1
        try:
            begun = self._executor.submit(contextvars.copy_context().run, job)
        except RuntimeError:  # it is being closed
            self.running -= 1
            raise ServerOverloaded("the server is about to stop") from None
        if user is not None:
            self._running_of[user] += 1
        begun.add_done_callback(lambda _: loop.call_soon_threadsafe(self._leave, user))
        return begun

    def _leave(self, user: str | None) -> None:
        self.running -= 1
        if user is not None:
            self._running_of[user] -= 1

    def wait_for(self, awaited: Future[Result], seconds: float) -> Result:
        """What the loop answers to a thread of this pool; no thread waits on when it is closed."""
        until = monotonic() + seconds
        while True:
            try:
                return awaited.result(_LOOK)
            except TimeoutError:
                if awaited.done() or self._closing or monotonic() > until:
                    awaited.cancel()
                    raise

    def close(self) -> None:
        """Finish what was begun, except for what waits for a client."""
        self._closing = True
        self._executor.shutdown(wait=True)


def _timed_out(seconds: float | None, *, never_begun: bool) -> TimedOut:
    if never_begun:
        return TimedOut(
            f"the request waited {seconds:g} seconds for its turn, and was not begun",
            hint="Try again later; the server has much to do.",
        )
    return TimedOut(
        f"the answer took longer than {seconds:g} seconds",
        hint="What was asked for may still be done. Look before you ask again, or send an "
        "Idempotency-Key; `request_seconds` sets how long the server waits.",
    )


async def body_of(request: Request, *, most: int, seconds: float) -> bytes:
    """The body of a request."""
    said = request.headers.get("Content-Length", "")
    if said.isdigit() and int(said) > most:
        raise _too_large(most)
    found = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for part in request.stream():
                found += part
                if len(found) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise TimedOut(
            f"the body of the request did not arrive within {seconds:g} seconds",
            hint="Send it again, faster or in smaller parts.",
        ) from None
    except ClientDisconnect:
        raise TimedOut("the client left before its request was whole") from None
    return bytes(found)


def _too_large(most: int) -> RequestTooLarge:
    return RequestTooLarge(f"the body of the request is longer than {most:,} bytes")


# ---- under which name it is asked for ----------------------------------------------------------


_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
ANY_NAME = "*"
_USUAL_PORTS = (80, 443)


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """The names under which a server may be asked for.

    A page that somebody visits can have its own name lead to this machine and so ask a server that
    listens only here. Its name, and its origin, give it away.
    """

    allowed: frozenset[str]  #: empty: any
    url: str = ""  #: where it is to be reached, if that is set

    @classmethod
    def of(cls, settings: Settings) -> Names:
        """The names that the settings allow."""
        url = settings.server_url or ""
        if ANY_NAME in settings.server_hosts:
            return cls(allowed=frozenset(), url=url)
        said = {name.casefold() for name in settings.server_hosts}
        if settings.server_url:
            said.add(host_of(settings.server_url))
        if is_loopback(settings.server_host):
            said |= _LOOPBACK_NAMES | {settings.server_host.casefold()}
        elif said:
            said.add(settings.server_host.casefold())
        return cls(allowed=frozenset(said), url=url)

    def check(self, host: str | None, origin: str | None) -> None:
        """Refuse a request that came by another name, or from a page of somebody else."""
        asked = host_of(f"//{host}") if host else ""
        if self.allowed and asked not in self.allowed:
            raise NotAllowed(
                f"the server is not to be asked for as {(host or '')[:100]!r}",
                hint="Add the name to the `server_hosts` setting.",
            )
        # Another port is another origin: what listens there is somebody else's.
        own = {place_of(f"//{host}"), place_of(self.url)} - {""}
        if origin is not None and place_of(origin) not in own:
            raise NotAllowed(
                f"pages of {masked(origin)[:100]!r} may not ask this server",
                hint="Only its own page may: open that at the address that `server_url` sets.",
            )


def place_of(url: str) -> str:
    """The host and the port of an address; the usual ports are left out."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port in (None, *_USUAL_PORTS) else f":{parts.port}"
    except ValueError:  # no number, or brackets that enclose no address
        return ""
    return f"{parts.hostname.casefold()}{port}" if parts.hostname else ""


def host_of(url: str) -> str:
    """The host of an address, without its port."""
    try:
        return (urlsplit(url).hostname or "").casefold()
    except ValueError:  # brackets that enclose no address
        return ""


# ---- around a request --------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """What is needed around every request."""

    names: Names
    metrics: Metrics
    traffic: TrafficCounter
    telemetry: Telemetry


class Envelope:
    """Answers like the application inside, for every request that may get to it."""

    def __init__(self, app: ASGIApp, around: Around) -> None:
        self._app = app
        self._around = around

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        await _Exchange(self._app, self._around, scope, send).run(receive)


class _Exchange:
    """One request and its answer."""

    def __init__(self, app: ASGIApp, around: Around, scope: Scope, send: Send) -> None:
        self._app = app
        self._around = around
        self._send = send
        self._began = perf_counter()
        self._headers = Headers(scope=scope)
        self._method: str = scope["method"]
        given = self._headers.get(REQUEST_ID, "")
        good = _GOOD_ID.fullmatch(given) and not find(given)  # a secret is not written down
        self._id = given if good else secrets.token_hex(16)
        self._state = {**scope.get("state", {}), "request_id": self._id}
        # HEAD is GET without the body.
        method = "GET" if self._method == "HEAD" else self._method
        self._scope = {**scope, "method": method, "state": self._state}
        self._status: int | None = None

    async def run(self, receive: Receive) -> None:
        OBSERVER.set(self._around.telemetry)  # of this request alone: each has a task of its own
        with self._around.telemetry.following(self._method, self._headers) as answered:
            try:
                answer = self._refusal() or self._app
                await answer(self._scope, receive, self._tell)
            except Exception as exc:  # noqa: BLE001  whatever it is, the client is told and the log too
                logs.failure(exc, self._id)
                await self._give_up()
            finally:
                route, status = self._route, self._status or HTTPStatus.INTERNAL_SERVER_ERROR
                answered(self._method, route, status)
                self._account(route, status)

    def _refusal(self) -> Response | None:
        """Why the request does not get any further."""
        length = len(self._scope.get("raw_path") or b"") + len(self._scope["query_string"])
        if length > _LONGEST_ADDRESS:
            said = f"the address has {length:,} bytes; it may have {_LONGEST_ADDRESS:,}"
            return self._problem(AddressTooLong(said))
        try:
            self._around.names.check(self._headers.get("Host"), self._headers.get("Origin"))
        except NotAllowed as exc:
            return self._problem(exc)
        return None

    def _problem(self, error: MindError) -> Response:
        self._state["code"] = error.code
        return responses.problem(error, self._id)

    async def _tell(self, message: Message) -> None:
        """Send a part of the answer on, with what belongs to every answer."""
        if message["type"] == "http.response.start":
            self._status = message["status"]
            headers = MutableHeaders(scope=message)
            headers[REQUEST_ID] = self._id
            for name, value in _HEADERS.items():
                headers.setdefault(name, value)
        elif self._method == "HEAD" and message["type"] == "http.response.body":
            message = {**message, "body": b""}
        await self._send(message)

    async def _give_up(self) -> None:
        if self._status is not None:
            # The answer has begun: only a connection that breaks says that it is not whole.
            raise BrokenAnswer
        answer = responses.problem(responses.fault(), self._id)
        await answer(self._scope, nothing, self._tell)

    @property
    def _route(self) -> str:
        """The template of the path, without what stands in its places."""
        route = self._scope.get("route")
        return str(getattr(route, "path_format", None) or getattr(route, "path", OTHER))

    def _account(self, route: str, status: int) -> None:
        seconds = perf_counter() - self._began
        metrics = self._around.metrics
        metrics.answered(self._method, route, status, seconds)
        if status >= HTTPStatus.BAD_REQUEST:
            metrics.refused(self._state.get("code", OTHER))
        caller = self._state.get("caller")
        if caller and (told := self._headers.get(HOOK)):
            metrics.hook_ran(told)
        self._around.traffic.answered(caller.user if caller else None, route, status)
        line = {
            "method": self._method,
            "route": route,
            "status": status,
            "ms": round(seconds * 1_000, 3),
            "user": caller.user if caller else None,
            "key": caller.key_id if caller else None,
            "request_id": self._id,
        }
        logs.LOG.info("request", extra={"fields": line})


class BrokenAnswer(Exception):
    """An answer that had begun cannot be finished."""


async def nothing() -> Message:
    """An empty body, to be received."""
    return {"type": "http.request", "body": b"", "more_body": False}
