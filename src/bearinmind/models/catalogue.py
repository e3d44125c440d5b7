"""A table of published sentence encoders, and a way to find a row in it.

A model that does not get the prompt it was trained with silently loses much of its quality. So the
prompts come from here for every server and library: none of them adds the same ones.
"""

from __future__ import annotations

import re
from enum import StrEnum
from typing import NamedTuple


class Pooling(StrEnum):
    """How the vectors of a text's tokens become one."""

    CLS = "cls"  #: the first token's
    MEAN = "mean"  #: their mean
    LAST = "last"  #: the last token's
    HOSTED = "hosted"  #: by the provider


class Known(NamedTuple):
    """The properties of a model that its use depends on."""

    dimensions: int
    max_tokens: int  #: a longer text is cut off
    pooling: Pooling
    query_prompt: str = ""  #: put before a query
    memory_prompt: str = ""  #: put before a memory's text
    flexible: bool = False  #: whether it gives good vectors of other dimensions when asked


_SEARCHING = "Represent this sentence for searching relevant passages: "
_INSTRUCTION = (
    "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"
)
_E5 = ("query: ", "passage: ")
_NOMIC = ("search_query: ", "search_document: ")
_GEMMA = ("task: search result | query: ", "title: none | text: ")
_JINA_3 = (
    "Represent the query for retrieving evidence documents: ",
    "Represent the document for retrieval: ",
)
_CLS, _MEAN, _LAST, _HOSTED = Pooling.CLS, Pooling.MEAN, Pooling.LAST, Pooling.HOSTED

#: By the model's own name in small letters, without its publisher.
KNOWN: dict[str, Known] = {
    # sentence-transformers
    "all-minilm-l6-v2": Known(384, 256, _MEAN),
    "all-minilm-l12-v2": Known(384, 128, _MEAN),
    "all-mpnet-base-v2": Known(768, 384, _MEAN),
    "multi-qa-minilm-l6-cos-v1": Known(384, 512, _MEAN),
    "multi-qa-mpnet-base-dot-v1": Known(768, 512, _CLS),
    "paraphrase-multilingual-minilm-l12-v2": Known(384, 128, _MEAN),
    "paraphrase-multilingual-mpnet-base-v2": Known(768, 128, _MEAN),
    # BAAI
    "bge-small-en-v1.5": Known(384, 512, _CLS, _SEARCHING),
    "bge-base-en-v1.5": Known(768, 512, _CLS, _SEARCHING),
    "bge-large-en-v1.5": Known(1024, 512, _CLS, _SEARCHING),
    "bge-m3": Known(1024, 8192, _CLS),
    # intfloat
    "e5-small": Known(384, 512, _MEAN, *_E5),
    "e5-base": Known(768, 512, _MEAN, *_E5),
    "e5-large": Known(1024, 512, _MEAN, *_E5),
    "e5-small-v2": Known(384, 512, _MEAN, *_E5),
    "e5-base-v2": Known(768, 512, _MEAN, *_E5),
    "e5-large-v2": Known(1024, 512, _MEAN, *_E5),
    "multilingual-e5-small": Known(384, 512, _MEAN, *_E5),
    "multilingual-e5-base": Known(768, 512, _MEAN, *_E5),
    "multilingual-e5-large": Known(1024, 512, _MEAN, *_E5),
    "multilingual-e5-large-instruct": Known(1024, 512, _MEAN, f"{_INSTRUCTION} "),
    # thenlper and Alibaba-NLP
    "gte-small": Known(384, 512, _MEAN),
    "gte-base": Known(768, 512, _MEAN),
    "gte-large": Known(1024, 512, _MEAN),
    "gte-base-en-v1.5": Known(768, 8192, _CLS),
    "gte-large-en-v1.5": Known(1024, 8192, _CLS),
    "gte-multilingual-base": Known(768, 8192, _CLS),
    "gte-modernbert-base": Known(768, 8192, _CLS),
    # nomic-ai
    "nomic-embed-text-v1": Known(768, 8192, _MEAN, *_NOMIC),
    "nomic-embed-text-v1.5": Known(768, 8192, _MEAN, *_NOMIC, flexible=True),
    "nomic-embed-text-v2-moe": Known(768, 512, _MEAN, *_NOMIC, flexible=True),
    "modernbert-embed-base": Known(768, 8192, _MEAN, *_NOMIC, flexible=True),
    # mixedbread-ai
    "mxbai-embed-large-v1": Known(1024, 512, _CLS, _SEARCHING, flexible=True),
    # Snowflake
    "snowflake-arctic-embed-xs": Known(384, 512, _CLS, _SEARCHING),
    "snowflake-arctic-embed-s": Known(384, 512, _CLS, _SEARCHING),
    "snowflake-arctic-embed-m": Known(768, 512, _CLS, _SEARCHING),
    "snowflake-arctic-embed-m-long": Known(768, 2048, _CLS, _SEARCHING),
    "snowflake-arctic-embed-l": Known(1024, 512, _CLS, _SEARCHING),
    "snowflake-arctic-embed-m-v1.5": Known(768, 512, _CLS, _SEARCHING, flexible=True),
    "snowflake-arctic-embed-m-v2.0": Known(768, 8192, _CLS, "query: ", flexible=True),
    "snowflake-arctic-embed-l-v2.0": Known(1024, 8192, _CLS, "query: ", flexible=True),
    # jinaai
    "jina-embeddings-v2-small-en": Known(512, 8192, _MEAN),
    "jina-embeddings-v2-base-en": Known(768, 8192, _MEAN),
    "jina-embeddings-v2-base-de": Known(768, 8192, _MEAN),
    "jina-embeddings-v2-base-es": Known(768, 8192, _MEAN),
    "jina-embeddings-v2-base-zh": Known(768, 8192, _MEAN),
    "jina-embeddings-v2-base-code": Known(768, 8192, _MEAN),
    "jina-embeddings-v3": Known(1024, 8192, _MEAN, *_JINA_3, flexible=True),
    # google and Qwen
    "embeddinggemma-300m": Known(768, 2048, _MEAN, *_GEMMA, flexible=True),
    "qwen3-embedding-0.6b": Known(1024, 32768, _LAST, _INSTRUCTION, flexible=True),
    "qwen3-embedding-4b": Known(2560, 32768, _LAST, _INSTRUCTION, flexible=True),
    "qwen3-embedding-8b": Known(4096, 32768, _LAST, _INSTRUCTION, flexible=True),
    # OpenAI
    "text-embedding-3-small": Known(1536, 8192, _HOSTED, flexible=True),
    "text-embedding-3-large": Known(3072, 8192, _HOSTED, flexible=True),
    "text-embedding-ada-002": Known(1536, 8192, _HOSTED),
    # Voyage
    "voyage-3-large": Known(1024, 32000, _HOSTED, flexible=True),
    "voyage-3.5": Known(1024, 32000, _HOSTED, flexible=True),
    "voyage-3.5-lite": Known(1024, 32000, _HOSTED, flexible=True),
    "voyage-3": Known(1024, 32000, _HOSTED),
    "voyage-3-lite": Known(512, 32000, _HOSTED),
    "voyage-code-3": Known(1024, 32000, _HOSTED, flexible=True),
    "voyage-finance-2": Known(1024, 32000, _HOSTED),
    "voyage-law-2": Known(1024, 16000, _HOSTED),
    "voyage-multilingual-2": Known(1024, 32000, _HOSTED),
    # Cohere
    "embed-english-v3.0": Known(1024, 512, _HOSTED),
    "embed-english-light-v3.0": Known(384, 512, _HOSTED),
    "embed-multilingual-v3.0": Known(1024, 512, _HOSTED),
    "embed-multilingual-light-v3.0": Known(384, 512, _HOSTED),
    "embed-v4.0": Known(1536, 128000, _HOSTED, flexible=True),
}

#: What Ollama calls some of them.
_OTHER_NAMES = {
    "all-minilm": "all-minilm-l6-v2",
    "bge-large": "bge-large-en-v1.5",
    "embeddinggemma": "embeddinggemma-300m",
    "mxbai-embed-large": "mxbai-embed-large-v1",
    "nomic-embed-text": "nomic-embed-text-v1.5",
    "qwen3-embedding": "qwen3-embedding-8b",
    "snowflake-arctic-embed": "snowflake-arctic-embed-l",
    "snowflake-arctic-embed2": "snowflake-arctic-embed-l-v2.0",
}
#: How a file or a variant of the same weights is marked: `.gguf`, `.Q8_0`, `-f16`, `-onnx`, `-Q`.
_VARIANT = re.compile(r"(\.gguf|[.-](i?q\d\w*|b?f(16|32)|fp16|onnx|gguf|q))$")


def find(model: str) -> Known | None:
    """The row of a model, however its name is written: `BAAI/bge-m3`, `bge-m3:latest`."""
    name, _, tag = model.strip().lower().rstrip("/").rpartition("/")[2].partition(":")
    sized = f"{name}-{tag}"  # as Ollama has `qwen3-embedding:0.6b`
    for candidate in (sized, name):
        bare = candidate
        while (shorter := _VARIANT.sub("", bare)) != bare:
            bare = shorter
        known = KNOWN.get(_OTHER_NAMES.get(bare, bare))
        if known is not None:
            return known
    return None
