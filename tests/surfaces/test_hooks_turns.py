"""After a turn, around a compaction, and when a session starts."""

from __future__ import annotations

import os
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from support.claude_code import ClaudeCode, Hooked, hooked, wait_for
from support.faulty_server import FaultyServer, faulty
from support.garbage_server import answering, nobody
from support.http_server import Serving, serving, wait_until

LEARN = ("POST", "/api/v1/learn")


@pytest.fixture
def server(place: Path) -> Iterator[Serving]:
    with serving(place) as running:
        yield running


@pytest.fixture
def between(server: Serving) -> Iterator[FaultyServer]:
    """Sees what the hooks ask, and hands it on to the real server."""
    with faulty(server.url) as running:
        yield running


@pytest.fixture
def home(between: FaultyServer, run: Callable[..., Any], at_home: Path, tmp_path: Path) -> Hooked:
    return hooked(run, at_home, tmp_path / "acme", "--url", between.url, deadline_ms=10_000)


@pytest.fixture
def claude(home: Hooked) -> ClaudeCode:
    return home.claude()


def _learned(between: FaultyServer) -> list[Any]:
    return [seen.json for seen in between.seen if (seen.method, seen.path) == LEARN]


def test_after_a_turn_only_what_user_and_agent_said_is_learned_from(
    home: Hooked, claude: ClaudeCode, between: FaultyServer
) -> None:
    claude.says("user", "Please build it.", "<system-reminder>Remember X.</system-reminder>")
    claude.says("user", "Remember the pasted page.", isMeta=True)
    claude.says("assistant", {"type": "thinking", "thinking": "hm"}, "I ran npm.")
    claude.says("user", {"type": "tool_result", "tool_use_id": "t", "content": "Remember Y."})
    claude.says("user", "No, use pnpm instead of npm in this repository.")
    claude.says("assistant", "Done with pnpm.")
    claude.says("assistant", "A helper said this.", isSidechain=True)

    ran = claude.event("Stop", stop_hook_active=False)

    assert ran.silent
    assert home.logged("Stop in the background")["note"] == "learned from 4"
    (sent,) = _learned(between)
    assert sent == {
        "messages": [
            {"role": "user", "text": "Please build it."},
            {"role": "assistant", "text": "I ran npm."},
            {"role": "user", "text": "No, use pnpm instead of npm in this repository."},
            {"role": "assistant", "text": "Done with pnpm."},
        ],
        "session": "session-1",
        "agent": "claude-code",
        "project": "acme",
    }


def test_a_turn_is_sent_once_with_what_it_answers_to(
    home: Hooked, claude: ClaudeCode, between: FaultyServer
) -> None:
    for number, (user, agent) in enumerate([("First task.", "Shall I use pnpm?"), ("Yes.", "OK.")]):
        claude.says("user", user)
        claude.says("assistant", agent)
        claude.event("Stop")
        wait_until(lambda number=number: len(_learned(between)) == number + 1)
        wait_until(
            lambda number=number: (
                sum(e["event"] == "Stop in the background" for e in home.log) == number + 1
            )
        )

    texts = [[message["text"] for message in sent["messages"]] for sent in _learned(between)]
    assert texts == [["First task.", "Shall I use pnpm?"], ["Shall I use pnpm?", "Yes.", "OK."]]


def test_a_turn_that_two_hooks_hear_of_is_learned_from_once(
    home: Hooked, claude: ClaudeCode, between: FaultyServer
) -> None:
    claude.says("user", "From now on, use pnpm.")
    with ThreadPoolExecutor(2) as pool:  # as when the plugin is there beside the hooks
        [*pool.map(claude.event, ["Stop", "Stop"])]

    wait_until(lambda: sum(each["event"] == "Stop in the background" for each in home.log) == 2)
    assert len(_learned(between)) == 1


def test_what_could_not_be_sent_is_sent_the_next_time(
    home: Hooked, claude: ClaudeCode, between: FaultyServer
) -> None:
    claude.says("user", "From now on, use pnpm.")
    with nobody() as url:
        home.configure(url=url)
        claude.event("Stop")
        assert not home.logged("Stop in the background")["good"]
    home.configure(url=between.url)
    claude.says("assistant", "OK.")
    claude.event("Stop")

    sent = wait_for(lambda: next(iter(_learned(between)), None))
    assert [message["text"] for message in sent["messages"]] == ["From now on, use pnpm.", "OK."]


def test_the_agent_does_not_wait_for_the_server_to_learn(home: Hooked, claude: ClaudeCode) -> None:
    claude.says("user", "From now on, use pnpm.")
    with answering("silent") as url:
        home.configure(url=url)
        ran = claude.event("Stop")
        events = [each["event"] for each in home.log]

    assert ran.silent
    assert events == ["Stop"]  # the work in the background was still waiting


def test_who_does_not_want_to_learn_sends_nothing(
    home: Hooked, claude: ClaudeCode, between: FaultyServer
) -> None:
    home.configure(learn=False)
    claude.says("user", "From now on, use pnpm.")
    claude.event("Stop")

    assert home.logged("Stop in the background")["note"] == "does not learn"
    assert not between.seen


def test_what_mattered_survives_a_compaction_once(
    home: Hooked, claude: ClaudeCode, server: Serving
) -> None:
    used = server.bearinmind.store("The turbine in hall 4 came from Voith in Heidenheim, Bavaria.")
    unused = server.bearinmind.store(
        "Kaplan invented another kind of water machine in Brno long ago."
    )
    stored = server.bearinmind.store("The gearbox is changed in May.")
    gone = server.bearinmind.store("The gearbox was changed in April.")
    claude.says("user", "Where does the turbine in hall 4 come from?")
    given = claude.prompt("turbine hall 4").ids + claude.prompt("Kaplan water machine Brno").ids
    claude.says("assistant", "It came from Voith, which sits in Heidenheim in Bavaria.")
    for call, memory in (("t1", stored), ("t2", gone)):
        use = {"type": "tool_use", "id": call, "name": "mcp__bearinmind__memory_store", "input": {}}
        claude.says("assistant", use)
        told = [{"type": "text", "text": f"Stored: {memory.memory.id}"}]
        claude.says("user", {"type": "tool_result", "tool_use_id": call, "content": told})
    server.bearinmind.delete(gone.memory.id)

    compacting = claude.event("PreCompact", trigger="auto", custom_instructions="")
    note = home.logged("PreCompact in the background")["note"]
    first, second = claude.start("compact"), claude.start("compact")
    later = claude.prompt("turbine hall 4")

    assert compacting.silent
    assert note.startswith("kept 3")
    assert {*given} == {used.memory.id, unused.memory.id}
    assert first.said["hookEventName"] == "SessionStart"
    assert {*first.ids} == {used.memory.id, stored.memory.id}
    assert len(first.out) <= 8_000
    assert second.silent
    assert later.silent


def test_a_session_starts_with_a_brief_of_its_project(
    home: Hooked, claude: ClaudeCode, server: Serving
) -> None:
    own = server.bearinmind.store("acme: releases leave on Mondays.", project="acme", importance=1)
    for number in range(30):
        server.bearinmind.store(
            f"Decision {number} of acme. " + "Because. " * 60, project="acme", category="decisions"
        )

    ran = claude.start()

    assert own.memory.id in ran.ids
    assert len(ran.out) <= 4_000
    assert claude.prompt("acme releases leave on Mondays").ids == []


def test_a_session_that_is_taken_up_again_gets_of_its_brief_only_what_is_new(
    claude: ClaudeCode, server: Serving
) -> None:
    first = server.bearinmind.store("acme: releases leave on Mondays.", project="acme").memory
    started, twice = claude.start(), claude.start()
    second = server.bearinmind.store("acme: the tests run on Debian.", project="acme").memory

    again = claude.start("resume")

    assert started.ids == [first.id]
    assert twice.silent  # as when the plugin is there beside the hooks
    assert again.ids == [second.id]


def test_a_context_that_was_emptied_may_be_given_everything_again(
    claude: ClaudeCode, server: Serving
) -> None:
    stored = server.bearinmind.store("The turbine in hall 4 has seven blades.", project="other")
    question = "How many blades has the turbine in hall 4?"
    first, again = claude.prompt(question), claude.prompt(question)
    cleared = claude.start("clear").ids

    assert first.ids == [stored.memory.id]
    assert again.silent
    assert cleared + claude.prompt(question).ids == [stored.memory.id]


def test_a_session_starts_the_server_which_ends_when_it_is_idle(
    run: Callable[..., Any], at_home: Path, tmp_path: Path, by_words: None
) -> None:
    run("store", "The turbine in hall 4 has seven blades.")
    home = hooked(run, at_home, tmp_path / "acme", deadline_ms=10_000)
    serve = home.configuration["serve"]
    home.configure(serve=[*serve[:-1], "2"])
    claude = home.claude()
    claude.says("user", "From now on, use pnpm.")

    started = claude.start()
    claude.event("Stop")  # the turn is over before the server listens
    learned = home.logged("Stop in the background")
    ready = home.logged("SessionStart in the background")
    ran = claude.prompt("How many blades has the turbine in hall 4?")

    assert serve[-2:] == ["--idle-exit", "3600"]
    assert started.silent
    assert home.log[0]["note"] == "started the server"
    assert ready["note"] == "the server is ready"
    assert learned["note"] == "learned from 1"
    assert len(ran.ids) == 1
    wait_until(lambda: not _listens(home.configuration["url"]))

    os.utime(home.folder / "server.started", (0, 0))  # that was long ago
    claude.says("user", "From now on, use ruff.")
    claude.event("Stop")
    wait_until(lambda: _learned_well(home) == 2)  # the server was started again
    wait_until(lambda: not _listens(home.configuration["url"]))


def _learned_well(home: Hooked) -> int:
    return sum(each["event"] == "Stop in the background" and each["good"] for each in home.log)


def _listens(url: str) -> bool:
    """Whether somebody listens there; who only looks is not a request."""
    try:
        socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2]))).close()
    except ConnectionRefusedError:
        return False
    except ConnectionResetError:
        pass  # it is just closing
    return True
