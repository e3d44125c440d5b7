"""A verb: one thing that can be asked of a memory, what it takes, what it answers.

Every request of `requests` is a `Request`; an answer may be a `MadeOfResult`, where it holds more
than one noun. Every other verb answers with the noun itself.

A memory's text goes into the context of models. `as_data` names the memories whose text is data,
never instructions: another user wrote it, or its source is unverified. The server decides this,
since only it knows who asks.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from functools import cached_property, partial
from http import HTTPStatus
from operator import attrgetter
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast, get_type_hints

from pydantic import BaseModel, ConfigDict

from bearinmind.app import Mind
from bearinmind.app.requests import NotStored
from bearinmind.errors import InvalidRequest, MindError
from bearinmind.proposals import Conflict, Proposal
from bearinmind.protocols import AuditEntry, User
from bearinmind.recall.history import ThingHistory, Timeline, Why
from bearinmind.remember.admit import check_moment
from bearinmind.text import ids
from bearinmind.trace import Answer, StepKind, Trace, step
from bearinmind.types import (
    Access,
    Hit,
    Key,
    Link,
    Memory,
    MemoryId,
    Outcome,
    Outdated,
    Query,
    Share,
    State,
    Trust,
    Verdict,
)

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

    from bearinmind.surfaces.verbs.requests import ListedRequest, RecallRequest, SecretRequest


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


# ---- answers -------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class MadeOfResult:
    """An answer that is made of what the method of `Mind` returns."""

    @classmethod
    def of(cls, _mind: Mind, result: Any, _request: Any, /) -> Self:  # noqa: ANN401  what the method returns
        """The answer; one of a single field holds the whole result."""
        [only] = fields(cls)
        return cls(**{only.name: tuple(result)})


def is_data(memory: Memory, user: str) -> bool:
    """Whether a text is data and never instructions: another user's, or from somewhere else."""
    return memory.owner != user or memory.provenance.trust is Trust.EXTERNAL


def memories_of(hit: Hit) -> tuple[Memory, ...]:
    """All memories whose text comes with a hit."""
    return (hit.memory, *(state.memory for state in hit.earlier), *hit.attached)


def why_attached(hit: Hit, memory: Memory) -> str:
    """What a memory did to the hit that it is attached to: it `outdated` or `resolved` it."""
    return "outdated" if hit.outdated and hit.outdated.by == memory.id else "resolved"


def as_data(user: str, memories: Iterable[Memory]) -> tuple[MemoryId, ...]:
    """The ids of those memories whose text is data, never instructions, to a user."""
    return tuple(dict.fromkeys(x.id for x in memories if is_data(x, user)))


def fields_of(noun: DataclassInstance) -> dict[str, Any]:
    """The fields of a noun by name, for another one that has them too."""
    return {each.name: getattr(noun, each.name) for each in fields(noun)}


def write_cursor(created_at: datetime, id: MemoryId) -> str:
    """The place behind a memory, as an opaque text; it stays valid when the memory is gone."""
    return base64.urlsafe_b64encode(f"{created_at.isoformat()} {id}".encode()).decode().rstrip("=")


def read_cursor(text: str) -> tuple[datetime, MemoryId]:
    """The time and the id of the memory behind which a page begins."""
    try:
        padded = text + "=" * (-len(text) % 4)
        place = base64.b64decode(padded, altchars=b"-_", validate=True).decode()
        moment, _, id_ = place.partition(" ")
        id_ = ids.normalise(id_)
        return check_moment(datetime.fromisoformat(moment), "the time"), MemoryId(id_)
    except (ValueError, binascii.Error, MindError):
        raise InvalidRequest(
            "`after` is not the `next` of a page",
            hint="Give the `next` of the page before as it is, or leave `after` out to begin anew.",
        ) from None


@dataclass(frozen=True, slots=True, kw_only=True)
class RecallAnswer(MadeOfResult):
    """The memories that matter for a question, best first, and whether they answer it."""

    query: str
    verdict: Verdict
    hits: tuple[Hit, ...]
    weak: tuple[Hit, ...] = ()  #: folded away: they are unlikely to answer
    conflicts: tuple[Conflict, ...] = ()  #: of the hits with each other or with other memories
    degraded: tuple[str, ...]  #: what is missing from the answer, in words
    as_data: tuple[MemoryId, ...]
    understood: Query | None = None  #: the question with every default filled in; with a trace
    trace: Trace | None = None  #: how the recall came to its answer, if that was requested

    @classmethod
    def of(cls, mind: Mind, result: Answer, request: RecallRequest) -> Self:
        """What a recall answered, and what nobody has decided of it."""
        conflicts = mind.conflicts((hit.memory for hit in result.hits), request.as_of)
        return cls.recalled(result, conflicts, with_trace=request.trace)

    @classmethod
    def recalled(
        cls, answer: Answer, conflicts: Sequence[Conflict] = (), *, with_trace: bool
    ) -> Self:
        """What a recall answered."""
        user = answer.query.filter.scope.user
        hits = (*answer.hits, *answer.weak)
        return cls(
            query=answer.query.text,
            verdict=answer.verdict,
            hits=answer.hits,
            weak=answer.weak,
            conflicts=tuple(conflicts),
            degraded=answer.trace.degraded,
            as_data=as_data(user, (x for hit in hits for x in memories_of(hit))),
            understood=answer.query if with_trace else None,
            trace=answer.trace if with_trace else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreManyAnswer(MadeOfResult):
    """What became of each draft, in their order."""

    outcomes: tuple[Outcome | NotStored, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ListAnswer:
    """A page of memories."""

    memories: tuple[Memory, ...]
    states: Mapping[MemoryId, State]
    outdated: Mapping[MemoryId, Outdated] = field(default_factory=dict)  #: by another memory
    as_data: tuple[MemoryId, ...]
    next: str | None  #: where the next page begins; null on the last one

    @classmethod
    def of(
        cls, mind: Mind, page: Sequence[Memory], limit: int, as_of: datetime | str | None = None
    ) -> Self:
        """The first `limit` memories; one more says that there is another page."""
        shown = tuple(page[:limit])
        last = shown[-1:] and (shown[-1].created_at, shown[-1].id)
        shown += tuple(x for x in page[limit:] if (x.created_at, x.id) == last)
        return cls(
            memories=shown,
            states=mind.states(shown),
            outdated=mind.outdated(shown, as_of),
            as_data=as_data(mind.scope.user, shown),
            next=write_cursor(shown[-1].created_at, shown[-1].id)
            if len(page) > len(shown)
            else None,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class GetAnswer(MadeOfResult):
    """A memory with its past and its links; of another user's memory neither is seen."""

    memory: Memory
    state: State
    outdated: Outdated | None = None
    earlier: tuple[Memory, ...]
    links: tuple[Link, ...]
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, memory: Memory, _: object = None) -> Self:
        """What its reader may see of a memory."""
        own = memory.owner == mind.scope.user
        return cls(
            memory=memory,
            state=mind.states([memory])[memory.id],
            outdated=mind.outdated([memory]).get(memory.id),
            earlier=tuple(mind.versions(memory.id)[:-1]) if own else (),
            links=tuple(mind.links(memory.id)) if own else (),
            as_data=as_data(mind.scope.user, [memory]),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyAnswer(Why, MadeOfResult):
    """What led to a memory."""

    outdated: Mapping[MemoryId, Outdated] = field(default_factory=dict)  #: by another memory
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, why: Why, _: object = None) -> Self:
        """What led to a memory, and which of it is data."""
        memories = (why.memory, *why.versions, *(x.memory for x in why.steps), *why.superseded_by)
        data = as_data(mind.scope.user, memories)
        return cls(**fields_of(why), outdated=mind.outdated(memories), as_data=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimelineAnswer(Timeline, MadeOfResult):
    """What was remembered around a moment, oldest first."""

    states: Mapping[MemoryId, State]
    outdated: Mapping[MemoryId, Outdated] = field(default_factory=dict)  #: by another memory
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, timeline: Timeline, request: ListedRequest | None = None) -> Self:
        """A timeline with the states of its memories."""
        anchor = () if timeline.anchor is None else (timeline.anchor,)
        memories = (*timeline.before, *anchor, *timeline.after)
        return cls(
            **fields_of(timeline),
            states=mind.states(memories),
            outdated=mind.outdated(memories, request.as_of if request else None),
            as_data=as_data(mind.scope.user, memories),
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAnswer(ThingHistory, MadeOfResult):
    """The states of a thing: chains, each from the oldest to the present one."""

    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, history: ThingHistory, _: object = None) -> Self:
        """The history of a thing, and which of it is data."""
        memories = (state.memory for chain in history.chains for state in chain)
        return cls(**fields_of(history), as_data=as_data(mind.scope.user, memories))


@dataclass(frozen=True, slots=True, kw_only=True)
class BriefAnswer(MadeOfResult):
    """What a session should begin with, the weightiest first."""

    memories: tuple[Memory, ...]
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, memories: Sequence[Memory], _: object = None) -> Self:
        """Memories, and which of them are data."""
        return cls(memories=tuple(memories), as_data=as_data(mind.scope.user, memories))


@dataclass(frozen=True, slots=True, kw_only=True)
class SecretAnswer(MadeOfResult):
    """What a sensitive memory says."""

    id: MemoryId
    content: str

    @classmethod
    def of(cls, mind: Mind, content: str, request: SecretRequest) -> Self:
        """What it says, with the whole of its id."""
        return cls(id=mind.get(request.id).id, content=content)


@dataclass(frozen=True, slots=True, kw_only=True)
class SharesAnswer(MadeOfResult):
    """What is shared."""

    shares: tuple[Share, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposalsAnswer(MadeOfResult):
    """Proposals, those that were made or decided last first."""

    proposals: tuple[Proposal, ...]
    memories: tuple[Memory, ...]  #: that they are about
    as_data: tuple[MemoryId, ...]

    @classmethod
    def of(cls, mind: Mind, proposals: Sequence[Proposal], _: object = None) -> Self:
        """Proposals with their memories."""
        memories = tuple(mind.curation.memories(proposals).values())
        data = as_data(mind.scope.user, memories)
        return cls(proposals=tuple(proposals), memories=memories, as_data=data)


@dataclass(frozen=True, slots=True, kw_only=True)
class UsersAnswer(MadeOfResult):
    """Every user whom the server knows."""

    users: tuple[User, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class KeysAnswer(MadeOfResult):
    """Keys, without what makes them keys."""

    keys: tuple[Key, ...]
    writes_today: Mapping[str, int]  #: by key id, of those with a daily quota that were used today

    @classmethod
    def of(cls, mind: Mind, keys: Sequence[Key], _: object = None) -> Self:
        """Keys, and how much of their quotas is used."""
        writes = mind.accounts.writes_today()
        used = {key.id: writes[key.id] for key in keys if key.id in writes}
        return cls(keys=tuple(keys), writes_today=used)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditAnswer(MadeOfResult):
    """What was done, youngest first."""

    entries: tuple[AuditEntry, ...]
