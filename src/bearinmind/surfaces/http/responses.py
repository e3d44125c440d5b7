"""How the server answers: JSON, problem documents (RFC 9457), and entity tags (RFC 9110, 13).

A tag is the version of a memory, and for a whole memory also a digest of the answer: its links
change without a new version. A condition on a change looks at the version alone.
"""

from __future__ import annotations

import hashlib
import inspect
import math
import re
from collections.abc import Callable, Mapping, Sequence
from http import HTTPStatus
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from starlette.responses import Response

from bearinmind import codec, errors
from bearinmind.errors.flaws import number_alone, wrong
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.failures import InternalError, meaning_of

JSON = "application/json"
PROBLEM = "application/problem+json"
ANY = "*"  #: matches every version

_MOST_FIELDS = 20  # that a problem names of one request
_TAG = re.compile(r'\s*(W/)?"([^"]*)"\s*(?:,|$)')
_VERSION = re.compile(r"([1-9]\d{0,9})(?:-[0-9a-f]{16})?")


def noun_answer(noun: object) -> Response:
    """A noun as an answer."""
    return Response(codec.to_json(noun), media_type=JSON)


# ---- problems ------------------------------------------------------------------------------------


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


def invalid_fields(error: ValidationError) -> errors.InvalidRequest | errors.UnreadableRequest:
    """What a model says is wrong with a request."""
    flaws = error.errors(include_url=False)
    if flaws[0]["type"] == "json_invalid":
        return errors.UnreadableRequest(f"the body is not JSON: {flaws[0]['msg']}")
    return invalid_request(flaws)


def invalid_request(flaws: Sequence[Mapping[str, Any]]) -> errors.InvalidRequest:
    """The error that names the fields of a request that are wrong: each with kind and message.

    Of their values it repeats numbers alone: a text may be secret.
    """
    fields = [
        (
            masked(".".join(map(str, each["loc"]))) or "(the whole)",
            each["type"],
            wrong(each, number_alone(each["input"])),
        )
        for each in flaws[:_MOST_FIELDS]
    ]
    invalid = errors.InvalidRequest("; ".join(f"{name}: {message}" for name, _, message in fields))
    invalid.fields = fields
    return invalid


def problem_of(error: errors.MindError, request_id: str) -> Problem:
    """An error as it is told; some messages quote what they refuse, so secrets are masked."""
    fields = error.fields if isinstance(error, errors.InvalidInput) else ()
    return Problem(
        type=f"urn:bearinmind:{error.code}",
        title=inspect.cleandoc(type(error).__doc__ or ""),
        status=meaning_of(error).status,
        detail=masked(error.message),
        code=error.code,
        hint=error.hint,
        fields=[
            FieldProblem(field=name, kind=kind, message=masked(said)) for name, kind, said in fields
        ],
        request_id=request_id,
    )


def problem(
    error: errors.MindError, request_id: str, headers: Mapping[str, str] | None = None
) -> Response:
    """The response that tells an error."""
    document = problem_of(error, request_id)
    return Response(
        document.model_dump_json(),
        status_code=document.status,
        media_type=PROBLEM,
        headers={**(headers or {}), **_retry_after(error)},
    )


def fault() -> InternalError:
    """That a request found a fault of the server; the log says which."""
    hint = "This is a bug: please report it, with what the log of the server says of the request."
    return InternalError("the server did something that it was not meant to do", hint=hint)


def _retry_after(error: errors.MindError) -> dict[str, str]:
    """When to come back, where that is known: in whole seconds, at least one."""
    if isinstance(error, errors.Later | errors.ServerOverloaded):
        return {"Retry-After": str(max(1, math.ceil(error.retry_after)))}
    if meaning_of(error).status == HTTPStatus.SERVICE_UNAVAILABLE:
        return {"Retry-After": "1"}
    return {}


# ---- entity tags ---------------------------------------------------------------------------------


def version_tag(version: int) -> str:
    """The tag of a memory."""
    return f'"{version}"'


def answer_tag(version: int, answer: bytes) -> str:
    """The tag of an answer about a memory, which may change while its version does not."""
    return f'"{version}-{hashlib.sha256(answer).hexdigest()[:16]}"'


def is_known(header: str | None, tag: str) -> bool:
    """Whether an If-None-Match header names what would be answered."""
    if header is None:
        return False
    wanted = tag.strip('"')
    return header.strip() == ANY or any(found[2] == wanted for found in _TAG.finditer(header))


def expected_version(header: str, present: Callable[[], int]) -> int | None:
    """The version that an If-Match header wants to find; None when any will do."""
    if header.strip() == ANY:
        return None
    versions = [
        int(version[1])
        for found in _TAG.finditer(header)
        if not found[1] and (version := _VERSION.fullmatch(found[2]))
    ]
    if not versions:
        raise errors.VersionConflict(
            f"If-Match {header[:40]!r} names no version of a memory",
            hint='Send the ETag of the memory as it is, such as "3".',
        )
    if len(versions) > 1:
        now = present()
        return now if now in versions else versions[0]
    return versions[0]
