"""Models lent over a socket: as good as one's own, within a time, and never a stranger's."""

from __future__ import annotations

import base64
import json
import socket
import stat
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bearinmind.errors import EmbedderFailure, RerankerFailure
from bearinmind.models import encoder_socket
from bearinmind.models.encoder_socket import EncoderService, SocketEmbedder, serving
from bearinmind.protocols import Embedder, ReadPairs, Reads
from support.embedders import WordEmbedder


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "m.db.sock"


class Client:
    """An embedder that asks at a place, and counts how often it had to help itself."""

    def __init__(self, *places: Path, limit: float = 60) -> None:
        self.own = 0
        self.embedder = SocketEmbedder(WordEmbedder().space, places, self._make, limit=limit)

    def _make(self) -> Embedder:
        self.own += 1
        return WordEmbedder()

    def asks(self, text: str = "a query") -> bool:
        """Whether a right vector came, and from elsewhere."""
        vector = self.embedder.embed_query(text)
        assert np.allclose(vector, WordEmbedder().vector(text))
        return not self.own


def service(
    embedder: WordEmbedder | None = None, wake: Callable[[], None] = lambda: None
) -> EncoderService:
    made = embedder or WordEmbedder()
    return EncoderService({made.space.key: made}.get, wake)


@contextmanager
def answering(place: Path, answer: Callable[[bytes], bytes]) -> Iterator[None]:
    """A socket behind which somebody answers with any bytes."""
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(str(place))
        place.chmod(0o600)
        listening.listen()

        def serve() -> None:
            try:
                connection, _ = listening.accept()
            except OSError:
                return
            with connection, suppress(BrokenPipeError):
                connection.sendall(answer(connection.recv(65_536)))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield
        listening.shutdown(socket.SHUT_RDWR)
        thread.join(60)


def encoded(vector: Any) -> str:
    return base64.b64encode(vector.astype("<f4").tobytes()).decode()


def test_a_lent_vector_is_the_one_that_the_model_makes(place: Path) -> None:
    client = Client(place)

    with serving([place], service()):
        assert client.asks("zwei Wörter\nund eine Zeile")
        assert client.asks("")


PAIRS = [("We use Redis.", "We use Valkey."), ("a", "b")]


def halves(_reads: Reads, pairs: Sequence[tuple[str, str]]) -> list[float]:
    return [0.5] * len(pairs)


def reading(read_pairs: ReadPairs) -> EncoderService:
    """A service that reads pairs."""
    return EncoderService(lambda _space: None, lambda: None, lambda: read_pairs)


def lengths(reads: Reads, pairs: Sequence[tuple[str, str]]) -> list[float]:
    """Of the first texts, or of the second, so that the two can be told apart."""
    side = int(reads is Reads.ANSWERS)
    return [len(pair[side]) / 100 for pair in pairs]


def test_pairs_are_read_by_the_worker(place: Path) -> None:
    with serving([place], reading(lengths)):
        read = partial(encoder_socket.read_pairs, [place], halves)
        assert read(Reads.OUTDATES, PAIRS) == [0.13, 0.01]
        assert read(Reads.ANSWERS, PAIRS) == [0.14, 0.01]


@pytest.mark.parametrize(
    "answer", [{"numbers": [0.1]}, {"numbers": [0.1, 7.0]}, {"numbers": "no"}, {"error": "no"}]
)
def test_pairs_are_read_here_when_the_worker_says_nothing_useful(
    place: Path, answer: dict[str, Any]
) -> None:
    with answering(place, lambda _: json.dumps(answer).encode() + b"\n"):
        assert encoder_socket.read_pairs([place], halves, Reads.OUTDATES, PAIRS) == [0.5, 0.5]
    # Now nobody is there.
    assert encoder_socket.read_pairs([place], halves, Reads.OUTDATES, PAIRS) == [0.5, 0.5]


def test_a_worker_says_why_it_reads_no_pairs() -> None:
    def fails(_reads: Reads, _pairs: Sequence[tuple[str, str]]) -> list[float]:
        raise RerankerFailure("the model is damaged")

    def line(**request: object) -> bytes:
        return json.dumps({"version": 1, **request}).encode()

    asked = line(reads="answers", pairs=PAIRS)
    assert reading(fails)(asked) == {"error": "the model is damaged"}
    assert "error" in reading(halves)(line(reads="answers", pairs=[3]))
    assert "error" in reading(halves)(line(reads="tea leaves", pairs=PAIRS))
    assert "error" in service()(asked)


def test_only_its_user_can_use_the_socket_and_it_goes_with_its_server(place: Path) -> None:
    with serving([place], service()):
        assert stat.S_IMODE(place.stat().st_mode) == 0o600
    assert not place.exists()


def test_many_can_ask_at_once(place: Path) -> None:
    found: list[bool] = []
    with serving([place], service()):
        threads = [
            threading.Thread(target=lambda n=n: found.append(Client(place).asks(f"query {n}")))
            for n in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    assert found == [True] * 8


def test_a_socket_that_a_killed_process_left_behind_is_replaced(place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as dead:
        dead.bind(str(place))
        place.chmod(0o600)
    assert not Client(place).asks()

    with serving([place], service()):
        assert Client(place).asks()


def test_memories_are_embedded_at_home(place: Path) -> None:
    client = Client(place)

    with serving([place], service()):
        assert client.embedder.embed_memories(["one", "two"]).shape == (2, 16)
        assert client.own == 1


def test_another_space_is_not_lent(place: Path) -> None:
    with serving([place], service(WordEmbedder("another"))):
        assert not Client(place).asks()


def test_a_model_that_fails_is_no_answer(place: Path) -> None:
    class Failing(WordEmbedder):
        def embed_query(self, text: str) -> Any:  # noqa: ARG002
            raise EmbedderFailure("no")

    with serving([place], service(Failing())):
        assert not Client(place).asks()


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"\n",
        b"[]\n",
        b"not json\n",
        b'{"vector": 3}\n',
        b'{"vector": "!"}\n',
        b'{"error": "another version"}\n',
        json.dumps({"vector": encoded(np.ones(15))}).encode() + b"\n",
        json.dumps({"vector": encoded(np.full(16, np.nan))}).encode() + b"\n",
    ],
)
def test_an_answer_that_is_no_vector_of_the_space_is_not_taken(place: Path, answer: bytes) -> None:
    with answering(place, lambda _: answer):
        assert not Client(place).asks()


def test_nobody_waits_for_a_process_that_does_not_answer(place: Path) -> None:
    def sleep(_: bytes) -> bytes:
        time.sleep(3 * encoder_socket.LIMIT)
        return json.dumps({"vector": encoded(WordEmbedder().vector("a query"))}).encode() + b"\n"

    with answering(place, sleep):
        assert not Client(place, limit=encoder_socket.LIMIT).asks()


@pytest.mark.parametrize(
    "question",
    [
        b"",
        b"\n",
        b"x\n",
        b"[1]\n",
        b'{"version": 99, "space": "x", "text": "y"}\n',
        b'{"space": 1}\n',
    ],
)
def test_questions_that_make_no_sense_are_answered_with_an_error(question: bytes) -> None:
    assert "error" in service()(question)


def test_a_stranger_s_socket_is_not_asked(place: Path) -> None:
    asked: list[bytes] = []

    def listen(line: bytes) -> bytes:
        asked.append(line)
        return json.dumps({"vector": encoded(WordEmbedder().vector("a query"))}).encode() + b"\n"

    with answering(place, listen):
        place.chmod(0o666)
        assert not Client(place).asks()
        assert asked == []


def test_a_file_in_place_of_the_socket_is_not_asked(place: Path) -> None:
    place.touch(mode=0o600)

    assert not Client(place).asks()


def test_a_worker_can_be_woken(place: Path) -> None:
    woken = threading.Event()

    with serving([place], service(wake=woken.set)):
        answer = encoder_socket.ask(
            place, {"version": encoder_socket.VERSION, "wake": True}, limit=60
        )

    assert answer == {}
    assert woken.is_set()


def test_a_store_with_a_long_path_has_its_socket_elsewhere(tmp_path: Path) -> None:
    deep = tmp_path / ("x" * 100) / "memories.db"
    near = Path("/short/memories.db")
    cache = Path("/cache")

    assert [p.parent for p in encoder_socket.places(near, cache)] == [near.parent, cache]
    [place] = encoder_socket.places(deep, cache)
    assert place.parent == cache
    assert encoder_socket.places(deep.with_name("other.db"), cache) != (place,)


def test_a_socket_goes_to_the_next_place_where_the_first_cannot_be_had(
    place: Path, tmp_path: Path
) -> None:
    blocked = tmp_path / "folder.sock"
    blocked.mkdir()

    with serving([blocked, place], service()) as found:
        assert found == place
        assert Client(blocked, place).asks()
    with pytest.raises(OSError, match="no place"), serving([], service()):
        pass
