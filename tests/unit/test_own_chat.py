"""The chat client, against a real server that answers well and badly."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Annotated, Any

import pytest
from pydantic import BaseModel, Field

from bearinmind.errors import InvalidSetting, ModelFailure
from bearinmind_bench.own.chat import TRIES, Answered, Chat, Unusable
from support.server_thread import on_thread

KEY = "sk-very-secret-123"


class Colour(BaseModel):
    name: str
    warmth: Annotated[int, Field(ge=0, le=3)]


class Server(ThreadingHTTPServer):
    """Answers with what it was told to, one after the other; the last answer stays."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.script: list[Callable[[Handler], None]] = []
        self.seen: list[dict[str, Any]] = []
        self.keys: list[str | None] = []

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that went away is part of the tests."""


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_POST(self) -> None:
        size = int(self.headers["Content-Length"])
        self.server.seen.append(json.loads(self.rfile.read(size)) | {"path": self.path})
        self.server.keys.append(self.headers["Authorization"])
        script = self.server.script
        (script.pop(0) if len(script) > 1 else script[0])(self)

    def reply(
        self, body: str, status: int = 200, cut: int = 0, headers: dict[str, str] | None = None
    ) -> None:
        content = body.encode()
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name.replace("_", "-"), value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content[: len(content) - cut])

    def log_message(self, *args: Any) -> None:
        """Be quiet."""


def says(content: object, finish: str = "stop") -> Callable[[Handler], None]:
    text = content if isinstance(content, str) else json.dumps(content)
    choice = {"message": {"role": "assistant", "content": text}, "finish_reason": finish}
    return lambda handler: handler.reply(json.dumps({"choices": [choice]}))


def fails(status: int, body: str = "oh no", **headers: str) -> Callable[[Handler], None]:
    return lambda handler: handler.reply(body, status, headers=headers)


GOOD = says({"name": "red", "warmth": 3})


@pytest.fixture
def server() -> Iterator[Server]:
    with on_thread(Server()) as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def chat(server: Server, pauses: list[float]) -> Iterator[Chat]:
    with Chat(server.url, "small", KEY, timeout=5, sleep=pauses.append) as chat:
        yield chat


def ask(chat: Chat) -> Answered[Colour] | Unusable:
    return chat.ask("You name colours.", "A colour?", Colour)


def test_an_answer_of_the_right_shape_is_given_back(server: Server, chat: Chat) -> None:
    server.script = [GOOD]

    answer = ask(chat)

    assert answer == Answered(value=Colour(name="red", warmth=3))
    [request] = server.seen
    assert request["path"] == "/v1/chat/completions"
    assert request["model"] == "small"
    assert [message["role"] for message in request["messages"]] == ["system", "user"]
    assert request["temperature"] == 0
    schema = request["response_format"]["json_schema"]["schema"]
    assert set(schema["properties"]) == {"name", "warmth"}
    assert server.keys == [f"Bearer {KEY}"]


def test_without_a_key_none_is_sent(server: Server) -> None:
    server.script = [GOOD]

    with Chat(f"{server.url}/", "small") as chat:
        ask(chat)

    assert server.keys == [None]
    assert server.seen[0]["path"] == "/v1/chat/completions"


def test_json_is_found_among_thoughts_and_fences(server: Server, chat: Chat) -> None:
    server.script = [
        says('<think>{"name": "no"}</think>\n```json\n{"name": "blue", "warmth": 0}\n```')
    ]

    assert ask(chat) == Answered(value=Colour(name="blue", warmth=0))


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("It is red.", "not JSON: 'It is red.'"),
        ('{"name": "red"', "not JSON"),
        ({"name": "red"}, "warmth: it is missing"),
        ({"name": "red", "warmth": 9}, "warmth: it must be 3 or less, not 9"),
        ([1], "not JSON"),
    ],
)
def test_an_answer_of_another_shape_is_unusable(
    server: Server, chat: Chat, content: object, reason: str
) -> None:
    server.script = [says(content)]

    answer = ask(chat)

    assert isinstance(answer, Unusable)
    assert reason in answer.reason
    assert len(server.seen) == 1


def test_an_answer_that_was_cut_off_is_unusable(server: Server, chat: Chat) -> None:
    server.script = [says('{"name": "red", "warmth": 3}', finish="length")]

    assert ask(chat) == Unusable(reason="the answer was cut off before its end")


def test_a_busy_server_is_asked_again_when_it_says_so(
    server: Server, chat: Chat, pauses: list[float]
) -> None:
    server.script = [fails(429, Retry_After="7"), GOOD]

    assert isinstance(ask(chat), Answered)
    assert pauses == [7.0]


def test_the_time_to_retry_may_be_a_date(server: Server, chat: Chat, pauses: list[float]) -> None:
    later = formatdate(time.time() + 20, usegmt=True)
    server.script = [fails(503, Retry_After=later), GOOD]

    assert isinstance(ask(chat), Answered)
    assert 15 < pauses[0] <= 20


def test_a_server_that_wants_a_long_wait_is_not_waited_for(
    server: Server, chat: Chat, pauses: list[float]
) -> None:
    server.script = [fails(429, Retry_After="86400")]

    with pytest.raises(ModelFailure, match="wait 86,400 seconds"):
        ask(chat)
    assert pauses == []


def test_a_failing_server_is_given_up_after_growing_pauses(
    server: Server, chat: Chat, pauses: list[float]
) -> None:
    server.script = [fails(500, "database is down")]

    with pytest.raises(ModelFailure, match="500 Internal Server Error: database is down") as caught:
        ask(chat)

    assert len(server.seen) == chat.calls == TRIES
    assert pauses == [0.5, 1.0, 2.0]
    assert "llm_url" in caught.value.hint


def test_a_slow_server_is_told_from_a_missing_one(server: Server) -> None:
    server.script = [lambda _handler: time.sleep(0.5)]

    with (
        Chat(server.url, "small", timeout=0.05, sleep=lambda _: None) as chat,
        pytest.raises(ModelFailure, match="does not answer in time"),
    ):
        ask(chat)


def test_nobody_at_the_address_is_a_failure_with_the_address() -> None:
    with (
        Chat("http://127.0.0.1:9/v1", "small", sleep=lambda _: None) as chat,
        pytest.raises(ModelFailure, match=r"small at http://127\.0\.0\.1:9 cannot be talked to"),
    ):
        ask(chat)


def test_half_an_answer_is_asked_for_again(server: Server, chat: Chat) -> None:
    def half(handler: Handler) -> None:
        handler.reply("x" * 100, cut=50)

    server.script = [half, GOOD]

    assert isinstance(ask(chat), Answered)
    assert len(server.seen) == 2


@pytest.mark.parametrize("body", ["<html>Welcome</html>", "[]", '{"choices": []}', '{"ok": true}'])
def test_a_server_of_another_kind_is_recognised(server: Server, chat: Chat, body: str) -> None:
    server.script = [fails(200, body)]

    with pytest.raises(ModelFailure, match="OpenAI-compatible") as caught:
        ask(chat)
    assert "/v1" in caught.value.hint


def test_a_refusal_is_told_at_once(server: Server, chat: Chat) -> None:
    server.script = [fails(401, "bad key")]

    with pytest.raises(ModelFailure, match="401 Unauthorized: bad key"):
        ask(chat)
    assert len(server.seen) == 1


def test_a_server_that_knows_no_schemas_is_asked_without(server: Server, chat: Chat) -> None:
    server.script = [fails(400, "response_format is unknown"), GOOD]

    assert isinstance(ask(chat), Answered)
    assert isinstance(ask(chat), Answered)
    assert ["response_format" in request for request in server.seen] == [True, False, False]


def test_the_key_is_in_no_message_and_no_log(
    server: Server, chat: Chat, caplog: pytest.LogCaptureFixture
) -> None:
    server.script = [fails(403, f"Incorrect API key provided: {KEY}")]

    with caplog.at_level(logging.DEBUG), pytest.raises(ModelFailure) as caught:
        ask(chat)

    assert "Incorrect API key provided: ***" in caught.value.message
    assert KEY not in caplog.text + caught.value.message + repr(chat)


def test_an_address_with_a_password_is_shown_without(server: Server) -> None:
    address = server.url.replace("http://", "http://me:hunter2@")
    server.script = [fails(404)]

    with Chat(address, "small") as chat, pytest.raises(ModelFailure) as caught:
        ask(chat)

    assert "hunter2" not in caught.value.message
    assert chat.is_local


def test_every_request_counts_and_none_is_sent_over_the_cap(server: Server) -> None:
    server.script = [fails(500)]

    with Chat(server.url, "small", most_calls=2, sleep=lambda _: None) as chat:
        assert ask(chat) == Unusable(reason="no call is left of 2")
        assert chat.spent
        assert isinstance(ask(chat), Unusable)

    assert len(server.seen) == 2


@pytest.mark.parametrize(
    "url", ["localhost:11434", "ftp://x/v1", "http://", "", "http://host:port/v1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting, match="is not an address"):
        Chat(url, "small")


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidSetting) as caught:
        Chat("http://localhost/v1", "small", "sk-ключ")

    assert "ключ" not in caught.value.message + caught.value.hint


def test_only_this_machine_is_local() -> None:
    with Chat("http://localhost:1/v1", "m") as here, Chat("https://example.com/v1", "m") as there:
        assert here.is_local
        assert not there.is_local
