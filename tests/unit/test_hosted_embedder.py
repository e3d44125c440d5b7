"""Embedders behind HTTP, against a real server that speaks each protocol and misbehaves."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pydantic import SecretStr

from bearinmind.errors import EmbedderFailure, InvalidSetting
from bearinmind.models.caches import EmbeddingCache
from bearinmind.models.hosted_embedder import COHERE, HTTP, OPENAI, VOYAGE, Dialect, HostedEmbedder
from support.embedding_server import (
    Behaviour,
    EmbeddingServer,
    changed,
    direction,
    fails,
    opening,
    says,
    serving,
    sleeps,
)

KEY = "sk-very-secret-123"
EVERY = [OPENAI, VOYAGE, COHERE, HTTP]
BY_NAME = pytest.mark.parametrize("dialect", EVERY, ids=lambda dialect: dialect.name)


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as server:
        yield server


@pytest.fixture
def open_(server: EmbeddingServer) -> Iterator[Callable[..., HostedEmbedder]]:
    with opening(server, SecretStr(KEY)) as make:
        yield make


Open = Callable[..., HostedEmbedder]


def failure(embedder: HostedEmbedder, *texts: str) -> EmbedderFailure:
    with pytest.raises(EmbedderFailure) as caught:
        embedder.embed_memories(texts or ("a", "b"))
    return caught.value


@BY_NAME
def test_every_protocol_gives_vectors_of_length_one(open_: Open, dialect: Dialect) -> None:
    embedder = open_(dialect)

    vectors = embedder.embed_memories(["red", "green", "blue"])

    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors[1], direction("green"), atol=1e-6)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)
    np.testing.assert_allclose(embedder.embed_query("red"), vectors[0], atol=1e-6)


def test_each_provider_is_asked_in_its_own_way(server: EmbeddingServer, open_: Open) -> None:
    for dialect in EVERY:
        open_(dialect, "unknown").embed_query("q")
        open_(dialect, "unknown").embed_memories(["m"])

    plain = {"model": "unknown", "encoding_format": "float"}
    cohere = {"model": "unknown", "embedding_types": ["float"]}
    assert [(seen.path, seen.body) for seen in server.seen] == [
        ("/v1/embeddings", {"input": ["q"]} | plain),
        ("/v1/embeddings", {"input": ["m"]} | plain),
        ("/v1/embeddings", {"model": "unknown", "input": ["q"], "input_type": "query"}),
        ("/v1/embeddings", {"model": "unknown", "input": ["m"], "input_type": "document"}),
        ("/v1/embed", {"texts": ["q"], "input_type": "search_query"} | cohere),
        ("/v1/embed", {"texts": ["m"], "input_type": "search_document"} | cohere),
        ("/v1/embeddings", {"input": ["q"]} | plain),
        ("/v1/embeddings", {"input": ["m"]} | plain),
    ]
    assert {seen.key for seen in server.seen} == {f"Bearer {KEY}"}


def test_a_server_of_one_model_needs_no_name_and_no_key(
    server: EmbeddingServer, open_: Open
) -> None:
    embedder = open_(HTTP, "", key=None)

    embedder.embed_query("q")

    assert "model" not in server.seen[0].body
    assert server.seen[0].key is None
    assert embedder.space.revision.endswith(server.url.removesuffix("/v1"))


def test_prompts_come_from_the_catalogue(server: EmbeddingServer, open_: Open) -> None:
    embedder = open_(HTTP, "nomic-embed-text:latest")
    server.dimensions = 768

    embedder.embed_query("who?")
    embedder.embed_memories(["me"])

    assert server.texts == [["search_query: who?"], ["search_document: me"]]
    assert embedder.space.query_prompt == "search_query: "
    assert embedder.space.model == "http:nomic-embed-text:latest"


def test_texts_go_in_batches_within_the_limits_and_come_back_in_order(
    server: EmbeddingServer, open_: Open
) -> None:
    long = "x" * 60_000
    texts = [*map(str, range(70)), long, long, "last"]

    vectors = open_().embed_memories(texts)

    assert [len(batch) for batch in server.texts] == [32, 32, 7, 2]
    for at, text in enumerate(texts):
        np.testing.assert_allclose(vectors[at], direction(text), atol=1e-6)


@pytest.mark.parametrize("dialect", [OPENAI, VOYAGE, HTTP], ids=lambda dialect: dialect.name)
def test_an_answer_in_another_order_is_put_right(
    server: EmbeddingServer, open_: Open, dialect: Dialect
) -> None:
    server.script = [changed(lambda data: data[::-1])]

    vectors = open_(dialect).embed_memories(["a", "b", "c"])

    np.testing.assert_allclose(vectors[0], direction("a"), atol=1e-6)


# ---- dimensions --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("dialect", "model", "field"),
    [
        (OPENAI, "text-embedding-3-small", "dimensions"),
        (VOYAGE, "voyage-3.5", "output_dimension"),
        (COHERE, "embed-v4.0", "output_dimension"),
    ],
)
def test_shorter_vectors_are_asked_for(
    server: EmbeddingServer, open_: Open, dialect: Dialect, model: str, field: str
) -> None:
    embedder = open_(dialect, model, dimensions=256)

    assert embedder.embed_query("q").shape == (256,)
    assert server.seen[0].body[field] == 256
    assert embedder.space.dimensions == 256


def test_what_a_model_gives_anyway_is_not_asked_for(server: EmbeddingServer, open_: Open) -> None:
    server.dimensions = 1536
    open_(OPENAI, "text-embedding-3-small", dimensions=1536).embed_query("q")
    server.dimensions = 8
    open_(HTTP, "unknown", dimensions=8).embed_query("q")

    assert all("dimensions" not in seen.body for seen in server.seen)


def test_a_model_that_has_but_one_length_is_not_asked_for_another(open_: Open) -> None:
    with pytest.raises(InvalidSetting, match=r"embedder_dimensions = 256: .* gives 1,536"):
        open_(OPENAI, "text-embedding-ada-002", dimensions=256)


def test_known_dimensions_need_no_request(server: EmbeddingServer, open_: Open) -> None:
    assert open_(OPENAI, "text-embedding-3-large").space.dimensions == 3072
    assert open_(dimensions=8).embed_memories([]).shape == (0, 8)
    assert server.seen == []


def test_unknown_dimensions_are_found_out_once_and_remembered(
    server: EmbeddingServer, open_: Open, tmp_path: Path
) -> None:
    file = tmp_path / "embeddings.db"
    embedder = open_(cache=file)

    assert [embedder.space.dimensions, embedder.space.dimensions] == [8, 8]
    assert open_(cache=file).space == embedder.space
    assert len(server.seen) == 1
    with EmbeddingCache(file) as cache:
        assert cache.dimensions(f"http:small {server.url}") == 8


def test_a_model_that_has_changed_fails_now_and_is_another_next_time(
    server: EmbeddingServer, open_: Open, tmp_path: Path
) -> None:
    file = tmp_path / "embeddings.db"
    with EmbeddingCache(file) as cache:
        cache.keep_dimensions(f"http:small {server.url}", 4)
    embedder = open_(cache=file)
    assert embedder.space.dimensions == 4

    assert "8 dimensions instead of 4" in failure(embedder).message
    assert open_(cache=file).space.dimensions == 8


# ---- what a server does wrong ------------------------------------------------------------------


def nan(data: list[Any]) -> list[Any]:
    return [item | {"embedding": [float("nan")] * 8} for item in data]


@pytest.mark.parametrize(
    ("behaviour", "problem"),
    [
        (changed(lambda data: data[:1]), "gave 1 embeddings for 2 texts"),
        (changed(lambda data: data * 2), "with the indices 0, 1, 0, 1"),
        (changed(lambda data: [data[0], data[1] | {"index": 7}]), "with the indices 0, 7"),
        (changed(lambda _data: []), "gave 0 embeddings for 2 texts"),
        (changed(lambda _data: None), "list of embeddings in `data`"),
        (changed(lambda data: [data[0], {"index": 1}]), "list of embeddings in `data`"),
        (changed(nan), "numbers that are not finite for 2 of 2 texts"),
        (changed(lambda data: [d | {"embedding": [0.0] * 8} for d in data]), "only zeros"),
        (changed(lambda data: [d | {"embedding": ["x"] * 8} for d in data]), "no lists of numbers"),
        (changed(lambda data: [d | {"embedding": [[1.0]]} for d in data]), "no lists of numbers"),
        (changed(lambda data: [d | {"embedding": [1.0] * 4} for d in data]), "4 dimensions"),
        (changed(lambda data: [data[0], data[1] | {"embedding": [1.0]}]), "same length"),
        (says("[]"), "list of embeddings in `data`"),
        (says("<html>"), "not JSON: <html>"),
        (fails(404, "no such model"), "404 Not Found: no such model"),
        (fails(503, "busy"), r"503 Service Unavailable: busy (4 tries)"),
    ],
)
def test_what_cannot_be_used_is_named_and_may_be_tried_again(
    server: EmbeddingServer, open_: Open, behaviour: Behaviour, problem: str
) -> None:
    server.always = behaviour

    failed = failure(open_(dimensions=8))

    assert problem in failed.message
    assert failed.message.startswith("http:small at http://127.0.0.1:")
    assert not failed.permanent


@pytest.mark.parametrize("answer", [{}, {"embeddings": [[1.0]]}, {"embeddings": {"float": 3}}])
def test_an_answer_that_is_not_as_coheres_is_named(
    server: EmbeddingServer, open_: Open, answer: object
) -> None:
    server.always = says(json.dumps(answer))

    assert "`embeddings.float`" in failure(open_(COHERE)).message


def test_a_busy_server_is_waited_for(server: EmbeddingServer, open_: Open) -> None:
    pauses: list[float] = []
    server.script = [fails(429, Retry_After="3"), fails(500)]

    open_(sleep=pauses.append).embed_memories(["a"])

    assert 3 <= pauses[0] < 4


def test_no_more_is_asked_than_a_limit_allows(server: EmbeddingServer, open_: Open) -> None:
    pauses: list[float] = []
    embedder = open_(per_minute=6, sleep=pauses.append)

    embedder.embed_memories([*map(str, range(70))])

    assert [round(pause) for pause in pauses] == [10, 20]  # for three batches


def test_what_the_server_asks_for_is_passed_on(server: EmbeddingServer, open_: Open) -> None:
    server.always = fails(429, Retry_After="600")

    failed = failure(open_())

    assert failed.retry_after == 600
    assert not failed.permanent


def test_a_query_is_not_waited_for_as_long_as_memories_are(
    server: EmbeddingServer, open_: Open
) -> None:
    embedder = open_(timeout=0.1)
    server.always = sleeps(0.2)

    with pytest.raises(EmbedderFailure, match="does not answer in time"):
        embedder.embed_query("q")
    assert embedder.embed_memories(["m"]).shape == (1, 8)


def test_a_wrong_key_is_told_without_showing_it(
    server: EmbeddingServer, open_: Open, caplog: pytest.LogCaptureFixture
) -> None:
    server.always = fails(401, f"Incorrect API key provided: {KEY}")
    embedder = open_(OPENAI)

    with caplog.at_level(logging.DEBUG):
        failed = failure(embedder)

    assert "provided: ***" in failed.message
    assert "embedder_key" in failed.hint
    assert not failed.permanent  # every text waits for the right key
    assert KEY not in caplog.text + failed.message + repr(failed) + repr(embedder)


# ---- where texts go ----------------------------------------------------------------------------


def test_only_a_server_on_this_machine_keeps_texts_here(open_: Open) -> None:
    assert not open_().leaves_machine
    assert open_(url="http://192.168.0.7/v1").leaves_machine
    assert open_(OPENAI, url=None).leaves_machine
