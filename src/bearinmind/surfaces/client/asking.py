"""How a verb is asked of a server: the request goes out, the answer comes back, or an error."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import ValidationError

from bearinmind import errors
from bearinmind.surfaces.client.calling import Steps, call_of
from bearinmind.surfaces.client.problems import unreadable
from bearinmind.surfaces.client.server import Server
from bearinmind.surfaces.client.trying import Settled, trying
from bearinmind.surfaces.verbs.admin_table import EVERY_VERB
from bearinmind.surfaces.verbs.answers import Answer
from bearinmind.surfaces.verbs.requests import Request, StoreRequest
from bearinmind.surfaces.verbs.table import Verb

Said = TypeVar("Said", bound=Answer)
Asked = TypeVar("Asked", bound=Request)
Made = TypeVar("Made")

BY_NAME = {verb.name: verb for verb in EVERY_VERB}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asking:
    """Asks a server."""

    server: Server
    clock: Callable[[], float]  #: seconds, from any beginning
    new_key: Callable[[], str] = lambda: uuid.uuid4().hex  #: names a store that is to be done once

    def ask(self, verb: Verb, request: Request) -> Steps[Answer]:
        """What a server answers to the request of a verb."""
        if isinstance(request, StoreRequest) and request.idempotency_key is None:
            request = request.model_copy(update={"idempotency_key": self.new_key()})
        settled = yield from self.settle(verb, request)
        return self.read(settled, verb.answer)

    def answer(
        self, name: str, asked: type[Request], answer: type[Said], said: Mapping[str, Any]
    ) -> Steps[Said]:
        """What a server answers to this, or the error that it tells."""
        settled = yield from self.settle(BY_NAME[name], request(asked, said))
        return self.read(settled, answer)

    def settle(self, verb: Verb, request: Request) -> Steps[Settled]:
        """How a request of a verb ended."""
        return trying(call_of(verb, request), self.server, self.clock)

    def read(self, settled: Settled, answer: type[Said]) -> Said:
        """The answer in which it ended, or the error."""
        if settled.error is not None:
            raise settled.error
        # What a newer server says besides is of no use here, and does no harm.
        return self.made(lambda: answer.model_validate_json(settled.content, extra="ignore"))

    def made(self, make: Callable[[], Made]) -> Made:
        """What is made of an answer.

        Raises:
            InvalidAnswer: nothing can be.
        """
        try:
            return make()
        except ValidationError as exc:
            [problem, *_] = exc.errors(include_url=False, include_context=False)
            where = ".".join(map(str, problem["loc"])) or "the whole"
            told = f"{where}: {problem['msg']}"
        except (KeyError, TypeError, ValueError) as exc:
            told = f"{type(exc).__name__}: {exc}"
        raise unreadable(self.server, f"answered something else than it should: {told}")


def request(kind: type[Asked], said: Mapping[str, Any]) -> Asked:
    """What is asked.

    Raises:
        InvalidRequest: it cannot be; a value is never quoted, for it may be secret.
    """
    try:
        return kind.model_validate({k: value for k, value in said.items() if value is not None})
    except ValidationError as exc:
        found = exc.errors(include_url=False, include_context=False, include_input=False)
        told = [f"{'.'.join(map(str, each['loc']))}: {each['msg']}" for each in found]
        raise errors.InvalidRequest("; ".join(told)) from None
