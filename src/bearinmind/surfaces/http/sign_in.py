"""The routes by which a browser signs in, learns who it is signed in as, and signs out.

They are for our own page and stand in no description of the API: programs send keys.
"""

from __future__ import annotations

import hmac
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from html import escape
from http import HTTPStatus
from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response

from bearinmind import codec
from bearinmind.accounts.keys import Caller
from bearinmind.accounts.openid import Attempt
from bearinmind.accounts.sessions import NewSession, hash_of
from bearinmind.errors import MindError, NotAuthenticated
from bearinmind.surfaces.http import auth, responses
from bearinmind.surfaces.http.auth import Service, base_url
from bearinmind.surfaces.http.middleware import body_of
from bearinmind.surfaces.http.routes import ROOT, check_media
from bearinmind.types import Access, UserId

_PATH = f"{ROOT}/session"
_MOST_BYTES = 1_000  # of a request to sign in


@dataclass(frozen=True, slots=True, kw_only=True)
class SignedIn:
    """Who asks, and how the server knows."""

    user: UserId
    access: Access
    via: Literal["session", "key", "token", "open"]
    key: str | None  #: the id of the key
    expires_at: datetime | None  #: of the session


class SignInRequest(BaseModel):
    """The token of a link; none where a key is sent."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    link: str | None = Field(None, max_length=200)


def add(app: FastAPI, service: Service) -> None:
    """Give sessions their routes."""

    async def who(request: Request) -> Response:
        caller = await service.pool.run(partial(_caller, service, request))
        return responses.noun_answer(_signed_in(service, caller))

    async def sign_in(request: Request) -> Response:
        seconds = service.settings.request_seconds
        content = await body_of(request, most=_MOST_BYTES, seconds=seconds)
        return await service.pool.run(partial(_sign_in, service, request, content))

    async def sign_out(request: Request) -> Response:
        return await service.pool.run(partial(_sign_out, service, request))

    for method, endpoint in (("GET", who), ("POST", sign_in), ("DELETE", sign_out)):
        app.add_api_route(_PATH, endpoint, methods=[method], include_in_schema=False)
    _add_provider(app, service)


def _caller(service: Service, request: Request) -> Caller:
    service.admit(request, Access.READ)
    caller: Caller = request.state.caller
    return caller


def _signed_in(service: Service, caller: Caller) -> SignedIn:
    via: Literal["session", "key", "token"] = "key" if caller.key_id else "token"
    return SignedIn(
        user=caller.user,
        access=caller.access,
        via="open" if service.is_open else "session" if caller.session_ends_at else via,
        key=caller.key_id,
        expires_at=caller.session_ends_at,
    )


def _sign_in(service: Service, request: Request, content: bytes) -> Response:
    """Open a session by a link or a key."""
    auth.require_own_page(request, service.settings)
    if service.is_open:
        return responses.noun_answer(_signed_in(service, _caller(service, request)))
    opened = _opened(service, request, content)
    request.state.caller = caller = service.authenticator.of_session(opened.session)
    noun = codec.to_json(_signed_in(service, caller))
    response = Response(noun, HTTPStatus.CREATED, media_type=responses.JSON)
    return _kept(service, request, opened, response)


def _kept(service: Service, request: Request, opened: NewSession, response: Response) -> Response:
    """The response, with which the browser keeps the session; the one it had before ends."""
    if before := auth.token_of(request):
        service.sessions.end(before)
    auth.set_cookie(response, request, service.settings, opened.token, opened.session.expires_at)
    return response


def _opened(service: Service, request: Request, content: bytes) -> NewSession:
    if "Authorization" in request.headers:
        return service.sessions.open_for(service.identify(request), "by a key")
    link = _link_in(request, content)
    address = request.client.host if request.client else None
    with service.authenticator.guarding(hash_of(link), address):
        return service.sessions.open_by_link(link)


def _link_in(request: Request, content: bytes) -> str:
    if content:
        check_media(request.headers, responses.JSON, "Send JSON")
    try:
        link = SignInRequest.model_validate_json(content or b"{}", strict=True).link
    except ValidationError as exc:
        raise responses.invalid_fields(exc) from None
    if link is None:
        raise NotAuthenticated("neither a link nor a key was sent")
    return link


def _sign_out(service: Service, request: Request) -> Response:
    """End the session, whether or not it has ended already."""
    auth.require_own_page(request, service.settings)
    if token := auth.token_of(request):
        service.sessions.end(token)
    response = Response("{}", media_type=responses.JSON)
    auth.clear_cookies(response, request)
    return response


# ---- at an OpenID provider -----------------------------------------------------------------------

# The browser is sent to the provider and comes back with a code. What it needs to use the code, it
# keeps in a cookie: a code that another browser began to ask for is of no use to it. In the end it
# has the same session as by a link or a key. It is sent to two places only: the provider and `/`.

_BEGIN, _CALLBACK, _END = "/signin", "/signin/callback", "/signin/end"
_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><title>Not signed in · Bear in Mind</title>
<h1>You are not signed in</h1><p>{detail}.</p><p>{hint}</p><p><a href="/#/signin">Try again</a></p>
</html>
"""


def _add_provider(app: FastAPI, service: Service) -> None:
    async def answered(
        answer: Callable[[Service, Request], Response], request: Request
    ) -> Response:
        try:
            return await service.pool.run(partial(answer, service, request))
        except MindError as exc:
            return _told(service, request, exc)

    async def door(_: Request) -> Response:
        provider = service.people.door
        return responses.noun_answer({"provider": provider.host if provider else None})

    app.add_api_route(f"{_PATH}/provider", door, methods=["GET"], include_in_schema=False)
    if service.people.door is None:
        return
    for path, answer in ((_BEGIN, _begin), (_CALLBACK, _come_back), (_END, _end)):
        app.add_route(path, partial(answered, answer), methods=["GET"], include_in_schema=False)


def _begin(service: Service, request: Request) -> Response:
    """Send the browser to the provider."""
    attempt, address = service.people.begin(base_url(service.settings, request) + _CALLBACK)
    response = RedirectResponse(address, HTTPStatus.SEE_OTHER)
    auth.set_attempt(response, request, service.settings, attempt)
    return response


def _come_back(service: Service, request: Request) -> Response:
    """Open a session for a browser that comes back from the provider with a code."""
    attempt, code = _attempt(service, request), request.query_params.get("code", "")
    address = request.client.host if request.client else None
    with service.authenticator.guarding(hash_of(code), address):
        caller = service.people.by_code(
            code, attempt, base_url(service.settings, request) + _CALLBACK
        )
    opened = service.sessions.open_for(caller, "by a provider")
    request.state.caller = service.authenticator.of_session(opened.session)
    response = _kept(service, request, opened, RedirectResponse("/", HTTPStatus.SEE_OTHER))
    auth.set_attempt(response, request, service.settings)
    return response


def _attempt(service: Service, request: Request) -> Attempt:
    """What this browser began, if the answer of the provider belongs to it."""
    said, provider = request.query_params, service.people.providers[0]
    kept = auth.attempt_of(request, service.settings)
    is_own = len(kept) == len(Attempt._fields) and hmac.compare_digest(
        kept[0].encode(), said.get("state", "").encode()
    )
    if not is_own:
        raise NotAuthenticated(
            "this answer of a provider belongs to no sign-in that this browser has begun",
            hint="Sign in again, in one window, within ten minutes.",
        )
    if said.get("iss", provider.issuer) != provider.issuer:  # RFC 9207
        raise NotAuthenticated("this answer is one of another provider", hint="Sign in again.")
    if "error" in said or "code" not in said:
        error = "".join(c for c in said.get("error", "")[:40] if c.isalnum() or c == "_")
        why = error or "it sent no code"
        raise NotAuthenticated(f"{provider.host} did not let you in: {why}", hint="Sign in again.")
    return Attempt(*kept)


def _end(service: Service, request: Request) -> Response:
    """Send the browser to the provider to sign out there too; its session here has ended."""
    back = f"{base_url(service.settings, request)}/"
    there = service.people.providers[0].address_to_sign_out(back)
    return RedirectResponse(there, HTTPStatus.SEE_OTHER)


def _told(service: Service, request: Request, error: MindError) -> Response:
    """An error, for people as a page."""
    response = service.problem(request, error)
    if "text/html" in request.headers.get("Accept", ""):
        problem = responses.problem_of(error, request.state.request_id)
        text = _PAGE.format(detail=escape(problem.detail), hint=escape(problem.hint))
        wait = response.headers.get("Retry-After")
        headers = {"Retry-After": wait} if wait else None
        response = HTMLResponse(text, response.status_code, headers)
    auth.set_attempt(response, request, service.settings)
    return response
