"""Embeddings that are kept from one run of the benchmark to the next."""

from __future__ import annotations

import multiprocessing
import stat
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from recollect.bench.embedding_cache import EmbeddingCache
from recollect.errors import StoreUnavailable
from recollect.types import Space

if TYPE_CHECKING:
    from recollect.protocols import Vector, Vectors


class Letters:
    """An embedder of letters: real, tiny, and it counts what it is asked for."""

    leaves_machine = False

    def __init__(self, revision: str = "1") -> None:
        self.space = Space(model="letters", revision=revision, dimensions=26)
        self.asked: list[str] = []

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        counts = [[text.count(chr(97 + n)) for n in range(26)] for text in texts]
        return np.array(counts, np.float32).reshape(len(texts), 26)

    def embed_query(self, text: str) -> Vector:
        vector: Vector = self.embed_memories([text])[0]
        return vector

    def close(self) -> None:
        pass


TEXTS = ["abc", "hello", "", "abc", "æøå ab"]


def test_a_text_is_embedded_once_and_never_again(tmp_path: Path) -> None:
    first, second = Letters(), Letters()
    with EmbeddingCache(tmp_path / "new" / "folder" / "e.db") as cache:
        fresh = cache.embed(first, TEXTS)
    with EmbeddingCache(tmp_path / "new" / "folder" / "e.db") as cache:
        kept = cache.embed(second, TEXTS)
    assert sorted(first.asked) == sorted({*TEXTS})
    assert second.asked == []
    np.testing.assert_array_equal(fresh, Letters().embed_memories(TEXTS))
    np.testing.assert_array_equal(kept, fresh)
    assert kept.dtype == np.float32


def test_another_embedder_gets_nothing_from_the_cache(tmp_path: Path) -> None:
    other = Letters("2")
    with EmbeddingCache(tmp_path / "e.db") as cache:
        cache.embed(Letters("1"), TEXTS)
        cache.embed(other, TEXTS)
    assert sorted(other.asked) == sorted({*TEXTS})


def test_no_texts_have_no_rows(tmp_path: Path) -> None:
    with EmbeddingCache(tmp_path / "e.db") as cache:
        assert cache.embed(Letters(), []).shape == (0, 26)


def test_what_was_embedded_before_an_interruption_is_kept(tmp_path: Path) -> None:
    class Interrupted(Letters):
        def embed_memories(self, texts: Sequence[str]) -> Vectors:
            if len(self.asked) >= 512:
                raise KeyboardInterrupt
            return super().embed_memories(texts)

    texts = [f"text {n:04}" for n in range(1_000)]
    resumed = Letters()
    with EmbeddingCache(tmp_path / "e.db") as cache, pytest.raises(KeyboardInterrupt):
        cache.embed(Interrupted(), texts)
    with EmbeddingCache(tmp_path / "e.db") as cache:
        vectors = cache.embed(resumed, texts)
    assert len(resumed.asked) == 1_000 - 512
    np.testing.assert_array_equal(vectors, Letters().embed_memories(texts))


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has other permissions")
def test_nobody_else_may_read_the_cache(tmp_path: Path) -> None:
    with EmbeddingCache(tmp_path / "e.db"):
        assert stat.S_IMODE((tmp_path / "e.db").stat().st_mode) == 0o600


def test_a_damaged_cache_may_be_deleted(tmp_path: Path) -> None:
    (tmp_path / "e.db").write_bytes(b"this is no database at all" * 100)
    with pytest.raises(StoreUnavailable, match="cannot be used") as raised:
        EmbeddingCache(tmp_path / "e.db")
    assert "Delete the file" in raised.value.hint


def _fill(file: Path, begin: int) -> int:
    with EmbeddingCache(file) as cache:
        texts = [f"text {n}" for n in range(begin, begin + 2_000)]
        return len(cache.embed(Letters(), texts))


def test_processes_may_fill_the_cache_together(tmp_path: Path) -> None:
    jobs = [(tmp_path / "e.db", begin) for begin in (0, 500, 1_000, 1_500)]
    with multiprocessing.get_context("spawn").Pool(4) as pool:
        assert pool.starmap(_fill, jobs) == [2_000] * 4
    late = Letters()
    with EmbeddingCache(tmp_path / "e.db") as cache:
        cache.embed(late, [f"text {n}" for n in range(3_500)])
    assert late.asked == []
