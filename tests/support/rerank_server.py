"""A real HTTP server that speaks every rerank protocol, scores by shared words, and misbehaves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from support.rerankers import overlap
from support.server_thread import on_thread

Row = dict[str, Any]
Rows = list[Row]
Answer = Callable[["Handler"], None]


class RerankServer(ThreadingHTTPServer):
    """Answers well, unless it is told otherwise; keeps all that it was sent."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Answer] = []  #: answers to give before the good ones; the last one stays
        self.twist: Callable[[Rows], Any] = lambda rows: rows  #: what becomes of the scored rows
        self.say: Callable[[str], str] = lambda text: text  #: what becomes of a model's words
        self.requests: list[dict[str, Any]] = []
        self.keys: list[str | None] = []
        self.received = b""  #: every byte of every body

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: RerankServer
    body: dict[str, Any]

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        self.body = json.loads(content)
        self.server.received += content
        self.server.requests.append(self.body | {"path": self.path})
        self.server.keys.append(self.headers["Authorization"])
        (self.server.script.pop(0) if self.server.script else well)(self)

    def reply(
        self, body: object, status: int = 200, cut: int = 0, headers: dict[str, str] | None = None
    ) -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) - cut])

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


def well(handler: Handler) -> None:
    """Answer as the protocol of the path says."""
    body, path, server = handler.body, handler.path, handler.server
    if path.endswith("/chat/completions"):
        asked = json.loads(body["messages"][-1]["content"])
        rows = [
            {"id": row["id"], "score": min(10, overlap(asked["query"], row["text"]))}
            for row in asked["memories"]
        ]
        said = server.say(json.dumps({"scores": server.twist(rows)}))
        return handler.reply({"choices": [{"message": {"role": "assistant", "content": said}}]})
    texts = body["texts" if path == "/rerank" else "documents"]
    name = "score" if path == "/rerank" else "relevance_score"
    rows = [{"index": n, name: overlap(body["query"], text)} for n, text in enumerate(texts)]
    rows.sort(key=lambda row: -row[name])  # best first, as all of them do
    scored = server.twist(rows)
    if path == "/rerank":
        return handler.reply(scored)
    return handler.reply({"data" if "truncation" in body else "results": scored})


def fails(status: int, body: str = "oh no", **headers: str) -> Answer:
    """Answer with an error."""
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler: handler.reply(body, status, headers=named)


def says(text: str, cut: int = 0) -> Answer:
    """Answer with these words, or with all but the last of them."""
    return lambda handler: handler.reply(text, cut=cut)


def waits_for(event: threading.Event) -> Answer:
    """Answer well, but not before something happened."""

    def answer(handler: Handler) -> None:
        event.wait()
        well(handler)

    return answer


@contextmanager
def running() -> Iterator[RerankServer]:
    """A server that is up."""
    with on_thread(RerankServer()) as server:
        yield server
