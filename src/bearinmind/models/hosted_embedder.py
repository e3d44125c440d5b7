"""Embedders behind HTTP: Voyage, OpenAI, Cohere, and any server with OpenAI's protocol."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from bearinmind.errors import EmbedderFailure, InvalidSetting
from bearinmind.models import catalogue
from bearinmind.models.outbound_http import Caller, CallFailed, Patience, batches
from bearinmind.models.vectors import Dimensions, checked
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.models.factory import EmbedderOptions
    from bearinmind.protocols import Vector, Vectors

_BATCH_TIMES = 6.0  # a batch of memories may take so many times as long: nobody waits
_QUERY_TRIES = 2
#: Answers that may be one text's fault: refused, too long, or more than the model bears.
_ABOUT_THE_TEXTS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
)
_PROBE = "memory"  # a text that no server refuses
_SHORTEST = 250  # characters: a text that is refused even so is not refused for its length
_KEY_HINT = "Check the `embedder_key` setting, or the variable that the provider's key is in."


class EmbeddingRequest(NamedTuple):
    """Texts to be embedded in one request."""

    model: str
    texts: Sequence[str]
    query: bool  #: queries rather than memories
    dimensions: int | None  #: asked for, where the model can give fewer than it has


class MalformedAnswer(Exception):
    """An answer does not have the form of the protocol; the message is a predicate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A provider's protocol and its limits."""

    name: str
    url: str  #: "" when only the user knows it
    path: str
    most_texts: int  #: of one request
    most_characters: int  #: of one request: the limit of tokens, which have one character or more
    body: Callable[[EmbeddingRequest], dict[str, Any]]
    rows: Callable[[Any], Sequence[Any]]  #: the embeddings of an answer, in the order of the texts


def _openai_body(request: EmbeddingRequest) -> dict[str, Any]:
    body: dict[str, Any] = {"input": [*request.texts], "encoding_format": "float"}
    if request.model:  # a server with only one may go without
        body["model"] = request.model
    if request.dimensions:
        body["dimensions"] = request.dimensions
    return body


def _voyage_body(request: EmbeddingRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "input": [*request.texts],
        "input_type": "query" if request.query else "document",
    }
    return body | ({"output_dimension": request.dimensions} if request.dimensions else {})


def _cohere_body(request: EmbeddingRequest) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": request.model,
        "texts": [*request.texts],
        "input_type": "search_query" if request.query else "search_document",
        "embedding_types": ["float"],
    }
    return body | ({"output_dimension": request.dimensions} if request.dimensions else {})


def _indexed_rows(answer: Any) -> Sequence[Any]:  # noqa: ANN401  any JSON
    """`data` is a list of embeddings, each with the index of its text, in any order."""
    try:
        items = [
            (item.get("index", at), item["embedding"]) for at, item in enumerate(answer["data"])
        ]
    except (LookupError, TypeError, AttributeError):
        raise MalformedAnswer("does not answer with a list of embeddings in `data`") from None
    if sorted(str(index) for index, _ in items) != sorted(map(str, range(len(items)))):
        indices = ", ".join(str(index) for index, _ in items[:8])
        raise MalformedAnswer(f"gave {len(items)} embeddings with the indices {indices}")
    return [row for _, row in sorted(items, key=lambda item: int(item[0]))]


def _cohere_rows(answer: Any) -> Sequence[Any]:  # noqa: ANN401
    try:
        rows = answer["embeddings"]["float"]
    except (LookupError, TypeError):
        rows = None
    if not isinstance(rows, list):
        raise MalformedAnswer("does not answer with a list of embeddings in `embeddings.float`")
    return rows


OPENAI = Dialect(
    name="openai",
    url="https://api.openai.com/v1",
    path="/embeddings",
    most_texts=512,  # 2,048 are allowed; fewer lose less when a request fails
    most_characters=300_000,
    body=_openai_body,
    rows=_indexed_rows,
)
VOYAGE = Dialect(
    name="voyage",
    url="https://api.voyageai.com/v1",
    path="/embeddings",
    most_texts=128,  # 1,000 are allowed for the newer models, 128 for all
    most_characters=120_000,
    body=_voyage_body,
    rows=_indexed_rows,
)
COHERE = Dialect(
    name="cohere",
    url="https://api.cohere.com/v2",
    path="/embed",
    most_texts=96,
    most_characters=200_000,
    body=_cohere_body,
    rows=_cohere_rows,
)
#: Ollama, llama.cpp, TEI, vLLM and other servers with OpenAI's protocol.
HTTP = replace(
    OPENAI,
    name="http",
    url="",
    most_texts=32,  # the default of TEI
    most_characters=100_000,
)
DIALECTS = {dialect.name: dialect for dialect in (OPENAI, VOYAGE, COHERE, HTTP)}


class HostedEmbedder:
    """One model of one provider, asked in batches within the provider's limits."""

    def __init__(
        self,
        dialect: Dialect,
        model: str,
        options: EmbedderOptions,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent before something is embedded, or `space` needs unknown dimensions.

        The model may be empty for a server that has one.
        """
        known = catalogue.find(model)
        asked, seconds = options.dimensions, options.timeout
        self._dialect = dialect
        self._model = model
        self._requested_dimensions = _requested_dimensions(dialect, model, asked, known)
        self._dimensions = Dimensions(
            asked or (known.dimensions if known else None),
            options,
            f"{dialect.name}:{model} {(options.url or '').rpartition('@')[2]}",
        )
        self._text = options.text
        self._prompts = (known.query_prompt, known.memory_prompt) if known else ("", "")
        self._quickly = Patience(answer=seconds, total=seconds, tries=_QUERY_TRIES, first_pause=0.1)
        self._caller = Caller(
            options.url or dialect.url,
            setting="embedder",
            key=options.key,
            patience=Patience(answer=seconds * _BATCH_TIMES),
            per_minute=options.per_minute,
            sleep=sleep,
        )
        self._who = f"{dialect.name}:{model} at {self._caller.where}"
        self.leaves_machine = not self._caller.is_local  #: whether texts do

    def __repr__(self) -> str:
        return f"HostedEmbedder({self._who!r})"

    @property
    def space(self) -> Space:
        """The space of its vectors; one request finds out dimensions that are not known."""
        query_prompt, memory_prompt = self._prompts
        return Space(
            model=f"{self._dialect.name}:{self._model}",
            # Without a name, only the address tells one model from another.
            revision="hosted" if self._model else f"hosted at {self._caller.where}",
            dimensions=self._dimensions.get(lambda: self.embed_query(_PROBE)),
            query_prompt=query_prompt,
            memory_prompt=memory_prompt,
            text=self._text,
        )

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text; an `EmbedderFailure` names the texts that alone were refused."""
        import numpy as np  # noqa: PLC0415

        prompted = [self._prompts[1] + text for text in texts]
        rows: list[Vector | EmbedderFailure] = []
        most, size = self._dialect.most_texts, self._dialect.most_characters
        for batch in batches(prompted, len, most=most, size=size):
            rows += self._batch(batch)
        failures = {at: row for at, row in enumerate(rows) if isinstance(row, EmbedderFailure)}
        if failures:
            first = next(iter(failures.values()))
            raise EmbedderFailure(
                f"{len(failures):,} of {len(texts):,} texts cannot be embedded: {first.message}",
                hint=first.hint,
                permanent=True,
                refused=[*failures],
            )
        if not rows:
            return np.zeros((0, self.space.dimensions), np.float32)
        return np.stack([row for row in rows if not isinstance(row, EmbedderFailure)])

    def embed_query(self, text: str) -> Vector:
        """A query's vector."""
        try:
            vector: Vector = self._ask([self._prompts[0] + text], query=True)[0]
        except CallFailed as exc:
            raise self._failure(exc) from None
        return vector

    def close(self) -> None:
        """Release the connections."""
        self._caller.close()

    def _batch(self, texts: Sequence[str]) -> list[Vector | EmbedderFailure]:
        """A vector for each text, or why there is none."""
        vectors = self._try(texts)
        if isinstance(vectors, list):
            return vectors
        if isinstance(vectors, EmbedderFailure) and not vectors.permanent:
            raise vectors
        try:  # a server that refuses everything fails here
            self._ask([_PROBE])
        except CallFailed as exc:
            raise self._failure(exc) from None
        return self._halves(texts)

    def _halves(self, texts: Sequence[str]) -> list[Vector | EmbedderFailure]:
        """A vector or failure for each text; refused texts are halved until one stands alone."""
        if len(texts) == 1:
            return [self._alone(texts[0])]
        half = len(texts) // 2
        rows: list[Vector | EmbedderFailure] = []
        for part in (texts[:half], texts[half:]):
            vectors = self._try(part)
            rows += vectors if isinstance(vectors, list) else self._halves(part)
        return rows

    def _alone(self, text: str) -> Vector | EmbedderFailure:
        """One text's vector; a text that is refused, perhaps for its length, is shortened."""
        while not isinstance(vectors := self._try([text]), list):
            if isinstance(vectors, EmbedderFailure):
                return EmbedderFailure(vectors.message, hint=vectors.hint, permanent=True)
            if len(text) <= _SHORTEST or vectors.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                return self._failure(vectors, permanent=True)
            text = text[: len(text) // 2]
        return vectors[0]

    def _try(
        self, texts: Sequence[str]
    ) -> list[Vector | EmbedderFailure] | CallFailed | EmbedderFailure:
        """The vectors of these texts, or a failure that some of the texts may have caused."""
        try:
            return [*self._ask(texts)]
        except CallFailed as exc:
            if exc.status not in _ABOUT_THE_TEXTS:
                raise self._failure(exc) from None
            return exc
        except EmbedderFailure as exc:
            if not exc.refused:
                raise
            return exc

    def _ask(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """The vectors of one request."""
        request = EmbeddingRequest(self._model, texts, query, self._requested_dimensions)
        answer = self._caller.post(
            self._dialect.path,
            self._dialect.body(request),
            patience=self._quickly if query else None,
        )
        try:
            rows = self._dialect.rows(answer)
        except MalformedAnswer as exc:
            excerpt = self._caller.excerpt(answer)
            raise EmbedderFailure(f"{self._who} {exc}: {excerpt}") from None
        if rows and isinstance(rows[0], list):
            self._dimensions.saw(len(rows[0]))
        return checked(rows, texts=len(texts), dimensions=self._dimensions.known, who=self._who)

    def _failure(self, exc: CallFailed, *, permanent: bool = False) -> EmbedderFailure:
        keyless = exc.status in (HTTPStatus.UNAUTHORIZED, HTTPStatus.FORBIDDEN)
        return EmbedderFailure(
            f"{self._who} {exc.problem}",
            hint=_KEY_HINT if keyless else "",
            permanent=permanent,
            retry_after=exc.retry_after,
        )


def _requested_dimensions(
    dialect: Dialect, model: str, dimensions: int | None, known: catalogue.Known | None
) -> int | None:
    """The dimensions to ask for: None when the model gives them anyway."""
    if known is None:  # most servers of one's own refuse to be asked
        return None if dialect is HTTP else dimensions
    if dimensions in (None, known.dimensions):
        return None
    if not known.flexible:
        raise InvalidSetting(
            f"embedder_dimensions = {dimensions:,}: {model} gives {known.dimensions:,}",
            hint="Leave it out: this model has no other.",
        )
    return dimensions
