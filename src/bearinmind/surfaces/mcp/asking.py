"""How verbs are asked from the protocol: in threads, for whoever sends the request."""

from __future__ import annotations

import uuid
from collections.abc import Callable
from typing import Any, Protocol

import pydantic_core
from mcp.server import ServerRequestContext
from pydantic import ValidationError

from bearinmind.surfaces.http.limits import Pool
from bearinmind.surfaces.http.problems import invalid_fields
from bearinmind.surfaces.verbs.answers import Answer
from bearinmind.surfaces.verbs.requests import Request, StoreRequest
from bearinmind.surfaces.verbs.table import BY_NAME, Verb

Context = ServerRequestContext[Any, Any]
#: Has a verb answered, here and now; whoever calls it waits.
Ask = Callable[[Verb, Request], Answer]

_HINT = "The schema of the tool says what it takes; docs/reference/mcp.md has every field."


class Asking(Protocol):
    """Has verbs answered for whoever sends a request of the protocol."""

    async def __call__(self, context: Context, verb: Verb, request: Request) -> Answer:
        """The answer of a verb.

        Raises:
            MindError: it could not be done, or may not be.
        """


class ForOne:
    """Asks for the one user of a connection."""

    def __init__(self, pool: Pool, ask: Ask) -> None:
        self._pool = pool
        self._ask = ask

    async def __call__(self, context: Context, verb: Verb, request: Request) -> Answer:  # noqa: ARG002  whoever it is
        """The answer of a verb."""
        return await self._pool.run(lambda: self._ask(verb, request))


def read(verb: Verb, arguments: dict[str, Any]) -> Request:
    """What is asked of a verb; a number may come as text, as models write it.

    Raises:
        InvalidRequest: an argument is missing, unknown or of the wrong kind.
    """
    try:
        return verb.request.model_validate_json(pydantic_core.to_json(arguments))
    except ValidationError as exc:
        error = invalid_fields(exc)
        error.hint = _HINT
        raise error from None


def sent_once(request: Request) -> Request:
    """A request that may be sent to a server more than once, and is still done once."""
    if isinstance(request, StoreRequest) and request.idempotency_key is None:
        return request.model_copy(update={"idempotency_key": uuid.uuid4().hex})
    return request


def request(name: str, **fields: Any) -> tuple[Verb, Request]:  # noqa: ANN401  by the verb's own model
    """A verb by its name, and what is asked of it."""
    verb = BY_NAME[name]
    return verb, verb.request.model_validate(fields)
