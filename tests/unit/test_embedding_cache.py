"""Embeddings that were made before, in a real file."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pytest

from bearinmind.errors import EmbedderFailure
from bearinmind.models.caches import CachedEmbedder, EmbeddingCache
from bearinmind.models.embedders import RecentQueries
from bearinmind.types import Space
from support.embedding_server import direction

if TYPE_CHECKING:
    from bearinmind.protocols import Vector, Vectors


class Counting:
    """An embedder that remembers what it was asked for, and refuses what is told."""

    leaves_machine = True

    def __init__(self, model: str = "counting", refuses: str = "\0") -> None:
        self.space = Space(model=model, revision="1", dimensions=8)
        self.asked: list[str] = []
        self.refuses = refuses
        self.closed = False

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        self.asked += texts
        refused = [at for at, text in enumerate(texts) if self.refuses in text]
        if refused:
            raise EmbedderFailure("no", permanent=True, refused=refused)
        return np.array([direction(f"memory {text}") for text in texts], np.float32)

    def embed_query(self, text: str) -> Vector:
        self.asked.append(text)
        return np.array(direction(f"query {text}"), np.float32)

    def close(self) -> None:
        self.closed = True


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "deep" / "embeddings.db"


@pytest.fixture
def cached(file: Path) -> Iterator[Callable[..., CachedEmbedder]]:
    """Wraps an embedder; a new connection to the same file each time."""
    made: list[CachedEmbedder] = []

    def wrap(embedder: Counting, *, size: int = 2**30, queries: bool = True) -> CachedEmbedder:
        cache = EmbeddingCache(file, most_bytes=size)
        made.append(CachedEmbedder(embedder, cache, queries=queries))
        return made[-1]

    yield wrap
    for embedder in made:
        embedder.close()


Wrap = Callable[..., CachedEmbedder]


def test_nothing_is_embedded_twice(cached: Wrap) -> None:
    embedder = Counting()
    first = cached(embedder).embed_memories(["a", "b", "a"])
    again = cached(embedder).embed_memories(["b", "c", "a"])

    assert sorted(embedder.asked) == ["a", "b", "c"]
    np.testing.assert_array_equal(again[[2, 0]], first[[0, 1]])  # to the last bit
    np.testing.assert_array_equal(first[0], first[2])
    assert again.dtype == np.float32


def test_a_query_that_comes_again_soon_is_not_embedded_again() -> None:
    counting = Counting()
    recent = RecentQueries(counting)
    first = recent.embed_query("where?")
    recent.embed_query("when?")
    np.testing.assert_array_equal(recent.embed_query("where?"), first)
    assert counting.asked == ["where?", "when?"]
    for number in range(100):
        recent.embed_query(f"question {number}")
    recent.embed_query("where?")  # it was long ago
    assert counting.asked[-1] == "where?"


def test_a_query_is_not_taken_for_a_memory(cached: Wrap) -> None:
    embedder = Counting()
    both = cached(embedder)

    memory, query = both.embed_memories(["a"])[0], both.embed_query("a")

    assert not np.allclose(memory, query)
    np.testing.assert_array_equal(cached(embedder).embed_query("a"), query)
    assert embedder.asked == ["a", "a"]


def test_queries_can_be_left_out(cached: Wrap) -> None:
    embedder = Counting()
    for _ in range(2):
        cached(embedder, queries=False).embed_query("a")

    assert embedder.asked == ["a", "a"]


def test_vectors_of_two_spaces_are_kept_apart(cached: Wrap) -> None:
    one, other = Counting("one"), Counting("other")
    cached(one).embed_memories(["a"])
    cached(other).embed_memories(["a"])

    assert one.asked == other.asked == ["a"]


def test_it_is_what_it_wraps(cached: Wrap) -> None:
    embedder = Counting()
    wrapper = cached(embedder)

    assert wrapper.space is embedder.space
    assert wrapper.leaves_machine
    wrapper.close()
    assert embedder.closed
    assert wrapper.embed_memories([]).shape == (0, 8)


def test_the_file_is_private_and_holds_no_text(cached: Wrap, file: Path) -> None:
    cached(Counting()).embed_memories(["the launch code is 0000"])
    cached(Counting()).embed_query("what is the launch code?")

    assert file.stat().st_mode & 0o777 == 0o600
    assert b"launch" not in b"".join(path.read_bytes() for path in file.parent.iterdir())


def test_progress_is_told(file: Path) -> None:
    told: list[tuple[int, int]] = []
    texts = [*map(str, range(600))]
    with EmbeddingCache(file) as cache:
        CachedEmbedder(Counting(), cache).embed_memories(texts[:100])
        embedder = CachedEmbedder(
            Counting(), cache, progress=lambda done, of: told.append((done, of))
        )
        embedder.embed_memories(texts)

    assert told == [(100, 600), (356, 600), (600, 600)]


def test_what_was_done_before_a_failure_is_kept(cached: Wrap) -> None:
    texts = [f"{at:04}" for at in range(600)]
    embedder = Counting(refuses="0599")

    with pytest.raises(EmbedderFailure):
        cached(embedder).embed_memories(texts)
    embedder.asked.clear()
    embedder.refuses = "\0"
    cached(embedder).embed_memories(texts)

    assert embedder.asked == ["0599"]


def test_a_refused_text_is_named_by_its_place_among_all(cached: Wrap) -> None:
    embedder = Counting(refuses="poison")
    cached(embedder).embed_memories(["known"])

    with pytest.raises(EmbedderFailure) as caught:
        cached(embedder).embed_memories(["known", "longer", "poison", "x", "poison"])

    assert caught.value.refused == (2, 4)
    assert caught.value.permanent


def test_the_oldest_make_room(cached: Wrap, file: Path) -> None:
    embedder = Counting()
    small = cached(embedder, size=64 * 1024)
    for begin in range(0, 3_000, 100):
        small.embed_memories([f"text {at}" for at in range(begin, begin + 100)])
    embedder.asked.clear()

    small.embed_memories(["text 2999"])
    assert embedder.asked == []
    small.embed_memories(["text 0"])
    assert embedder.asked == ["text 0"]
    assert file.stat().st_size < 2 * 64 * 1024


@pytest.mark.parametrize("damage", [b"this is no database", b"SQLite format 3\0" + b"\xff" * 5_000])
def test_a_damaged_file_is_begun_anew(
    cached: Wrap, file: Path, damage: bytes, caplog: pytest.LogCaptureFixture
) -> None:
    embedder = Counting()
    file.parent.mkdir()
    file.write_bytes(damage)

    for _ in range(3):
        cached(embedder).embed_memories(["a"])

    assert embedder.asked.count("a") <= 2
    assert "was damaged" in caplog.text
    assert file.stat().st_mode & 0o777 == 0o600


def test_damage_while_it_is_open_is_survived(cached: Wrap, file: Path) -> None:
    wrapper = cached(Counting())
    wrapper.embed_memories([*map(str, range(500))])
    file.write_bytes(b"\xff" * file.stat().st_size)

    for _ in range(3):
        assert wrapper.embed_memories(["1", "2"]).shape == (2, 8)


def test_a_vector_that_is_not_what_was_kept_is_made_again(cached: Wrap, file: Path) -> None:
    embedder = Counting()
    good = cached(embedder).embed_memories(["a"])
    with sqlite3.connect(file) as connection:
        connection.execute("UPDATE embeddings SET vector = zeroblob(32)")
    connection.close()

    np.testing.assert_array_equal(cached(embedder).embed_memories(["a"]), good)
    np.testing.assert_array_equal(cached(Counting()).embed_memories(["a"]), good)
    assert embedder.asked == ["a", "a"]


def test_a_file_that_cannot_be_used_costs_the_cache_alone(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (tmp_path / "file").write_text("in the way")
    with EmbeddingCache(tmp_path / "file" / "embeddings.db") as cache:
        vectors = CachedEmbedder(Counting(), cache).embed_memories(["a"])

    assert vectors.shape == (1, 8)
    assert caplog.text.count("cannot be used") == 1


def test_a_file_of_another_version_is_made_anew(cached: Wrap, file: Path) -> None:
    file.parent.mkdir()
    with sqlite3.connect(file) as connection:
        connection.execute("CREATE TABLE embeddings (key TEXT PRIMARY KEY, vector BLOB)")
    connection.close()
    embedder = Counting()

    for _ in range(2):
        cached(embedder).embed_memories(["a"])

    assert embedder.asked == ["a"]


def test_dimensions_that_were_found_out_are_remembered(file: Path) -> None:
    with EmbeddingCache(file) as cache:
        assert cache.dimensions("http:m") is None
        cache.keep_dimensions("http:m", 8)
    with EmbeddingCache(file) as cache:
        assert cache.dimensions("http:m") == 8
        assert cache.dimensions("http:n") is None


def test_many_threads_share_one(cached: Wrap) -> None:
    embedder = Counting()
    wrapper = cached(embedder)
    texts = [*map(str, range(50))]

    with ThreadPoolExecutor(8) as pool:
        answers = [*pool.map(wrapper.embed_memories, [texts] * 16)]

    assert all(np.array_equal(answer, answers[0]) for answer in answers)


_WRITER = """
import sys
from pathlib import Path
sys.path.insert(0, sys.argv[2])
from test_embedding_cache import CachedEmbedder, Counting, EmbeddingCache
with EmbeddingCache(Path(sys.argv[1])) as cache:
    for at in range(50):
        CachedEmbedder(Counting(), cache).embed_memories([f"{at}", f"{sys.argv[3]} {at}"])
"""


def test_many_processes_share_one_file(file: Path, cached: Wrap) -> None:
    here = str(Path(__file__).parent)
    paths = {"PYTHONPATH": f"{here}:{Path(here).parent}"}
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", _WRITER, str(file), here, str(n)],
            env=paths,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(3)
    ]
    # Trouble with the file would be logged, which nobody hides here.
    assert [(writer.communicate()[1], writer.returncode) for writer in writers] == [("", 0)] * 3

    embedder = Counting()
    cached(embedder).embed_memories([f"{n} {at}" for n in range(3) for at in range(50)])
    assert embedder.asked == []
