"""The application that a server runs: routes, errors, what is around them, and when it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import cache, partial
from html import escape
from http import HTTPStatus
from importlib.metadata import version
from pathlib import Path
from typing import Literal

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Match, Route

from bearinmind import codec, errors
from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.http import (
    auth,
    metrics,
    openapi,
    responses,
    routes,
    sign_in,
    streams,
)
from bearinmind.surfaces.http.auth import MCP, METADATA, Service
from bearinmind.surfaces.http.metrics import StoreState, synced
from bearinmind.surfaces.http.middleware import Around, Envelope, Names
from bearinmind.surfaces.page import files
from bearinmind.surfaces.page.files import POLICY
from bearinmind.types import Access

#: A report is one file with its own script and styles. It runs as a page of nobody: it can ask this
#: server nothing, and sees no cookie.
_REPORT_POLICY = (
    "sandbox allow-scripts; default-src 'none'; script-src 'unsafe-inline'; "
    "style-src 'unsafe-inline'; img-src data:; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_PATH_SHOWN = 100  # characters of a path that an error repeats
_PATIENCE = 5.0  # seconds that readiness waits for the store: its reader wants to know soon

_MOST_OWNERS = 10  # named on the page
_MIB = 2**20
_WELL = "everything works as it should"
_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Status of Bear in Mind</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/page/style.css">
<link rel="icon" href="/page/icon.svg" type="image/svg+xml"></head>
<body><main><h1>Status of Bear in Mind</h1><table>{lines}</table></main></body></html>
"""


def build(mind: Mind, settings: Settings) -> FastAPI:
    """The application that serves a memory. It does not close the memory."""
    from bearinmind.surfaces.mcp import endpoint  # noqa: PLC0415  it takes a while to load

    service = Service(mind, settings)

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        service.traffic.start()
        async with AsyncExitStack() as stack:
            for starting in app.state.starting:
                await stack.enter_async_context(starting())
            yield
        # On a thread: an import that is being finished still asks the loop for what arrived.
        await asyncio.to_thread(service.close)

    app = FastAPI(
        title="Bear in Mind",
        lifespan=lifespan,
        openapi_url="/openapi.json",
        docs_url=None,  # FastAPI's own loads scripts from elsewhere; ours are in `surfaces.page`
        redoc_url=None,
        redirect_slashes=False,
        routes=[*routes.of_verbs()],
    )
    #: Context managers to be entered while the server runs, for what is mounted into it.
    app.state.starting = []
    app.state.service = service
    _tell_errors(app, service)
    streams.add(app, service)
    sign_in.add(app, service)
    _add_reports(app, service)
    _add_health(app, service)
    _add_status_page(app, service)
    _add_metadata(app, settings)
    endpoint.mount(app, service)
    files.mount(app)
    # Made once.
    app.openapi = cache(partial(openapi.document, app))  # type: ignore[method-assign]  # as FastAPI documents
    tracer = metrics.tracer() if settings.telemetry else None
    observer = metrics.Telemetry(tracer, service.metrics)
    mind.work.background.observe(observer)
    around = Around(
        names=Names.of(settings),
        metrics=service.metrics,
        traffic=service.traffic,
        telemetry=observer,
    )
    app.add_middleware(Envelope, around=around)
    return app


# ---- how the server does -------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class Alive:
    """The process answers."""

    status: Literal["alive"] = "alive"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ready:
    """The store answers; what does not work as it should."""

    status: Literal["ready"] = "ready"
    degraded: tuple[str, ...]  #: what recall goes without, in words; mostly empty


@dataclass(frozen=True, slots=True, kw_only=True)
class Metadata:
    """How clients of OAuth 2.1 get in (RFC 9728)."""

    resource: str
    resource_name: str
    scopes_supported: tuple[Access, ...]
    bearer_methods_supported: tuple[str, ...]
    authorization_servers: tuple[str, ...] = ()


def _add_health(app: FastAPI, service: Service) -> None:
    async def healthz() -> Response:
        return responses.noun_answer(Alive())

    async def readyz() -> Response:
        try:
            ready = await service.pool.run(partial(_readiness, service.mind), seconds=_PATIENCE)
        except errors.ServerOverloaded:
            raise
        except errors.MindError as exc:
            # The message may name a file or a server: only the log of this server has it.
            raise errors.StoreUnavailable(f"the store does not answer: {exc.code}") from exc
        return responses.noun_answer(ready)

    def counts(request: Request) -> bytes:
        caller = request.state.caller = service.identify(request)
        named = service.settings.metrics_user
        # They tell of everybody: names and sizes of users, and how much is asked.
        service.as_caller(caller, Access.READ if caller.user == named else Access.ADMIN)
        return service.metrics.text()

    async def metrics_(request: Request) -> Response:
        text = await service.pool.run(partial(counts, request))
        return Response(text, media_type=metrics.METRICS_TYPE)

    ready_text = "Whether the store answers, and what does not work as it should."
    alive = openapi.of_server("healthz", "Whether the process lives.")
    ready = openapi.of_server("readyz", ready_text, [HTTPStatus.SERVICE_UNAVAILABLE])
    app.add_api_route("/healthz", healthz, response_model=codec.annotation(Alive), **alive)
    app.add_api_route("/readyz", readyz, response_model=codec.annotation(Ready), **ready)
    app.add_api_route(
        "/metrics", metrics_, response_class=Response, **openapi.of_metrics(metrics.METRICS_TYPE)
    )


def _readiness(mind: Mind) -> Ready:
    status = mind.work.status()
    degraded = []
    if status.meaning_off:
        degraded.append("recall goes without meaning: the store cannot keep vectors")
    if status.dead:
        degraded.append("some jobs of background work were given up")
    return Ready(degraded=tuple(degraded))


def _add_metadata(app: FastAPI, settings: Settings) -> None:
    """Say how to get in, to clients that look for it before they try (RFC 9728)."""

    async def metadata(request: Request) -> Response:
        base = auth.base_url(settings, request)
        resource = request.url.path.removeprefix(METADATA)
        found = Metadata(
            resource=base + resource,
            resource_name="Bear in Mind",
            scopes_supported=tuple(Access),
            bearer_methods_supported=("header",),
            authorization_servers=tuple(settings.oauth_issuers),
        )
        # Without servers the list is left out: clients take an empty one for a mistake.
        content = codec.adapter(Metadata).dump_json(found, exclude_defaults=True)
        return Response(content, media_type=responses.JSON)

    says = "How to get in, for clients of OAuth 2.1 (RFC 9728)."
    for resource in ("", MCP):
        app.add_api_route(
            METADATA + resource,
            metadata,
            response_model=codec.annotation(Metadata),
            include_in_schema=not resource,
            **openapi.of_server(f"oauth-protected-resource{resource}", says),
        )


def _add_reports(app: FastAPI, service: Service) -> None:
    """Show the benchmark reports of the setting `reports` to administrators."""

    def read(request: Request) -> bytes:
        server = service.admit(request, Access.ADMIN).server
        name = request.path_params["name"]
        folder: Path | None = service.settings.reports
        if folder is None or name not in {report.name for report in server.reports()}:
            raise errors.PathNotFound(f"there is no report {name[:100]!r}")
        file: Path = folder / name
        return file.read_bytes()

    async def report(request: Request) -> Response:
        content = await service.pool.run(partial(read, request))
        headers = {"Content-Security-Policy": _REPORT_POLICY}
        return Response(content, media_type="text/html; charset=utf-8", headers=headers)

    app.add_route("/reports/{name}", report, methods=["GET"], include_in_schema=False)


def _add_status_page(app: FastAPI, service: Service) -> None:
    """Serve the page at /status: how the server does, for people, without a script.

    Everybody reads whether it is ready, as `/readyz` says; an administrator reads the rest.
    """

    def answer(request: Request) -> Response:
        is_admin = _is_admin(service, request)
        status = HTTPStatus.OK
        try:
            rows = [
                ("Server", "ready"),
                ("State", "; ".join(_readiness(service.mind).degraded) or _WELL),
            ]
        except errors.MindError as exc:
            status = HTTPStatus.SERVICE_UNAVAILABLE
            rows = [("Server", "not ready"), ("State", f"the store does not answer: {exc.code}")]
        if is_admin:
            rows += [("Version", version("bearinmind")), *_rows(service.store())]
        headers = {"Content-Security-Policy": POLICY}
        lines = "\n".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
            for name, value in rows
        )
        page = _TEMPLATE.replace("{lines}", lines)
        return Response(page, status, headers, "text/html; charset=utf-8")

    async def page(request: Request) -> Response:
        return await service.pool.run(lambda: answer(request))

    app.add_route("/status", page, methods=["GET"], include_in_schema=False)


def _is_admin(service: Service, request: Request) -> bool:
    """Whether an administrator asks. A wrong key is refused; who sends none is nobody."""
    sent = "Authorization" in request.headers or auth.token_of(request) is not None
    try:
        if not sent and not service.is_open:
            return False
        caller = request.state.caller = service.identify(request)
    except errors.StoreFailure:  # it cannot be known who asks; the page says why
        return False
    return caller.access is Access.ADMIN


def _rows(state: StoreState) -> Iterator[tuple[str, str]]:
    if state.facts and state.facts.bytes is not None:
        yield "Store", f"{state.facts.bytes / _MIB:,.1f} MiB"
    if state.work:
        yield "Jobs that wait", f"{state.work.waiting:,}"
        yield "Jobs given up", f"{state.work.dead:,}"
    for kind, age in state.ages.items():
        yield f"Oldest job to {kind}", f"waits for {age:,.0f} s"
    if state.replica_lag is not None:
        yield "Replica", f"{state.replica_lag:,.1f} s behind"
    if state.sync:
        yield "Sync", f"{state.sync.waits:,} changes wait, {state.sync.refused:,} are refused"
        for way, at in synced(state.sync):
            yield f"Last {way}", f"{at:%Y-%m-%d %H:%M} UTC"
    memories = sum(use.memories for use in state.uses)
    yield "Memories", f"{memories:,} of {len(state.uses):,} users"
    for use in state.uses[:_MOST_OWNERS]:
        yield f"User {use.owner}", f"{use.memories:,} memories, {use.bytes / _MIB:,.1f} MiB"


# ---- errors --------------------------------------------------------------------------------------


def _tell_errors(app: FastAPI, service: Service) -> None:
    """Tell every error as a problem document."""

    async def tell(request: Request, error: Exception) -> Response:
        if isinstance(error, errors.MindError):
            return service.problem(request, error)
        return responses.problem(responses.fault(), request.state.request_id)

    async def tell_invalid(request: Request, error: Exception) -> Response:
        flaws = error.errors() if isinstance(error, RequestValidationError) else ()
        inside = [each | {"loc": each["loc"][1:]} for each in flaws]  # not `body` or `query`
        return service.problem(request, responses.invalid_request(inside))

    async def tell_routing(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else 0
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            return _other_method(app, service, request)
        path = masked(request.url.path)[:_PATH_SHOWN]
        return service.problem(request, errors.PathNotFound(f"the server has nothing at {path!r}"))

    app.add_exception_handler(errors.MindError, tell)
    app.add_exception_handler(RequestValidationError, tell_invalid)
    app.add_exception_handler(HTTPException, tell_routing)


def _other_method(app: FastAPI, service: Service, request: Request) -> Response:
    """By which methods a path is asked: as an answer to OPTIONS, as an error otherwise."""
    allowed = {"OPTIONS"}
    for route in app.routes:
        if isinstance(route, Route) and route.matches(request.scope)[0] is not Match.NONE:
            allowed |= route.methods or set()
    if "GET" in allowed:
        allowed.add("HEAD")
    methods = ", ".join(sorted(allowed))
    if request.method == "OPTIONS":
        return Response(status_code=HTTPStatus.NO_CONTENT, headers={"Allow": methods})
    error = errors.MethodNotAllowed(
        f"the path is not asked with {request.method[:20]}", hint=f"Use {methods}."
    )
    answer = service.problem(request, error)
    answer.headers["Allow"] = methods
    return answer
