"""What models say, from a worker that has them loaded, over a socket beside the store.

Vectors of queries, and numbers of pairs of texts that a model reads together.

A request is one line of JSON, and so is the answer. Standard library and numpy only, and hard
limits: a command that recalls must never be slower for having asked.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import socket
import socketserver
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind.errors import EmbedderFailure, MindError
from bearinmind.models import forks
from bearinmind.protocols import Reads
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Embedder, ReadPairs, Vector, Vectors

VERSION = 1  # of the protocol
LIMIT = 0.3  # seconds for everything; loading a model takes longer, but not much
MOST_BYTES = 1_000_000  # of a request or an answer
_LONGEST_PATH = 100  # bytes; systems allow 104 to 108
_PATIENCE = 2.0  # seconds that a client has for its request
_LOOK = 0.5  # seconds: how soon the end of the worker is seen

Answer = Callable[[bytes], dict[str, Any]]


def places(store: Path, otherwise: Path) -> tuple[Path, ...]:
    """The paths that the socket of a store may have: beside it, or in this folder."""
    if sys.platform == "win32":
        return ()
    path = store.resolve()
    name = hashlib.sha256(os.fsencode(path)).hexdigest()[:16]
    paths = (path.with_name(f"{path.name}.sock"), otherwise / f"{name}.sock")
    return tuple(path for path in paths if len(os.fsencode(path)) <= _LONGEST_PATH)


class SocketEmbedder:
    """An embedder that asks the worker for query vectors, and loads the model if there is none."""

    def __init__(
        self,
        space: Space,
        places: Sequence[Path],
        fallback: Callable[[], Embedder],
        *,
        limit: float = LIMIT,
    ) -> None:
        self.space = space
        self._limit = limit
        self._places = places
        self._fallback = fallback
        self._own: Embedder | None = None
        self._lock = forks.Lock()
        self._alone = False  # whether no worker answered

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""
        return self._embedder().leaves_machine

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, made here."""
        return self._embedder().embed_memories(texts)

    def embed_query(self, text: str) -> Vector:
        """A query's vector, from the worker or from the own model."""
        vector = None if self._alone else self._requested(text)
        if vector is not None:
            return vector
        self._alone = True
        return self._embedder().embed_query(text)

    def close(self) -> None:
        """Release the model, if one was made."""
        if self._own is not None:
            self._own.close()

    def _embedder(self) -> Embedder:
        with self._lock:
            if self._own is None:
                self._own = self._fallback()
            return self._own

    def _requested(self, text: str) -> Vector | None:
        request = {"version": VERSION, "space": self.space.key, "text": text}
        for place in self._places:
            answer = ask(place, request, self._limit)
            vector = self._read(answer.get("vector")) if answer else None
            if vector is not None:
                return vector
        return None

    def _read(self, encoded: object) -> Vector | None:
        """The vector of an answer, if it is one of this space."""
        import numpy as np  # noqa: PLC0415  most commands need none of it

        if not isinstance(encoded, str):
            return None
        try:
            vector = np.frombuffer(base64.b64decode(encoded), dtype="<f4").astype(np.float32)
        except (binascii.Error, ValueError):
            return None
        good = vector.shape == (self.space.dimensions,) and bool(np.isfinite(vector).all())
        return vector if good else None


def read_pairs(
    places: Sequence[Path], own: ReadPairs, reads: Reads, pairs: Sequence[tuple[str, str]]
) -> Sequence[float]:
    """A number for each pair of texts, from the worker or from the own model."""
    for place in places:
        answer = ask(place, {"version": VERSION, "reads": reads, "pairs": [*map(list, pairs)]})
        numbers = answer.get("numbers") if answer else None
        known = numbers if isinstance(numbers, list) else []
        if len(known) == len(pairs) and all(isinstance(x, float) and 0 <= x <= 1 for x in known):
            return known
    return own(reads, pairs)


def ask(place: Path, request: dict[str, Any], limit: float = LIMIT) -> dict[str, Any] | None:
    """The answer of the process behind a socket; None when there is none in time."""
    if sys.platform == "win32" or not _is_private(place):
        return None
    deadline = time.monotonic() + limit
    line = json.dumps(request).encode() + b"\n"
    if len(line) > MOST_BYTES:
        return None
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.settimeout(limit)
            connection.connect(str(place))
            connection.sendall(line)
            answer = json.loads(_line(connection, deadline))
    except (OSError, ValueError):
        return None
    return answer if isinstance(answer, dict) and "error" not in answer else None


def _line(connection: socket.socket, deadline: float) -> bytes:
    received = b""
    while not received.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or len(received) > MOST_BYTES:
            raise TimeoutError
        connection.settimeout(left)
        more = connection.recv(65_536)
        if not more:
            raise ConnectionResetError
        received += more
    return received


def _is_private(place: Path) -> bool:
    """Whether this is a socket that this user made and no other can write to."""
    try:
        status = place.lstat()
    except OSError:
        return False
    private = not status.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return stat.S_ISSOCK(status.st_mode) and status.st_uid == os.getuid() and private


@dataclass(frozen=True, slots=True)
class EncoderService:
    """Answers the requests of the socket.

    `embedder_of` gives the loaded embedder of a space by its key, or None: a client loads the model
    itself rather than wait for it. `pair_reader` gives what reads pairs of texts, if anything does.
    """

    embedder_of: Callable[[str], Embedder | None]
    wake: Callable[[], None]
    pair_reader: Callable[[], ReadPairs | None] = lambda: None

    def __call__(self, line: bytes) -> dict[str, Any]:
        """The answer to a line."""
        try:
            request = json.loads(line)
            version = request["version"]
        except (ValueError, KeyError, TypeError):
            return {"error": "not a question"}
        if version != VERSION:
            return {"error": f"this speaks version {VERSION}"}
        if request.get("wake"):
            self.wake()
            return {}
        if "pairs" in request:
            return self._read(request.get("reads"), request["pairs"])
        return self._embedded(str(request.get("space")), request.get("text"))

    def _embedded(self, space: str, text: object) -> dict[str, Any]:
        embedder = self.embedder_of(space)
        if embedder is None or not isinstance(text, str):
            return {"error": "not the space that is lent here, or not loaded yet"}
        try:
            vector = embedder.embed_query(text)
        except EmbedderFailure as exc:
            return {"error": exc.message}
        return {"vector": base64.b64encode(vector.astype("<f4").tobytes()).decode()}

    def _read(self, reads: object, pairs: object) -> dict[str, Any]:
        read_pairs = self.pair_reader()
        if read_pairs is None or not isinstance(pairs, list):
            return {"error": "no pairs are read here"}
        try:
            texts = [(str(one), str(other)) for one, other in pairs]
            return {"numbers": [*read_pairs(Reads(str(reads)), texts)]}
        except (TypeError, ValueError):
            return {"error": "not pairs of texts"}
        except MindError as exc:
            return {"error": exc.message}


class _Request(socketserver.StreamRequestHandler):
    """Answers one line."""

    timeout = _PATIENCE
    server: _Server

    def handle(self) -> None:
        # A client that left early or is too slow has loaded the model itself.
        with contextlib.suppress(OSError):
            answer = self.server.answer(self.rfile.readline(MOST_BYTES + 1))
            self.wfile.write(json.dumps(answer).encode() + b"\n")


if sys.platform != "win32":  # which has no such sockets

    class _Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
        """Answers each connection on a thread of its own."""

        daemon_threads = True
        request_queue_size = 64  # connections that may wait to be answered

        def __init__(self, place: Path, answer: Answer) -> None:
            self.answer = answer
            super().__init__(str(place), _Request)

        def server_bind(self) -> None:
            """Bind it so that no other user may connect, from the first moment on."""
            before = os.umask(0o177)
            try:
                super().server_bind()
            finally:
                os.umask(before)


@contextmanager
def serving(places: Sequence[Path], answer: Answer) -> Iterator[Path]:
    """Answer requests on the first of these paths that can be bound, and yield it.

    Only the holder of the worker lock may do this: a socket that exists was left by a dead worker.
    Raises `OSError` when no path can be bound.
    """
    server, place = _bound(places, answer)
    thread = threading.Thread(
        target=server.serve_forever, args=(_LOOK,), name="bearinmind-encoder", daemon=True
    )
    thread.start()
    try:
        yield place
    finally:
        if thread.is_alive():  # it is not in a forked child, who would wait for ever
            server.shutdown()
        server.server_close()
        with contextlib.suppress(OSError):
            place.unlink()


def _bound(places: Sequence[Path], answer: Answer) -> tuple[_Server, Path]:
    error = OSError("there is no place for a socket here")
    for place in places:
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            return _Server(place, answer), place
        except OSError as exc:
            error = exc
    raise error
