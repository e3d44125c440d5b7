"""A query's vector from a process that has the model loaded, over a socket beside the store.

One line of JSON asks and one line answers. Standard library and numpy only, and hard limits: a
command that recalls must never be slower for having asked.
"""

from __future__ import annotations

import base64
import binascii
import hashlib
import json
import os
import socket
import stat
import sys
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

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
