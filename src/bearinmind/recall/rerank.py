"""Rerank: the best candidates in the order of a model that reads each together with the query.

At worst it costs the rerank: a reranker that fails, or is not ready in time, leaves the order as it
was. A sensitive memory is never sent; it keeps its place while the others change theirs around it.
"""

from __future__ import annotations

import logging
import math
from collections.abc import Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field, replace
from threading import BoundedSemaphore, Thread
from time import perf_counter

from bearinmind.errors import MindError, RerankerFailure
from bearinmind.protocols import Passage, Reranker
from bearinmind.trace import Judged, RerankReport
from bearinmind.types import Memory, MemoryId, Query, Reranked

logger = logging.getLogger(__name__)

#: Calls of a reranker that may go on, late ones included: one that hangs must not eat all threads.
MOST_AT_ONCE = 16

_Question = tuple[str, tuple[Passage, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rerank:
    """How the best candidates are reranked; its repr is the recipe that a trace shows."""

    reranker: Reranker = field(repr=False)
    depth: int = 20  #: how many of the best candidates are reranked
    seconds: float = 1.0  #: after these the answer goes out in the order it has
    weight: float = 1.0  #: of the reranker's score; the rest is the score of the recall itself
    _free: BoundedSemaphore = field(
        default_factory=lambda: BoundedSemaphore(MOST_AT_ONCE), repr=False, compare=False
    )
    _known: dict[_Question, list[float] | RerankerFailure] | None = field(
        default=None, repr=False, compare=False
    )

    def __call__(
        self, query: Query, judged: Sequence[Judged], memories: Mapping[MemoryId, Memory]
    ) -> tuple[list[Judged], RerankReport]:
        """The same candidates, the first `depth` of them reranked, and how that went."""
        began = perf_counter()
        block = range(min(self.depth, len(judged)))
        places = [place for place in block if not memories[judged[place].id].sensitive]
        sent = [judged[place] for place in places]
        passages = tuple(Passage(item.id, memories[item.id].content) for item in sent)
        asks = len(sent) > 1 and bool(query.text.strip())  # one alone, or nothing asked: no order
        outcome = self._outcome((query.text, passages)) if asks else []
        error = None
        reranked = [*judged]
        if isinstance(outcome, RerankerFailure):
            error = f"{outcome.code}: {outcome.message}"
        elif outcome:
            moved = _reordered(sent, outcome, places, self.weight)
            for place, item in zip(places, moved, strict=True):
                reranked[place] = item
        return reranked, RerankReport(
            model=self.reranker.name,
            recipe=repr(self),
            sent=len(sent) if asks else 0,
            withheld=len(block) - len(places),
            milliseconds=(perf_counter() - began) * 1e3,
            error=error,
        )

    def repeated(self) -> Rerank:
        """A stage that asks each question once, for recalls repeated with small changes."""
        return replace(self, _known={})

    def _outcome(self, question: _Question) -> list[float] | RerankerFailure:
        """The reranker's scores, or why there are none."""
        if self._known is not None and question in self._known:
            return self._known[question]
        outcome: list[float] | RerankerFailure
        try:
            outcome = _checked(self._in_time(*question), len(question[1]))
        except Exception as exc:
            known = isinstance(exc, MindError | TimeoutError)
            logger.warning("rerank failed", exc_info=not known, extra={"action": "rerank"})
            outcome = self._failure(exc)
        if self._known is not None:
            self._known[question] = outcome
        return outcome

    def _in_time(self, text: str, passages: Sequence[Passage]) -> Sequence[float]:
        """The reranker's answer, if it comes in time.

        It runs in a daemon thread of its own: a hanging reranker must not take a worker from the
        legs, nor keep the process from ending.
        """
        if not self._free.acquire(blocking=False):
            raise RerankerFailure(f"{MOST_AT_ONCE} earlier calls have not ended yet")
        answer: Future[Sequence[float]] = Future()

        def work() -> None:
            try:
                answer.set_result(self.reranker(text, passages, self.seconds))
            except BaseException as exc:  # noqa: BLE001  it is raised where the answer is awaited
                answer.set_exception(exc)
            finally:
                self._free.release()

        Thread(target=work, name="bearinmind-rerank", daemon=True).start()
        return answer.result(timeout=self.seconds)

    def _failure(self, exc: Exception) -> RerankerFailure:
        """The error for the trace: of an unknown one its type, never its text."""
        if isinstance(exc, RerankerFailure):
            return exc
        if isinstance(exc, TimeoutError):
            return RerankerFailure(f"no answer within {self.seconds:g} s")
        if isinstance(exc, MindError):
            return RerankerFailure(exc.message)
        return RerankerFailure(type(exc).__name__)


def _checked(scores: Sequence[float], wanted: int) -> list[float]:
    """The scores, if they are one finite number for each passage."""
    if len(scores) != wanted:
        raise RerankerFailure(f"{len(scores)} scores for {wanted} memories")
    numbers = [float(score) for score in scores]
    if not all(map(math.isfinite, numbers)):
        raise RerankerFailure("a score is not a finite number")
    return numbers


def _reordered(
    sent: Sequence[Judged], scores: Sequence[float], places: Sequence[int], weight: float
) -> list[Judged]:
    """The candidates by their blended scores; equal ones by the reranker's, then as they were."""
    own = _unit([item.score for item in sent])
    blends = [
        weight * reranker + (1 - weight) * before
        for reranker, before in zip(_unit(scores), own, strict=True)
    ]
    order = sorted(range(len(sent)), key=lambda n: (-blends[n], -scores[n], n))
    return [
        sent[n]._replace(reranked=Reranked(places[n] + 1, place + 1, scores[n], blends[n]))
        for n, place in zip(order, places, strict=True)
    ]


def _unit(values: Sequence[float]) -> list[float]:
    """The values stretched to 0..1; all 0 where none is better than another."""
    low, high = min(values) / 2, max(values) / 2  # halves: the span of two floats may be too long
    span = high - low
    return [(value / 2 - low) / span if span else 0.0 for value in values]
