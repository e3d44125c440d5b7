"""A model of a script, as the agents reach theirs: the streamed APIs of three vendors.

    with modelling() as model:
        model.script = [Call("mcp__bearinmind__memory_count", {}), "There are two."]

It answers each turn with what comes next in the script, and keeps what it was asked. Questions that
an agent asks beside the conversation, without tools, get a plain answer and take nothing from it.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from agents import wire
from support.server_thread import on_thread

PLAIN = "It is fine."  #: what it says when the script is at its end


@dataclass(frozen=True)
class Call:
    """The model wants a tool to be called."""

    tool: str
    arguments: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Asked:
    """A question to the model."""

    path: str
    body: dict[str, Any]

    @property
    def text(self) -> str:
        """Every text in it, in order, whatever it is there for: one after the other."""
        return "\n".join(_texts(self.body))

    @property
    def last(self) -> str:
        """Every text of its last message."""
        messages = self.body.get("messages") or self.body.get("input") or self.body["contents"]
        return "\n".join(_texts(messages[-1]))

    @property
    def tools(self) -> set[str]:
        """The names of the tools that the model may call."""
        return {*_names(self.body.get("tools", []))}


class ModelServer(ThreadingHTTPServer):
    """Says what its script says, one answer for each turn."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[str | Call] = []
        self.asked: list[Asked] = []  #: in the conversation
        self.aside: list[Asked] = []  #: beside it
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def answer(self, asked: Asked) -> str | Call:
        """What the model says."""
        with self._lock:
            if not asked.tools:
                self.aside.append(asked)
                return PLAIN
            self.asked.append(asked)
            return self.script.pop(0) if self.script else PLAIN

    def handle_error(self, request: Any, client_address: Any) -> None:
        """An agent that ends leaves its connections as they are."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece, which is not held back
    server: ModelServer

    def do_GET(self) -> None:
        """Which models there are, and what else an agent would like to know."""
        self._reply(b"{}", status=404)

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        path = self.path.partition("?")[0]
        api = wire.of(path)
        if api is None:
            self._reply(b'{"input_tokens": 10, "totalTokens": 10}')
            return
        said = self.server.answer(Asked(path=path, body=json.loads(content)))
        number = str(len(self.server.asked))
        events = (
            api(number, said) if isinstance(said, str) else api(number, said.tool, said.arguments)
        )
        self._reply(wire.streamed(events), kind="text/event-stream")

    def _reply(self, content: bytes, *, status: int = 200, kind: str = "application/json") -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    for each in value.values() if isinstance(value, dict) else ():
        yield from _texts(each)
    for each in value if isinstance(value, list) else ():
        yield from _texts(each)


def _names(tools: object) -> Iterator[str]:
    """The names of tools, also of those that stand in groups."""
    for tool in tools if isinstance(tools, list) else ():
        inside = tool.get("functionDeclarations") or tool.get("tools")
        if inside:
            yield from _names(inside)
        elif "name" in tool:
            yield str(tool["name"])


@contextmanager
def modelling() -> Iterator[ModelServer]:
    """A model that can be asked."""
    with on_thread(ModelServer()) as server:
        yield server
