"""What is sent to a server, and what comes back: values alone, and no way of sending them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeVar
from urllib.parse import quote

from bearinmind.errors import InvalidRequest
from bearinmind.surfaces.verbs.requests import Request
from bearinmind.surfaces.verbs.table import Verb
from bearinmind.types import Access

_API = "/api/v1"
_FIELD = re.compile(r"\{(\w+)\}")  # of the request, named in a path
_IN_THE_QUERY = ("GET", "DELETE")  # these have no body
_REPEATABLE = ("GET", "PUT", "DELETE")  # so are questions too long for a GET
#: How the values of headers are written. With any of them a call may be repeated: the server
#: knows a store by its key, and does not change a version that is not the expected one.
_HEADERS: Mapping[str, Callable[[object], str]] = {
    "Idempotency-Key": str,
    "If-Match": lambda version: f'"{version}"',
}

Fields = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A request of HTTP, but for where it goes and who asks."""

    method: str
    path: str
    query: Fields = ()
    body: bytes | None = field(default=None, repr=False)  # it may hold a secret
    headers: Mapping[str, str] = field(default_factory=dict)
    repeatable: bool  #: to do it twice changes no more than to do it once


class Send(NamedTuple):
    """Send this, and wait so many seconds for its answer."""

    call: Call
    seconds: float


class Pause(NamedTuple):
    """Wait before going on."""

    seconds: float


class Answered(NamedTuple):
    """What a server answered."""

    status: int
    headers: Mapping[str, str]
    content: bytes


class Lost(NamedTuple):
    """That no answer came, or none that is whole."""

    problem: str  #: "does not answer in time", "cannot be reached: …"
    sent: bool  #: whether the server may have got the request


class Paused(NamedTuple):
    """That a pause is over."""


Reply = Answered | Lost
Result = TypeVar("Result")
#: Says step by step what to do, gets what came of each step, and gives the result in the end.
Steps = Generator[Send | Pause, Reply | Paused, Result]


def send(call: Call, seconds: float) -> Steps[Reply]:
    """What comes of sending a call."""
    reply = yield Send(call, seconds)
    if isinstance(reply, Paused):
        raise TypeError("a call was sent, and a pause came of it")
    return reply


def call_of(verb: Verb, request: Request) -> Call:
    """The call that asks this of a server.

    Raises:
        InvalidRequest: it holds a number that cannot be sent.
    """
    said = request.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    path = _FIELD.sub(lambda named: _encoded(str(said.pop(named[1]))), verb.path)
    headers = {
        header: _HEADERS[header](said.pop(field))
        for header, field in verb.headers.items()
        if field in said
    }
    in_query = verb.method in _IN_THE_QUERY
    body = _json(said) if said and not in_query else None
    return Call(
        method=verb.method,
        path=_API + path,
        query=_query(said) if in_query else (),
        body=body,
        headers=headers if body is None else headers | {"Content-Type": "application/json"},
        repeatable=verb.access is Access.READ or verb.method in _REPEATABLE or bool(headers),
    )


def _encoded(text: str) -> str:
    """A part of a path; dots alone would lead to another place."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def _query(said: Mapping[str, object]) -> Fields:
    """The fields of a query; a list is its name with each of its values."""
    return tuple(
        (name, _text(each))
        for name, value in said.items()
        for each in (value if isinstance(value, list) else [value])
    )


def _text(value: object) -> str:
    return json.dumps(value) if isinstance(value, bool) else str(value)


def _json(said: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(said, allow_nan=False).encode()
    except ValueError:
        numbers = [name for name, value in said.items() if isinstance(value, float)]
        raise InvalidRequest(
            f"{' or '.join(numbers)} is no finite number, and cannot be sent",
            hint="Give a finite number.",
        ) from None
