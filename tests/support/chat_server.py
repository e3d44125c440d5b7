"""A real chat server that speaks three protocols, reads memories, and misbehaves by script."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, NamedTuple

from support.server_thread import on_thread

Item = dict[str, Any]
_NAME = re.compile(r"[A-Z]\w*(?: [A-Z]\w*)*")


class Seen(NamedTuple):
    """A request as it came."""

    path: str
    body: Any
    headers: dict[str, str]

    @property
    def memories(self) -> list[Item]:
        """The memories that it asks about."""
        found: list[Item] = json.loads(self.body["messages"][-1]["content"])["memories"]
        return found

    @property
    def texts(self) -> list[str]:
        return [memory["text"] for memory in self.memories]


class ChatServer(ThreadingHTTPServer):
    """Does what its script says, one behaviour for each request; after that it answers well."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Behaviour] = []
        self.always: Behaviour | None = None  #: instead of answering well
        self.twist: Callable[[list[Item]], Any] = lambda items: items  #: what becomes of the answer
        self.say: Callable[[str], str] = lambda text: text  #: what becomes of its words
        self.finish = ""  #: why it stopped, when not because it was done
        self.usage: tuple[int, int] | None = (100, 50)  #: tokens of a prompt and an answer
        self.seen: list[Seen] = []
        self.received = b""  #: every byte of every body

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    @property
    def texts(self) -> list[list[str]]:
        """The memories of each request."""
        return [seen.texts for seen in self.seen]

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    """Answers one connection."""

    protocol_version = "HTTP/1.1"
    wbufsize = -1  # head and body in one piece, which is not held back
    server: ChatServer

    def do_POST(self) -> None:
        content = self.rfile.read(int(self.headers["Content-Length"]))
        server = self.server
        server.received += content
        server.seen.append(Seen(self.path, json.loads(content), {**self.headers}))
        (server.script.pop(0) if server.script else server.always or well)(self, server.seen[-1])

    def reply(self, body: object, status: int = 200, **headers: str) -> None:
        content = (body if isinstance(body, str) else json.dumps(body)).encode()
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


Behaviour = Callable[[Handler, Seen], None]


def reading(memory: Item) -> Item:
    """What the model finds in a memory: capitalised names; the first goes with all others."""
    names = [*dict.fromkeys(_NAME.findall(memory["text"]))]
    return {
        "id": memory["id"],
        "about": names[0] if names else "",
        "entities": [{"name": name, "kind": "person"} for name in names],
        "triples": [
            {"source": names[0], "type": "goes with", "target": other} for other in names[1:]
        ],
    }


def well(handler: Handler, seen: Seen) -> None:
    """Answer as the model would, but for what it was told to twist."""
    server = handler.server
    said = json.dumps({"memories": server.twist([reading(memory) for memory in seen.memories])})
    handler.reply(wrapped(server, seen.path, server.say(said), tools="tools" in seen.body))


def wrapped(server: ChatServer, path: str, said: str, *, tools: bool = False) -> Item:
    """Words in the form that the protocol at this path gives them."""
    prompt, answer = server.usage or (0, 0)
    path = path.partition("?")[0]
    message = {"role": "assistant", "content": said}
    counts: Item
    if path.endswith("/messages"):
        counts = {"usage": {"input_tokens": prompt, "output_tokens": answer}}
        reason = "max_tokens" if server.finish else "end_turn"
        body: Item = {"content": [_block(said, tools=tools)], "stop_reason": reason}
    elif path.endswith("/api/chat"):
        counts = {"prompt_eval_count": prompt, "eval_count": answer}
        body = {"message": message, "done": True, "done_reason": server.finish or "stop"}
    else:
        counts = {"usage": {"prompt_tokens": prompt, "completion_tokens": answer}}
        body = {"choices": [{"message": message, "finish_reason": server.finish or "stop"}]}
    return body | (counts if server.usage else {})


def _block(said: str, *, tools: bool) -> Item:
    """A tool's input where one was asked for and can be filled in; words otherwise."""
    try:
        if tools:
            return {"type": "tool_use", "name": "memories", "id": "t1", "input": json.loads(said)}
    except ValueError:
        pass
    return {"type": "text", "text": said}


def says(text: str) -> Behaviour:
    """The model says these words, whatever it was asked."""
    return lambda handler, seen: handler.reply(wrapped(handler.server, seen.path, text))


def fails(status: int, body: str = "oh no", **headers: str) -> Behaviour:
    return lambda handler, _seen: handler.reply(body, status, **headers)


def replies(body: object) -> Behaviour:
    """Something else than the protocol has it."""
    return lambda handler, _seen: handler.reply(body)


def refuses(text: str, status: int = 400) -> Behaviour:
    """Refuse every request with a memory that holds this text; answer others well."""

    def behave(handler: Handler, seen: Seen) -> None:
        if any(text in memory for memory in seen.texts):
            handler.reply("content filter", status)
        else:
            well(handler, seen)

    return behave


def sleeps(seconds: float) -> Behaviour:
    def behave(handler: Handler, seen: Seen) -> None:
        time.sleep(seconds)
        well(handler, seen)

    return behave


def hangs_up(handler: Handler, _seen: Seen) -> None:
    handler.close_connection = True


def breaks_off(handler: Handler, _seen: Seen) -> None:
    """Promise more than comes."""
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b'{"choices": [{"message": {"content": "{')
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


@contextmanager
def serving() -> Iterator[ChatServer]:
    """A server in a thread of its own."""
    with on_thread(ChatServer()) as server:
        yield server
