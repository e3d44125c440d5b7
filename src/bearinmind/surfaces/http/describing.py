"""The OpenAPI of the server, from the table of verbs."""

from __future__ import annotations

from collections.abc import Iterable
from http import HTTPStatus
from importlib.metadata import version
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, create_model
from pydantic.json_schema import models_json_schema

from bearinmind.surfaces.http import examples, problems
from bearinmind.surfaces.http.asking import JSON, Reader
from bearinmind.surfaces.http.problems import Problem
from bearinmind.surfaces.verbs.sync import SERVED, SYNC_VERBS
from bearinmind.surfaces.verbs.requests import Request
from bearinmind.surfaces.verbs.table import Verb
from bearinmind.types import Access

_REFERENCE = "#/components/schemas/{model}"
_BEARER = "bearer"
#: What any request may be answered with.
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
#: And what is no verb.
_OPEN = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.FORBIDDEN,
    HTTPStatus.REQUEST_URI_TOO_LONG,
    HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE,
)
_TAG = {"type": "string", "pattern": r'^"[1-9][0-9]{0,8}(-[0-9a-f]{16})?"$'}
_HEADER_SAYS = {
    "Idempotency-Key": "Any text of your own. Sent again with the same memory, it is stored once.",
    "If-Match": "The ETag of the memory: it is changed only if it is still that version.",
}


def of_verb(reader: Reader) -> dict[str, Any]:
    """How FastAPI is told about a verb."""
    verb = reader.verb
    return {
        "name": verb.name,
        "operation_id": verb.name,
        "summary": verb.says,
        "description": f"Needs a key with {verb.access} access.",
        "status_code": verb.status,
        "tags": [_tag(verb)],
        "responses": _responses(reader),
        "openapi_extra": _asked(reader),
    }


def _tag(verb: Verb) -> str:
    if verb in SYNC_VERBS:
        return "sync"
    return "admin" if verb.access is Access.ADMIN else "memory"


# ---- what is answered --------------------------------------------------------------------------


def _responses(reader: Reader) -> dict[int | str, dict[str, Any]]:
    verb = reader.verb
    good = {"model": verb.answer}
    found: dict[int | str, dict[str, Any]] = {verb.status: {"description": verb.says, **good}}
    if verb.name == "store":
        found[HTTPStatus.OK] = {"description": "It was known already.", **good}
    if verb.name == "get":
        found[HTTPStatus.NOT_MODIFIED] = {"description": "It is as If-None-Match says."}
    return found | problem_responses(_may_fail_with(reader))


def _may_fail_with(reader: Reader) -> Iterable[HTTPStatus]:
    yield from _ALWAYS
    if reader.has_body:
        yield HTTPStatus.UNSUPPORTED_MEDIA_TYPE
    if "If-Match" in reader.verb.headers or "expected_version" in reader.elsewhere:
        yield HTTPStatus.PRECONDITION_FAILED


def problem_responses(statuses: Iterable[HTTPStatus]) -> dict[int | str, dict[str, Any]]:
    """Problem documents by status."""
    schema = {"$ref": _REFERENCE.format(model=Problem.__name__)}
    found: dict[int | str, dict[str, Any]] = {}
    for status in sorted(statuses):
        headers: dict[str, Any] = {}
        if status in (HTTPStatus.TOO_MANY_REQUESTS, HTTPStatus.SERVICE_UNAVAILABLE):
            says = "Seconds after which to try again."
            headers = {"Retry-After": {"description": says, "schema": {"type": "integer"}}}
        if status == HTTPStatus.UNAUTHORIZED:
            says = "Where to learn how to get a key."
            headers = {"WWW-Authenticate": {"description": says, "schema": {"type": "string"}}}
        found[status] = {
            "description": status.phrase,
            "content": {problems.MEDIA_TYPE: {"schema": schema}},
            **({"headers": headers} if headers else {}),
        }
    return found


# ---- what is asked -----------------------------------------------------------------------------


def _asked(reader: Reader) -> dict[str, Any]:
    verb = reader.verb
    fields = _properties(verb.request)
    parameters = [_parameter(name, "path", fields[name], required=True) for name in reader.in_path]
    for header, name in verb.headers.items():
        schema = _TAG if header == "If-Match" else fields[name]
        said = {**schema, "description": _HEADER_SAYS[header]}
        parameters.append(_parameter(header, "header", said, required=False))
    if verb.name == "get":
        says = "The ETag of the memory, if you have it: without a change it is not sent again."
        said = {"type": "string", "description": says}
        parameters.append(_parameter("If-None-Match", "header", said, required=False))
    found: dict[str, Any] = {"security": [{_BEARER: []}]}
    if reader.has_body:
        found["requestBody"] = {
            "required": any(info.is_required() for info in reader.elsewhere.values()),
            "content": {
                JSON: {
                    "schema": {"$ref": _REFERENCE.format(model=_body_model(reader).__name__)},
                    "example": examples.REQUESTS[verb.name],
                }
            },
        }
    else:
        parameters += [
            _parameter(name, "query", fields[name], required=info.is_required())
            for name, info in reader.elsewhere.items()
        ]
    return found | ({"parameters": parameters} if parameters else {})


def _parameter(name: str, where: str, schema: dict[str, Any], *, required: bool) -> dict[str, Any]:
    schema = {**schema}
    says = schema.pop("description", None)
    schema.pop("title", None)
    # Null cannot be said in a parameter: what is not said is left out.
    options = [option for option in schema.pop("anyOf", []) if option != {"type": "null"}]
    if options:
        schema = options[0] if len(options) == 1 else {**schema, "anyOf": options}
    if schema.get("default", ...) is None:
        del schema["default"]
    return {
        "name": name,
        "in": where,
        "required": required,
        "schema": schema,
        **({"description": says} if says else {}),
    }


def _properties(model: type[BaseModel]) -> dict[str, dict[str, Any]]:
    found = model.model_json_schema(ref_template=_REFERENCE)["properties"]
    return dict(found)


def _body_model(reader: Reader) -> type[BaseModel]:
    """What the body of a verb's request looks like: its fields that stand nowhere else."""
    verb = reader.verb
    if len(reader.elsewhere) == len(verb.request.model_fields):
        return verb.request
    fields: dict[str, Any] = {
        name: (info.annotation, info) for name, info in reader.elsewhere.items()
    }
    name = f"{verb.request.__name__.removesuffix('Request')}Body"
    return create_model(name, __base__=Request, __doc__=verb.request.__doc__, **fields)


# ---- the whole ---------------------------------------------------------------------------------


def document(app: FastAPI) -> dict[str, Any]:
    """The OpenAPI of a server."""
    found = get_openapi(
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
    components = found.setdefault("components", {})
    components["securitySchemes"] = {
        _BEARER: {"type": "http", "scheme": "bearer", "description": "`bearinmind key create`"}
    }
    _show_answers(found["paths"])
    schemas = components.setdefault("schemas", {})
    for name, schema in _schemas_of_requests().items():
        schemas.setdefault(name, schema)
    components["schemas"] = dict(sorted(schemas.items()))
    return found


def _show_answers(paths: dict[str, Any]) -> None:
    """Put examples beside the schemas of answers; FastAPI itself would leave out what is null."""
    operations = {
        operation.get("operationId"): operation
        for path in paths.values()
        for operation in path.values()
    }
    for name, example in examples.ANSWERS.items():
        for status in (HTTPStatus.OK, HTTPStatus.CREATED):
            if answer := operations[name]["responses"].get(str(status.value)):
                answer["content"][JSON]["example"] = example


def _schemas_of_requests() -> dict[str, Any]:
    """What bodies and parameters refer to, and how a problem is told."""
    readers = [Reader(verb) for verb in SERVED]
    bodies = [_body_model(reader) for reader in readers if reader.has_body]
    asked = [reader.verb.request for reader in readers]  # for the vocabularies of parameters
    _, schemas = models_json_schema(
        [(model, "validation") for model in dict.fromkeys([*bodies, *asked])],
        ref_template=_REFERENCE,
    )
    _, told = models_json_schema([(Problem, "serialization")], ref_template=_REFERENCE)
    wanted = {body.__name__ for body in bodies}
    definitions: dict[str, Any] = {**schemas["$defs"], **told["$defs"]}
    whole = {model.__name__ for model in asked} - wanted
    return {name: schema for name, schema in definitions.items() if name not in whole}


# ---- what is no verb ---------------------------------------------------------------------------


class Metadata(BaseModel):
    """How clients of OAuth 2.1 get in (RFC 9728)."""

    resource: str
    resource_name: str
    scopes_supported: list[Access]
    bearer_methods_supported: list[str]
    authorization_servers: list[str] = []


def of_import(media_type: str) -> dict[str, Any]:
    """How FastAPI is told about the import."""
    line = {"type": "string", "description": "One JSON object a line."}
    return {
        "name": "import",
        "operation_id": "import",
        "summary": "Add memories and links from JSON Lines, as `bearinmind import` does.",
        "description": "Of any length. The answer is JSON Lines too: `progress` while it goes on, "
        "then one `summary`, or one `problem`. Needs a key with write access.",
        "tags": ["memory"],
        "responses": {
            HTTPStatus.OK: {
                "description": "How far it is, line by line.",
                "content": {media_type: {"schema": line, "example": examples.IMPORTED}},
            },
            **problem_responses([*_ALWAYS, HTTPStatus.UNSUPPORTED_MEDIA_TYPE]),
        },
        "openapi_extra": {
            "security": [{_BEARER: []}],
            "requestBody": {
                "required": True,
                # Nothing in it is refused as a whole: what cannot be read is told line by line.
                "content": {media_type: {"schema": {}, "example": examples.TO_IMPORT}},
            },
        },
    }


def of_export(media_type: str) -> dict[str, Any]:
    """How FastAPI is told about the export."""
    line = {"type": "string", "description": "One JSON object a line."}
    return {
        "name": "export",
        "operation_id": "export",
        "summary": "Every memory, version and link of yours as JSON Lines, as `bearinmind export` "
        "writes it.",
        "description": "What others share with you is not in it; the header counts it. What is "
        "sensitive stays encrypted. Needs a key with read access.",
        "tags": ["memory"],
        "responses": {
            HTTPStatus.OK: {
                "description": "The lines.",
                "content": {media_type: {"schema": line, "example": examples.TO_IMPORT}},
            },
            **problem_responses(_ALWAYS),
        },
        "openapi_extra": {"security": [{_BEARER: []}]},
    }


def of_health(
    path: str, says: str, model: type[BaseModel], fails: Iterable[HTTPStatus]
) -> dict[str, Any]:
    """How FastAPI is told about health and readiness."""
    name = path.removeprefix("/")
    return {
        "name": name,
        "operation_id": name,
        "summary": says,
        "tags": ["server"],
        "responses": {
            HTTPStatus.OK: {"description": says, "model": model},
            **problem_responses([*_OPEN, *fails]),
        },
    }


def of_metrics(media_type: str) -> dict[str, Any]:
    """How FastAPI is told about the metrics."""
    return {
        "name": "metrics",
        "operation_id": "metrics",
        "summary": "Counts for Prometheus. Needs a key with read access, where keys are wanted.",
        "tags": ["server"],
        "responses": {
            HTTPStatus.OK: {
                "description": "The counts.",
                "content": {media_type.partition(";")[0]: {"schema": {"type": "string"}}},
            },
            **problem_responses(_ALWAYS),
        },
        "openapi_extra": {"security": [{_BEARER: []}]},
    }


def of_metadata() -> dict[str, Any]:
    """How FastAPI is told about the metadata of OAuth."""
    return {
        "name": "oauth-protected-resource",
        "summary": "How to get in, for clients of OAuth 2.1 (RFC 9728).",
        "tags": ["server"],
        "responses": {
            HTTPStatus.OK: {"description": "The metadata.", "model": Metadata},
            **problem_responses(_OPEN),
        },
    }
