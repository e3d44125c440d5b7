"""One text of many that a server makes nothing of, and how the others fare."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.models.hosted_embedder import HostedEmbedder
from support.embedding_server import EmbeddingServer, changed, direction, fails, opening, serving

Open = Callable[..., HostedEmbedder]


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as server:
        yield server


@pytest.fixture
def open_(server: EmbeddingServer) -> Iterator[Open]:
    with opening(server) as make:
        yield make


def failure(embedder: HostedEmbedder, *texts: str) -> EmbedderFailure:
    with pytest.raises(EmbedderFailure) as caught:
        embedder.embed_memories(texts)
    return caught.value


def test_one_refused_text_is_found_among_many(server: EmbeddingServer, open_: Open) -> None:
    server.refuses = lambda text: "poison" in text
    texts = [f"poison {at}" if at in {3, 40} else str(at) for at in range(50)]

    failed = failure(open_(), *texts)

    assert failed.permanent
    assert failed.refused == (3, 40)
    assert "2 of 50 texts cannot be embedded" in failed.message
    assert "cannot embed 'poison 3'" in failed.message


def test_a_batch_that_is_too_large_for_a_server_is_sent_in_parts(
    server: EmbeddingServer, open_: Open
) -> None:
    def at_most_four(handler: Any, body: Any) -> None:
        if len(body["input"]) > 4:
            handler.reply("batch size > maximum allowed batch size 4", 413)
        else:
            changed(lambda data: data)(handler, body)

    server.always = at_most_four

    vectors = open_().embed_memories([*map(str, range(10))])

    np.testing.assert_allclose(vectors[9], direction("9"), atol=1e-6)


def test_a_text_that_is_too_long_for_a_model_is_known_by_its_beginning(
    server: EmbeddingServer, open_: Open
) -> None:
    server.refuses = lambda text: len(text) > 2_000
    long = "word " * 2_000

    vectors = open_().embed_memories(["short", long])

    np.testing.assert_allclose(vectors[1], direction(long[:1_250]), atol=1e-6)


def test_a_text_that_the_model_makes_nothing_of_is_found(
    server: EmbeddingServer, open_: Open
) -> None:
    def nothing_for_b(handler: Any, body: Any) -> None:
        def change(data: list[Any]) -> list[Any]:
            return [
                item | {"embedding": [0.0] * 8} if text == "b" else item
                for item, text in zip(data, body["input"], strict=True)
            ]

        changed(change)(handler, body)

    server.always = nothing_for_b

    failed = failure(open_(), "a", "b", "c")

    assert (failed.permanent, failed.refused) == (True, (1,))


def test_a_text_on_which_the_server_breaks_is_found(server: EmbeddingServer, open_: Open) -> None:
    def breaks_on_b(handler: Any, body: Any) -> None:
        if "b" in body["input"]:
            handler.reply("json: unsupported value: NaN", 500)
        else:
            changed(lambda data: data)(handler, body)

    server.always = breaks_on_b

    failed = failure(open_(), "a", "b", "c")

    assert (failed.permanent, failed.refused) == (True, (1,))


@pytest.mark.parametrize("status", [400, 422, 500])
def test_a_server_that_refuses_everything_is_not_the_fault_of_the_texts(
    server: EmbeddingServer, open_: Open, status: int
) -> None:
    server.always = fails(status, "the model is broken")

    failed = failure(open_(), *map(str, range(30)))

    assert not failed.permanent
    assert failed.refused == ()
    assert len(server.seen) <= 8  # no search for a culprit
