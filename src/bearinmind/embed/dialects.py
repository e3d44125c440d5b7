"""How each provider of embeddings wants to be asked, and how it answers. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple


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
