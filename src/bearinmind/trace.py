"""What a recall did: one value per stage, and every candidate that was left out with its reason.

And who is told of each verb, leg and statement while it is done.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from functools import cached_property, wraps
from typing import Any, NamedTuple, Protocol, TypeVar, cast, overload

from bearinmind.types import (
    Fused,
    Hit,
    Memory,
    MemoryId,
    Placing,
    Query,
    Reranked,
    State,
    Step,
    Verdict,
    in_json,
)

Item = TypeVar("Item")


class OnDemand(Sequence[Item]):
    """A tuple that is made on first use: most callers of a recall never read its trace."""

    def __init__(self, make: Callable[[], Iterable[Item]]) -> None:
        self._make = make

    @cached_property
    def _items(self) -> tuple[Item, ...]:
        return tuple(self._make())

    def __len__(self) -> int:
        return len(self._items)

    def __iter__(self) -> Iterator[Item]:
        return iter(self._items)

    @overload
    def __getitem__(self, place: int) -> Item: ...

    @overload
    def __getitem__(self, place: slice) -> tuple[Item, ...]: ...

    def __getitem__(self, place: int | slice) -> Item | tuple[Item, ...]:
        """One of the items, or several."""
        return self._items[place]

    def __eq__(self, other: object) -> bool:
        return self._items == (other._items if isinstance(other, OnDemand) else other)

    def __hash__(self) -> int:
        return hash(self._items)

    def __repr__(self) -> str:
        return repr(self._items)

    def __reduce__(self) -> tuple[object, ...]:
        """It is pickled as its tuple."""
        return tuple, (self._items,)


class _Worded:
    """A reason that is written with its words."""

    __slots__ = ()

    @property
    @in_json
    def text(self) -> str:
        """The reason in words."""
        return str(self)


@dataclass(frozen=True, slots=True, kw_only=True)
class Superseded(_Worded):
    """A newer memory supersedes it."""

    by: MemoryId
    served: bool  #: False when the newer memory itself does not pass the filter

    def __str__(self) -> str:
        return f"superseded by {self.by}" + ("" if self.served else ", which the filter excludes")


@dataclass(frozen=True, slots=True, kw_only=True)
class Expired(_Worded):
    """Its valid-from / valid-to span does not hold the moment asked about."""

    def __str__(self) -> str:
        return "outside its valid-from / valid-to span"


@dataclass(frozen=True, slots=True, kw_only=True)
class NotAskedFor(_Worded):
    """It is in a state that the query does not ask for."""

    state: State

    def __str__(self) -> str:
        return f"it is {self.state}, and only others were asked for"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gone(_Worded):
    """It was deleted or changed while it was being recalled."""

    def __str__(self) -> str:
        return "deleted or changed while it was being recalled"


@dataclass(frozen=True, slots=True, kw_only=True)
class SaysTheSame(_Worded):
    """A better placed memory has the same words, or nearly."""

    by: MemoryId
    shared: float = 1.0  #: of the words of both

    def __str__(self) -> str:
        if self.shared == 1.0:
            return f"says the same as {self.by}"
        return f"says nearly the same as {self.by}: {self.shared:.0%} of the words"


@dataclass(frozen=True, slots=True, kw_only=True)
class Unlikely(_Worded):
    """It hardly answers the query, and is folded away."""

    probability: float
    floor: float

    def __str__(self) -> str:
        return f"unlikely to answer: {self.probability:.1%}, below {self.floor:.1%}"


@dataclass(frozen=True, slots=True, kw_only=True)
class BelowLimit(_Worded):
    """Enough better memories were found."""

    limit: int

    def __str__(self) -> str:
        return f"below the limit of {self.limit}"


@dataclass(frozen=True, slots=True, kw_only=True)
class OverBudget(_Worded):
    """It did not fit whole into what was left of the budget."""

    size: int
    left: int

    def __str__(self) -> str:
        return f"needs {self.size} bytes, {self.left} were left in the budget"


Reason = (
    Superseded | Expired | NotAskedFor | Gone | SaysTheSame | Unlikely | BelowLimit | OverBudget
)


@dataclass(frozen=True, slots=True, kw_only=True)
class LegReport:
    """How one leg did."""

    leg: str
    found: int
    milliseconds: float
    detail: Mapping[str, object] = field(default_factory=dict)  #: what the leg says of its own work
    floor: float = 0.0  #: the score of a memory that has nothing to do with the query
    error: str | None = None  #: set when the leg failed and the recall went on without it
    partial: str | None = None  #: set when there are memories that the leg cannot find yet

    @property
    def off(self) -> str | None:
        """Why the leg did not look, though nothing is wrong."""
        reason = self.detail.get("off")
        return None if reason is None else str(reason)


@dataclass(frozen=True, slots=True, kw_only=True)
class RerankReport:
    """How the reranker did."""

    model: str
    recipe: str
    sent: int  #: memories that it was given to read
    withheld: int  #: sensitive ones: they keep their place and are never sent
    milliseconds: float
    error: str | None = None  #: set when it failed and the order stayed as it was


@dataclass(frozen=True, slots=True, kw_only=True)
class PairsRead:
    """What a model read with the question: hits, and two memories of which one is current."""

    pairs: int
    milliseconds: float
    error: str | None = None  #: set when it failed: scores alone give the order and the verdict

    def __add__(self, other: PairsRead) -> PairsRead:
        return PairsRead(
            pairs=self.pairs + other.pairs,
            milliseconds=self.milliseconds + other.milliseconds,
            error=self.error or other.error,
        )


class Judged(NamedTuple):
    """A candidate after adjustment."""

    id: MemoryId
    score: float
    fused: float
    placings: Mapping[str, Placing]
    factors: Mapping[str, float]
    reranked: Reranked | None = None


class Dropped(NamedTuple):
    """A candidate that was left out, and why."""

    id: MemoryId
    reason: Reason


class Asks(StrEnum):
    """Which state of a thing a question asks for, by its words."""

    NOW = "now"  #: the present one: "currently", "these days", "still"
    THEN = "then"  #: an earlier one: "previously", "used to", "in May 2024"
    WHEN = "when"  #: the moment of a change: "when did", "since when"
    NONE = "none"  #: the words say nothing of it


class Span(NamedTuple):
    """A stretch of time."""

    start: datetime | None  #: None where it is open: "before 2024"
    end: datetime  #: not part of it


@dataclass(frozen=True, slots=True, kw_only=True)
class QuestionTime:
    """What the words of a question say about time."""

    asks: Asks = Asks.NONE
    span: Span | None = None  #: the time that is named, if one is
    words: tuple[str, ...] = ()  #: the phrases that it was read from


@dataclass(frozen=True, slots=True, kw_only=True)
class Trace:
    """The full record of how a recall found its answer."""

    legs: tuple[LegReport, ...]
    fusion: str  #: the recipe
    adjustments: str  #: the recipe
    selection: str  #: the recipe
    fused: Sequence[Fused]
    judged: tuple[Judged, ...]  #: in the order in which they were selected from
    dropped: Sequence[Dropped]
    milliseconds: Mapping[str, float]  #: by stage
    rerank: RerankReport | None = None  #: None when no reranker is set
    read: PairsRead | None = None  #: None when no model read anything
    #: By memory: how the concept graph led to it.
    paths: Mapping[MemoryId, tuple[Step, ...]] = field(default_factory=dict)
    time: QuestionTime = QuestionTime()  #: what the question says about time
    floor: float = 0.0  #: the probability below which hits are folded away, unless all are wanted
    #: What no query can reach with the weights and the boost of this one, in words.
    locked_out: tuple[str, ...] = ()

    @property
    def answered(self) -> bool:
        """Whether any leg could look for memories."""
        return any(leg.error is None and leg.off is None for leg in self.legs)

    @property
    @in_json
    def degraded(self) -> tuple[str, ...]:
        """What is missing from the answer, in words."""
        return self.failed + self.partial

    @property
    def failed(self) -> tuple[str, ...]:
        """What went wrong."""
        failed = [f"{leg.leg} leg failed: {leg.error}" for leg in self.legs if leg.error]
        if self.rerank and self.rerank.error:
            failed.append(f"rerank failed: {self.rerank.error}")
        if self.read and self.read.error:
            failed.append(f"reading the memories failed: {self.read.error}")
        return tuple(failed)

    @property
    def partial(self) -> tuple[str, ...]:
        """What is not done yet, though nothing is wrong."""
        return tuple(leg.partial for leg in self.legs if leg.partial)


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """The answer to a query: ranked memories, and the trace of how they were found."""

    query: Query
    verdict: Verdict  #: that of the most probable hit
    hits: tuple[Hit, ...]
    weak: tuple[Hit, ...] = ()  #: hits that were folded away as improbable, best first
    trace: Trace

    @property
    def over_budget(self) -> Dropped | None:
        """The best match with its size, if the budget has no room for it."""
        best = [each.id for each in self.trace.judged[:1]]
        dropped = self.trace.dropped if self.query.budget_bytes is not None else ()
        over = (x for x in dropped if x.id in best and isinstance(x.reason, OverBudget))
        return next(over, None)

    @property
    def displayed(self) -> tuple[Memory, ...]:
        """The memories in the order in which they are displayed: earlier states under their hit."""
        return tuple(
            memory
            for hit in self.hits
            for memory in (hit.memory, *(state.memory for state in hit.earlier))
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class LegPosition:
    """Where one leg placed a memory that was not recalled."""

    leg: str
    rank: int | None  #: None when the leg does not find it at any depth
    searched: int  #: how many memories the leg found when it looked as deep as it can
    note: str
    score: float | None = None
    confidence: float | None = None
    evidence: float | None = None
    path: tuple[Step, ...] = ()  #: how the concept graph leads to it, if it does


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyNot:
    """Why a memory was not recalled, and the smallest change that would have admitted it."""

    id: MemoryId
    rank: int | None  #: set when it was recalled after all
    reason: str
    positions: tuple[LegPosition, ...] = ()
    remedy: str = ""


# ---- who is told of each step --------------------------------------------------------------------


Method = TypeVar("Method", bound=Callable[..., Any])


class StepKind(StrEnum):
    """What kind of step it is: each is made of those that come after it."""

    VERB = "verb"
    LEG = "leg"
    SQL = "sql"


class Observer(Protocol):
    """Is told what is done. Names are those of our own code, never anything of a user.

    It belongs to a context, so that a process with several stores keeps them apart: a server sets
    one for each request, and for its worker. Without one, nobody measures anything.
    """

    def step(self, kind: StepKind, name: str) -> AbstractContextManager[object]:
        """Observe a step, from its beginning to its end."""

    def worked(self, kind: str, finished: int, postponed: int, given_up: int) -> None:
        """Note what became of some jobs of background work."""


OBSERVER: ContextVar[Observer | None] = ContextVar("bearinmind_observer", default=None)
_UNOBSERVED = nullcontext()


def step(kind: StepKind, name: str) -> AbstractContextManager[object]:
    """A step, which the observer of this context is told of, if there is any."""
    observer = OBSERVER.get()
    return _UNOBSERVED if observer is None else observer.step(kind, name)


def measured(method: Method) -> Method:
    """A method that runs the statement of this name, as a step."""

    @wraps(method)
    def run(self: object, statement: str, *rest: Any) -> Any:  # noqa: ANN401  those of the method
        with step(StepKind.SQL, statement):
            return method(self, statement, *rest)

    return cast("Method", run)
