"""Errors as problem documents (RFC 9457): one shape for whatever goes wrong on the server."""

from __future__ import annotations

import inspect
import math
from collections.abc import Mapping
from http import HTTPStatus

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from bearinmind.errors import InvalidRequest, Later, MindError, ServerOverloaded
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.failures import InternalError, meaning_of

MEDIA_TYPE = "application/problem+json"

_MOST_FIELDS = 20  # that are told of one request


class FieldProblem(BaseModel):
    """What is wrong with one field of a request."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    field: str = Field(description="Its name; a list's entries are counted from 0.")
    kind: str = Field(description="What is wrong, for machines.")
    message: str


class Problem(BaseModel):
    """Why a request could not be answered."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    type: str = Field(
        description="Names the kind of problem; equal to `urn:bearinmind:` and `code`."
    )
    title: str = Field(description="The kind of problem, in a sentence.")
    status: int
    detail: str = Field(description="What was wrong this time.")
    code: str = Field(description="The kind of problem, for machines; it never changes.")
    hint: str = Field(description="What to do next.")
    fields: list[FieldProblem] = Field(description="By field, where the request was not valid.")
    request_id: str = Field(description="By which the log of the server knows the request.")


def invalid_fields(error: ValidationError) -> InvalidRequest:
    """What a model says is wrong with a request; never the values, which may be secret."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    fields = [
        (masked(".".join(map(str, each["loc"]))) or "(the whole)", each["type"], each["msg"])
        for each in found[:_MOST_FIELDS]
    ]
    said = "; ".join(f"{name}: {message}" for name, _, message in fields)
    invalid = InvalidRequest(said)
    invalid.fields = fields
    return invalid


def problem_of(error: MindError, request_id: str) -> Problem:
    """An error as it is told; some messages quote what they refuse, so secrets are masked."""
    fields = error.fields if isinstance(error, InvalidRequest) else ()
    return Problem(
        type=f"urn:bearinmind:{error.code}",
        title=inspect.cleandoc(type(error).__doc__ or ""),
        status=meaning_of(error).status,
        detail=masked(error.message),
        code=error.code,
        hint=error.hint,
        fields=[FieldProblem(field=f, kind=kind, message=said) for f, kind, said in fields],
        request_id=request_id,
    )


def answer(error: MindError, request_id: str, headers: Mapping[str, str] | None = None) -> Response:
    """The response that tells an error."""
    told = problem_of(error, request_id)
    return Response(
        told.model_dump_json(),
        status_code=told.status,
        media_type=MEDIA_TYPE,
        headers={**(headers or {}), **_retry_after(error)},
    )


def internal(request_id: str) -> Response:
    """The response to a request that found a fault of the server; the log says which."""
    return answer(_fault(), request_id)


def internal_problem(request_id: str) -> Problem:
    """The same, for an answer that has begun already."""
    return problem_of(_fault(), request_id)


def _fault() -> InternalError:
    hint = "This is a bug: please report it, with what the log of the server says of the request."
    return InternalError("the server did something that it was not meant to do", hint=hint)


def _retry_after(error: MindError) -> dict[str, str]:
    """When to come back, where that is known: in whole seconds, at least one."""
    if isinstance(error, Later | ServerOverloaded):
        return {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
    if meaning_of(error).status == HTTPStatus.SERVICE_UNAVAILABLE:
        return {"Retry-After": "1"}
    return {}
