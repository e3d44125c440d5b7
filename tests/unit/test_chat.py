"""How each kind of chat server is asked, and how its answers are read."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from bearinmind.models.chat import (
    ANTHROPIC,
    DIALECTS,
    OLLAMA,
    OPENAI,
    ChatAnswer,
    ChatClient,
    Dialect,
    NotAChat,
    Question,
    json_object,
    tokens_of,
)
from bearinmind.models.outbound_http import CallFailed
from support.chat_server import ChatServer, Handler, Seen, fails, replies, serving, wrapped

SCHEMA = {"type": "object"}
ASKED = Question("Name colours.", "One?", "colours", SCHEMA, most_tokens=77)
BOUNDED = ASKED._replace(bounded=True)
EVERY = pytest.mark.parametrize("dialect", DIALECTS.values(), ids=DIALECTS)


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        server.always = lambda handler, seen: handler.reply(wrapped(server, seen.path, "red"))
        yield server


@pytest.fixture
def opened(server: ChatServer) -> Iterator[Callable[..., ChatClient]]:
    made: list[ChatClient] = []

    def open_(dialect: Dialect, url: str = "") -> ChatClient:
        made.append(ChatClient(dialect, url or server.url, "small", sleep=lambda _: None))
        return made[-1]

    yield open_
    for client in made:
        client.close()


@EVERY
def test_words_and_tokens_are_read(
    opened: Callable[..., ChatClient], server: ChatServer, dialect: Dialect
) -> None:
    assert opened(dialect).ask(ASKED) == ChatAnswer("red", False, 100, 50)
    server.finish = "length"
    server.usage = None
    assert opened(dialect).ask(ASKED) == ChatAnswer("red", True, None, None)


@EVERY
def test_every_request_is_bounded_however_little_a_server_takes(dialect: Dialect) -> None:
    bodies = dialect.bodies("small", BOUNDED)

    assert len(bodies) > 2
    assert len({str(body) for body in bodies}) == len(bodies)
    for body in bodies:
        limits = ("max_tokens", "max_completion_tokens")
        given = {body.get(name) for name in limits} | {body.get("options", {}).get("num_predict")}
        assert 77 in given


def test_a_server_is_asked_ever_more_plainly_until_it_takes_it(
    server: ChatServer, opened: Callable[..., ChatClient]
) -> None:
    def thinking_model(handler: Handler, seen: Seen) -> None:
        """Knows no temperature, and calls the limit something else."""
        if {"temperature", "max_tokens"} & seen.body.keys():
            handler.reply("Unsupported parameter", 400)
        else:
            handler.reply(wrapped(handler.server, seen.path, "red"))

    server.always = thinking_model
    client = opened(OPENAI)

    assert [client.ask(BOUNDED).text for _ in range(2)] == ["red", "red"]
    assert ["max_completion_tokens" in seen.body for seen in server.seen] == [False, True, True]


@EVERY
def test_a_server_that_refuses_everything_is_asked_well_the_next_time(
    server: ChatServer, opened: Callable[..., ChatClient], dialect: Dialect
) -> None:
    client = opened(dialect)
    plainer = len(dialect.bodies("small", ASKED))
    server.script = [fails(400, "no such model")] * plainer

    with pytest.raises(CallFailed, match="no such model"):
        client.ask(ASKED)
    client.ask(ASKED)

    assert server.seen[-1].body == server.seen[0].body
    assert len(server.seen) == plainer + 1


def test_the_context_of_ollama_is_made_to_fit() -> None:
    contexts = [
        OLLAMA.bodies("m", ASKED._replace(text="word " * words))[0]["options"]["num_ctx"]
        for words in (1, 10_000)
    ]

    assert contexts == [4_096, 16_384]


def test_a_tools_input_and_words_are_read_among_other_blocks() -> None:
    answer = {
        "content": [
            {"type": "thinking", "thinking": "hm"},
            {"type": "text", "text": "Here:"},
            {"type": "tool_use", "id": "1", "name": "colours", "input": {"name": "rosé"}},
        ],
        "stop_reason": "tool_use",
    }

    assert ANTHROPIC.read(answer).text.split("\n")[1:] == ["Here:", '{"name": "rosé"}']


@pytest.mark.parametrize("content", [None, 7, ["red"]])
@pytest.mark.parametrize("dialect", [OPENAI, OLLAMA])
def test_a_model_that_says_nothing_says_nothing(dialect: Dialect, content: object) -> None:
    message = {"content": content}

    assert dialect.read({"choices": [{"message": message}], "message": message}).text == ""


@EVERY
@pytest.mark.parametrize(
    "answer", [None, 7, [], {}, {"choices": None}, {"content": [7]}, {"message": "red"}]
)
def test_a_server_of_another_kind_is_recognised(
    server: ChatServer, opened: Callable[..., ChatClient], dialect: Dialect, answer: Any
) -> None:
    server.always = replies(answer if answer is not None else "null")

    with pytest.raises(NotAChat, match=r"^answered "):
        opened(dialect).ask(ASKED)


@pytest.mark.parametrize(
    ("dialect", "paths"),
    [
        (OPENAI, ("/v1/chat/completions", ["/v1", "/v1/", "/v1/chat/completions"])),
        (ANTHROPIC, ("/v1/messages", ["", "/", "/v1", "/v1/messages/"])),
        (OLLAMA, ("/api/chat", ["", "/v1", "/api", "/api/chat"])),
    ],
)
def test_an_address_may_say_more_or_less(
    server: ChatServer,
    opened: Callable[..., ChatClient],
    dialect: Dialect,
    paths: tuple[str, list[str]],
) -> None:
    expected, given = paths
    for path, query in itertools.product(given, ("", "?version=1")):
        opened(dialect, server.url + path + query).ask(ASKED)
        assert server.seen[-1].path == expected + query


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("", 0, 0),
        ("The quick brown fox jumps over the lazy dog.", 10, 14),  # counted: 10
        ("7f3a9c0d1e2b4f5a6b7c8d9e0f1a2b3c", 12, 32),  # counted: about 20
        ("記憶は人を作る。", 8, 24),  # counted: about 9
    ],
)
def test_tokens_are_counted_on_the_safe_side(text: str, least: int, most: int) -> None:
    assert least <= tokens_of(text) <= most


def test_a_text_that_cannot_be_encoded_has_tokens_too() -> None:
    assert tokens_of("\ud800") > 0


@pytest.mark.parametrize("text", ["", "none", "{", "}{", '{"a": ', '{"a":' * 100_000 + "}"])
def test_a_text_without_a_whole_object_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r".+"):
        json_object(text)
