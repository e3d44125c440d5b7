"""Rerankers for tests: small, real, and as bad as a test wants them."""

from __future__ import annotations

import threading
from collections.abc import Sequence

from bearinmind.protocols import Passage
from bearinmind.types import MemoryId


class Scripted:
    """A reranker that gives each memory the score it was told, and keeps what it was sent."""

    name = "scripted"

    def __init__(self, scores: dict[MemoryId, float]) -> None:
        self.scores = scores
        self.sent: list[Passage] = []

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        assert query
        assert seconds > 0
        self.sent += passages
        return [self.scores[passage.id] for passage in passages]


class Failing:
    """A reranker that answers with what it was made of."""

    name = "failing"

    def __init__(self, answer: Exception | list[float]) -> None:
        self.answer = answer

    def __call__(self, *_: object, **__: object) -> list[float]:
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Hanging:
    """A reranker that takes as long as the test wants."""

    name = "hanging"

    def __init__(self) -> None:
        self.go_on = threading.Event()
        self.ended = 0

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        assert query
        assert seconds
        self.go_on.wait()
        self.ended += 1
        return [0.0] * len(passages)


class WordOverlap:
    """A reranker that counts the words that a memory shares with the query."""

    name = "word-overlap"

    def __init__(self) -> None:
        self.calls: list[Sequence[Passage]] = []

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        assert seconds > 0
        self.calls.append(passages)
        return [float(overlap(query, passage.text)) for passage in passages]


def overlap(query: str, text: str) -> int:
    """How many words two texts share."""
    return len({*query.lower().split()} & {*text.lower().split()})
