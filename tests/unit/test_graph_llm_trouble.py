"""The extractor that asks a chat model, against a real server that does everything wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from pydantic import SecretStr

from bearinmind.concepts import Extraction
from bearinmind.errors import ExtractorFailure
from bearinmind.graph.llm_answers import Flaw
from bearinmind.graph.llm_extractor import LlmExtractor
from bearinmind.models.outbound_http import Patience
from bearinmind.models.token_budget import ModelOptions
from bearinmind.types import Memory
from support.chat_server import (
    Behaviour,
    ChatServer,
    Handler,
    Item,
    Seen,
    breaks_off,
    drips,
    fails,
    hangs_up,
    refuses,
    replies,
    says,
    serving,
    sleeps,
    well,
)

KEY = "sk-very-secret-123"
NAMES = ["Orla", "Bela", "Tove", "Ines"]
DIALECTS = pytest.mark.parametrize("dialect", ["openai", "anthropic", "ollama"])
Open = Callable[..., LlmExtractor]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def opened(server: ChatServer, tmp_path: Path, pauses: list[float]) -> Iterator[Open]:
    made: list[LlmExtractor] = []

    def open_(dialect: str = "openai", **more: Any) -> LlmExtractor:
        options = ModelOptions(
            url=server.url, key=SecretStr(KEY), model="small", dialect=dialect, cache=tmp_path
        )
        made.append(LlmExtractor(options, **({"sleep": pauses.append} | more)))
        return made[-1]

    yield open_
    for extractor in made:
        extractor.close()


@pytest.fixture
def memories(make: Callable[..., Memory]) -> list[Memory]:
    return [make(f"{name} sleeps") for name in NAMES]


def labels(extractions: Sequence[Extraction]) -> list[str]:
    return [mention.label for extraction in extractions for mention in extraction.mentions]


def failure(extractor: LlmExtractor, memories: Sequence[Memory]) -> ExtractorFailure:
    with pytest.raises(ExtractorFailure) as caught:
        extractor(memories)
    return caught.value


@DIALECTS
@pytest.mark.parametrize(
    "trouble",
    [
        fails(429, Retry_After="2"),
        fails(500),
        fails(503, "<html>overloaded</html>"),
        hangs_up,
        breaks_off,
    ],
)
def test_passing_trouble_is_waited_out(
    server: ChatServer, opened: Open, memories: list[Memory], dialect: str, trouble: Behaviour
) -> None:
    server.script = [trouble, trouble]

    assert labels(opened(dialect=dialect)(memories)) == NAMES
    assert len(server.seen) == 3


def test_a_server_is_waited_for_as_long_as_it_asks(
    server: ChatServer, opened: Open, memories: list[Memory], pauses: list[float]
) -> None:
    server.script = [fails(429, Retry_After="7")]

    opened()(memories)

    assert 7 <= pauses[0] < 10


def test_a_server_that_wants_us_back_much_later_is_left_to_the_queue(
    server: ChatServer, opened: Open, memories: list[Memory], pauses: list[float]
) -> None:
    server.script = [fails(429, Retry_After="3600")]

    told = failure(opened(), memories)

    assert (told.retry_after, told.permanent, told.refused) == (3600, False, ())
    assert pauses == []


def test_lasting_trouble_is_no_memorys_fault(
    server: ChatServer, opened: Open, memories: list[Memory]
) -> None:
    server.always = fails(500)

    told = failure(opened(), memories)

    assert not told.permanent
    assert (
        told.message == f"small at {server.url} answered 500 Internal Server Error: oh no (3 tries)"
    )


@pytest.mark.parametrize("slow", [sleeps(1.0), drips])
def test_a_slow_server_is_not_waited_for(
    server: ChatServer, opened: Open, memories: list[Memory], slow: Behaviour
) -> None:
    server.always = slow
    patience = Patience(answer=0.1, total=0.2, tries=1)

    told = failure(opened(patience=patience), memories)

    assert "does not answer in time" in told.message
    assert not told.permanent


def test_a_server_that_is_not_there_is_told(tmp_path: Path, memories: list[Memory]) -> None:
    nowhere = ModelOptions(url="http://127.0.0.1:9/v1", model="small", cache=tmp_path)
    extractor = LlmExtractor(nowhere, sleep=lambda _: None)

    assert "cannot be talked to" in failure(extractor, memories).message
    assert extractor.daily_tokens.spent() == 0  # nobody got to count anything
    extractor.close()


@DIALECTS
@pytest.mark.parametrize(
    "body", ["<html>Welcome</html>", "[]", "{}", '{"choices": []}', '{"content": 7}', "7", "null"]
)
def test_a_server_of_another_kind_is_recognised(
    server: ChatServer, opened: Open, memories: list[Memory], dialect: str, body: str
) -> None:
    server.always = replies(body)

    told = failure(opened(dialect=dialect), memories)

    assert f"does not answer as {dialect} does: it answered" in told.message
    assert "llm_url" in told.hint
    assert not told.permanent
    assert len(server.seen) == 1


@DIALECTS
@pytest.mark.parametrize("status", [401, 403])
def test_a_wrong_key_is_told_and_never_shown(
    server: ChatServer,
    opened: Open,
    memories: list[Memory],
    dialect: str,
    status: int,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.always = fails(status, f"Incorrect API key provided: {KEY}")
    extractor = opened(dialect=dialect)

    with caplog.at_level(logging.DEBUG):
        told = failure(extractor, memories)

    assert "Incorrect API key provided: ***" in told.message
    assert "llm_key" in told.hint
    shown = caplog.text + told.message + repr(told) + repr(extractor) + str(vars(extractor))
    assert KEY not in shown


@DIALECTS
def test_what_a_server_refuses_beside_the_question_is_left_out(
    server: ChatServer, opened: Open, memories: list[Memory], dialect: str
) -> None:
    """Asked ever more plainly until it takes it, and so from then on; a limit is always asked."""

    def plain_minded(handler: Handler, seen: Seen) -> None:
        wishes = {"response_format", "tools", "format"} & seen.body.keys()
        handler.reply("unknown field", 400) if wishes else well(handler, seen)

    server.always = plain_minded
    extractor = opened(dialect=dialect)

    assert labels(extractor(memories[:1])) == NAMES[:1]
    asked = len(server.seen)
    assert labels(extractor(memories[1:])) == NAMES[1:]
    assert len(server.seen) == asked + 1
    limits = [seen.body.get("max_tokens") or seen.body.get("options") for seen in server.seen]
    assert limits[-1]


@DIALECTS
@pytest.mark.parametrize(
    "say",
    [
        lambda text: f"```json\n{text}\n```",
        lambda text: f"<think>perhaps {{1: 2}}?</think>Here {{you}} are: {text} Anything else?",
    ],
)
def test_prose_around_an_answer_is_forgiven(
    server: ChatServer,
    opened: Open,
    memories: list[Memory],
    dialect: str,
    say: Callable[[str], str],
) -> None:
    server.say = say

    assert labels(opened(dialect=dialect)(memories)) == NAMES
    assert len(server.seen) == 1


@DIALECTS
def test_what_is_left_out_is_asked_for_again(
    server: ChatServer, opened: Open, memories: list[Memory], dialect: str
) -> None:
    server.twist = lambda items: items[::2]

    with pytest.raises(ExtractorFailure):  # the second answer leaves one out again
        opened(dialect=dialect)(memories)
    server.twist = lambda items: items

    assert server.texts[1] == ["Bela sleeps", "Ines sleeps"]
    assert labels(opened(dialect=dialect)(memories)) == NAMES
    assert server.texts[2] == ["Ines sleeps"]  # all others were kept


def test_what_is_left_out_twice_is_refused_by_its_place(
    server: ChatServer, opened: Open, memories: list[Memory]
) -> None:
    texts = {"Bela sleeps", "Ines sleeps"}

    def forgets(handler: Handler, seen: Seen) -> None:
        tags = {memory["id"] for memory in seen.memories if memory["text"] in texts}
        handler.server.twist = lambda items: [item for item in items if item["id"] not in tags]
        well(handler, seen)

    server.always = forgets

    told = failure(opened(), memories)

    assert (told.permanent, told.refused) == (True, (1, 3))
    assert "2 of 4 memories cannot be read" in told.message
    assert [len(texts) for texts in server.texts[:2]] == [4, 2]


def test_a_memory_that_spoils_the_answer_for_all_is_found(
    server: ChatServer, opened: Open, memories: list[Memory]
) -> None:
    def spoilt(handler: Handler, seen: Seen) -> None:
        if "Tove sleeps" in seen.texts:
            says("I will not.")(handler, seen)
        else:
            well(handler, seen)

    server.always = spoilt

    told = failure(opened(), memories)

    assert (told.permanent, told.refused) == (True, (2,))
    assert "answered something else than was asked for: I will not." in told.message
    assert labels(opened()([*memories[:2], *memories[3:]])) == ["Orla", "Bela", "Ines"]


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_memory_that_a_server_refuses_is_found(
    server: ChatServer, opened: Open, memories: list[Memory], status: int
) -> None:
    server.always = refuses("Bela", status)

    told = failure(opened(), memories)

    assert (told.permanent, told.refused) == (True, (1,))
    assert "content filter" in told.message


@pytest.mark.parametrize("always", [says("As a language model, I"), fails(400), says("")])
def test_a_model_that_can_do_nothing_is_no_memorys_fault(
    server: ChatServer, opened: Open, memories: list[Memory], always: Behaviour
) -> None:
    server.always = always

    told = failure(opened(), memories)

    assert (told.permanent, told.refused) == (False, ())
    asked = [texts for texts in server.texts if len(texts) == 1]
    assert {text for [text] in asked} == {"Orla sleeps", "Orla Brandt works at Kestrel."}


@DIALECTS
def test_an_answer_that_is_cut_off_keeps_what_is_whole(
    server: ChatServer, opened: Open, memories: list[Memory], dialect: str
) -> None:
    def cut(handler: Handler, seen: Seen) -> None:
        handler.server.finish = "length"
        handler.server.say = lambda text: text[: text.index("Tove")]
        well(handler, seen)
        handler.server.finish, handler.server.say = "", lambda text: text

    server.script = [cut]

    assert labels(opened(dialect=dialect)(memories)) == NAMES
    assert server.texts[1:] == [["Tove sleeps"], ["Ines sleeps"]]


@pytest.mark.parametrize(
    ("twist", "flaw"),
    [
        (lambda items: [*items, items[0] | {"id": "zzzz"}], Flaw.FOREIGN),
        (lambda items: [*items, "and so on"], Flaw.FOREIGN),
        (lambda items: _with(items, {"name": "Napoleon", "kind": "person"}), Flaw.NOT_IN_TEXT),
        (lambda items: _with(items, {"name": ["Orla"]}), Flaw.MALFORMED),
        (lambda items: _with(items, *[{"name": "Orla"}] * 10_000), Flaw.TOO_MANY),
    ],
)
def test_what_is_wrong_in_an_answer_is_dropped_counted_and_told(
    server: ChatServer,
    opened: Open,
    memories: list[Memory],
    twist: Callable[[list[Item]], Any],
    flaw: Flaw,
    caplog: pytest.LogCaptureFixture,
) -> None:
    server.twist = twist
    extractor = opened()

    with caplog.at_level(logging.INFO):
        found = extractor(memories)

    assert labels(found) == NAMES
    assert extractor.flaws[flaw] > 0
    assert flaw in caplog.text
    assert not any(name in caplog.text for name in (*NAMES, "Napoleon"))
    assert len(server.seen) == 1


def _with(items: list[Item], *entities: Item) -> list[Item]:
    first = items[0] | {"entities": [*items[0]["entities"], *entities]}
    return [first, *items[1:]]


def test_two_different_answers_for_one_memory_are_none(
    server: ChatServer, opened: Open, memories: list[Memory]
) -> None:
    def twice(handler: Handler, seen: Seen) -> None:
        handler.server.twist = lambda items: [*items, items[0] | {"entities": []}]
        well(handler, seen)
        handler.server.twist = lambda items: items

    server.script = [twice]

    assert labels(opened()(memories)) == NAMES
    assert server.texts[1] == ["Orla sleeps"]


def test_an_answer_of_millions_of_characters_ends_as_an_error(
    server: ChatServer, opened: Open, memories: list[Memory]
) -> None:
    server.always = says("blah " * 1_000_000)

    told = failure(opened(), memories)

    assert len(told.message) < 1_000
    assert not told.permanent
