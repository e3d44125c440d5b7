"""The protocol over HTTP (streamable), on the port of the server.

A client of the handshake versions has a session, so that it can take back what it asked; it belongs
to the user who opened it and is forgotten after a while without use. A client of the versions
without a handshake needs none. Either sends its key with every request.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict
from http import HTTPStatus

from fastapi import FastAPI
from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from starlette.datastructures import Headers
from starlette.requests import Request as HttpRequest
from starlette.routing import Route
from starlette.types import Message, Receive, Scope, Send

from bearinmind.accounts.keys import Caller
from bearinmind.errors import MindError, NotAuthenticated
from bearinmind.surfaces.http.auth import MCP as PATH
from bearinmind.surfaces.http.auth import Service
from bearinmind.surfaces.http.middleware import body_of, nothing
from bearinmind.surfaces.mcp.server import build
from bearinmind.surfaces.mcp.tools import Ask, Context
from bearinmind.surfaces.verbs.verb import Request, Verb

_SESSIONS = 2_000  # at once; each takes 40 kB
_SESSIONS_OF_A_USER = 100  # at once
_IDLE = 1_800.0  # seconds after which a session is forgotten
# A stream by GET would carry what a server says unasked, and this one says nothing unasked.
_METHODS = ["POST", "DELETE"]


def mount(app: FastAPI, service: Service) -> None:
    """Have a server answer the protocol at `/mcp` too."""
    settings = service.settings
    manager = StreamableHTTPSessionManager(
        build(_for_caller(service), settings.categories, with_extra=settings.mcp_tools == "all"),
        session_idle_timeout=_IDLE,
        max_request_body_size=settings.request_bytes,
        max_sessions=_SESSIONS,
    )
    app.state.starting.append(manager.run)
    app.router.routes.append(Route(PATH, Endpoint(service, manager), methods=_METHODS))


def _for_caller(service: Service) -> Ask:
    """Has verbs answered for the sender of a request, in the threads of the server."""

    async def answer(context: Context, verb: Verb, request: Request) -> object:
        if context.request is None:
            raise NotAuthenticated("it is not known who asks")
        caller: Caller = context.request.state.caller

        def ask() -> object:
            mind = service.as_caller(caller, verb.access, request.writes)
            answer = verb.run(mind, request)
            service.looked_at(caller, answer)
            return answer

        return await service.pool.run(ask)

    return answer


class Endpoint:
    """Lets those in who have a key, and hands what they send on."""

    path = PATH  #: by which the log and the metrics of the server name it

    def __init__(self, service: Service, manager: StreamableHTTPSessionManager) -> None:
        self._service = service
        self._manager = manager
        self._sessions = Sessions(_SESSIONS_OF_A_USER)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request of HTTP."""
        scope["route"] = self
        request = HttpRequest(scope, receive)
        try:
            caller = await self._service.pool.run(lambda: self._service.identify(request))
            body = await body_of(
                request,
                most=self._service.settings.request_bytes,
                seconds=self._service.settings.request_seconds,
            )
        except MindError as exc:
            await self._service.problem(request, exc)(scope, receive, send)
            return
        request.state.caller = caller
        # A session belongs to a user, whichever of their keys they use.
        user, access = caller.user, [caller.access]
        token = AccessToken(token="", client_id=user, subject=user, scopes=access)
        scope["user"] = AuthenticatedUser(token)
        sent = _Sent(send)
        await self._manager.handle_request(scope, _again(body, receive), sent)
        await self._count(scope, sent, caller.user)

    async def _count(self, scope: Scope, sent: _Sent, user: str) -> None:
        """Keep count of the user's sessions, and end those that are too many."""
        session = Headers(scope=scope).get(MCP_SESSION_ID_HEADER) or sent.session
        if session is None:
            return
        if sent.status == HTTPStatus.NOT_FOUND or scope["method"] == "DELETE":
            self._sessions.ended(user, session)
        elif sent.status < HTTPStatus.BAD_REQUEST:
            for surplus in self._sessions.used(user, session):
                # What their own client would send to end it.
                header = (MCP_SESSION_ID_HEADER.encode(), surplus.encode())
                ending = {**scope, "method": "DELETE", "headers": [header]}
                await self._manager.handle_request(ending, nothing, _unheard)


class Sessions:
    """The sessions of each user, in the order of their last use.

    The server has room for so many in all. One user, or one client that opens a session for each
    call and ends none, must not take the room of the others: of too many, the one that was not used
    for the longest time is ended. Its client is told that there is no such session and opens
    another.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        self._used: defaultdict[str, OrderedDict[str, None]] = defaultdict(OrderedDict)

    def used(self, user: str, session: str) -> list[str]:
        """Note that a user has a session, and say which of theirs are too many now."""
        theirs = self._used[user]
        theirs[session] = None
        theirs.move_to_end(session)
        return [theirs.popitem(last=False)[0] for _ in range(len(theirs) - self._most)]

    def ended(self, user: str, session: str) -> None:
        """Forget a session."""
        theirs = self._used[user]
        theirs.pop(session, None)
        if not theirs:
            del self._used[user]


class _Sent:
    """Passes on what is answered, and keeps its status and the session that it names."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.status = int(HTTPStatus.INTERNAL_SERVER_ERROR)
        self.session: str | None = None

    async def __call__(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            self.session = Headers(raw=message["headers"]).get(MCP_SESSION_ID_HEADER)
        await self._send(message)


async def _unheard(message: Message) -> None:
    """Nobody asked, so nobody is sent."""


def _again(body: bytes, receive: Receive) -> Receive:
    """What was received, to be received once more; then what comes after it."""
    left = [body]

    async def message() -> Message:
        if left:
            return {"type": "http.request", "body": left.pop(), "more_body": False}
        return await receive()

    return message
