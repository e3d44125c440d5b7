"""A query's vector from a process that has the model loaded, over a socket beside the store.

One line of JSON asks and one line answers. Standard library and numpy only, and hard limits: a
command that recalls must never be slower for having asked.
"""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind.errors import EmbedderFailure
from bearinmind.types import Space

if TYPE_CHECKING:
    from bearinmind.protocols import Embedder, Vector, Vectors


VERSION = 1  # of what is said over the socket
LIMIT = 0.3  # seconds for everything; loading a model takes longer, but not much
MOST_BYTES = 1_000_000  # of a question or an answer
_LONGEST_PATH = 100  # bytes; systems allow 104 to 108


def places(store: Path, otherwise: Path) -> tuple[Path, ...]:
    """Where the socket of a store may be: beside it, or in a folder for those; not on Windows."""
    if sys.platform == "win32":
        return ()
    place = store.resolve()
    name = hashlib.sha256(os.fsencode(place)).hexdigest()[:16]
    found = (place.with_name(f"{place.name}.sock"), otherwise / f"{name}.sock")
    return tuple(path for path in found if len(os.fsencode(path)) <= _LONGEST_PATH)


class SocketEmbedder:
    """An embedder that asks whoever has the model loaded, and else makes its own."""

    def __init__(
        self,
        space: Space,
        places: Sequence[Path],
        fallback: Callable[[], Embedder],
        *,
        limit: float = LIMIT,
    ) -> None:
        self._space = space
        self._limit = limit
        self._places = places
        self._fallback = fallback
        self._own: Embedder | None = None
        self._lock = threading.Lock()
        self._alone = False  # whether asking was of no use

    @property
    def space(self) -> Space:
        """What its vectors are."""
        return self._space

    @property
    def leaves_machine(self) -> bool:
        """Whether texts are sent to another machine."""
        return self._embedder().leaves_machine

    def embed_memories(self, texts: Sequence[str]) -> Vectors:
        """A row for each text, made here."""
        return self._embedder().embed_memories(texts)

    def embed_query(self, text: str) -> Vector:
        """A query's vector, made wherever that is fastest."""
        vector = None if self._alone else self._asked(text)
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

    def _asked(self, text: str) -> Vector | None:
        question = {"version": VERSION, "space": self._space.key, "text": text}
        for place in self._places:
            answer = ask(place, question, self._limit)
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
        good = vector.shape == (self._space.dimensions,) and bool(np.isfinite(vector).all())
        return vector if good else None


def ask(place: Path, question: dict[str, Any], limit: float = LIMIT) -> dict[str, Any] | None:
    """What the process behind a socket answers; None when there is none, or not in time."""
    if sys.platform == "win32" or not _is_ours(place):
        return None
    deadline = time.monotonic() + limit
    line = json.dumps(question).encode() + b"\n"
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


def _is_ours(place: Path) -> bool:
    """Whether a socket is there that this user made and no other can write to."""
    try:
        found = place.lstat()
    except OSError:
        return False
    private = not found.st_mode & (stat.S_IRWXG | stat.S_IRWXO)
    return stat.S_ISSOCK(found.st_mode) and found.st_uid == os.getuid() and private


Answer = Callable[[bytes], dict[str, Any]]

_PATIENCE = 2.0  # seconds that a process has to say what it wants
_WAITING = 64  # connections that may wait to be answered


class Lender:
    """Answers what is asked over the socket.

    `embedder_of` gives the loaded embedder of a space by its key, or None: whoever asks is better
    off loading the model than waiting for it.
    """

    def __init__(
        self, embedder_of: Callable[[str], Embedder | None], wake: Callable[[], None]
    ) -> None:
        self._embedder_of = embedder_of
        self._wake = wake

    def __call__(self, line: bytes) -> dict[str, Any]:
        """The answer to a line."""
        try:
            question = json.loads(line)
            version, wanted = question["version"], question.get("space")
        except (ValueError, KeyError, TypeError, AttributeError):
            return {"error": "not a question"}
        if version != VERSION:
            return {"error": f"this speaks version {VERSION}"}
        if question.get("wake"):
            self._wake()
            return {}
        text = question.get("text")
        embedder = self._embedder_of(str(wanted))
        if embedder is None or not isinstance(text, str):
            return {"error": "not the space that is lent here, or not loaded yet"}
        try:
            vector = embedder.embed_query(text)
        except EmbedderFailure as exc:
            return {"error": exc.message}
        return {"vector": base64.b64encode(vector.astype("<f4").tobytes()).decode()}


@contextmanager
def lending(places: Sequence[Path], answer: Answer) -> Iterator[Path]:
    """Answers on the first of these places that can be had; yields which.

    Only the holder of the store's post may do this: a socket that is there already is a dead one's.

    Raises:
        OSError: none can be had.
    """
    listening, place = _bound(places)
    server = _Server(listening, place, answer)
    try:
        yield place
    finally:
        server.close()
        with contextlib.suppress(OSError):
            place.unlink()


class _Server:
    """Answers one line of each connection, on a thread of its own."""

    def __init__(self, listening: socket.socket, place: Path, answer: Answer) -> None:
        self._listening = listening
        self._place = place
        self._answer = answer
        self._closing = False
        self._thread = threading.Thread(target=self._run, name="bearinmind-lender", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Answer no more."""
        self._closing = True
        with contextlib.suppress(OSError), _socket() as knock:  # it waits for a connection
            knock.connect(str(self._place))
        self._thread.join(_PATIENCE)
        self._listening.close()

    def _run(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            if self._closing:
                connection.close()
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        connection.settimeout(_PATIENCE)
        # Whoever left early or says nothing has helped itself.
        with connection, contextlib.suppress(OSError), connection.makefile("rb") as lines:
            answer = self._answer(lines.readline(MOST_BYTES + 1))
            connection.sendall(json.dumps(answer).encode() + b"\n")


def _bound(places: Sequence[Path]) -> tuple[socket.socket, Path]:
    error = OSError("there is no place for a socket here")
    for place in places:
        listening = _socket()
        try:
            place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            place.unlink(missing_ok=True)
            before = os.umask(0o177)  # nobody else may connect, from the first moment on
            try:
                listening.bind(str(place))
            finally:
                os.umask(before)
            listening.listen(_WAITING)
        except OSError as exc:
            listening.close()
            error = exc
        else:
            return listening, place
    raise error


def _socket() -> socket.socket:
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
