"""Calls to other people's servers, against a real one that answers well and badly."""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Iterator
from email.utils import formatdate
from itertools import pairwise
from typing import Any

import pytest
from pydantic import SecretStr

from bearinmind.errors import InvalidSetting
from bearinmind.models import outbound_http
from bearinmind.models.outbound_http import Caller, CallFailed, Patience
from support.embedding_server import (
    EmbeddingServer,
    breaks_off,
    drips,
    fails,
    hangs_up,
    says,
    serving,
    sleeps,
)

KEY = "sk-very-secret-123"
BODY = {"input": ["a"]}


@pytest.fixture
def server() -> Iterator[EmbeddingServer]:
    with serving() as server:
        yield server


@pytest.fixture
def pauses() -> list[float]:
    return []


@pytest.fixture
def call() -> Iterator[Callable[..., Caller]]:
    """Makes callers that are closed in the end."""
    made: list[Caller] = []

    def make(url: str, **options: Any) -> Caller:
        made.append(Caller(url, setting="embedder", **options))
        return made[-1]

    yield make
    for caller in made:
        caller.close()


@pytest.fixture
def caller(server: EmbeddingServer, call: Callable[..., Caller], pauses: list[float]) -> Caller:
    patience = Patience(answer=5)
    return call(server.url, key=SecretStr(KEY), patience=patience, sleep=pauses.append)


def post(caller: Caller, patience: Patience | None = None) -> object:
    return caller.post("/embeddings", BODY, patience=patience)


def failure(caller: Caller, patience: Patience | None = None) -> CallFailed:
    with pytest.raises(CallFailed) as caught:
        post(caller, patience)
    return caught.value


def test_an_answer_is_decoded(server: EmbeddingServer, caller: Caller) -> None:
    server.script = [says('{"ok": [1, 2]}')]

    assert post(caller) == {"ok": [1, 2]}
    assert server.seen == [("/v1/embeddings", BODY, f"Bearer {KEY}")]


@pytest.mark.parametrize("status", [408, 425, 429, 500, 502, 503])
def test_passing_trouble_is_waited_out_with_growing_pauses(
    server: EmbeddingServer, caller: Caller, pauses: list[float], status: int
) -> None:
    server.script = [fails(status), fails(status), fails(status), says("{}")]

    assert post(caller) == {}
    assert len(pauses) == 3
    assert all(shorter < longer for shorter, longer in pairwise(pauses))
    for pause, least in zip(pauses, (0.5, 1.0, 2.0), strict=True):
        assert least <= pause <= least * 1.25


def test_two_callers_do_not_come_back_at_the_same_moment(
    server: EmbeddingServer, caller: Caller, pauses: list[float]
) -> None:
    server.always = fails(503)
    for _ in range(4):
        failure(caller, Patience(tries=2))

    assert len({*pauses}) == 4


def test_a_server_that_goes_on_failing_is_given_up(server: EmbeddingServer, caller: Caller) -> None:
    server.always = fails(500, "database is down")

    failed = failure(caller)

    assert failed.problem == "answered 500 Internal Server Error: database is down (4 tries)"
    assert (failed.status, failed.permanent) == (500, False)
    assert len(server.seen) == 4


@pytest.mark.parametrize("status", [400, 401, 403, 404, 413, 422])
def test_a_refusal_is_final(server: EmbeddingServer, caller: Caller, status: int) -> None:
    server.always = fails(status, "no")

    failed = failure(caller)

    assert (failed.status, failed.permanent) == (status, True)
    assert len(server.seen) == 1


def test_the_server_says_when_to_come_back(
    server: EmbeddingServer, caller: Caller, pauses: list[float]
) -> None:
    later = formatdate(time.time() + 20, usegmt=True)
    server.script = [fails(429, Retry_After="7"), fails(503, Retry_After=later), says("{}")]

    assert post(caller) == {}
    assert 7 <= pauses[0] <= 7 * 1.25
    assert 15 < pauses[1] <= 20 * 1.25


def test_a_server_that_wants_a_long_wait_is_not_waited_for(
    server: EmbeddingServer, caller: Caller, pauses: list[float]
) -> None:
    server.always = fails(429, Retry_After="86400")

    failed = failure(caller)

    assert failed.retry_after == 86_400
    assert "wait 86,400 seconds" in failed.problem
    assert (len(server.seen), pauses) == (1, [])


def test_no_try_begins_that_there_is_no_time_for(server: EmbeddingServer, caller: Caller) -> None:
    server.always = fails(503, Retry_After="30")

    failed = failure(caller, Patience(total=10))

    assert "no time is left" in failed.problem
    assert failed.retry_after == 30
    assert len(server.seen) == 1


def test_a_slow_server_is_not_waited_for(server: EmbeddingServer, caller: Caller) -> None:
    server.always = sleeps(0.5)

    failed = failure(caller, Patience(answer=0.05, tries=2))

    assert failed.problem == "does not answer in time (2 tries)"
    assert (failed.status, failed.permanent) == (None, False)


def test_a_server_that_never_ends_its_answer_is_left(
    server: EmbeddingServer, caller: Caller
) -> None:
    server.always = drips
    began = time.monotonic()

    assert "in time" in failure(caller, Patience(total=0.3, tries=1)).problem
    assert time.monotonic() - began < 10  # it would go on for hours


@pytest.mark.parametrize("behaviour", [hangs_up, breaks_off])
def test_half_an_answer_is_asked_for_again(
    server: EmbeddingServer, caller: Caller, behaviour: object
) -> None:
    server.script = [behaviour, says("{}")]  # type: ignore[list-item]

    assert post(caller) == {}


def test_nobody_at_the_address_is_told(call: Callable[..., Caller]) -> None:
    caller = call("http://127.0.0.1:9", sleep=lambda _: None)

    assert failure(caller).problem.startswith("cannot be talked to: ")


@pytest.mark.parametrize("body", ["<html>Welcome</html>", '{"data": [', "", "[" * 100_000])
def test_what_is_not_json_is_shown(server: EmbeddingServer, caller: Caller, body: str) -> None:
    server.always = says(body)

    failed = failure(caller)

    assert failed.problem.startswith("answered something that is not JSON: ")
    assert (failed.status, failed.permanent) == (200, True)
    assert len(failed.problem) < 300


def test_a_huge_answer_is_not_read_to_its_end(
    server: EmbeddingServer, caller: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(outbound_http, "MOST_BYTES", 1_000)
    server.always = says(json.dumps(["x" * 5_000]))

    assert failure(caller).problem == "answered more than 1,000 bytes"


def test_a_redirect_is_not_followed(server: EmbeddingServer, caller: Caller) -> None:
    with serving() as elsewhere:
        server.always = fails(307, Location=f"{elsewhere.url}/embeddings")

        failed = failure(caller)

        assert "points to" in failed.problem
        assert failed.permanent
        assert elsewhere.seen == []


def test_the_key_is_in_no_message_no_log_and_no_repr(
    server: EmbeddingServer, caller: Caller, caplog: pytest.LogCaptureFixture
) -> None:
    server.always = fails(403, f"Incorrect API key provided: {KEY}")

    with caplog.at_level(logging.DEBUG):
        failed = failure(caller)

    assert "Incorrect API key provided: ***" in failed.problem
    assert KEY not in caplog.text + repr(failed) + repr(caller) + caller.excerpt({"key": KEY})


def test_a_password_in_the_address_is_sent_and_shown_nowhere(
    server: EmbeddingServer, call: Callable[..., Caller], caplog: pytest.LogCaptureFixture
) -> None:
    address = server.url.replace("http://", "http://me:hunter%202@")
    server.always = fails(401, "hunter 2 is wrong")
    caller = call(address)

    with caplog.at_level(logging.DEBUG):
        failed = failure(caller)

    assert server.seen[0].key == "Basic bWU6aHVudGVyIDI="
    assert "hunter" not in caplog.text + failed.problem + caller.where


def test_a_key_from_a_callable_is_asked_for_every_time(
    server: EmbeddingServer, call: Callable[..., Caller]
) -> None:
    keys = iter(["one", "two"])
    caller = call(server.url, key=lambda: next(keys))

    post(caller)
    post(caller)

    assert [seen.key for seen in server.seen] == ["Bearer one", "Bearer two"]


def test_requests_are_spread_over_the_minute(
    server: EmbeddingServer, call: Callable[..., Caller]
) -> None:
    pauses: list[float] = []
    caller = call(server.url, per_minute=6, sleep=pauses.append)

    for _ in range(3):
        post(caller)

    assert [round(pause) for pause in pauses] == [10, 20]  # nobody really slept


def test_a_turn_that_comes_too_late_is_not_waited_for(
    server: EmbeddingServer, call: Callable[..., Caller]
) -> None:
    caller = call(server.url, per_minute=1)
    post(caller)

    failed = failure(caller, Patience(total=1, tries=1))

    assert "rate limit" in failed.problem
    assert 0 < (failed.retry_after or 0) <= 60
    assert len(server.seen) == 1


@pytest.mark.parametrize(
    "url", ["localhost:1", "ftp://x", "http://", "", "http://h:port", "http://a b/", "http://[::1"]
)
def test_what_is_no_address_is_refused(url: str) -> None:
    with pytest.raises(InvalidSetting, match=r"reranker_url = .* is not an address"):
        Caller(url, setting="reranker")


def test_a_key_that_cannot_be_sent_is_refused_without_showing_it() -> None:
    with pytest.raises(InvalidSetting, match="embedder_key has characters") as caught:
        Caller("http://localhost", setting="embedder", key=SecretStr("sk-ключ"))

    assert "ключ" not in caught.value.message + caught.value.hint


@pytest.mark.parametrize(
    ("url", "local"),
    [
        ("http://localhost:1", True),
        ("http://127.0.0.1", True),
        ("http://127.1.2.3", True),
        ("http://[::1]:80/v1", True),
        ("https://example.com", False),
        ("http://localhost.example.com", False),
        ("http://192.168.0.1", False),
    ],
)
def test_only_this_machine_is_local(url: str, local: bool) -> None:
    assert Caller(url, setting="embedder").is_local is local


def test_a_query_in_the_address_stays_behind_the_path(
    server: EmbeddingServer, call: Callable[..., Caller]
) -> None:
    call(f"{server.url}/?api-version=1").post("/embeddings", BODY)

    assert server.seen[0].path == "/v1/embeddings?api-version=1"


def test_every_try_that_fails_is_told_and_whether_the_server_may_have_got_it(
    server: EmbeddingServer, call: Callable[..., Caller]
) -> None:
    told: list[tuple[int | None, bool]] = []
    options: dict[str, Any] = {
        "sleep": lambda _: None,
        "after_failure": lambda failed: told.append((failed.status, failed.sent)),
    }
    server.script = [fails(500), hangs_up]

    post(call(server.url, **options))
    failure(call("http://127.0.0.1:9", **options), Patience(tries=1))  # where nobody listens

    assert told == [(500, True), (None, True), (None, False)]


def test_a_key_may_be_sent_in_another_way_and_is_hidden_all_the_same(
    server: EmbeddingServer, call: Callable[..., Caller]
) -> None:
    server.script = [fails(400, f"what is {KEY}?")]
    caller = call(server.url, key=SecretStr(KEY), headers=lambda key: {"x-api-key": key})

    assert "what is ***?" in failure(caller).problem
    assert server.seen[0].key is None
