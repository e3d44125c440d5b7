"""Embedders behind HTTP: Voyage, OpenAI, Cohere, and any server that speaks like OpenAI's."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, NamedTuple

from bearinmind.errors import EmbedderFailure, InvalidSetting
from bearinmind.models import catalogue
from bearinmind.models.outbound_http import Caller, CallFailed, Patience
from bearinmind.models.vectors import Dimensions, Memo, checked
from bearinmind.text.embedded_text import CONTENT
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.models.outbound_http import Key
    from bearinmind.protocols import Vector, Vectors


class Wanted(NamedTuple):
    """Texts to be embedded in one request."""

    model: str
    texts: Sequence[str]
    query: bool  #: queries rather than memories
    dimensions: int | None  #: asked for, where the model can give fewer than it has


class Misread(Exception):
    """An answer does not have the form it should have; the message is a predicate."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Dialect:
    """A provider's protocol and its limits."""

    name: str
    url: str  #: "" when only the user knows it
    path: str
    most_texts: int  #: of one request
    most_characters: (
        int  #: of one request: as many as tokens are allowed, since one holds the other
    )
    body: Callable[[Wanted], dict[str, Any]]
    rows: Callable[[Any], Sequence[Any]]  #: the embeddings of an answer, in the order of the texts


def _openai_body(wanted: Wanted) -> dict[str, Any]:
    body: dict[str, Any] = {"input": [*wanted.texts], "encoding_format": "float"}
    if wanted.model:  # a server with only one may go without
        body["model"] = wanted.model
    if wanted.dimensions:
        body["dimensions"] = wanted.dimensions
    return body


def _voyage_body(wanted: Wanted) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": wanted.model,
        "input": [*wanted.texts],
        "input_type": "query" if wanted.query else "document",
    }
    return body | ({"output_dimension": wanted.dimensions} if wanted.dimensions else {})


def _cohere_body(wanted: Wanted) -> dict[str, Any]:
    body: dict[str, Any] = {
        "model": wanted.model,
        "texts": [*wanted.texts],
        "input_type": "search_query" if wanted.query else "search_document",
        "embedding_types": ["float"],
    }
    return body | ({"output_dimension": wanted.dimensions} if wanted.dimensions else {})


def _indexed_rows(answer: Any) -> Sequence[Any]:  # noqa: ANN401  whatever JSON holds
    """`data` is a list of embeddings, each with the index of its text, in any order."""
    try:
        items = [
            (item.get("index", at), item["embedding"]) for at, item in enumerate(answer["data"])
        ]
    except (LookupError, TypeError, AttributeError):
        raise Misread("does not answer with a list of embeddings in `data`") from None
    if sorted(str(index) for index, _ in items) != sorted(map(str, range(len(items)))):
        found = ", ".join(str(index) for index, _ in items[:8])
        raise Misread(f"gave {len(items)} embeddings with the indices {found}")
    return [row for _, row in sorted(items, key=lambda item: int(item[0]))]


def _cohere_rows(answer: Any) -> Sequence[Any]:  # noqa: ANN401
    try:
        rows = answer["embeddings"]["float"]
    except (LookupError, TypeError):
        rows = None
    if not isinstance(rows, list):
        raise Misread("does not answer with a list of embeddings in `embeddings.float`")
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
#: Ollama, llama.cpp, TEI, vLLM and whatever else speaks like OpenAI.
HTTP = Dialect(
    name="http",
    url="",
    path="/embeddings",
    most_texts=32,  # what TEI takes unless it is told otherwise
    most_characters=100_000,
    body=_openai_body,
    rows=_indexed_rows,
)
DIALECTS = {dialect.name: dialect for dialect in (OPENAI, VOYAGE, COHERE, HTTP)}


TIMEOUT = 10.0  # seconds for a query: somebody waits
_BATCH_TIMES = 6.0  # a batch of memories may take so many times as long: nobody waits
_QUERY_TRIES = 2
#: Answers that may be one text's fault: refused, too long, or more than the model bears.
_ABOUT_THE_TEXTS = (
    HTTPStatus.BAD_REQUEST,
    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    HTTPStatus.UNPROCESSABLE_ENTITY,
    HTTPStatus.INTERNAL_SERVER_ERROR,
)
_PROBE = "memory"  # a text that nobody refuses
_SHORTEST = 250  # characters: a text that is refused even so is not refused for its length
_KEY_HINT = "Check the `embedder_key` setting, or the variable that the provider's key is in."


class HostedEmbedder:
    """One model of one provider, asked in batches within the provider's limits."""

    def __init__(
        self,
        dialect: Dialect,
        model: str,
        *,
        url: str | None = None,
        key: Key = None,
        dimensions: int | None = None,
        timeout: float = TIMEOUT,
        per_minute: float | None = None,
        memo: Memo | None = None,
        text: str = CONTENT,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        """Nothing is sent before something is embedded, or `space` asks for unknown dimensions.

        Args:
            dialect: the provider's protocol.
            model: the provider's name for it; may be empty for a server that has but one.
            url: another address than the provider's own.
            key: sent as a bearer token.
            dimensions: of the vectors; asked for where the model has others.
            timeout: seconds for a query.
            per_minute: most requests; further ones wait for their turn.
            memo: where dimensions that had to be found out are kept.
            text: the recipe of the texts that it will be given.
            sleep: how pauses between two tries are made.
        """
        known = catalogue.find(model)
        self._dialect = dialect
        self._model = model
        self._asked_for = _asked_for(dialect, model, dimensions, known)
        self._dimensions = Dimensions(dimensions or (known.dimensions if known else None), memo)
        self._text = text
        self._prompts = (known.query_prompt, known.memory_prompt) if known else ("", "")
        self._quickly = Patience(answer=timeout, total=timeout, tries=_QUERY_TRIES, first_pause=0.1)
        self._caller = Caller(
            url or dialect.url,
            setting="embedder",
            key=key,
            patience=Patience(answer=timeout * _BATCH_TIMES),
            per_minute=per_minute,
            sleep=sleep,
        )

    def __repr__(self) -> str:
        return f"HostedEmbedder({self._who!r})"

    @property
    def space(self) -> Space:
        """What its vectors are; the model is asked once when their dimensions are not known."""
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

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""
        return not self._caller.is_local

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text.

        Raises:
            EmbedderFailure: no answer, or none that can be used. When some texts alone are refused,
                it says which, and all others are good.
        """
        import numpy as np  # noqa: PLC0415

        prompted = [self._prompts[1] + text for text in texts]
        rows: list[Vector | EmbedderFailure] = []
        for batch in self._batches(prompted):
            rows += self._batch(batch)
        failures = {at: row for at, row in enumerate(rows) if isinstance(row, EmbedderFailure)}
        if failures:
            raise _some_refused(failures, len(texts))
        if not rows:
            return np.zeros((0, self.space.dimensions), np.float32)
        return np.stack([row for row in rows if not isinstance(row, EmbedderFailure)])

    def embed_query(self, text: str) -> Vector:
        """A query's vector.

        Raises:
            EmbedderFailure: no answer in time, or none that can be used.
        """
        try:
            vector: Vector = self._ask([self._prompts[0] + text], query=True)[0]
        except CallFailed as exc:
            raise self._failure(exc) from None
        return vector

    def close(self) -> None:
        """Release the connections."""
        self._caller.close()

    @property
    def _who(self) -> str:
        return f"{self._dialect.name}:{self._model} at {self._caller.where}"

    def _batches(self, texts: Sequence[str]) -> Iterator[list[str]]:
        """Texts in order, as many at once as the provider takes."""
        batch: list[str] = []
        characters = 0
        for text in texts:
            full = characters + len(text) > self._dialect.most_characters
            if batch and (full or len(batch) == self._dialect.most_texts):
                yield batch
                batch, characters = [], 0
            batch.append(text)
            characters += len(text)
        if batch:
            yield batch

    def _batch(self, texts: Sequence[str]) -> list[Vector | EmbedderFailure]:
        """A vector for each text, or why there is none."""
        try:
            return [*self._ask(texts)]
        except CallFailed as exc:
            if exc.status not in _ABOUT_THE_TEXTS:
                raise self._failure(exc) from None
        except EmbedderFailure as exc:
            if not exc.permanent:
                raise
        self._check_that_others_are_taken()
        return self._apart(texts)

    def _apart(self, texts: Sequence[str]) -> list[Vector | EmbedderFailure]:
        """The same for texts of which one at least is at fault: halved until it stands alone."""
        if len(texts) == 1:
            return [self._alone(texts[0])]
        half = len(texts) // 2
        rows: list[Vector | EmbedderFailure] = []
        for part in (texts[:half], texts[half:]):
            try:
                rows += [*self._ask(part)]
            except CallFailed as exc:
                if exc.status not in _ABOUT_THE_TEXTS:
                    raise self._failure(exc) from None
                rows += self._apart(part)
            except EmbedderFailure as exc:
                if not exc.refused:
                    raise
                rows += self._apart(part)
        return rows

    def _alone(self, text: str) -> Vector | EmbedderFailure:
        """One text's vector; of a text that is refused, perhaps for its length, its beginning's."""
        while True:
            try:
                vector: Vector = self._ask([text])[0]
            except CallFailed as exc:
                if exc.status not in _ABOUT_THE_TEXTS:
                    raise self._failure(exc) from None
                if len(text) <= _SHORTEST or exc.status == HTTPStatus.INTERNAL_SERVER_ERROR:
                    return self._failure(exc, permanent=True)
                text = text[: len(text) // 2]
            except EmbedderFailure as exc:
                if not exc.refused:
                    raise
                return EmbedderFailure(exc.message, hint=exc.hint, permanent=True)
            else:
                return vector

    def _check_that_others_are_taken(self) -> None:
        """Tell a refused text from a server that refuses everything."""
        try:
            self._ask([_PROBE])
        except CallFailed as exc:
            raise self._failure(exc) from None

    def _ask(self, texts: Sequence[str], *, query: bool = False) -> Vectors:
        """The vectors of one request."""
        wanted = Wanted(self._model, texts, query, self._asked_for)
        answer = self._caller.post(
            self._dialect.path,
            self._dialect.body(wanted),
            patience=self._quickly if query else None,
        )
        try:
            rows = self._dialect.rows(answer)
        except Misread as exc:
            said = self._caller.excerpt(answer)
            raise EmbedderFailure(f"{self._who} {exc}: {said}") from None
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


def _asked_for(
    dialect: Dialect, model: str, dimensions: int | None, known: catalogue.Known | None
) -> int | None:
    """The dimensions to ask for: only when they are not what the model gives anyway."""
    if known is None:  # a server of one's own mostly gives what it has, and refuses to be asked
        return None if dialect is HTTP else dimensions
    if dimensions in (None, known.dimensions):
        return None
    if not known.flexible:
        raise InvalidSetting(
            f"embedder_dimensions = {dimensions:,}: {model} gives {known.dimensions:,}",
            hint="Leave it out: this model has no other.",
        )
    return dimensions


def _some_refused(failures: dict[int, EmbedderFailure], texts: int) -> EmbedderFailure:
    first = next(iter(failures.values()))
    return EmbedderFailure(
        f"{len(failures):,} of {texts:,} texts cannot be embedded: {first.message}",
        hint=first.hint,
        permanent=True,
        refused=[*failures],
    )
