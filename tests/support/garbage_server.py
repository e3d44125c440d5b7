"""A server that accepts connections and answers nonsense, or nothing."""

from __future__ import annotations

import json
import random
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress

_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
Answering = Callable[[socket.socket, threading.Event], None]


def _silent(_: socket.socket, over: threading.Event) -> None:
    over.wait()


def _hangs_up(connection: socket.socket, _: threading.Event) -> None:
    connection.recv(1)


def _sends(answer: Callable[[random.Random], bytes]) -> Answering:
    chance = random.Random(8)

    def send(connection: socket.socket, _: threading.Event) -> None:
        connection.recv(65_536)
        connection.sendall(answer(chance))

    return send


def _drips(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(65_536)
    for byte in _HEAD + b'\r\n{"hits": [' + b" " * 10_000:
        if over.wait(0.02):
            return
        connection.sendall(bytes([byte]))


def _never_ends(connection: socket.socket, over: threading.Event) -> None:
    connection.recv(65_536)
    connection.sendall(_HEAD + b"\r\n[")
    while not over.is_set():
        connection.sendall(b"0," * 100_000)


def _body(content: object, status: bytes = b"200 OK") -> bytes:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    return b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(body), body)


def _hit(memory: object, probability: object = 1.0) -> dict[str, object]:
    return {"probability": probability, "placings": {}, "memory": memory, "attached": []}


_MEMORY = {"id": "abc", "content": "words", "created_at": "2026-01-01T00:00:00Z"}
#: By name: what it does to whoever connects.
KINDS: dict[str, Answering] = {
    "silent": _silent,
    "hangs up": _hangs_up,
    "drips": _drips,
    "never ends": _never_ends,
    "random bytes": _sends(lambda chance: chance.randbytes(chance.randrange(1, 5_000))),
    "random body": _sends(lambda chance: _body(chance.randbytes(chance.randrange(1, 5_000)))),
    "empty": _sends(lambda _: b""),
    "half a head": _sends(lambda _: b"HTTP/1.1 200 OK\r\nContent-Le"),
    "half a body": _sends(
        lambda _: _body({"weak": [], "as_data": [], "hits": [_hit(_MEMORY)]})[:-20]
    ),
    "a lie about its length": _sends(lambda _: _HEAD + b"Content-Length: 99999999999\r\n\r\n{}"),
    "a list": _sends(lambda _: _body([])),
    "a number": _sends(lambda _: _body(5)),
    "null": _sends(lambda _: _body(None)),
    "no hits": _sends(lambda _: _body({"memories": []})),
    "hits that are none": _sends(
        lambda _: _body({"weak": [], "as_data": [], "hits": ["x", 3, None]})
    ),
    "memories that are none": _sends(
        lambda _: _body({"weak": [], "as_data": [], "hits": [_hit("x"), _hit([1]), _hit(None)]})
    ),
    "texts that are none": _sends(
        lambda _: _body({"weak": [], "as_data": [], "hits": [_hit({**_MEMORY, "content": [1]})]})
    ),
    "ids that are none": _sends(
        lambda _: _body({"weak": [], "as_data": [], "hits": [_hit({**_MEMORY, "id": "a>>>\nb"})]})
    ),
    "a probability that is none": _sends(
        lambda _: _body({"weak": [], "as_data": [], "hits": [_hit(_MEMORY, "high")]})
    ),
    "deep brackets": _sends(lambda _: _body(b"[" * 100_000)),
    "huge": _sends(
        lambda _: _body(
            {"weak": [], "as_data": [], "hits": [_hit({**_MEMORY, "content": "x" * 5_000_000})]}
        )
    ),
    "a huge memory": _sends(
        lambda _: _body(
            {"weak": [], "as_data": [], "hits": [_hit({**_MEMORY, "content": "x" * 9_000})]}
        )
    ),
    "500": _sends(
        lambda _: _body(
            {"weak": [], "as_data": [], "hits": [_hit(_MEMORY)]}, b"500 Internal Server Error"
        )
    ),
    "401": _sends(lambda _: _body({"error": "no"}, b"401 Unauthorized")),
    "a redirect": _sends(lambda _: _body(b"", b"302 Found\r\nLocation: http://127.0.0.1:9/")),
    "a page": _sends(lambda _: _body(b"<html><body>Log in</body></html>")),
}


@contextmanager
def answering(kind: str) -> Iterator[str]:
    """The address of a server that misbehaves in one way."""
    over = threading.Event()

    def answer(connection: socket.socket) -> None:
        with closing(connection), suppress(OSError):
            KINDS[kind](connection, over)

    def accept(listening: socket.socket) -> None:
        with suppress(OSError):
            while True:
                connection, _ = listening.accept()
                threading.Thread(target=answer, args=(connection,), daemon=True).start()

    with closing(socket.create_server(("127.0.0.1", 0), backlog=128)) as listening:
        thread = threading.Thread(target=accept, args=(listening,), daemon=True)
        thread.start()
        try:
            yield f"http://127.0.0.1:{listening.getsockname()[1]}"
        finally:
            over.set()
            listening.shutdown(socket.SHUT_RDWR)
            thread.join()


@contextmanager
def nobody() -> Iterator[str]:
    """An address at which nobody listens."""
    with closing(socket.create_server(("127.0.0.1", 0))) as listening:
        port = listening.getsockname()[1]
    yield f"http://127.0.0.1:{port}"
