"""`/mcp` of a real server: the official client, or raw requests."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mcp import MCPError

from bearinmind.app import Mind
from support import mcp as mcp_support
from support.embedding_server import SlowEmbedder
from support.http_server import Serving, served, serving
from support.mcp import (
    MODES,
    answer,
    drive_every_tool,
    finished,
    over_http,
    refusal,
    text_of,
    until,
)

HEADERS = {
    "Accept": "application/json, text/event-stream",
    "Content-Type": "application/json",
}


@pytest.fixture
def server(path: Path) -> Iterator[Serving]:
    with serving(path, mcp_tools="all") as running:
        yield running


@pytest.mark.parametrize("mode", MODES)
def test_the_official_client_drives_every_tool(server: Serving, mode: str) -> None:
    server.key("ben")

    async def drive() -> None:
        async with over_http(server.url, server.key("ana"), mode=mode) as client:
            await drive_every_tool(client, reader="ben")

    finished(drive())
    assert server.bearinmind.for_user("ana").stats().live == 9


def test_every_tool_works_on_postgres(postgres_url: str) -> None:
    with serving(postgres_url, mcp_tools="all") as server:
        server.key("ben")

        async def drive() -> None:
            async with over_http(server.url, server.key("ana")) as client:
                await drive_every_tool(client, reader="ben")

        finished(drive())


def test_every_draft_of_many_counts_against_the_quota_of_its_key(server: Serving) -> None:
    key = server.key("ana", per_day=3)

    async def store(many: int) -> Any:
        async with over_http(server.url, key) as client:
            drafts = [{"content": f"{n} of {many}"} for n in range(many)]
            return await client.call_tool("memory_store_many", {"drafts": drafts})

    assert "3 are left today, and this is 6" in text_of(finished(store(6)))
    finished(store(3))
    assert server.bearinmind.for_user("ana").stats().live == 3


def test_each_caller_sees_their_own_memories_and_what_is_shared_as_data(server: Serving) -> None:
    async def share_and_recall() -> tuple[list[Any], str]:
        async with (
            over_http(server.url, server.key("ana")) as ana,
            over_http(server.url, server.key("ben")) as ben,
        ):
            stored = await answer(ana, "memory_store", content="The vault is behind the clock.")
            before = await answer(ben, "memory_recall", query="vault clock")
            await answer(ana, "memory_share", id=stored["memory"]["id"], reader="ben")
            after = await ben.call_tool("memory_recall", {"query": "vault clock"})
            shares = await answer(ben, "memory_shared_with_me")
            found = after.structured_content
            return [before["hits"], found, shares["shares"]], text_of(after)

    (before, after, shares), text = finished(share_and_recall())

    assert before == []
    [memory] = [hit["memory"] for hit in after["hits"]]
    assert (memory["owner"], after["as_data"]) == ("ana", [memory["id"]])
    assert [(each["owner"], each["reader"]) for each in shares] == [("ana", "ben")]
    assert 'owner="ana"' in text


# ---- who gets in ---------------------------------------------------------------------------------


def test_without_a_good_key_nobody_gets_in(server: Serving) -> None:
    server.key("ana")
    with server.client() as client:
        for headers in ({}, {"Authorization": "Bearer bim_aaaaaaaaaaaa_" + "b" * 43}):
            refused = client.post(
                "/mcp", json=mcp_support.INITIALIZE, headers={**HEADERS, **headers}
            )

            assert refused.status_code == 401
            assert "resource_metadata=" in refused.headers["WWW-Authenticate"]
            assert refused.json()["code"] == "not_authenticated"


def test_the_metadata_of_the_resource_says_where_keys_go(server: Serving) -> None:
    server.key("ana")
    with server.client() as client:
        found = client.get("/.well-known/oauth-protected-resource/mcp").json()

    assert found["resource"] == f"{server.url}/mcp"
    assert found["bearer_methods_supported"] == ["header"]


def test_a_reading_key_reads_and_does_not_write(server: Serving) -> None:
    async def ask() -> tuple[dict[str, Any], list[dict[str, Any]]]:
        async with over_http(server.url, server.key("ana", "read")) as client:
            return await answer(client, "memory_count"), [
                await refusal(client, "memory_store", content="No."),
                await refusal(client, "secret_get", id="zzzzzzzzzzzz"),
            ]

    counts, refused = finished(ask())

    assert counts["live"] == 0
    assert [each["code"] for each in refused] == ["not_allowed", "not_allowed"]


def test_a_revoked_key_opens_nothing_not_even_its_open_session(server: Serving) -> None:
    key = server.key("ana", label="soon gone")

    async def ask() -> None:
        async with over_http(server.url, key) as client:
            await answer(client, "memory_count")
            server.bearinmind.accounts.revoke_key(key.split("_")[1])
            with pytest.raises(MCPError):
                await client.call_tool("memory_count", {})

    finished(ask())


def test_a_session_is_of_no_use_to_another_user(server: Serving) -> None:
    with opened(server, "ana") as (ana, session), server.client("ben") as ben:
        theirs = ben.post("/mcp", json=ping(1), headers={**HEADERS, "Mcp-Session-Id": session})
        ours = ana.post("/mcp", json=ping(1), headers={**HEADERS, "Mcp-Session-Id": session})

    assert theirs.status_code == 404
    assert ours.status_code == 200


def test_pages_of_others_and_other_names_are_refused(server: Serving) -> None:
    with server.client() as client:
        for headers in ({"Origin": "https://evil.example"}, {"Host": "evil.example"}):
            refused = client.post(
                "/mcp", json=mcp_support.INITIALIZE, headers={**HEADERS, **headers}
            )

            assert refused.status_code == 403
            assert refused.json()["code"] == "not_allowed"


# ---- HTTP ----------------------------------------------------------------------------------------


def test_other_methods_are_refused_and_a_session_can_be_ended(server: Serving) -> None:
    with opened(server, "ana") as (client, session):
        headers = {**HEADERS, "Mcp-Session-Id": session}
        got = client.get("/mcp", headers=headers)
        assert got.status_code == 405
        assert {"POST", "DELETE"} <= {*got.headers["Allow"].replace(" ", "").split(",")}

        assert client.delete("/mcp", headers=headers).status_code == 200
        assert client.post("/mcp", json=ping(1), headers=headers).status_code == 404


def test_of_too_many_sessions_of_a_user_the_one_unused_longest_ends(server: Serving) -> None:
    with opened(server, "ben") as (ben, of_ben), opened(server, "ana") as (ana, first):
        for number in range(100):
            ana.post("/mcp", json=mcp_support.INITIALIZE, headers=HEADERS)
            if number == 0:
                second = ana.post("/mcp", json=mcp_support.INITIALIZE, headers=HEADERS)
            used = {**HEADERS, "Mcp-Session-Id": second.headers["Mcp-Session-Id"]}
            assert ana.post("/mcp", json=ping(number), headers=used).status_code == 200

        for client, session, expected in ((ana, first, 404), (ben, of_ben, 200)):
            headers = {**HEADERS, "Mcp-Session-Id": session}
            assert client.post("/mcp", json=ping(1), headers=headers).status_code == expected


def test_what_is_too_long_is_refused_unread(path: Path) -> None:
    with serving(path, request_bytes=5_000) as server, server.client() as client:
        refused = client.post("/mcp", content=b" " * 6_000, headers=HEADERS)

    assert refused.status_code == 413
    assert refused.json()["code"] == "request_too_large"


def test_neither_messages_nor_keys_are_in_the_log_of_the_server(path: Path, tmp_path: Path) -> None:
    canary = "canary-in-the-coal-mine"
    with Mind.open(path, embedder="none", worker="off") as memory:
        memory.accounts.add_user("ana")
        key = memory.accounts.create_key("ana", access="write").text

    async def ask(url: str) -> None:
        async with over_http(url, key) as client:
            await answer(client, "memory_store", content=canary)
            await answer(client, "memory_recall", query=canary)
            await refusal(client, "memory_get", id=canary)
            with pytest.raises(MCPError):
                await client.call_tool(canary, {})
            with pytest.raises(MCPError):
                await client.read_resource(f"bearinmind://memory/{canary}")

    with served(path, tmp_path / "log") as server:
        finished(ask(server.url))
        with httpx.Client(base_url=server.url, trust_env=False, timeout=60) as client:
            headers = {**HEADERS, "Authorization": f"Bearer {key}"}
            begun = client.post("/mcp", json=mcp_support.INITIALIZE, headers=headers)
            headers["Mcp-Session-Id"] = begun.headers["Mcp-Session-Id"]
            cancelled = {"requestId": [canary], "reason": {canary: canary}}
            client.post(
                "/mcp",
                json={"jsonrpc": "2.0", "method": "notifications/cancelled", "params": cancelled},
                headers=headers,
            )
            client.post("/mcp", content=canary.encode(), headers=headers)
        assert server.stop() == 0
        lines = server.lines()

    assert "/mcp" in {line.get("route") for line in lines}
    assert "mcp" in {line["event"] for line in lines}  # the complaint of the SDK, without words
    assert canary not in str(lines)
    assert key.rpartition("_")[2] not in str(lines)


def test_a_secret_is_in_no_answer_but_that_of_secret_get(server: Serving) -> None:
    secret = "ghp_" + "a1B2" * 9

    async def ask() -> tuple[list[Any], dict[str, Any]]:
        async with over_http(server.url, server.key("ana")) as client:
            stored = await answer(client, "memory_store", content=f"The deploy token is {secret}.")
            id_ = stored["memory"]["id"]
            said: list[Any] = [
                await client.call_tool("memory_recall", {"query": "deploy token", "trace": True}),
                await client.call_tool("memory_recall", {"query": secret}),
                await client.call_tool("memory_list", {}),
                await client.call_tool("memory_get", {"id": id_}),
                await client.call_tool("memory_why", {"id": id_}),
                await client.call_tool("memory_timeline", {"around": id_}),
                await client.call_tool("memory_get", {"id": secret}),
                await client.call_tool("memory_store", {"content": "x", "tags": [secret]}),
                await client.read_resource("bearinmind://brief"),
                await client.read_resource(f"bearinmind://memory/{id_}"),
                await client.get_prompt("recall", {"topic": "deploy token"}),
            ]
            return said, await answer(client, "secret_get", id=id_)

    said, got = finished(ask())

    assert [at for at, each in enumerate(said) if secret in str(each)] == []
    assert secret in got["content"]
    assert "legs" in said[0].structured_content["trace"]


# ---- calls that take long ------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
def test_a_long_call_tells_how_it_goes_on(path: Path, mode: str) -> None:
    told: list[float] = []
    with SlowEmbedder() as slow, serving(path, **slow.settings) as server:

        async def note(progress: float, total: float | None, message: str | None) -> None:
            told.append(progress)
            if len(told) == 2:
                slow.let.set()

        async def store() -> None:
            async with over_http(server.url, server.key("ana"), mode=mode) as client:
                arguments = {"content": "It takes a while.", "wait": True}
                result = await client.call_tool("memory_store", arguments, progress_callback=note)
                assert result.structured_content["kind"] == "stored"

        finished(store())

    assert told == sorted(set(told))
    assert len(told) >= 2


def test_what_is_taken_back_is_not_answered_and_harms_nothing(path: Path) -> None:
    with SlowEmbedder() as slow, serving(path, **slow.settings) as server:

        async def take_back() -> None:
            with opened(server, "ana") as (_, session):
                headers = {**HEADERS, **server.headers("ana"), "Mcp-Session-Id": session}
            async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
                message = call(7, "memory_store", content="Something slow.", wait=True)
                async with client.stream("POST", "/mcp", json=message, headers=headers) as going:
                    await until(lambda: bool(slow.seen))
                    cancelled = {
                        "jsonrpc": "2.0",
                        "method": "notifications/cancelled",
                        "params": {"requestId": 7},
                    }
                    taken = await client.post("/mcp", json=cancelled, headers=headers)
                    assert taken.status_code == 202
                    counted = await client.post(
                        "/mcp", json=call(8, "memory_count"), headers=headers
                    )
                    assert '"live":1' in counted.text
                    slow.let.set()
                    assert going.status_code == 200
                    said = [line async for line in going.aiter_lines() if '"id":7' in line]
                assert [line for line in said if '"result"' in line] == []

        finished(take_back())


def test_a_client_that_leaves_harms_nothing(path: Path) -> None:
    with SlowEmbedder() as slow, serving(path, **slow.settings) as server:

        async def leave() -> None:
            async with over_http(server.url, server.key("ana"), mode="auto") as client:
                arguments = {"content": "Something slow.", "wait": True}
                going = asyncio.create_task(client.call_tool("memory_store", arguments))
                await until(lambda: bool(slow.seen))
                going.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await going
                assert (await answer(client, "memory_count"))["live"] == 1
                slow.let.set()
                assert (await answer(client, "memory_count"))["live"] == 1

        finished(leave())


def test_a_server_with_an_open_session_stops_when_told(path: Path) -> None:
    with ExitStack() as held:
        with serving(path) as server:  # it says so when the server does not end
            held.enter_context(opened(server, "ana"))

        with pytest.raises(httpx.ConnectError):
            httpx.get(f"{server.url}/healthz", trust_env=False)


# ---- whatever comes ------------------------------------------------------------------------------


def test_random_messages_never_end_it(server: Serving) -> None:
    with opened(server, "ana") as (client, session):
        sessions = st.sampled_from([{}, {"Mcp-Session-Id": session}, {"Mcp-Session-Id": "none"}])
        versions = st.sampled_from(
            [{}, {"Mcp-Protocol-Version": "2025-11-25"}, {"Mcp-Protocol-Version": "2026-07-28"}]
        )

        @settings(max_examples=300)
        @given(mcp_support.LINES, sessions, versions)
        def answers_still(body: str, chosen: dict[str, str], version: dict[str, str]) -> None:
            headers = {**HEADERS, **chosen, **version}
            try:
                found = client.post("/mcp", content=body.encode(), headers=headers)
            except httpx.ReadTimeout:
                pytest.fail(f"no answer to {body!r}")
            assert found.status_code < 500, (body, found.text)

        answers_still()
        headers = {**HEADERS, "Mcp-Session-Id": session}
        still = client.post("/mcp", json=call(1, "memory_count"), headers=headers)
        assert '"live"' in still.text


# ---- by hand -------------------------------------------------------------------------------------


def ping(id: int) -> dict[str, Any]:
    return {"jsonrpc": "2.0", "id": id, "method": "ping"}


def call(id: int, tool: str, /, **arguments: object) -> dict[str, Any]:
    params = {"name": tool, "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


@contextmanager
def opened(server: Serving, user: str) -> Iterator[tuple[httpx.Client, str]]:
    """A client with a session."""
    with server.client(user) as client:
        begun = client.post("/mcp", json=mcp_support.INITIALIZE, headers=HEADERS)
        session = begun.headers["Mcp-Session-Id"]
        headers = {**HEADERS, "Mcp-Session-Id": session}
        client.post("/mcp", json=mcp_support.INITIALIZED, headers=headers)
        yield client, session
