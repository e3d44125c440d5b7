"""What FastAPI does not say of the server by itself: problems, keys, streams, and no nulls."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic.json_schema import models_json_schema

from bearinmind import codec
from bearinmind.surfaces.http.responses import PROBLEM, Problem
from bearinmind.surfaces.verbs.sync_verbs import SYNC_VERBS
from bearinmind.surfaces.verbs.verb import GetAnswer, Verb
from bearinmind.types import Access, Outcome

_REFERENCE = "#/components/schemas/{model}"
_BEARER = "bearer"
_SECURITY: dict[str, Any] = {"security": [{_BEARER: []}]}
_LINE = {"type": "string", "description": "One JSON object a line."}
_TO_IMPORT = '{"content": "The staging database is db-stage-3.", "tags": ["staging"]}\n'
_IMPORTED = (
    '{"progress": {"records": 1}}\n'
    '{"summary": {"stored": 1, "sensitive": 0, "known": 0, "links_stored": 0, "links_known": 0, '
    '"bad": 0, "problems": []}}\n'
)
#: What any request for memories may be answered with.
_ALWAYS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.UNAUTHORIZED,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.NOT_FOUND,
    HTTPStatus.CONFLICT,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.TOO_MANY_REQUESTS,
    HTTPStatus.INTERNAL_SERVER_ERROR,
    HTTPStatus.SERVICE_UNAVAILABLE,
    HTTPStatus.GATEWAY_TIMEOUT,
)
#: What requests about the server itself may be answered with.
_OPEN = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
)


def of_verb(verb: Verb, *, has_body: bool) -> dict[str, Any]:
    """What FastAPI is told about a verb."""
    fails = [*_ALWAYS]
    fails += [HTTPStatus.UNSUPPORTED_MEDIA_TYPE] if has_body else []
    fails += [HTTPStatus.PRECONDITION_FAILED] if "If-Match" in verb.headers else []
    good: dict[int | str, dict[str, Any]] = {verb.status: {"description": verb.says}}
    if verb.answer is GetAnswer:
        good[HTTPStatus.NOT_MODIFIED] = {"description": "It is as If-None-Match says."}
    if verb.answer == Outcome:
        known = {"description": "It was known already.", "model": codec.annotation(Outcome)}
        good[HTTPStatus.OK] = known
    kind = "admin" if verb.access is Access.ADMIN else "memory"
    return {
        "name": verb.name,
        "operation_id": verb.operation,
        "summary": verb.says,
        "description": f"Needs a key with {verb.access} access.",
        "status_code": verb.status,
        "tags": ["sync" if verb in SYNC_VERBS else kind],
        "responses": good | problem_responses(fails),
        "openapi_extra": _SECURITY,
    }


def problem_responses(statuses: Iterable[HTTPStatus]) -> dict[int | str, dict[str, Any]]:
    """Problem documents by status."""
    schema = {"$ref": _REFERENCE.format(model=Problem.__name__)}
    described: dict[int | str, dict[str, Any]] = {}
    for status in sorted(statuses):
        headers: dict[str, Any] = {}
        if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
            text = "Seconds after which to try again."
            headers = {"Retry-After": {"description": text, "schema": {"type": "integer"}}}
        if status == HTTPStatus.UNAUTHORIZED:
            text = "Where to learn how to get a key."
            headers = {"WWW-Authenticate": {"description": text, "schema": {"type": "string"}}}
        described[status] = {
            "description": status.phrase,
            "content": {PROBLEM: {"schema": schema}},
            **({"headers": headers} if headers else {}),
        }
    return described


# ---- the document --------------------------------------------------------------------------------


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI of a server."""
    described = get_openapi(
        title="Bear in Mind",
        version=version("bearinmind"),
        summary="A persistent memory for AI agents that explains what it recalls.",
        routes=app.routes,
        tags=[
            {"name": "memory", "description": "Your memories, and those shared with you."},
            {"name": "sync", "description": "What a replica of your memories asks."},
            {"name": "admin", "description": "Users, their keys, and what was done."},
            {"name": "server", "description": "How the server does."},
        ],
    )
    for path in described["paths"].values():
        for operation in path.values():
            operation["parameters"] = [*map(_without_null, operation.get("parameters", ()))]
    components = described.setdefault("components", {})
    components["securitySchemes"] = {
        _BEARER: {"type": "http", "scheme": "bearer", "description": "`bearinmind key create`"}
    }
    _, problems = models_json_schema([(Problem, "serialization")], ref_template=_REFERENCE)
    schemas = {**components.get("schemas", {}), **problems["$defs"]}
    components["schemas"] = dict(sorted(schemas.items()))
    return described


def _without_null(parameter: dict[str, Any]) -> dict[str, Any]:
    """A parameter that is not null: null cannot be said in one, it is left out instead."""
    schema = {key: each for key, each in parameter["schema"].items() if key != "title"}
    options = [option for option in schema.pop("anyOf", []) if option != {"type": "null"}]
    if len(options) == 1:
        schema = options[0] | schema
    elif options:
        schema["anyOf"] = options
    return parameter | {"schema": schema}


# ---- what is no verb -----------------------------------------------------------------------------


def of_import(media_type: str) -> dict[str, Any]:
    """What FastAPI is told about the import."""
    described = _of_lines(
        "import",
        "Add memories and links from JSON Lines, as `bearinmind import` does.",
        "Of any length. The answer is JSON Lines too: `progress` while it goes on, then one "
        "`summary`, or one `problem`. Needs a key with write access.",
        {media_type: {"schema": _LINE, "example": _IMPORTED}},
        [*_ALWAYS, HTTPStatus.UNSUPPORTED_MEDIA_TYPE],
    )
    # Nothing in it is refused as a whole: bad lines are named one by one.
    taken = {media_type: {"schema": {}, "example": _TO_IMPORT}}
    described["openapi_extra"] = {**_SECURITY, "requestBody": {"required": True, "content": taken}}
    return described


def of_export(media_type: str) -> dict[str, Any]:
    """What FastAPI is told about the export."""
    return _of_lines(
        "export",
        "Every memory, version and link of yours as JSON Lines, as `bearinmind export` writes it.",
        "What others share with you is not in it; the header counts it. What is sensitive stays "
        "encrypted. Needs a key with read access.",
        {media_type: {"schema": _LINE, "example": _TO_IMPORT}},
        _ALWAYS,
    )


def _of_lines(
    name: str, says: str, more: str, content: dict[str, Any], fails: Iterable[HTTPStatus]
) -> dict[str, Any]:
    good = "How far it is, line by line." if name == "import" else "The lines."
    return {
        "name": name,
        "operation_id": name,
        "summary": says,
        "description": more,
        "tags": ["memory"],
        "responses": {
            HTTPStatus.OK: {"description": good, "content": content},
            **problem_responses(fails),
        },
        "openapi_extra": _SECURITY,
    }


def of_server(name: str, says: str, fails: Iterable[HTTPStatus] = ()) -> dict[str, Any]:
    """What FastAPI is told about health, readiness and how to get in."""
    return {
        "name": name,
        "operation_id": name,
        "summary": says,
        "tags": ["server"],
        "responses": {HTTPStatus.OK: {"description": says}, **problem_responses([*_OPEN, *fails])},
    }


def of_metrics(media_type: str) -> dict[str, Any]:
    """What FastAPI is told about the metrics."""
    says = "Counts for Prometheus. Where keys are wanted: for administrators and `metrics_user`."
    text = {media_type.partition(";")[0]: {"schema": {"type": "string"}}}
    described = of_server("metrics", says) | {"openapi_extra": _SECURITY}
    described["responses"] = {
        HTTPStatus.OK: {"description": says, "content": text},
        **problem_responses(_ALWAYS),
    }
    return described
