"""How often a call is tried, and when no more: what to do next, and no way of doing it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count

from bearinmind.calls import GivenUp, Patience, pause_after
from bearinmind.errors import MindError
from bearinmind.surfaces.client.calling import Call, Pause, Steps, send
from bearinmind.surfaces.client.problems import Trouble, judged
from bearinmind.surfaces.client.server import Server

_LEAST = 0.001  # seconds: a time-out of nothing would mean none at all


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """How a call ended: with an answer, or with an error."""

    content: bytes = b""
    error: MindError | None = None
    doubtful: bool = False  #: an earlier try may have been done, though its answer was lost


def trying(call: Call, server: Server, clock: Callable[[], float]) -> Steps[Settled]:
    """Try a call until it is answered, or until that is of no more use.

    What may have been done is tried again only if doing it twice changes no more than once.
    """
    patience = server.patience
    deadline = clock() + patience.total
    doubtful = False
    for tried in count(1):
        seconds = min(patience.answer, max(_LEAST, deadline - clock()))
        found = judged((yield from send(call, seconds)), server)
        if not isinstance(found, Trouble):
            return Settled(content=found, doubtful=doubtful)
        try:
            pause = _pause(call, found, tried, patience, left=deadline - clock())
        except GivenUp as why:
            return Settled(error=found.error(str(why)), doubtful=doubtful)
        doubtful = doubtful or not found.undone
        yield Pause(pause)
    raise AssertionError("tries are counted without end")


def _pause(call: Call, trouble: Trouble, tried: int, patience: Patience, *, left: float) -> float:
    """How long to wait before the call is tried again.

    Raises:
        GivenUp: it is not tried again; the message says why, if there is anything to say.
    """
    if not trouble.passing:
        raise GivenUp
    if not (call.repeatable or trouble.undone):
        raise GivenUp("; whether it was done is not known, and it is not tried again")
    if tried == patience.tries:
        raise GivenUp(f" ({tried} tries)" if tried > 1 else "")
    return pause_after(tried, patience, wanted=trouble.retry_after, left=left)
