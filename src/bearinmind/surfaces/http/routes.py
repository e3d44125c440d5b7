"""A route for every verb of the table, and for what replicas ask."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from bearinmind.app import Mind
from bearinmind.surfaces.http import describing, etags
from bearinmind.surfaces.http.asking import Arrived, Reader
from bearinmind.surfaces.http.limits import body_of
from bearinmind.surfaces.http.server import Server, json_answer
from bearinmind.surfaces.verbs.sync import SERVED
from bearinmind.surfaces.verbs.answers import Answer, MemoryAnswer, StoreAnswer, WholeAnswer
from bearinmind.surfaces.verbs.table import Verb
from bearinmind.types import Access

ROOT = "/api/v1"

#: A tag may have slashes; what follows it in a path tells where it ends.
_WITH_SLASHES = {"{tag}": "{tag:path}"}


def add(app: FastAPI, server: Server) -> None:
    """Give every verb its route."""
    for verb in SERVED:
        reader = Reader(verb)
        path = verb.path
        for plain, with_slashes in _WITH_SLASHES.items():
            path = path.replace(plain, with_slashes)
        app.add_api_route(
            ROOT + path,
            _endpoint(server, reader),
            methods=[verb.method],
            response_model=None,
            response_class=Response,
            **describing.of_verb(reader),
        )


def _endpoint(server: Server, reader: Reader) -> Callable[[Request], Awaitable[Response]]:
    settings = server.settings

    async def endpoint(request: Request) -> Response:
        body = await body_of(request, most=settings.request_bytes, seconds=settings.request_seconds)
        return await server.pool.run(partial(_answer, server, reader, request, body))

    return endpoint


def _answer(server: Server, reader: Reader, request: Request, body: bytes) -> Response:
    """Do what is asked, as whoever asks; on a thread."""
    verb = reader.verb
    app = server.as_caller(request, verb.access)
    arrived = Arrived(
        path=request.path_params, query=request.query_params, headers=request.headers, body=body
    )
    asked = reader(arrived, _from_headers(verb, request, app))
    if verb.access is Access.WRITE and asked.writes > 1:  # getting in counted for one
        server.door.count_writes(request.state.caller, asked.writes - 1)
    answer = verb.run(app, asked)
    server.metrics.looked_at(answer)
    return _response(verb, answer, request)


def _from_headers(verb: Verb, request: Request, app: Mind) -> dict[str, Any]:
    """The fields of a request that its headers say."""
    found: dict[str, Any] = {}
    for header, name in verb.headers.items():
        text = request.headers.get(header)
        if text is None:
            continue
        if header == "If-Match":
            found[name] = etags.expected_version(text, partial(_version, app, request))
        else:
            found[name] = text
    return found


def _version(app: Mind, request: Request) -> int:
    """The present version of the memory that a path names."""
    return app.get(request.path_params["id"]).version


def _response(verb: Verb, answer: Answer, request: Request) -> Response:
    content = answer.model_dump_json(by_alias=True).encode()
    headers: dict[str, str] = {}
    status = verb.status
    if isinstance(answer, WholeAnswer):
        tag = etags.of_answer(answer.version, content)
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if etags.is_known(request.headers.get("If-None-Match"), tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    elif isinstance(answer, MemoryAnswer):
        headers = {"ETag": etags.of_version(answer.version)}
    elif isinstance(answer, StoreAnswer):
        headers = {
            "ETag": etags.of_version(answer.memory.version),
            "Location": f"{ROOT}/memories/{answer.memory.id}",
        }
        if answer.outcome != "stored":
            status = HTTPStatus.OK
    return json_answer(content, status, headers)
