"""A server of HTTP that misbehaves by script: it loses answers, hangs up, is busy, talks nonsense.

Left alone it answers as it is told, or hands everything on to a real server behind it.
"""

from __future__ import annotations

import http.client
import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple
from urllib.parse import urlsplit

from support.server_thread import on_thread

_HOP = {"connection", "transfer-encoding", "content-length", "date", "server", "host"}


class Seen(NamedTuple):
    """A request as it came."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return json.loads(self.body) if self.body else None

    @property
    def asked(self) -> tuple[str, str, Any]:
        return self.method, self.path, self.json


class Answer(NamedTuple):
    """What is answered to it."""

    status: int
    headers: dict[str, str]
    body: bytes


class FaultyServer(ThreadingHTTPServer):
    """Does what its script says, one behaviour for each request; after that it behaves well."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, behind: str | None = None) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.behind = behind  #: the address of a server that answers in its place
        self.script: list[Behaviour] = []
        self.always: Behaviour | None = None  #: instead of behaving well
        self.answers: dict[tuple[str, str], Any] = {}  #: by method and path, without a query
        self.seen: list[Seen] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def asked(self) -> list[tuple[str, str, Any]]:
        return [seen.asked for seen in self.seen]

    def well(self, seen: Seen) -> Answer:
        """What a server that behaves answers."""
        if self.behind:
            return _handed_on(self.behind, seen)
        answer = self.answers[seen.method, seen.path.partition("?")[0]]
        body = answer if isinstance(answer, bytes) else json.dumps(answer).encode()
        return Answer(200, {"Content-Type": "application/json"}, body)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece
    server: FaultyServer

    def answer(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        server = self.server
        seen = Seen(self.command, self.path, {**self.headers}, body)
        server.seen.append(seen)
        (server.script.pop(0) if server.script else server.always or behaves)(self, seen)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = answer  # noqa: N815  names of the library

    def reply(self, answer: Answer) -> None:
        self.send_response(answer.status)
        for name, value in answer.headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(answer.body)))
        self.end_headers()
        self.wfile.write(answer.body)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


Behaviour = Callable[[Handler, Seen], None]


def behaves(handler: Handler, seen: Seen) -> None:
    handler.reply(handler.server.well(seen))


def hangs_up(handler: Handler, _seen: Seen) -> None:
    """Go away before anything is done."""
    handler.close_connection = True


def loses_answer(handler: Handler, seen: Seen) -> None:
    """Do what is asked, and go away before it is told."""
    handler.server.well(seen)
    handler.close_connection = True


def breaks_off(handler: Handler, seen: Seen) -> None:
    """Do what is asked, and go away in the middle of telling."""
    answer = handler.server.well(seen)
    handler.send_response(answer.status)
    handler.send_header("Content-Length", str(len(answer.body)))
    handler.end_headers()
    handler.wfile.write(answer.body[: len(answer.body) // 2])
    handler.wfile.flush()
    handler.close_connection = True


def drips(handler: Handler, _seen: Seen) -> None:
    """Send a byte now and then, for ever."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000000")
    handler.end_headers()
    while True:
        handler.wfile.write(b" ")
        handler.wfile.flush()
        time.sleep(0.02)


def sleeps(seconds: float) -> Behaviour:
    def behave(handler: Handler, seen: Seen) -> None:
        time.sleep(seconds)
        behaves(handler, seen)

    return behave


def says(body: str, status: int = 200, **headers: str) -> Behaviour:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return lambda handler, _seen: handler.reply(Answer(status, named, body.encode()))


def refuses(
    status: int, code: str, detail: str = "no", hint: str = "", **headers: str
) -> Behaviour:
    """Answer with a problem document."""
    problem = {"type": "about:blank", "title": "No.", "status": status, "detail": detail}
    return says(json.dumps(problem | {"code": code, "hint": hint}), status, **headers)


def _handed_on(url: str, seen: Seen) -> Answer:
    """What a real server answers to this."""
    connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
    try:
        kept = {k: v for k, v in seen.headers.items() if k.lower() not in _HOP}
        connection.request(seen.method, seen.path, seen.body or None, kept)
        response = connection.getresponse()
        headers = {k: v for k, v in response.getheaders() if k.lower() not in _HOP}
        return Answer(response.status, headers, response.read())
    finally:
        connection.close()


@contextmanager
def faulty(behind: str | None = None) -> Iterator[FaultyServer]:
    """A server in a thread of its own."""
    with on_thread(FaultyServer(behind)) as server:
        yield server
