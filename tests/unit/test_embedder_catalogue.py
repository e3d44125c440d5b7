"""What is known of published models."""

from __future__ import annotations

import pytest

from bearinmind.models.catalogue import KNOWN, Known, Pooling, find


@pytest.mark.parametrize("name", KNOWN)
def test_every_row_makes_sense(name: str) -> None:
    known = KNOWN[name]
    assert name == name.lower()
    assert known.dimensions in {384, 512, 768, 1024, 1536, 2560, 3072, 4096}
    assert 128 <= known.max_tokens <= 128_000
    if known.pooling is Pooling.HOSTED:  # who says so in the request
        assert not known.query_prompt + known.memory_prompt
    if known.memory_prompt:
        assert known.query_prompt
        assert known.memory_prompt.endswith(" ")
    assert find(name) == known


@pytest.mark.parametrize(
    ("written", "name"),
    [
        ("BAAI/bge-large-en-v1.5", "bge-large-en-v1.5"),
        ("Xenova/bge-large-en-v1.5", "bge-large-en-v1.5"),
        ("/home/me/models/bge-large-en-v1.5/", "bge-large-en-v1.5"),
        ("nomic-embed-text", "nomic-embed-text-v1.5"),
        ("nomic-embed-text:latest", "nomic-embed-text-v1.5"),
        ("nomic-ai/nomic-embed-text-v1.5-Q", "nomic-embed-text-v1.5"),
        ("nomic-embed-text-v1.5.Q8_0.gguf", "nomic-embed-text-v1.5"),
        ("nomic-embed-text-v1.5.f16.gguf", "nomic-embed-text-v1.5"),
        ("qwen3-embedding:0.6b", "qwen3-embedding-0.6b"),
        ("Qwen/Qwen3-Embedding-4B-GGUF", "qwen3-embedding-4b"),
        ("mxbai-embed-large", "mxbai-embed-large-v1"),
        ("sentence-transformers/all-MiniLM-L6-v2", "all-minilm-l6-v2"),
        ("snowflake/snowflake-arctic-embed-m-v1.5", "snowflake-arctic-embed-m-v1.5"),
        ("intfloat/e5-small-v2", "e5-small-v2"),
    ],
)
def test_a_model_is_found_however_it_is_written(written: str, name: str) -> None:
    assert find(written) is KNOWN[name]


@pytest.mark.parametrize("written", ["", "bge", "e5-huge", "text-embedding-9", "bge-m3-tuned"])
def test_another_model_is_not_taken_for_one_of_them(written: str) -> None:
    assert find(written) is None


@pytest.mark.parametrize(
    ("name", "prompts"),
    [
        ("e5-small-v2", ("query: ", "passage: ")),
        ("bge-m3", ("", "")),
        ("nomic-embed-text-v1", ("search_query: ", "search_document: ")),
        ("bge-small-en-v1.5", ("Represent this sentence for searching relevant passages: ", "")),
        ("all-minilm-l6-v2", ("", "")),
    ],
)
def test_prompts_are_those_of_the_model_cards(name: str, prompts: tuple[str, str]) -> None:
    known = find(name)
    assert isinstance(known, Known)
    assert (known.query_prompt, known.memory_prompt) == prompts
