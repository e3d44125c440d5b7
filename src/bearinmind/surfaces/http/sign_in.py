"""The routes by which a browser signs in, learns who it is signed in as, and signs out.

They are for our own page and stand in no description of the API: programs send keys.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus
from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.requests import Request
from starlette.responses import Response

from bearinmind import codec
from bearinmind.accounts.keys import Caller
from bearinmind.accounts.sessions import NewSession, hash_of
from bearinmind.errors import NotAuthenticated
from bearinmind.surfaces.http import auth, responses
from bearinmind.surfaces.http.auth import Service
from bearinmind.surfaces.http.limits import body_of
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
    """Open a session by a link or a key; a session that the browser had before ends."""
    auth.require_own_page(request, service.settings)
    if service.is_open:
        return responses.noun_answer(_signed_in(service, _caller(service, request)))
    opened = _opened(service, request, content)
    request.state.caller = caller = service.authenticator.of_session(opened.session)
    if before := auth.token_of(request):
        service.sessions.end(before)
    noun = codec.to_json(_signed_in(service, caller))
    response = Response(noun, HTTPStatus.CREATED, media_type=responses.JSON)
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
