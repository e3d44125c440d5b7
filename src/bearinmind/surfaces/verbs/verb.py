"""A verb: one thing that can be asked of a memory, and what each surface makes of it.

Every request of `requests` is a `Request`; an answer of `answers` may be a `MadeOfResult`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from functools import cached_property, partial
from http import HTTPStatus
from operator import attrgetter
from typing import Any, ClassVar, Self, cast, get_type_hints

from pydantic import BaseModel, ConfigDict

from bearinmind.app import Mind
from bearinmind.trace import StepKind, step
from bearinmind.types import Access


class Request(BaseModel):
    """The request of a verb."""

    model_config = ConfigDict(frozen=True, extra="forbid")
    #: By field that the method of `Mind` names otherwise: its name there, "" where it has none.
    called: ClassVar[Mapping[str, str]] = {}

    @property
    def writes(self) -> int:
        """How many writes of a key it counts for, if its verb writes."""
        return 1

    def given(self, *leave_out: str) -> dict[str, Any]:
        """The fields that were given; the others take the default of `Mind`."""
        return self.model_dump(exclude_unset=True, exclude_none=True, exclude={*leave_out})

    @property
    def arguments(self) -> dict[str, Any]:
        """What the method of `Mind` is called with."""
        named = {self.called.get(field, field): value for field, value in self.given().items()}
        return {name: value for name, value in named.items() if name}


class Nothing(Request):
    """A request without fields."""


@dataclass(frozen=True, slots=True)
class MadeOfResult:
    """An answer that is made of what the method of `Mind` returns."""

    @classmethod
    def of(cls, _mind: Mind, result: Any, _request: Any, /) -> Self:  # noqa: ANN401  what the method returns
        """The answer; one of a single field holds the whole result."""
        [only] = fields(cls)
        return cls(**{only.name: tuple(result)})


@dataclass(frozen=True, slots=True, kw_only=True)
class Tool:
    """A verb as a model sees it. Every word costs tokens in every conversation."""

    says: str  #: when to use it
    name: str = ""  #: where it is not named as the verb is: `memory_get`, `graph_path`
    #: The fields of the request that a model is shown, each with a word if need be. It may send
    #: the others too.
    fields: Mapping[str, str] = field(default_factory=dict)
    destructive: bool = False  #: takes something away
    idempotent: bool = True  #: twice is the same as once
    extra: bool = False  #: offered only with the setting `mcp_tools` at all


@dataclass(frozen=True, kw_only=True)
class Verb:
    """Something that can be asked of a memory, on every surface."""

    name: str  #: of the method of `Mind` and of the clients, with its group: "accounts.add_user"
    says: str  #: what it does, in one line
    access: Access
    method: str  #: of HTTP
    path: str  #: under /api/v1; the fields of the request that it names are taken from it
    command: str = ""  #: of the command line, where it is not named as the verb is
    takes: type[Request] = Nothing  #: what the method of `Mind` is called with, field by field
    gives: Any = None  #: what that method returns, or an answer that is made of it
    function: Callable[[Mind, Any], Any] | None = None  #: in place of both
    tool_text: Tool | None = None  #: None where an agent has no use for it
    example: Mapping[str, Any] | None = None  #: of a body
    status: HTTPStatus = HTTPStatus.OK
    #: By header of HTTP: the field of the request that is taken from it.
    headers: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        object.__setattr__(self, "command", self.command or self.name.replace(".", " "))

    @property
    def operation(self) -> str:
        """The name of its operation in OpenAPI, where a point is no good."""
        return self.name.replace(".", "_")

    @property
    def tool(self) -> str:
        """The name of its tool of MCP; empty where it is none."""
        own = self.operation if "." in self.name else f"memory_{self.name}"
        return (self.tool_text.name or own) if self.tool_text else ""

    @cached_property
    def request(self) -> type[Request]:
        """The type of its request."""
        if self.function is None:
            return self.takes
        _mind, request, _answer = self._hints.values()
        return cast("type[Request]", request)

    @cached_property
    def answer(self) -> Any:  # noqa: ANN401  a noun, or a union of nouns
        """The type of its answer."""
        return self._hints.get("return", self.gives)

    def run(self, mind: Mind, request: Request) -> Any:  # noqa: ANN401  see `answer`
        """The answer to a request."""
        with step(StepKind.VERB, self.name):
            if self.function is not None:
                return self.function(mind, request)
            result = attrgetter(self.name)(mind)(**request.arguments)
            if isinstance(self.gives, type) and issubclass(self.gives, MadeOfResult):
                return self.gives.of(mind, result, request)
            return result

    @cached_property
    def _hints(self) -> Mapping[str, Any]:
        return get_type_hints(self.function) if self.function else {}


reads = partial(Verb, access=Access.READ, method="GET")
writes = partial(Verb, access=Access.WRITE, method="POST")
