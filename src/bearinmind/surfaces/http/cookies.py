"""The cookie of a browser that is signed in, and whose requests it is obeyed for.

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

from bearinmind.config import Settings
from bearinmind.errors import NotAllowed
from bearinmind.remember.secrets import masked

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
        raise NotAllowed(
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


def _foreign(request: HTTPConnection) -> NotAllowed:
    origin = masked(request.headers.get("Origin", "another page"))[:100]
    return NotAllowed(
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
