"""Whatever is wrong, a hook ends well, says nothing, and is in time."""

from __future__ import annotations

import os
import random
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import cycle, islice
from pathlib import Path
from typing import Any

import pytest

from support.claude_code import ClaudeCode, Hooked, Ran, hooked
from support.garbage_server import KINDS, answering, nobody

RUNS = int(os.environ.get("BEARINMIND_HOOK_RUNS", "156"))
DEADLINE = 0.3  # seconds, as it ships
MARGIN = 20.0  # seconds; how busy the machine of the tests is says nothing about the hook
PROMPT = "Where does the staging database run?"


@pytest.fixture
def home(run: Callable[..., Any], at_home: Path, tmp_path: Path) -> Hooked:
    return hooked(run, at_home, tmp_path / "acme", "--url", "http://127.0.0.1:9")


def _runs(claude: ClaudeCode, count: int) -> list[Ran]:
    """As many prompts, several at once: most of their time they wait."""
    sessions = [claude.other_session(f"session-{number}") for number in range(count)]
    with ThreadPoolExecutor(4) as pool:
        return [*pool.map(lambda each: each.prompt(PROMPT), sessions)]


def _good(runs: list[Ran]) -> bool:
    return all(ran.silent and ran.seconds < DEADLINE + MARGIN for ran in runs)


@pytest.mark.parametrize("kind", KINDS)
def test_a_server_that_answers_nonsense_is_never_heard_of(home: Hooked, kind: str) -> None:
    count = max(1, RUNS // (len(KINDS) + 1))
    with answering(kind) as url:
        home.configure(url=url)
        runs = _runs(home.claude(), count)

    assert _good(runs)
    assert len(home.log) == count
    # What looks like an answer in which nothing fits is no failure.
    assert all(each["good"] is (each["note"] == "nothing relevant") for each in home.log)


def test_a_server_that_is_down_is_never_heard_of(home: Hooked) -> None:
    with nobody() as url:
        home.configure(url=url)
        runs = _runs(home.claude(), max(1, RUNS // (len(KINDS) + 1)))

    assert _good(runs)
    assert {each["note"] for each in home.log} <= {
        "the server: ConnectionRefusedError",
        "out of time",
    }


@pytest.mark.parametrize("event", ["SessionStart", "Stop", "PreCompact"])
def test_other_events_bear_a_silent_server_as_well(home: Hooked, event: str) -> None:
    claude = home.claude()
    claude.says("user", "No, use pnpm instead of npm.")
    with answering("silent") as url:
        home.configure(url=url)
        ran = claude.event(event, source="startup", trigger="auto")

    assert _good([ran])


@pytest.mark.parametrize(
    "url", ["", "nonsense", "ftp://host/", "http://", "http://127.0.0.1:99999", "http://[::1"]
)
def test_an_address_that_is_none_is_never_heard_of(home: Hooked, url: str) -> None:
    home.configure(url=url)
    if url == "":
        home.configure(url=None, key_file="/nowhere/key")

    assert _good([home.claude().prompt(PROMPT)])


def test_whatever_stands_on_standard_input_is_borne(home: Hooked) -> None:
    chance = random.Random(8)
    sent = [
        b"",
        b"[]",
        b"null",
        b"{",
        b'{"prompt": 5, "session_id": "a"}',
        b'{"prompt": "Where does it run?", "session_id": "../../../etc/passwd"}',
        b'{"prompt": "\\ud800 where does it run", "session_id": "a"}',
        b"[" * 100_000,
        chance.randbytes(2_000),
    ]
    claude = home.claude()
    for event, each in islice(zip(cycle(["UserPromptSubmit", "Stop"]), cycle(sent)), 2 * len(sent)):
        assert _good([claude.raw(event, each)]), (event, each[:50])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"deadline_ms": "x", "serve": 5}', None])
def test_a_configuration_that_is_none_is_borne(home: Hooked, content: bytes | None) -> None:
    file = home.folder / "config.json"
    if content is None:
        file.unlink()
        (home.folder / "config.json").mkdir()
    else:
        file.write_bytes(content)

    assert _good([home.claude().prompt("yes")])


def test_a_folder_that_cannot_be_written_is_borne(home: Hooked) -> None:
    (home.folder / "sessions").write_text("not a folder")

    with answering("no hits") as url:
        home.configure(url=url)
        assert _good([home.claude().prompt(PROMPT)])


def test_a_stop_that_a_hook_has_caused_is_left_alone(home: Hooked) -> None:
    claude = home.claude()
    claude.says("user", "No, use pnpm instead of npm.")

    assert claude.event("Stop", stop_hook_active=True).silent
    assert home.log[-1]["note"] == "nothing to do"
