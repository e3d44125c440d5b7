"""Who may use the server: keys, cookies of browsers, and the names under which it is reached.

A browser sends its cookies with what any page asks of this server. So a cookie is obeyed only for
what our own page asks: its requests carry a header that no form can send, and the exact origin of
this server. Another port of this machine is another origin.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Self
from urllib.parse import urlsplit

from starlette.requests import HTTPConnection
from starlette.responses import Response

from bearinmind import errors
from bearinmind.accounts.authenticator import Authenticator, Caller, bearer_text
from bearinmind.accounts.people import People
from bearinmind.accounts.sessions import Sessions, hash_of
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.http import responses
from bearinmind.surfaces.http.limits import Pool
from bearinmind.surfaces.http.metrics import Metrics, StoreWatch, TrafficCounter
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

_LOOPBACK_NAMES = frozenset({"localhost", "127.0.0.1", "::1"})
_ANY = "*"
_MAKE_A_KEY = (
    "Make a key first: `bearinmind user add NAME`, then "
    "`bearinmind key create NAME --access admin`."
)


@dataclass(kw_only=True)
class Service:
    """What the routes of a server have in common: the memory, the threads, the keys, the counts.

    No key is wanted with `auth` set to off; with auto none is wanted on this machine until the
    store has a user, also by a server that was started before.
    """

    mind: Mind
    settings: Settings
    authenticator: Authenticator
    pool: Pool  #: for verbs
    streams: Pool  #: for imports and exports, which take as long as they take
    sessions: Sessions  #: of browsers
    people: People  #: whom providers vouch for
    metrics: Metrics
    store: StoreWatch  #: how the store does
    traffic: TrafficCounter
    may_be_open: bool

    @classmethod
    def of(cls, mind: Mind, settings: Settings) -> Self:
        """The service of a memory."""
        pool = Pool(
            "bearinmind-verb",
            threads=settings.server_threads,
            queue=settings.server_queue,
            seconds=settings.request_seconds,
        )
        local, store = is_loopback(settings.server_host), StoreWatch(mind)
        streams = Pool("bearinmind-stream", threads=settings.server_streams, queue=0, seconds=None)
        return cls(
            mind=mind,
            settings=settings,
            authenticator=mind.accounts.authenticator(),
            pool=pool,
            streams=streams,
            sessions=mind.accounts.sessions(),
            people=mind.accounts.people(),
            metrics=Metrics(pool, streams, store),
            store=store,
            traffic=TrafficCounter(mind.server.count, mind.server.clock),
            may_be_open=settings.auth == "off"
            or (
                settings.auth == "auto"
                and local
                and not settings.oauth_issuers
                and not mind.accounts.users()
            ),
        )

    @property
    def is_open(self) -> bool:
        """Whether no key is wanted; once one is, it stays so."""
        if self.may_be_open and self.settings.auth != "off" and self.mind.accounts.users():
            self.may_be_open = False
        return self.may_be_open

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
        and (not local or _ANY in settings.server_hosts)
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
    if not settings.server_url and _place_of(base) != _place_of(f"//{_host_of(base)}:{port}"):
        return []
    return [base, f"{base}/", f"{base}{MCP}"]


# ---- under which name it is asked for ----------------------------------------------------------


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
        if _ANY in settings.server_hosts:
            return cls(allowed=frozenset(), url=url)
        said = {name.casefold() for name in settings.server_hosts}
        if settings.server_url:
            said.add(_host_of(settings.server_url))
        if is_loopback(settings.server_host):
            said |= _LOOPBACK_NAMES | {settings.server_host.casefold()}
        elif said:
            said.add(settings.server_host.casefold())
        return cls(allowed=frozenset(said), url=url)

    def check(self, host: str | None, origin: str | None) -> None:
        """Refuse a request that came by another name, or from a page of somebody else."""
        asked = _host_of(f"//{host}") if host else ""
        if self.allowed and asked not in self.allowed:
            raise errors.NotAllowed(
                f"the server is not to be asked for as {(host or '')[:100]!r}",
                hint="Add the name to the `server_hosts` setting.",
            )
        # Another port is another origin: what listens there is somebody else's.
        own = {_place_of(f"//{host}"), _place_of(self.url)} - {""}
        if origin is not None and _place_of(origin) not in own:
            raise errors.NotAllowed(
                f"pages of {masked(origin)[:100]!r} may not ask this server",
                hint="Only its own page may: open that at the address that `server_url` sets.",
            )


def _place_of(url: str) -> str:
    """The host and the port of an address; the usual ports are left out."""
    try:
        parts = urlsplit(url)
        port = "" if parts.port in (None, *_USUAL_PORTS) else f":{parts.port}"
    except ValueError:  # no number, or brackets that enclose no address
        return ""
    return f"{parts.hostname.casefold()}{port}" if parts.hostname else ""


def _host_of(url: str) -> str:
    try:
        return (urlsplit(url).hostname or "").casefold()
    except ValueError:  # brackets that enclose no address
        return ""
