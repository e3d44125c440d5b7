"""The tokens that a chat model may use in a day."""

from __future__ import annotations

import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bearinmind.errors import ExtractorFailure
from bearinmind.graph.llm_extractor import LlmExtractor
from bearinmind.models.token_budget import DailyTokens, ModelOptions
from bearinmind.types import Memory
from support.chat_server import ChatServer, breaks_off, fails, serving

Open = Callable[..., LlmExtractor]
TAKES = """
import os, sys
from pathlib import Path
from bearinmind.errors import ExtractorFailure
from bearinmind.models.token_budget import DailyTokens
tokens = DailyTokens(Path(sys.argv[1]), "m at h", 1_000)
taken = 0
print("ready", flush=True)
sys.stdin.readline()
while True:
    try:
        tokens.settle(tokens.take(10), 8)
        taken += 1
    except ExtractorFailure as exc:
        if not exc.retry_after:
            raise
        break
print(taken)
"""


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with serving() as server:
        yield server


@pytest.fixture
def opened(server: ChatServer, tmp_path: Path) -> Iterator[Open]:
    made: list[LlmExtractor] = []

    def open_(
        daily_tokens: int = 100_000, model: str = "small", dialect: str = "openai", **more: Any
    ) -> LlmExtractor:
        options = ModelOptions(
            url=f"{server.url}/v1",
            model=model,
            dialect=dialect,
            cache=tmp_path,
            daily_tokens=daily_tokens,
        )
        made.append(LlmExtractor(options, **({"sleep": lambda _: None} | more)))
        return made[-1]

    yield open_
    for extractor in made:
        extractor.close()


@pytest.fixture
def orla(make: Callable[..., Memory]) -> Memory:
    return make("Orla sleeps")


def failure(extractor: LlmExtractor, memory: Memory) -> ExtractorFailure:
    with pytest.raises(ExtractorFailure) as caught:
        extractor([memory])
    return caught.value


@pytest.mark.parametrize("dialect", ["openai", "anthropic", "ollama"])
def test_what_the_server_counts_is_spent(
    server: ChatServer, opened: Open, orla: Memory, dialect: str
) -> None:
    server.usage = (321, 45)
    extractor = opened(dialect=dialect)

    extractor([orla])

    assert extractor.daily_tokens.spent() == 366
    assert opened(dialect=dialect).daily_tokens.spent() == 366  # in a file


@pytest.mark.parametrize("usage", [None, (-5, -5), (10**40, 10**40)])
def test_a_server_that_does_not_count_is_counted_for(
    server: ChatServer, opened: Open, orla: Memory, usage: tuple[int, int] | None
) -> None:
    server.usage = usage
    extractor = opened()

    extractor([orla])

    size = len(server.received) // 4
    assert size * 0.8 < extractor.daily_tokens.spent() < size * 2


def test_nothing_is_sent_that_might_cost_more_than_is_left(
    server: ChatServer, opened: Open, make: Callable[..., Memory]
) -> None:
    extractor = opened(daily_tokens=5_000)
    server.usage = (1_000, 1_000)

    extractor([make("Orla")])
    extractor([make("Bela")])
    told = failure(extractor, make("Tove"))

    assert len(server.seen) == 2
    assert f"small at {server.url} may use 5,000 tokens a day (llm_daily_tokens)" in told.message
    assert "4,000 are spent" in told.message
    assert "llm_daily_tokens" in told.hint
    assert not told.permanent


def test_it_goes_on_tomorrow(server: ChatServer, opened: Open, make: Callable[..., Memory]) -> None:
    moment = [datetime(2026, 3, 1, 23, 59, tzinfo=UTC)]
    extractor = opened(daily_tokens=6_000, now=lambda: moment[0])
    server.usage = (5_000, 0)
    extractor([make("Orla")])

    told = failure(extractor, make("Bela"))
    moment[0] += timedelta(seconds=told.retry_after or 0)

    assert told.retry_after == 60
    assert extractor.daily_tokens.spent() == 0
    assert extractor([make("Bela")])[0].mentions


def test_what_is_cached_needs_no_budget(opened: Open, orla: Memory) -> None:
    first = opened()([orla])

    assert opened(daily_tokens=0)([orla]) == first


def test_a_budget_that_is_too_small_for_any_request_says_so(
    server: ChatServer, opened: Open, orla: Memory
) -> None:
    told = failure(opened(daily_tokens=10), orla)

    assert server.seen == []
    assert told.hint.startswith("Raise `llm_daily_tokens` to ")


def test_each_model_has_a_budget_of_its_own(opened: Open, orla: Memory) -> None:
    opened(model="small")([orla])

    assert opened(model="large").daily_tokens.spent() == 0


def test_a_request_that_was_refused_costs_nothing(
    server: ChatServer, opened: Open, orla: Memory
) -> None:
    server.script = [fails(429), fails(500)]
    extractor = opened()

    extractor([orla])

    assert extractor.daily_tokens.spent() == 150


def test_a_request_whose_answer_was_lost_counts_as_the_most_it_could_cost(
    server: ChatServer, opened: Open, orla: Memory
) -> None:
    server.script = [breaks_off]
    extractor = opened()
    most = extractor.estimate([orla]).most_tokens

    extractor([orla])

    assert extractor.daily_tokens.spent() == most + 150


def test_retries_stop_when_the_budget_does(server: ChatServer, opened: Open, orla: Memory) -> None:
    server.always = breaks_off
    extractor = opened(daily_tokens=opened().estimate([orla]).most_tokens + 100)

    told = failure(extractor, orla)

    assert "llm_daily_tokens" in told.message
    assert len(server.seen) == 1


def test_what_cannot_be_counted_is_not_sent(
    server: ChatServer, opened: Open, orla: Memory, tmp_path: Path
) -> None:
    (tmp_path / "llm-tokens.db").write_bytes(b"not a database" * 100)

    told = failure(opened(), orla)

    assert "cannot be counted" in told.message
    assert "llm-tokens.db" in told.message
    assert server.seen == []


def test_two_processes_never_spend_more_than_there_is(tmp_path: Path) -> None:
    file = tmp_path / "llm-tokens.db"
    pipes: dict[str, Any] = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    both: list[Any] = [
        subprocess.Popen([sys.executable, "-c", TAKES, file], **pipes) for _ in range(2)
    ]
    for process in both:
        assert process.stdout.readline() == "ready\n"
    for process in both:
        process.stdin.write("go\n")
        process.stdin.flush()
    taken = [int(process.communicate(timeout=60)[0]) for process in both]

    spent = DailyTokens(file, "m at h", 1_000).spent()
    assert spent == 8 * sum(taken)
    assert 980 < spent <= 1_000


def test_whoever_is_writing_is_waited_for(tmp_path: Path) -> None:
    tokens = DailyTokens(tmp_path / "llm-tokens.db", "m at h", 1_000)
    tokens.take(10)
    other = sqlite3.connect(tmp_path / "llm-tokens.db", check_same_thread=False)
    other.execute("BEGIN IMMEDIATE")
    threading.Timer(0.05, other.commit).start()

    tokens.take(10)

    other.close()
    assert tokens.spent() == 20


def test_a_process_that_is_killed_has_spent_what_it_took(tmp_path: Path) -> None:
    file = tmp_path / "llm-tokens.db"
    killed = TAKES.replace(
        "tokens.settle(tokens.take(10), 8)", "tokens.take(50); os.kill(os.getpid(), 9)"
    )
    ended = subprocess.run([sys.executable, "-c", killed, file], check=False, input=b"go\n")

    assert ended.returncode == -9
    assert DailyTokens(file, "m at h", 1_000).spent() == 50


def test_threads_never_spend_more_than_there_is(tmp_path: Path) -> None:
    tokens = DailyTokens(tmp_path / "llm-tokens.db", "m at h", 500)

    def take(_: int) -> bool:
        try:
            tokens.take(70)
        except ExtractorFailure:
            return False
        return True

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(take, range(20))) == 7
    assert tokens.spent() == 490


def test_the_file_is_private_and_old_days_are_forgotten(tmp_path: Path) -> None:
    file = tmp_path / "deep" / "llm-tokens.db"
    day = [datetime(2026, 1, 1, tzinfo=UTC)]
    tokens = DailyTokens(file, "m at h", 500, lambda: day[0])
    tokens.take(100)
    day[0] += timedelta(days=40)
    tokens.take(7)
    day[0] -= timedelta(days=40)

    assert tokens.spent() == 0
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
