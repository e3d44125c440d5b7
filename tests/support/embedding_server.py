"""A server of embeddings that speaks every provider's protocol, and misbehaves when told to."""

from __future__ import annotations

import hashlib
import json
import math
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple, Self

from pydantic import SecretStr

from bearinmind.models.factory import EmbedderOptions
from bearinmind.models.hosted_embedder import HTTP, Dialect, HostedEmbedder
from support.server_thread import on_thread


class Seen(NamedTuple):
    """A request as it came."""

    path: str
    body: Any
    key: str | None


class EmbeddingServer(ThreadingHTTPServer):
    """Does what its script says, one behaviour for each request; after that it answers well."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.dimensions = 8
        self.script: list[Behaviour] = []
        self.always: Behaviour | None = None  #: instead of answering well
        self.refuses: Callable[[str], bool] = lambda _text: False
        self.seen: list[Seen] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    @property
    def texts(self) -> list[list[str]]:
        """The texts of each request."""
        return [texts_of(seen.body) for seen in self.seen]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece, which is not held back
    server: EmbeddingServer

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.seen.append(Seen(self.path, body, self.headers["Authorization"]))
        script = self.server.script
        (script.pop(0) if script else self.server.always or well)(self, body)

    def reply(self, body: str | bytes, status: int = 200, **headers: str) -> None:
        content = body if isinstance(body, bytes) else body.encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


Behaviour = Callable[[Handler, Any], None]


def vector_of(text: str, dimensions: int = 8) -> list[float]:
    """What the server answers for a text; of no particular length."""
    digest = hashlib.shake_128(text.encode()).digest(dimensions)
    return [byte / 64 - 2 for byte in digest]


def direction(text: str, dimensions: int = 8) -> list[float]:
    """The same with length 1, as an embedder gives it back."""
    vector = vector_of(text, dimensions)
    return [number / math.hypot(*vector) for number in vector]


def texts_of(body: Any) -> list[str]:
    texts: list[str] = body["texts"] if "texts" in body else body["input"]
    return texts


def well(handler: Handler, body: Any) -> None:
    """Answer as the provider at this path does."""
    texts = texts_of(body)
    refused = [text for text in texts if handler.server.refuses(text)]
    if refused:
        handler.reply(json.dumps({"error": f"cannot embed {refused[0][:20]!r}"}), 400)
        return
    size = body.get("dimensions") or body.get("output_dimension") or handler.server.dimensions
    handler.reply(json.dumps(wrapped(handler.path, [vector_of(text, size) for text in texts])))


def wrapped(path: str, rows: Sequence[Any]) -> dict[str, Any]:
    """Embeddings in the form that belongs to a path."""
    if path.endswith("/embed"):
        return {"id": "1", "embeddings": {"float": [*rows]}}
    data = [{"object": "embedding", "index": at, "embedding": row} for at, row in enumerate(rows)]
    return {"object": "list", "data": data, "model": "m", "usage": {"total_tokens": 1}}


def changed(change: Callable[[list[Any]], Any]) -> Behaviour:
    """Answer well but for a change of the list of embeddings."""

    def behave(handler: Handler, body: Any) -> None:
        rows = [vector_of(text, handler.server.dimensions) for text in texts_of(body)]
        if handler.path.endswith("/embed"):
            answer = {"embeddings": {"float": change(rows)}}
        else:
            answer = wrapped(handler.path, rows) | {"data": change(wrapped("", rows)["data"])}
        handler.reply(json.dumps(answer))

    return behave


def fails(status: int, body: str = "oh no", **headers: str) -> Behaviour:
    return lambda handler, _body: handler.reply(body, status, **headers)


def says(body: str) -> Behaviour:
    return lambda handler, _body: handler.reply(body)


def sleeps(seconds: float) -> Behaviour:
    def behave(handler: Handler, body: Any) -> None:
        time.sleep(seconds)
        well(handler, body)

    return behave


def hangs_up(handler: Handler, _body: Any) -> None:
    handler.close_connection = True


def breaks_off(handler: Handler, _body: Any) -> None:
    """Promise more than comes."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"data": [')
    handler.wfile.flush()
    handler.close_connection = True


def drips(handler: Handler, _body: Any) -> None:
    """Send a byte now and then, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


@contextmanager
def serving() -> Iterator[EmbeddingServer]:
    """A server in a thread of its own."""
    with on_thread(EmbeddingServer()) as server:
        yield server


@contextmanager
def opening(
    server: EmbeddingServer, key: SecretStr | None = None
) -> Iterator[Callable[..., HostedEmbedder]]:
    """Makes embedders at a server, in which nobody sleeps; closes them in the end."""
    made: list[HostedEmbedder] = []

    def make(dialect: Dialect = HTTP, model: str = "small", **options: Any) -> HostedEmbedder:
        sleep = options.pop("sleep", lambda _: None)
        given = EmbedderOptions(**({"url": server.url, "key": key} | options))
        made.append(HostedEmbedder(dialect, model, given, sleep))
        return made[-1]

    yield make
    for embedder in made:
        embedder.close()


class SlowEmbedder(EmbeddingServer):
    """Keeps whoever asks waiting until it is let go on."""

    def __init__(self) -> None:
        super().__init__()
        self.let = threading.Event()
        self.always = self._wait

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.let.set()
        self.shutdown()
        self.server_close()

    def _wait(self, handler: Handler, body: Any) -> None:
        self.let.wait(60)
        well(handler, body)

    @property
    def settings(self) -> dict[str, Any]:
        return {"embedder": "http:m", "embedder_url": self.url, "embedder_timeout": 60}
