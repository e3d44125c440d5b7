"""Rerankers behind HTTP: TEI on a machine of one's own, Jina, Cohere and Voyage."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from bearinmind.calls import Caller, CallFailed, Patience
from bearinmind.errors import RerankerFailure
from bearinmind.protocols import Passage

if TYPE_CHECKING:
    from bearinmind.calls import Key

_TRIES = 3
_FIRST_PAUSE = 0.1  # seconds: somebody waits for the answer


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """How a provider wants to be asked, and where in its answer the scores are."""

    name: str
    path: str
    address: str | None  #: where it is when nothing else is said
    texts: str  #: what the request calls the texts
    extra: dict[str, Any]
    rows: Callable[[Any], Any]  #: the scored rows of an answer
    score: str  #: what a row calls its score


# https://huggingface.github.io/text-embeddings-inference
TEI = Dialect(
    name="tei",
    path="/rerank",
    address=None,
    texts="texts",
    extra={"truncate": True},
    rows=lambda answer: answer,
    score="score",
)
# https://api.jina.ai/redoc; llama.cpp, vLLM and Infinity speak it too
JINA = Dialect(
    name="jina",
    path="/v1/rerank",
    address="https://api.jina.ai",
    texts="documents",
    extra={"return_documents": False},
    rows=lambda answer: answer["results"],
    score="relevance_score",
)
# https://docs.cohere.com/reference/rerank
COHERE = Dialect(
    name="cohere",
    path="/v2/rerank",
    address="https://api.cohere.com",
    texts="documents",
    extra={},
    rows=lambda answer: answer["results"],
    score="relevance_score",
)
# https://docs.voyageai.com/reference/reranker-api
VOYAGE = Dialect(
    name="voyage",
    path="/v1/rerank",
    address="https://api.voyageai.com",
    texts="documents",
    extra={"truncation": True},
    rows=lambda answer: answer["data"],
    score="relevance_score",
)


class HostedReranker:
    """Sends the query and the passages to a server that scores them."""

    def __init__(
        self, dialect: Dialect, model: str = "", *, url: str | None = None, key: Key = None
    ) -> None:
        self._dialect = dialect
        self._model = model
        address = (url or dialect.address or "").rstrip("/").removesuffix(dialect.path)
        version = dialect.path.removesuffix("/rerank")
        self._path = dialect.path.removeprefix(version if address.endswith(version) else "")
        self._caller = Caller(address, setting="reranker", key=key)

    @property
    def name(self) -> str:
        """How it is called in traces."""
        return f"{self._dialect.name}:{self._model or self._caller.where}"

    def __call__(self, query: str, passages: Sequence[Passage], seconds: float) -> list[float]:
        """The server's score for each passage.

        Raises:
            RerankerFailure: it does not answer in time, or not as it should.
        """
        dialect = self._dialect
        model = {"model": self._model} if self._model else {}
        texts = [passage.text for passage in passages]
        body = model | {"query": query, dialect.texts: texts} | dialect.extra
        patience = Patience(
            connect=seconds, answer=seconds, total=seconds, tries=_TRIES, first_pause=_FIRST_PAUSE
        )
        try:
            answer = self._caller.post(self._path, body, patience=patience)
        except CallFailed as exc:
            raise self._failure(exc.problem) from None
        try:
            rows = [(row["index"], row[dialect.score]) for row in dialect.rows(answer)]
        except (LookupError, TypeError):
            said = self._caller.excerpt(answer)
            raise self._failure(f"does not answer as {dialect.name} does: {said}") from None
        return self._in_order(rows, len(passages))

    def close(self) -> None:
        """Release the connections."""
        self._caller.close()

    def _in_order(self, rows: Sequence[tuple[Any, Any]], wanted: int) -> list[float]:
        """The scores in the order of the passages, once they are found to be all of them."""
        for index, score in rows:
            if type(index) is not int or not 0 <= index < wanted:
                raise self._failure(f"scored number {index!r} of {wanted} memories")
            if type(score) not in (int, float) or not math.isfinite(score):
                raise self._failure(f"gave the score {score!r}, which is not a finite number")
        by_index = {index: float(score) for index, score in rows}
        if len(rows) != wanted or len(by_index) != wanted:
            raise self._failure(f"scored {len(by_index)} of {wanted} memories in {len(rows)} rows")
        return [by_index[index] for index in range(wanted)]

    def _failure(self, problem: str) -> RerankerFailure:
        return RerankerFailure(f"{self._dialect.name} at {self._caller.where} {problem}")
