"""What is true now, on every surface: deciding, history, marks, and what a session begins with."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from mcp import Client

from bearinmind.app import Mind
from support.claude_code import Hooked, hooked
from support.clients import KINDS, client_of
from support.http_server import Serving, serving
from support.mcp import answer, finished, over_http, over_stdio, refusal, text_of

Run = Callable[..., Any]
MARK = "outdated since 3 June 2025 by"
SWITCHED = "We switched from Jenkins to GitHub Actions for our builds."


@pytest.fixture
def states(remember: Run, by_words: None) -> list[str]:
    """Two states of one thing, oldest first."""
    return [
        remember("Jenkins runs our builds.", "--created-at", "2024-05-12", "--source", "wiki"),
        remember("Actions runs our builds.", "--created-at", "2025-06-03"),
    ]


def store_states(mind: Mind) -> list[str]:
    """Two states of one thing, oldest first, the newer decided by a person."""
    old = mind.store("Jenkins runs our builds.").memory.id
    new = mind.store("Actions runs our builds.").memory.id
    mind.resolve(new, "newer", old, trust="user")
    return [old, new]


# ---- the command line --------------------------------------------------------------------------


def test_a_person_decides_on_the_command_line(run: Run, states: list[str]) -> None:
    old, new = states

    assert run("resolve", new[:6], "newer", "--other", old).out == f"{new} outdates {old}\n"
    [link] = run("get", new, "--json").json["links"]
    assert (link["judgement"]["by"], link["judgement"]["probability"]) == ("person", 1.0)
    assert run("resolve", new, "both", "--other", old).out == f"{new} holds beside {old}\n"
    refused = run("resolve", new, "newer", "--other", old, "--trust", "agent", "--json")
    assert (refused.code, refused.error["code"]) == (4, "person_decides")
    assert run("resolve", old, "newer").code == 3


def test_what_is_stored_to_supersede_on_the_command_line_is_a_persons_word(
    run: Run, states: list[str]
) -> None:
    run("store", "Buildkite runs our builds.", "--supersedes", states[1])
    assert "decided by a person" in " ".join(run("history", "our", "builds").out.split())


def test_a_history_shows_each_state_with_its_span_its_source_and_who_decided(
    run: Run, states: list[str]
) -> None:
    old, new = states
    run("resolve", new, "newer", "--other", old)

    lines = run("history", "our", "builds").out.splitlines()
    assert lines[0].split("  ")[0] == "from 12 May 2024 until 3 June 2025"
    assert lines[1].strip() == (f"{old} · source wiki · outdated by {new} (decided by a person)")
    assert lines[2].startswith("from 3 June 2025 until now")
    [chain] = run("history", "our builds", "--json").json["chains"]
    assert [state["memory"]["id"] for state in chain] == states
    assert run("history", "zeppelin").out == "No memory matches.\n"


def test_states_of_one_day_have_the_time(run: Run, remember: Run, by_words: None) -> None:
    texts = [f"{each} runs our builds." for each in ("Make", "Jenkins", "Actions")]
    times = ["2025-06-03T08:30", "2025-06-03T14:05:10", "2025-06-03T14:05:20"]
    ids = [remember(text, "--created-at", at) for text, at in zip(texts, times, strict=True)]
    run("resolve", ids[1], "newer", "--other", ids[0])
    run("resolve", ids[2], "newer", "--other", ids[1])

    spans = [line.split("  ")[0] for line in run("history", "our builds").out.splitlines()[::2]]
    assert spans == [
        "from 3 June 2025 08:30 UTC until 3 June 2025 14:05:10 UTC",
        "from 3 June 2025 14:05:10 UTC until 3 June 2025 14:05:20 UTC",
        "from 3 June 2025 14:05:20 UTC until now",
    ]
    recalled = run("recall", "what runs our builds?").out
    assert f"until 3 June 2025 14:05:10 UTC: {texts[0]}" in recalled


def test_a_question_when_gets_the_beginning_of_each_state(run: Run, states: list[str]) -> None:
    old, new = states
    run("resolve", new, "newer", "--other", old)

    since_when = run("recall", "since when does Jenkins or Actions run our builds?").out
    assert "   from 12 May 2024 until 3 June 2025: Jenkins runs our builds." in since_when
    assert "   until 3 June 2025: Jenkins" in run("recall", "what runs our builds?").out


def test_lists_mark_what_is_outdated_and_a_brief_leaves_it_out(run: Run, states: list[str]) -> None:
    old, new = states
    run("resolve", new, "newer", "--other", old)

    for command in (["list"], ["timeline"], ["why", old], ["get", old]):
        assert f"{MARK} {new}" in run(*command).out
    assert {*run("list", "--json").json["outdated"]} == {old}
    assert run("get", old, "--json").json["outdated"]["by"] == new
    assert [each["id"] for each in run("brief", "--json").json["memories"]] == [new]
    run("link", new, "outdates", old, "--remove")
    assert "outdated" not in run("list").out


def test_a_recall_can_be_asked_for_each_state_by_itself(run: Run, states: list[str]) -> None:
    given = run("recall", "our builds", "--group", "off", "--trace", "--json").json
    assert given["understood"]["group"] == "off"
    assert {hit["memory"]["id"] for hit in given["hits"]} == {*states}
    assert run("recall", "our builds", "--group", "never").code == 2


def test_one_word_settles_what_a_stored_memory_may_replace(run: Run, states: list[str]) -> None:
    old, now = states
    run("delete", now)
    stored = run("store", SWITCHED)
    new = run("list", "--json").json["memories"][0]["id"]
    assert f"May replace, stored 12 May 2024: Jenkins runs our builds.  {old}" in stored.out
    assert f"`bearinmind resolve {new} newer`" in stored.out

    assert run("resolve", new, "newer").out == f"{new} outdates {old}\n"
    given = run("recall", "what runs our builds?").out
    assert given.startswith(f"1  {SWITCHED}\n")
    assert ": Jenkins runs our builds." in given
    by_itself = run("recall", "what runs our builds?", "--group", "off").out
    assert f" by {new}" in by_itself


# ---- HTTP and its clients ------------------------------------------------------------------------


@pytest.fixture(params=["sqlite", "postgres"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path, migrated_database: Callable[[], str]
) -> Iterator[Serving]:
    place = tmp_path / "served.db" if request.param == "sqlite" else migrated_database()
    with serving(place, embedder="none") as running:
        yield running


def test_an_agent_and_a_person_decide_over_http(server: Serving) -> None:
    mind = server.bearinmind.for_user("ada")
    old = mind.store("Jenkins runs our builds.").memory.id
    new = mind.store("Actions runs our builds.").memory.id
    with server.client("ada") as ada:
        decide = f"/api/v1/memories/{new}/resolve"
        by_agent = ada.post(decide, json={"resolution": "newer", "other": [old]}).json()
        assert [link["judgement"]["by"] for link in by_agent["links"]] == ["agent"]
        person = {"resolution": "both", "other": [old], "trust": "user"}
        assert ada.post(decide, json=person).json()["links"][0]["judgement"]["probability"] == 0.0
        refused = ada.post(decide, json={"resolution": "newer", "other": [old]})
        assert (refused.status_code, refused.json()["code"]) == (409, "person_decides")
        nothing = ada.post(decide, json={"resolution": "newer"})
        assert (nothing.status_code, nothing.json()["code"]) == (404, "nothing_to_resolve")
        assert ada.post(decide, json={"resolution": "newest"}).status_code == 422


def test_a_reader_of_a_shared_memory_learns_nothing_of_a_successor_that_is_not_shared(
    server: Serving,
) -> None:
    old, new = store_states(server.bearinmind.for_user("ada"))
    server.key("ben")
    server.bearinmind.for_user("ada").share(old, "ben")
    with server.client("ben") as ben:
        answers = [
            ben.get("/api/v1/memories"),
            ben.get(f"/api/v1/memories/{old}"),
            ben.get("/api/v1/timeline", params={"around": old}),
            ben.get("/api/v1/history", params={"thing": "our builds"}),
            ben.post("/api/v1/recall", json={"query": "our builds"}),
        ]
        for each in answers:
            assert each.status_code == 200
            assert old in each.text
            assert new not in each.text


@pytest.mark.parametrize("kind", KINDS)
def test_both_clients_decide_and_see_the_same_history(server: Serving, kind: str) -> None:
    mind = server.bearinmind.for_user("ada")
    old = mind.store("Jenkins runs our builds.").memory.id
    new = mind.store("Actions runs our builds.").memory.id
    with client_of(kind, server.url, server.key("ada")) as client:
        resolved = client.resolve(new[:6], "newer", old, trust="user")
        assert resolved == mind.resolve(new, "newer", [old], trust="user")
        assert client.history("our builds") == mind.history("our builds")
        assert client.recall("our builds", group="off").query.group == "off"


# ---- MCP -----------------------------------------------------------------------------------------


def test_what_a_tool_decides_is_an_agents_word(path: Path) -> None:
    with Mind.open(path, embedder="none", worker="off") as mind:
        old, new = store_states(mind)
        other = mind.store("Make runs our builds.").memory.id

    async def drive() -> None:
        async with over_stdio("--store", path, "mcp", embedder="none") as client:
            settled = {"id": new, "resolution": "both", "other": [old], "trust": "user"}
            assert (await refusal(client, "memory_resolve", **settled))["code"] == "person_decides"
            settled |= {"other": [other]}
            [link] = (await answer(client, "memory_resolve", **settled))["links"]
            assert link["judgement"]["by"] == "agent"
            by_hand = {"source": new, "kind": "outdates", "target": other}
            refused = await refusal(client, "memory_link", **by_hand)
            assert "memory_resolve" in refused["hint"]
            listed = await client.call_tool("memory_list", {})
            assert f" by {new}\nJenkins runs our builds." in text_of(listed)
            whole = await answer(client, "memory_get", id=old)
            assert whole["outdated"]["by"] == new
            told = text_of(await client.call_tool("memory_history", {"thing": "our builds"}))
            assert told.splitlines()[0].endswith(f"[{old}]: Jenkins runs our builds.")
            assert f"until now [{new}]: Actions runs our builds." in told
            brief = await client.read_resource("bearinmind://brief")
            assert "Jenkins" not in str(brief.contents)
            assert "Actions" in str(brief.contents)
            again = {"content": "Buildkite runs our builds.", "supersedes": [new]}
            await answer(client, "memory_store", **again)
            changes = await answer(client, "memory_history", thing="our builds")
            by = [x["outdated"]["decided_by"] for x in changes["chains"][0][:-1]]
            assert by == ["person", "agent"]

    finished(drive())


def test_an_agent_settles_what_it_stored_and_recalls_the_present_first(path: Path) -> None:
    async def drive() -> None:
        async with over_stdio("--store", path, "mcp", embedder="none") as client:
            before = {"content": "Jenkins runs our builds.", "created_at": "2024-05-12"}
            old = (await answer(client, "memory_store", **before))["memory"]["id"]
            stored = await answer(client, "memory_store", content=SWITCHED)
            new = stored["memory"]["id"]
            assert [offer["memory"]["id"] for offer in stored["may_replace"]] == [old]
            await answer(client, "memory_resolve", id=new, resolution="newer")
            query = {"query": "what runs our builds?"}
            [hit] = (await answer(client, "memory_recall", **query))["hits"]
            assert hit["memory"]["id"] == new
            assert [state["memory"]["id"] for state in hit["earlier"]] == [old]
            plain = await answer(client, "memory_recall", **query, group="off")
            marks = {hit["memory"]["id"]: hit.get("outdated") for hit in plain["hits"]}
            assert (marks[old]["by"], marks[new]) == (new, None)

    finished(drive())


async def told_with_the_next_answer(one: Client, other: Client, mind: Mind) -> None:
    """What is found in the background is asked later where the memory was stored, and only once."""
    new = (await answer(one, "memory_store", content=SWITCHED))["memory"]
    before = {"content": "Jenkins runs our builds.", "created_at": "2024-05-12"}
    old = (await answer(one, "memory_store", **before))["memory"]
    mind.work.run()
    elsewhere = await answer(other, "memory_store", content="Lena waters the plants.")
    assert "may_replace" not in elsewhere
    stored = await answer(one, "memory_store", content="Ben is on holiday.")
    [offer] = stored["may_replace"]
    assert (offer["newer"], offer["memory"]["id"]) == (new["id"], old["id"])
    assert "may_replace" not in await answer(one, "memory_store", content="The tea is green.")
    sessions = [mind.get(x).provenance.session for x in (new["id"], elsewhere["memory"]["id"])]
    assert all(sessions)
    assert sessions[0] != sessions[1]
    said = await answer(one, "memory_store", content="The roof is red.", session="monday")
    assert mind.get(said["memory"]["id"]).provenance.session == "monday"


def test_a_connection_of_mcp_is_a_session_that_is_told_later_what_it_may_replace(
    path: Path,
) -> None:
    async def drive() -> None:
        with Mind.open(path, embedder="none", worker="off") as mind:
            async with (
                over_stdio("--store", path, "mcp", embedder="none") as one,
                over_stdio("--store", path, "mcp", embedder="none") as other,
            ):
                await told_with_the_next_answer(one, other, mind)

    finished(drive())


def test_over_http_each_connection_of_mcp_is_such_a_session(server: Serving) -> None:
    async def drive() -> None:
        key = server.key("ada")
        async with over_http(server.url, key) as one, over_http(server.url, key) as other:
            await told_with_the_next_answer(one, other, server.bearinmind.for_user("ada"))

    finished(drive())


# ---- hooks ---------------------------------------------------------------------------------------


@pytest.fixture
def home(run: Run, at_home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    def open_(server: Serving) -> Hooked:
        monkeypatch.setenv("XDG_STATE_HOME", str(at_home / "state"))
        return hooked(run, at_home, tmp_path / "acme", "--url", server.url, deadline_ms=10_000)

    return open_


def test_a_session_starts_with_what_holds_also_after_a_compaction(
    place: Path, home: Callable[[Serving], Hooked]
) -> None:
    with serving(place, embedder="none") as server:
        opened = home(server)
        claude = opened.claude()
        old = server.bearinmind.store("Jenkins runs our builds.", importance=1.0).memory.id
        assert claude.prompt("What runs our builds?").ids == [old]
        claude.says("assistant", "Jenkins runs them.")
        claude.event("PreCompact", trigger="auto", custom_instructions="")
        opened.logged("PreCompact in the background")
        new = server.bearinmind.store("Actions runs our builds.").memory.id
        server.bearinmind.resolve(new, "newer", old)

        assert claude.start("compact").ids == [new]
        assert claude.other_session("later").start("startup").ids == [new]


def test_a_prompt_is_never_given_the_old_without_the_new(
    place: Path, home: Callable[[Serving], Hooked]
) -> None:
    with serving(place, embedder="none") as server:
        claude = home(server).claude()
        old, new = store_states(server.bearinmind)

        ran = claude.prompt("What runs our builds?")
        assert ran.ids == [new]
        assert "Jenkins runs our builds." in ran.context.partition(old)[0]
        past = claude.other_session("two").prompt("What ran our builds before, was it Jenkins?").ids
        assert old not in past or past.index(new) < past.index(old)
