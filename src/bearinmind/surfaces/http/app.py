"""The application that a server runs: routes, errors, what is around them, and when it ends."""

from __future__ import annotations

import asyncio
import importlib.util
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route
from starlette.types import ASGIApp

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import MethodNotAllowed, MindError, PathNotFound
from bearinmind.surfaces.http import auth, describing, health, routes, streams, telemetry
from bearinmind.surfaces.http.auth import METADATA, Names
from bearinmind.surfaces.http.envelope import Around, Envelope
from bearinmind.surfaces.http.problems import internal
from bearinmind.surfaces.http.server import Server, json_answer

MCP = "/mcp"


def build(bearinmind: Mind, settings: Settings) -> FastAPI:
    """The application that serves a memory. Whoever opened the memory closes it, afterwards."""
    server = Server.of(bearinmind, settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with AsyncExitStack() as stack:
            for starting in app.state.starting:
                await stack.enter_async_context(starting())
            yield
        # On a thread: an import that is being finished still asks the loop for what arrived.
        await asyncio.to_thread(server.close)

    app = FastAPI(
        title="Bear in Mind",
        lifespan=lifespan,
        openapi_url="/openapi.json",
        docs_url=None,  # its page loads scripts from elsewhere
        redoc_url=None,
        redirect_slashes=False,
    )
    #: Context managers to be entered while the server runs, for what is mounted into it.
    app.state.starting = []
    app.state.server = server
    _tell_errors(app, server)
    routes.add(app, server)
    streams.add(app, server)
    health.add(app, server)
    _add_metadata(app, settings)
    _mount_others(app, server)
    app.openapi = partial(_described, app)  # type: ignore[method-assign]  # as FastAPI documents
    around = Around(
        names=Names.of(settings),
        metrics=server.metrics,
        telemetry=telemetry.set_up() if settings.telemetry else telemetry.Telemetry(),
    )
    app.add_middleware(_enveloped, around=around)
    return app


def _enveloped(app: ASGIApp, around: Around) -> ASGIApp:
    return Envelope(app, around)


def _described(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI, made once."""
    if app.openapi_schema is None:
        app.openapi_schema = describing.document(app)
    return app.openapi_schema


def _mount_others(app: FastAPI, server: Server) -> None:
    """What is reached over the same port: MCP, and the page at `/`."""
    if importlib.util.find_spec("bearinmind.surfaces.mcp.serving"):
        from bearinmind.surfaces.mcp import serving  # noqa: PLC0415  it takes a while to load

        serving.mount(app, server)
    if importlib.util.find_spec("bearinmind.surfaces.http.web"):
        from bearinmind.surfaces.http import web  # noqa: PLC0415

        web.mount(app)


def _add_metadata(app: FastAPI, settings: Settings) -> None:
    """Say how to get in, to clients that look for it before they try (RFC 9728)."""

    async def metadata(request: Request) -> Response:
        base = auth.base_url(settings, request.url.scheme, request.headers.get("Host"))
        resource = request.url.path.removeprefix(METADATA)
        found = auth.metadata(settings, base, resource)
        return json_answer(
            describing.Metadata.model_validate(found).model_dump_json(exclude_unset=True)
        )

    for resource in ("", MCP):
        app.add_api_route(
            METADATA + resource,
            metadata,
            methods=["GET"],
            response_model=None,
            response_class=Response,
            include_in_schema=not resource,
            **describing.of_metadata(),
        )


# ---- errors ------------------------------------------------------------------------------------


def _tell_errors(app: FastAPI, server: Server) -> None:
    """Tell every error as a problem document."""

    async def tell(request: Request, error: Exception) -> Response:
        if isinstance(error, MindError):
            return server.told(request, error)
        return internal(request.state.request_id)

    async def tell_routing(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 0
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            return _other_method(app, server, request)
        return server.told(request, PathNotFound())

    app.add_exception_handler(MindError, tell)
    app.add_exception_handler(HTTPException, tell_routing)


def _other_method(app: FastAPI, server: Server, request: Request) -> Response:
    """By which methods a path is asked: as an answer to OPTIONS, as an error otherwise."""
    allowed = {"OPTIONS"}
    for route in app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            allowed |= route.methods or set()
    if "GET" in allowed:
        allowed.add("HEAD")
    said = ", ".join(sorted(allowed))
    if request.method == "OPTIONS":
        return Response(status_code=HTTPStatus.NO_CONTENT, headers={"Allow": said})
    error = MethodNotAllowed(
        f"the path is not asked with {request.method[:20]}", hint=f"Use {said}."
    )
    told = server.told(request, error)
    told.headers["Allow"] = said
    return told
