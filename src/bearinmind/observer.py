"""Who is told what is done, step by step: a server, which measures and follows it.

An observer belongs to a context, so that a process with several stores keeps them apart: a server
sets one for each request, and for its worker. Without one, nobody measures anything.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from contextvars import ContextVar
from enum import StrEnum
from functools import wraps
from typing import Any, Protocol, TypeVar, cast

Method = TypeVar("Method", bound=Callable[..., Any])


class StepKind(StrEnum):
    """What kind of step it is: each is made of those that come after it."""

    VERB = "verb"
    LEG = "leg"
    SQL = "sql"


class Observer(Protocol):
    """Is told what is done. Names are those of our own code, never anything of a user."""

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
