"""From the row of a verb to the HTTP call that asks for it, and from the answer to its noun.

A verb is written once, as steps. `Blocking` takes the steps on the thread of its caller, `Awaiting`
on an event loop.
"""

from __future__ import annotations

import asyncio
import functools
import inspect
import json
import re
import uuid
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass
from types import MethodType
from typing import Any, ClassVar, Concatenate, Generic, ParamSpec, TypeVar, overload
from urllib.parse import quote

import httpx
from pydantic import ValidationError

from bearinmind import codec
from bearinmind.errors import InvalidJson, InvalidRequest
from bearinmind.errors.flaws import number_alone, wrong
from bearinmind.models import server_calls
from bearinmind.models.server_calls import (
    API,
    JSON,
    Call,
    Pause,
    Paused,
    Reply,
    Send,
    Server,
    Settled,
    Steps,
    trying,
)
from bearinmind.surfaces.verbs.requests import StoreManyRequest, StoreRequest
from bearinmind.surfaces.verbs.table import BY_NAME
from bearinmind.surfaces.verbs.verb import Request, Verb
from bearinmind.types import Access

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Way = TypeVar("Way")  #: `Blocking` or `Awaiting`
Checks = Mapping[str, Callable[[Any], object]]  #: by argument: what is sent of a value, or an error

_FIELD = re.compile(r"\{(\w+)\}")  # of the request, named in a path
_IN_THE_QUERY = ("GET", "DELETE")  # these have no body
_REPEATABLE = ("GET", "PUT", "DELETE")  # so are questions too long for a GET
#: How the values of headers are written. With any of them a call may be repeated: the server
#: knows a store by its key, and does not change a version that is not the expected one.
_HEADERS: Mapping[str, Callable[[object], str]] = {
    "Idempotency-Key": str,
    "If-Match": lambda version: f'"{version}"',
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Requests:
    """Asks a server for verbs."""

    server: Server
    clock: Callable[[], float]  #: seconds, from any beginning
    new_key: Callable[[], str] = lambda: uuid.uuid4().hex  #: names a store that is to be done once

    def ask(self, verb: Verb, request: Request) -> Steps[Any]:
        """The answer of a server to the request of a verb, as the row of the verb has it."""
        if isinstance(request, StoreRequest | StoreManyRequest) and not request.idempotency_key:
            request = request.model_copy(update={"idempotency_key": self.new_key()})
        settled = yield from self.settle(verb, request)
        return self.read(settled, verb)

    def answer(self, name: str, /, **fields: object) -> Steps[Any]:
        """The answer to a verb with these fields; those that are None are left out."""
        verb = BY_NAME[name]
        return self.ask(verb, request_of(verb, fields))

    def part(self, part: str, name: str, /, **fields: object) -> Steps[Any]:
        """One field of the answer to a verb."""
        return getattr((yield from self.answer(name, **fields)), part)

    def settle(self, verb: Verb, request: Request) -> Steps[Settled]:
        """How a request of a verb ended."""
        return trying(call_of(verb, request), self.server, self.clock)

    def read(self, settled: Settled, verb: Verb) -> Any:  # noqa: ANN401  the noun of the verb
        """The noun in the answer of a server."""
        if settled.error is not None:
            raise settled.error
        try:
            return codec.from_json(verb.answer, settled.content)
        except InvalidJson as exc:
            problem = f"answered something else than it should: {exc.message}"
            raise self.server.unreadable(problem) from None


class Blocking:
    """Takes the steps of a verb and waits for its answer."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.http = httpx.Client(**server.http_options())

    def run(self, begin: Callable[[], Steps[Result]]) -> Result:
        """The result of the steps."""
        return server_calls.run(begin(), self.http, self._server)


class Awaiting:
    """Takes the steps of a verb without blocking the event loop."""

    def __init__(self, server: Server) -> None:
        self._server = server
        self.http = httpx.AsyncClient(**server.http_options())

    async def run(self, begin: Callable[[], Steps[Result]]) -> Result:
        """The result of the steps."""
        steps = begin()
        try:
            step = next(steps)
            while True:
                step = steps.send(await self._take(step))
        except StopIteration as done:
            result: Result = done.value
            return result

    async def _take(self, step: Send | Pause) -> Reply | Paused:
        if isinstance(step, Pause):
            await asyncio.sleep(step.seconds)
            return Paused()
        incoming = server_calls.Incoming(step.seconds)
        arguments = server_calls.stream_arguments(step, self._server)
        try:
            async with self.http.stream(**arguments) as response:
                async for piece in response.aiter_bytes():
                    if not incoming.add(piece):
                        break
        except httpx.HTTPError as exc:
            return server_calls.lost(exc)
        return incoming.answered(response)


class Group(Generic[Way]):
    """Verbs of a server, and the way in which their steps are taken."""

    row: ClassVar[str] = ""  #: how the names of the rows of these verbs begin
    checks: ClassVar[Checks] = {}

    def __init__(self, calls: Requests, runner: Way) -> None:
        self._calls = calls
        self._runner = runner


class verb(Generic[Arguments, Result]):  # noqa: N801  a decorator
    """Makes of the steps of a verb a method that waits for its answer, or one that is awaited."""

    def __init__(self, steps: Callable[Concatenate[Any, Arguments], Steps[Result]]) -> None:
        @functools.wraps(steps)
        def method(group: Any, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Any:  # noqa: ANN401  see `__get__`
            return group._runner.run(functools.partial(steps, group, *args, **kwargs))  # noqa: SLF001

        self._method = method

    @overload
    def __get__(self, group: None, owner: object) -> Callable[Concatenate[Any, Arguments], Any]: ...

    @overload
    def __get__(self, group: Group[Blocking], owner: object) -> Callable[Arguments, Result]: ...

    @overload
    def __get__(
        self, group: Group[Awaiting], owner: object
    ) -> Callable[Arguments, Coroutine[Any, Any, Result]]: ...

    def __get__(self, group: object, owner: object) -> Any:
        return self._method if group is None else MethodType(self._method, group)


class same_as(verb[Arguments, Result]):  # noqa: N801  made as by a decorator
    """A verb that is called as a method of `Mind` or of its group is, and answers the same.

    `read` makes that of the answer of the server, where this holds more; `row` is the name of the
    verb that is sent, where it is another.
    """

    def __init__(
        self,
        method: Callable[Concatenate[Any, Arguments], Result],
        read: Callable[[Any], Any] = lambda answer: answer,
        row: str = "",
    ) -> None:
        signature = inspect.signature(method)
        [*_, last] = signature.parameters.values()

        @functools.wraps(method)
        def steps(
            group: Group[Any], /, *args: Arguments.args, **kwargs: Arguments.kwargs
        ) -> Steps[Result]:
            bound = signature.bind(group, *args, **kwargs)
            bound.apply_defaults()
            given = dict([*bound.arguments.items()][1:])
            if last.kind is last.VAR_KEYWORD:
                given |= given.pop(last.name)
            answer = yield from group._calls.answer(  # noqa: SLF001
                group.row + (row or method.__name__), **checked(given, group.checks)
            )
            result: Result = read(answer)
            return result

        super().__init__(steps)


def checked(fields: Mapping[str, Any], checks: Checks) -> dict[str, Any]:
    """The fields that were given, as they are sent; words are checked as `Mind` checks them."""
    given = {name: value for name, value in fields.items() if value is not None}
    return {name: checks[name](x) if name in checks else x for name, x in given.items()}


def request_of(verb: Verb, fields: Mapping[str, object]) -> Any:  # noqa: ANN401  the verb's request
    """The request of a verb; fields that are None are left out.

    An error quotes no value of a field but a number: a text may be secret.
    """
    given = {name: value for name, value in fields.items() if value is not None}
    try:
        return verb.request.model_validate(given)
    except ValidationError as exc:
        texts = [
            f"{'.'.join(map(str, each['loc']))}: {wrong(each, number_alone(each['input']))}"
            for each in exc.errors(include_url=False)
        ]
        raise InvalidRequest("; ".join(texts)) from None


def call_of(verb: Verb, request: Request) -> Call:
    """The call that asks this of a server."""
    fields = request.model_dump(mode="json", exclude_unset=True, exclude_none=True)
    path = _FIELD.sub(lambda named: _encoded(str(fields.pop(named[1]))), verb.path)
    headers = {
        header: _HEADERS[header](fields.pop(field))
        for header, field in verb.headers.items()
        if field in fields
    }
    in_query = verb.method in _IN_THE_QUERY
    body = _json(fields) if fields and not in_query else None
    return Call(
        method=verb.method,
        path=API + path,
        query=_query(fields) if in_query else (),
        body=body,
        headers=headers | JSON if body is not None or verb.method == "POST" else headers,
        repeatable=verb.access is Access.READ or verb.method in _REPEATABLE or bool(headers),
    )


def _encoded(text: str) -> str:
    """A part of a path; dots alone would lead to another place."""
    return quote(text, safe="") if text.strip(".") else text.replace(".", "%2E")


def _query(fields: Mapping[str, object]) -> tuple[tuple[str, str], ...]:
    """The fields of a query; a list is its name with each of its values."""
    return tuple(
        (name, json.dumps(each) if isinstance(each, bool) else str(each))
        for name, value in fields.items()
        for each in (value if isinstance(value, list) else [value])
    )


def _json(fields: Mapping[str, object]) -> bytes:
    try:
        return json.dumps(fields, allow_nan=False).encode()
    except ValueError:
        numbers = [name for name, value in fields.items() if isinstance(value, float)]
        raise InvalidRequest(
            f"{' or '.join(numbers)} is no finite number, and cannot be sent",
            hint="Give a finite number.",
        ) from None
