"""Any number of texts is embedded in small batches, on few threads, in bounded memory."""

from __future__ import annotations

import sys
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bearinmind.models.local import _BATCH_TOKENS, HashEmbedder, LocalEmbedder, token_batches


@given(st.lists(st.integers(2, 512), max_size=200))
def test_every_text_is_in_one_batch_and_no_batch_is_large(lengths: list[int]) -> None:
    tokens = [[0] * length for length in lengths]
    batches = [*token_batches([len(x) for x in tokens], _BATCH_TOKENS)]
    assert sorted(index for batch in batches for index in batch) == [*range(len(tokens))]
    for batch in batches:
        assert len(batch) * max(lengths[index] for index in batch) <= _BATCH_TOKENS
    in_order = [lengths[index] for batch in batches for index in batch]
    assert in_order == sorted(in_order)


class Drawn(Sequence[str]):
    """Texts that are made when they are asked for, and how many were asked for at once."""

    def __init__(self, count: int) -> None:
        self._count = count
        self.most = 0

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        texts = [f"w{n}" for n in range(self._count)[index]]
        self.most = max(self.most, len(texts))
        return texts


def test_only_some_of_many_texts_are_held_as_tokens() -> None:
    texts = Drawn(1_100)
    vectors = LocalEmbedder("minilm").embed_memories(texts)
    assert texts.most <= 1_024
    ends = LocalEmbedder("minilm").embed_memories(["w0", "w1023", "w1024", "w1099"])
    np.testing.assert_allclose(vectors[[0, 1_023, 1_024, 1_099]], ends, atol=2e-6)


def _threads() -> set[str]:
    return {task.name for task in Path("/proc/self/task").iterdir()}


@pytest.mark.skipif(sys.platform != "linux", reason="counts threads as Linux shows them")
@pytest.mark.parametrize("threads", [1, 2])
def test_no_more_threads_than_were_allowed(threads: int) -> None:
    embedder = LocalEmbedder("minilm", threads=threads)
    embedder.embed_query("load it")
    texts = [f"The tide of day {n} was high. " * 6 for n in range(60)]
    work = threading.Thread(target=embedder.embed_memories, args=(texts,))
    before = _threads()
    most: set[str] = set()
    work.start()
    while work.is_alive():
        most = max(most, _threads() - before, key=len)
        work.join(0.002)
    assert len(most) == 1 + (0 if threads == 1 else threads)  # one is that of `work` itself


def test_what_one_batch_raises_is_raised(tmp_path: Path) -> None:
    embedder = LocalEmbedder("minilm", threads=2)
    with pytest.raises(TypeError):
        embedder.embed_memories(["fine", 7])  # type: ignore[list-item]


# The embedder of words


def test_texts_that_share_words_are_alike_without_a_model() -> None:
    embedder = HashEmbedder()
    keys, keys_again, ferry = embedder.embed_memories(
        ["The spare keys are in the tin.", "the SPARE keys!", "Boats leave at nine."]
    )
    assert keys @ keys_again > keys @ ferry + 0.2
    np.testing.assert_array_equal(embedder.embed_query("the SPARE keys!"), keys_again)


@given(st.text(max_size=40))
def test_every_text_has_a_vector_of_length_one_without_a_model(text: str) -> None:
    vector = HashEmbedder().embed_query(text)
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector) == pytest.approx(1.0, abs=1e-6)


def test_the_embedder_of_words_says_what_it_is() -> None:
    embedder = HashEmbedder()
    assert (embedder.space.model, embedder.space.dimensions) == ("hash", 64)
    assert embedder.embed_memories([]).shape == (0, 64)
    assert embedder.embed_query("tide")[np.flatnonzero(embedder.embed_query("tide"))].tolist() in (
        [1.0],
        [-1.0],
    )
    embedder.close()
