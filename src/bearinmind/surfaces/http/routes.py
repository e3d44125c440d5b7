"""A typed endpoint for every verb of the table, and for what replicas ask.

FastAPI reads path, query and headers by the fields of the verb's request, and describes all of it.
A body is parsed once, by the model that FastAPI describes, as JSON and strictly: `"5"` is no number
in it. That is done on the thread that answers, since a long body would keep the event loop busy,
and only for a sender who is let in.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from functools import cache, cached_property, partial
from http import HTTPStatus
from typing import Annotated, Any, get_origin, get_type_hints

from fastapi import Body, Header, Path, Query
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from pydantic import PlainValidator, ValidationError, create_model
from pydantic.fields import FieldInfo
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import BaseRoute

from bearinmind import codec
from bearinmind.app import Mind
from bearinmind.errors import InvalidInput, InvalidRequest, WrongMediaType
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.http import openapi, responses
from bearinmind.surfaces.http.auth import Service
from bearinmind.surfaces.http.middleware import body_of
from bearinmind.surfaces.http.responses import JSON
from bearinmind.surfaces.verbs.sync_verbs import SERVED
from bearinmind.surfaces.verbs.verb import GetAnswer, Verb
from bearinmind.surfaces.verbs.verb import Request as VerbRequest
from bearinmind.types import Access, AlreadyKnown, Memory, Stored

ROOT = "/api/v1"

_IN_PATH = re.compile(r"{(\w+)}")
_NO_BODY = frozenset({"GET", "DELETE"})
_WITH_SLASHES = {"{tag}": "{tag:path}"}  # what follows a tag in a path tells where it ends
_IF_NONE_MATCH = "if_none_match"
_HEADER_TEXT = {
    "Idempotency-Key": "Any text of your own. Sent again with the same memory, it is stored once.",
    "If-Match": "The ETag of the memory: it is changed only if it is still that version.",
    "If-None-Match": "The ETag of the memory, if you have it: unchanged, it is not sent again.",
}
_TAG = {"pattern": r'^"[1-9][0-9]{0,8}(-[0-9a-f]{16})?"$'}


@cache  # making them takes a fifth of a second, and they hold nothing of a server
def of_verbs() -> tuple[BaseRoute, ...]:
    """The routes of all verbs. The service that answers is in the state of the application."""
    return tuple(map(_route, map(Parts, SERVED)))


def _route(parts: Parts) -> BaseRoute:
    verb, path = parts.verb, parts.verb.path
    for plain, with_slashes in _WITH_SLASHES.items():
        path = path.replace(plain, with_slashes)
    return VerbRoute(
        ROOT + path,
        _endpoint(parts),
        methods=[verb.method],
        response_model=codec.annotation(verb.answer),
        **openapi.of_verb(verb, has_body=parts.has_body),
    )


@dataclass(frozen=True)
class Parts:
    """Where the fields of a verb's request stand in a request of HTTP."""

    verb: Verb

    @cached_property
    def in_path(self) -> tuple[str, ...]:
        """The fields that the path names."""
        return tuple(_IN_PATH.findall(self.verb.path))

    @cached_property
    def elsewhere(self) -> dict[str, FieldInfo]:
        """The fields that come in the body or the query."""
        apart = {*self.in_path, *self.verb.headers.values()}
        fields = self.verb.request.model_fields
        return {name: info for name, info in fields.items() if name not in apart}

    @property
    def has_body(self) -> bool:
        """Whether a request of this verb may have a body."""
        return self.verb.method not in _NO_BODY and bool(self.elsewhere)

    @cached_property
    def model(self) -> type[VerbRequest]:
        """The model of the body or the query."""
        request = self.verb.request
        if len(self.elsewhere) == len(request.model_fields):
            return request
        fields: dict[str, Any] = {n: (info.annotation, info) for n, info in self.elsewhere.items()}
        name = f"{request.__name__.removesuffix('Request')}Body"
        return create_model(name, __base__=VerbRequest, __doc__=request.__doc__, **fields)

    def parameters(self) -> list[inspect.Parameter]:
        """The parameters of an endpoint, as FastAPI reads them."""
        hints = get_type_hints(self.verb.request, include_extras=True)
        known = {name: Annotated[hints[name], Path()] for name in self.in_path}
        for header, name in self.verb.headers.items():
            hint = str | None if header == "If-Match" else hints[name]
            known[name] = Annotated[hint, _header(header)]
        if self.verb.answer is GetAnswer:
            known[_IF_NONE_MATCH] = Annotated[str | None, _header("If-None-Match")]
        if self.has_body:
            shown: Any = {"example": {"value": self.verb.example}} if self.verb.example else None
            # A body is parsed later, when its sender was let in.
            later = PlainValidator(lambda body: body, json_schema_input_type=self.model)
            known["rest"] = Annotated[self.model, later, Body(openapi_examples=shown)]
        elif self.elsewhere:
            known["rest"] = Annotated[self.model, Query()]
        defaults: dict[str, Any] = dict.fromkeys([*self.verb.headers.values(), _IF_NONE_MATCH])
        if self.has_body and not any(info.is_required() for info in self.elsewhere.values()):
            defaults["rest"] = self.model()
        return [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                annotation=hint,
                default=defaults.get(name, inspect.Parameter.empty),
            )
            for name, hint in {"http": Request, **known}.items()
        ]

    def check_query(self, request: Request) -> None:
        """Refuse parameters of the query that mean nothing, or are given twice."""
        for name in request.query_params:
            if self.has_body or name not in self.elsewhere:
                raise InvalidRequest(
                    f"{name!r} is no parameter of {self.verb.method} {self.verb.path}",
                    hint="The description at /docs names what it takes, and where.",
                )
            given = len(request.query_params.getlist(name))
            if given > 1 and get_origin(self.elsewhere[name].annotation) is not list:
                raise InvalidRequest(f"{name!r} is given {given} times", hint="Give it once.")


def _header(name: str) -> Any:  # noqa: ANN401  as FastAPI types it
    extra = _TAG if name == "If-Match" else None
    return Header(alias=name, description=_HEADER_TEXT[name], json_schema_extra=extra)


class _ReceivedRequest(Request):
    """A request whose body was received; FastAPI hands it on as bytes."""

    content = b""

    async def body(self) -> bytes:
        """The body; an empty one says nothing."""
        return self.content or b"{}"

    async def json(self) -> bytes:
        """The body, to be parsed by the model of the verb."""
        return await self.body()


class VerbRoute(APIRoute):
    """A route that receives a body within its limits, and lets a sender in before it complains."""

    def get_route_handler(self) -> Callable[[Request], Awaitable[Response]]:  # type: ignore[override]
        """What answers a request."""
        answer = super().get_route_handler()
        endpoint: Any = self.endpoint
        parts: Parts = endpoint.parts

        async def handler(request: Request) -> Response:
            service: Service = request.app.state.service
            settings = service.settings
            request = _ReceivedRequest(request.scope, request.receive)
            request.content = await body_of(
                request, most=settings.request_bytes, seconds=settings.request_seconds
            )
            try:
                parts.check_query(request)
                if request.content and parts.has_body:
                    check_media(request.headers, JSON, "Send JSON")
                return await answer(request)
            except (RequestValidationError, InvalidInput):
                if not hasattr(request.state, "caller"):  # it came to no verb, which lets them in
                    let_in = partial(service.admit, request, parts.verb.access)
                    await service.pool.run(let_in)
                raise

        return handler


def check_media(headers: Mapping[str, str], wanted: str, hint: str) -> None:
    """Make sure that a body is declared to be of the kind that is wanted."""
    declared = headers.get("content-type", "").partition(";")[0].strip()
    if declared.casefold() != wanted:
        raise WrongMediaType(
            f"the body is said to be {masked(declared)[:60] or 'of no kind'!r}, not {wanted}",
            hint=f"{hint}, with `Content-Type: {wanted}`.",
        )


def _endpoint(parts: Parts) -> Callable[..., Awaitable[Response]]:
    async def endpoint(http: Request, **values: Any) -> Response:  # noqa: ANN401  as FastAPI read them
        service: Service = http.app.state.service
        return await service.pool.run(partial(_answer, service, parts, http, values))

    endpoint.__signature__ = inspect.Signature(parts.parameters())  # type: ignore[attr-defined]
    endpoint.parts = parts  # type: ignore[attr-defined]
    return endpoint


def _answer(service: Service, parts: Parts, http: Request, values: dict[str, Any]) -> Response:
    """Have a verb answer its request; on a thread."""
    verb = parts.verb
    mind = service.admit(http, verb.access)
    known_tag = values.pop(_IF_NONE_MATCH, None)
    request = _request(parts, mind, values)
    if verb.access is Access.WRITE and request.writes > 1:  # being let in counted for one
        service.authenticator.count_all(http.state.caller, request.writes)
    answer = verb.run(mind, request)
    service.looked_at(http.state.caller, answer)
    return _response(verb, answer, known_tag)


def _request(parts: Parts, mind: Mind, values: dict[str, Any]) -> VerbRequest:
    """The request of a verb from the parts that FastAPI read."""
    rest = values.pop("rest", None)
    if isinstance(rest, bytes):  # strict JSON: there words of a vocabulary and times are texts
        try:
            rest = parts.model.model_validate_json(rest, strict=True)
        except ValidationError as exc:
            raise responses.invalid_fields(exc) from None
    fields = {name: getattr(rest, name) for name in rest.model_fields_set} if rest else {}
    fields |= {name: value for name, value in values.items() if value is not None}
    if "If-Match" in parts.verb.headers and "expected_version" in fields:
        fields["expected_version"] = responses.expected_version(
            fields["expected_version"], lambda: mind.get(values["id"]).version
        )
    return parts.verb.request.model_construct(**fields)


def _response(verb: Verb, answer: object, known_tag: str | None) -> Response:
    content = codec.to_json(answer, verb.answer)
    headers: dict[str, str] = {}
    status = verb.status
    if isinstance(answer, GetAnswer):
        tag = responses.answer_tag(answer.memory.version, content)
        headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
        if responses.is_known(known_tag, tag):
            return Response(status_code=HTTPStatus.NOT_MODIFIED, headers=headers)
    elif isinstance(answer, Memory):
        headers = {"ETag": responses.version_tag(answer.version)}
    elif isinstance(answer, Stored | AlreadyKnown):
        headers = {
            "ETag": responses.version_tag(answer.memory.version),
            "Location": f"{ROOT}/memories/{answer.memory.id}",
        }
        status = HTTPStatus.OK if isinstance(answer, AlreadyKnown) else status
    return Response(content, status, headers, JSON)
