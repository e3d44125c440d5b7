"""What is done around every request: its id, its name, its headers, its line in the log.

A plain ASGI application around the others, so that nothing that goes wrong inside gets past it.
"""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from time import perf_counter

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bearinmind.errors import AddressTooLong, MindError, NotAllowed
from bearinmind.remember.secrets import find
from bearinmind.surfaces.http import logs, responses
from bearinmind.surfaces.http.auth import Names
from bearinmind.surfaces.http.metrics import OTHER, Metrics, Telemetry, TrafficCounter
from bearinmind.trace import OBSERVER

REQUEST_ID = "X-Request-Id"
HOOK = "X-Bear-In-Mind-Hook"  #: what became of the last run of a hook on the sender's machine

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
        await responses.internal(self._id)(self._scope, nothing, self._tell)

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
