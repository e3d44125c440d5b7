"""Who may use the server: keys, cookies of browsers, and the names under which it is reached.

A browser sends its cookies with what any page asks of this server. So a cookie is obeyed only for
what our own page asks: its requests carry a header that no form can send, and the exact origin of
this server. Another port of this machine is another origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from bearinmind import errors
from bearinmind.accounts.keys import Caller, bearer_text
from bearinmind.accounts.sessions import hash_of
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.http import responses
from bearinmind.surfaces.http.metrics import Metrics, StoreWatch, TrafficCounter
from bearinmind.surfaces.http.middleware import ANY_NAME, Pool, host_of, place_of
from bearinmind.text.addresses import is_loopback
from bearinmind.types import Access, UserId

HEADER: Final = "X-Bear-In-Mind"
PAGE: Final = "page"  #: what our page sends in that header

_SECURE: Final = "__Host-bearinmind"  # browsers take a cookie of such a name only over https
_ATTEMPT_SECONDS: Final = 600  # long enough to type a password and a second factor
_SAFE: Final = frozenset({"GET", "HEAD", "OPTIONS"})  # what they answer, no other page can read
_OWN_SITES: Final = frozenset({"same-origin", "none"})  # none: somebody typed the address


def token_of(request: HTTPConnection) -> str | None:
    """The token in the cookie of a browser; None when it sends none."""
    return request.cookies.get(_SECURE) or request.cookies.get(_plain_name(request))


def set_cookie(
    response: Response, request: HTTPConnection, settings: Settings, token: str, ends: datetime
) -> None:
    """Have the browser that asked keep a token where no script can read it."""
    secure = _is_secure(request, settings)
    name = _SECURE if secure else _plain_name(request)
    response.set_cookie(
        name, token, expires=ends, path="/", secure=secure, httponly=True, samesite="strict"
    )


def set_attempt(
    response: Response, request: HTTPConnection, settings: Settings, attempt: Sequence[str] = ()
) -> None:
    """Have the browser keep what it began at a provider, or forget it.

    A strict cookie would be kept back when the provider sends the browser here.
    """
    secure = _is_secure(request, settings)
    name, life = _attempt_name(request, secure=secure), _ATTEMPT_SECONDS if attempt else 0
    response.set_cookie(
        name, ".".join(attempt), life, path="/", secure=secure, httponly=True, samesite="lax"
    )


def attempt_of(request: HTTPConnection, settings: Settings) -> list[str]:
    """What a browser keeps of a sign-in that it began."""
    name = _attempt_name(request, secure=_is_secure(request, settings))
    return request.cookies.get(name, "").split(".")


def clear_cookies(response: Response, request: HTTPConnection) -> None:
    """Have the browser that asked forget its token."""
    for name in (_SECURE, _plain_name(request)):
        response.delete_cookie(
            name, path="/", secure=name == _SECURE, httponly=True, samesite="strict"
        )


def require_own_page(request: HTTPConnection, settings: Settings) -> None:
    """Refuse what a browser asks with its cookie, unless our own page made it do so."""
    if request.scope["method"] in _SAFE:
        if request.headers.get("Sec-Fetch-Site", "none") not in _OWN_SITES:
            raise _foreign(request)
        return
    if request.headers.get(HEADER) != PAGE:
        raise errors.NotAllowed(
            f"a session changes nothing without the header {HEADER}: {PAGE}",
            hint="Only the page of this server uses sessions; send a key instead.",
        )
    own = {f"{request.url.scheme}://{request.headers.get('Host', '')}"}
    if settings.server_url:
        url = urlsplit(settings.server_url)
        own.add(f"{url.scheme}://{url.netloc}")
    origin = request.headers.get("Origin", "")
    if origin.casefold() not in {each.casefold() for each in own}:
        raise _foreign(request)


def _is_secure(request: HTTPConnection, settings: Settings) -> bool:
    """Whether browsers reach the server over https; a proxy does not tell."""
    address = request.headers.get("Origin") or settings.server_url or ""
    return address.startswith("https:")


def _attempt_name(request: HTTPConnection, *, secure: bool) -> str:
    return f"{_SECURE if secure else _plain_name(request)}-attempt"


def _foreign(request: HTTPConnection) -> errors.NotAllowed:
    origin = masked(request.headers.get("Origin", "another page"))[:100]
    return errors.NotAllowed(
        f"{origin!r} is not the origin of this server, whose own page alone may ask this",
        hint="If a proxy passes requests on, set `server_url` to the address that browsers use.",
    )


def _plain_name(request: HTTPConnection) -> str:
    """The name of a cookie over http; servers on other ports of a machine see it too."""
    try:
        port = urlsplit(f"//{request.headers.get('Host', '')}").port
    except ValueError:
        port = None
    return f"bearinmind-{port or 80}"


METADATA = "/.well-known/oauth-protected-resource"
MCP = "/mcp"

_MAKE_A_KEY = (
    "Make a key first: `bearinmind user add NAME`, then "
    "`bearinmind key create NAME --access admin`."
)


class Service:
    """What the routes of a server have in common: the memory, the threads, the keys, the counts.

    No key is wanted with `auth` set to off; with auto none is wanted on this machine until the
    store has a user, also by a server that was started before.
    """

    def __init__(self, mind: Mind, settings: Settings) -> None:
        self.mind = mind
        self.settings = settings
        self.authenticator = mind.accounts.authenticator()
        self.pool = Pool(
            "bearinmind-verb",
            threads=settings.server_threads,
            queue=settings.server_queue,
            seconds=settings.request_seconds,
        )
        # Imports and exports take as long as they take.
        self.streams = Pool(
            "bearinmind-stream", threads=settings.server_streams, queue=0, seconds=None
        )
        self.sessions = mind.accounts.sessions()
        self.people = mind.accounts.people()
        self.store = StoreWatch(mind)
        self.metrics = Metrics(self.pool, self.streams, self.store)
        self.traffic = TrafficCounter(mind.server.count, mind.server.clock)
        self._may_be_open = settings.auth == "off" or (
            settings.auth == "auto"
            and is_loopback(settings.server_host)
            and not settings.oauth_issuers
            and not mind.accounts.users()
        )

    @property
    def is_open(self) -> bool:
        """Whether no key is wanted; once one is, it stays so."""
        if self._may_be_open and self.settings.auth != "off" and self.mind.accounts.users():
            self._may_be_open = False
        return self._may_be_open

    def identify(self, request: HTTPConnection) -> Caller:
        """Who sends a request. This asks the store: not for the event loop."""
        if self.is_open:
            _refuse_simple(request)
            return Caller(user=UserId(self.settings.user), access=Access.ADMIN)
        address = request.client.host if request.client else None
        authorization, token = request.headers.get("Authorization"), token_of(request)
        if authorization is None and token is not None:
            require_own_page(request, self.settings)
            with self.authenticator.guarding(hash_of(token), address):
                return self.authenticator.of_session(self.sessions.find(token))
        text = bearer_text(authorization)
        if self.people.providers and self.people.takes(text):
            with self.authenticator.guarding(hash_of(text), address):
                caller = self.people.by_token(text, _audiences(self.settings, request))
            return self.authenticator.of_token(caller)
        return self.authenticator.identify(authorization, address=address)

    def admit(self, request: HTTPConnection, access: Access) -> Mind:
        """The memory as the sender of a request sees it. This asks the store as well."""
        caller = self.identify(request)
        request.state.caller = caller
        return self.as_caller(caller, access)

    def as_caller(self, caller: Caller, access: Access, writes: int = 1) -> Mind:
        """The memory as a caller sees it, for so many writes if it is to be written."""
        self.authenticator.require(caller, access, writes)
        return self.mind.for_user(caller.user, caller.key_id)

    def looked_at(self, caller: Caller, answer: object) -> None:
        """Count what an answer to a caller says was done."""
        self.metrics.looked_at(answer)
        self.traffic.looked_at(caller.user, answer)

    def problem(self, request: HTTPConnection, error: errors.MindError) -> Response:
        """The answer that tells an error."""
        request.state.code = error.code
        headers, needs = {}, error.needs if isinstance(error, errors.NotAllowed) else None
        if isinstance(error, errors.NotAuthenticated) or (needs and self.people.providers):
            headers = {"WWW-Authenticate": challenge(self.settings, request, needs)}
        return responses.problem(error, request.state.request_id, headers)

    def close(self) -> None:
        """Finish what was begun."""
        self.streams.close()
        self.pool.close()
        self.traffic.close()


#: Every other kind, and every other method, makes a browser ask the server first.
_SENT_BY_ANY_PAGE = frozenset(
    {"", "application/x-www-form-urlencoded", "multipart/form-data", "text/plain"}
)


def _refuse_simple(request: HTTPConnection) -> None:
    """Refuse a change that any page could send without a key: a form's, or an empty one."""
    declared = request.headers.get("Content-Type", "").partition(";")[0].strip().casefold()
    if request.scope["method"] == "POST" and declared in _SENT_BY_ANY_PAGE:
        raise errors.WrongMediaType(
            f"a POST {f'is said to be {declared}' if declared else 'has no content type'}",
            hint="Send `Content-Type: application/json`, also where there is no body.",
        )


def check_start(mind: Mind, settings: Settings) -> None:
    """Refuse to serve memories to everybody who reaches the server."""
    local = is_loopback(settings.server_host)
    if settings.auth == "off" and not local:
        raise errors.InvalidSetting(
            f"auth = 'off' and server_host = {settings.server_host!r}: everybody who reaches "
            "this machine could read and change everything",
            hint="Set `auth` to auto or on, or listen on 127.0.0.1 alone.",
        )
    if (
        settings.oauth_issuers
        and not settings.server_url
        and (not local or ANY_NAME in settings.server_hosts)
    ):
        raise errors.InvalidSetting(
            f"oauth_issuers is set, server_host = {settings.server_host!r}, and server_url is not: "
            "a token for another server could be used here",
            hint="Set `server_url` to the address at which others reach this server.",
        )
    wants_keys = settings.auth == "on" or not local
    if wants_keys and not settings.oauth_issuers and not mind.accounts.keys():
        raise errors.InvalidSetting(
            f"server_host = {settings.server_host!r} and auth = {settings.auth!r}: "
            "a key is wanted, and there is none yet",
            hint=_MAKE_A_KEY,
        )


# ---- what clients are told ---------------------------------------------------------------------


def base_url(settings: Settings, request: HTTPConnection) -> str:
    """Where the client reaches the server."""
    if settings.server_url:
        return settings.server_url.rstrip("/")
    host = request.headers.get("Host") or f"{settings.server_host}:{settings.server_port}"
    return f"{request.url.scheme}://{host}"


def challenge(settings: Settings, request: HTTPConnection, needs: str | None) -> str:
    """The WWW-Authenticate header of an answer to somebody without a good key (RFC 6750, 9728).

    `needs` is the scope that is missing, if it is only that.
    """
    if needs:
        error = f'error="insufficient_scope", scope="{needs}", '
    else:
        error = 'error="invalid_token", ' if "Authorization" in request.headers else ""
    url = base_url(settings, request) + METADATA + (MCP if request.url.path == MCP else "")
    return f'Bearer realm="bearinmind", {error}resource_metadata="{url}"'


def _audiences(settings: Settings, request: HTTPConnection) -> list[str]:
    """For whom a token must be made to be taken here: this server, or its MCP (RFC 8707).

    Without a `server_url` the server is asked under a name of this machine, at its own port.
    """
    base = base_url(settings, request)
    port = (request.scope.get("server") or (None, None))[1]
    if not settings.server_url and place_of(base) != place_of(f"//{host_of(base)}:{port}"):
        return []
    return [base, f"{base}/", f"{base}{MCP}"]
