"""A server that keeps every byte it is sent, and answers as embedders, rerankers and models do."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.server_thread import on_thread

DIMENSIONS = 8


class RecordingServer(ThreadingHTTPServer):
    """Answers every request well, and remembers all of it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.received = b""  #: paths, headers and bodies
        self.paths: list[str] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    server: RecordingServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.received += self.path.encode() + bytes(self.headers) + body
        self.server.paths.append(self.path)
        answer = json.dumps(answer_to(self.path, json.loads(body))).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


def answer_to(path: str, body: Any) -> object:
    """What a server of the kind at this path answers."""
    if path.endswith("/embeddings"):
        rows = [vector_of(text) for text in body["input"]]
        return {"data": [{"index": at, "embedding": row} for at, row in enumerate(rows)]}
    if path.endswith("/rerank"):
        return [{"index": at, "score": 1 / (at + 1)} for at in range(len(body["texts"]))]
    said = json.dumps({"question": "Which berth does the boat have?"})
    return {
        "choices": [{"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}]
    }


def vector_of(text: str) -> list[float]:
    digest = hashlib.shake_128(text.encode()).digest(DIMENSIONS)
    return [byte / 64 - 2 for byte in digest]


@contextmanager
def recording() -> Iterator[RecordingServer]:
    """A server that is up."""
    with on_thread(RecordingServer()) as server:
        yield server


class _Witness(BaseHTTPRequestHandler):
    asked: list[str]

    def do_GET(self) -> None:
        self.asked.append(self.path)
        self.send_response(204)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Nothing needs to be said."""


@contextmanager
def witnessing() -> Iterator[tuple[str, list[str]]]:
    """Its address, and what it was asked."""
    asked: list[str] = []
    handler = type("Handler", (_Witness,), {"asked": asked})
    with on_thread(ThreadingHTTPServer(("127.0.0.1", 0), handler)) as server:
        yield f"http://127.0.0.1:{server.server_port}", asked
