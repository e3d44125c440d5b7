"""Lends a loaded model to the other processes of this user, over a socket beside the store."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import socket
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bearinmind.embed.remote import MOST_BYTES, VERSION
from bearinmind.errors import EmbedderFailure

if TYPE_CHECKING:
    from bearinmind.protocols import Embedder

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
