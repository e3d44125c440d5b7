"""The official client of MCP, and what it does with a server whichever way it reaches it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

import mcp_types as types
from httpx2 import AsyncClient, Timeout
from hypothesis import strategies as st
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.client.streamable_http import streamable_http_client

from bearinmind.surfaces.mcp.tools import BY_TOOL

Result = TypeVar("Result")

#: The protocol with a handshake, as clients speak it today, and the one without.
MODES = ("legacy", "auto")
_PATIENCE = 60.0  # seconds; a busy machine takes its time


def finished(work: Coroutine[Any, Any, Result]) -> Result:
    """Have something done to its end."""
    return asyncio.run(asyncio.wait_for(work, 2 * _PATIENCE))


@asynccontextmanager
async def over_stdio(
    *arguments: object, mode: str = "legacy", errors: Path | None = None, **settings: object
) -> AsyncIterator[Client]:
    """A client of `bearinmind ARGUMENTS mcp`, a process of its own."""
    server = StdioServerParameters(
        command=sys.executable,
        args=["-m", "bearinmind", *map(str, arguments)],
        env={**os.environ, **environment(**settings)},
    )
    with (errors or Path(os.devnull)).open("w") as log:
        async with Client(
            stdio_client(server, errlog=log), mode=mode, read_timeout_seconds=_PATIENCE
        ) as client:
            yield client


@asynccontextmanager
async def over_http(
    url: str, key: str | None = None, *, mode: str = "legacy"
) -> AsyncIterator[Client]:
    """A client of a server's `/mcp`."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    async with AsyncClient(headers=headers, timeout=Timeout(_PATIENCE), trust_env=False) as http:
        transport = streamable_http_client(f"{url}/mcp", http_client=http)
        async with Client(transport, mode=mode, read_timeout_seconds=_PATIENCE) as client:
            yield client


def environment(**settings: object) -> dict[str, str]:
    """The variables of these settings; a model is loaded only where a test wants one."""
    chosen = {"embedder": "none", "worker": "off", **settings}
    return {f"BEARINMIND_{name.upper()}": str(value) for name, value in chosen.items()}


async def answer(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """What a tool answers; the client holds it to the schema of the tool."""
    result = await client.call_tool(tool, arguments)
    assert not result.is_error, text_of(result)
    assert text_of(result)
    found: dict[str, Any] = result.structured_content
    return found


async def refusal(client: Client, tool: str, **arguments: Any) -> dict[str, Any]:
    """Why a tool does not do what it is asked."""
    result = await client.call_tool(tool, arguments)
    assert result.is_error, text_of(result)
    error: dict[str, Any] = result.structured_content["error"]
    assert error["message"] in text_of(result)
    return error


def text_of(result: types.CallToolResult) -> str:
    [content] = result.content
    assert isinstance(content, types.TextContent)
    return content.text


async def drive_every_tool(client: Client, reader: str) -> None:  # noqa: PLR0915  as many tools
    """Call every tool, and see that each did what it says."""
    called: set[str] = set()

    async def call(tool: str, **arguments: Any) -> dict[str, Any]:
        called.add(tool)
        return await answer(client, tool, **arguments)

    async def stored(content: str, **fields: Any) -> dict[str, Any]:
        outcome = await call("memory_store", content=content, **fields)
        assert outcome["kind"] == "stored"
        return dict(outcome["memory"])

    await client.list_tools()  # from now on answers are held to the schemas
    old = await stored("Releases are cut on Thursdays.", tags=["ops"])
    new = await stored("Releases are cut on Fridays.", supersedes=[old["id"]])
    why = (await stored("On Thursdays everybody is in meetings."))["id"]
    secret = await stored("The door code is 4711.", sensitive=True)
    assert secret == {"id": secret["id"], "version": 1, "sensitive": True}

    recalled = await call("memory_recall", query="When are releases cut?", limit="2")
    found = [hit["memory"] for hit in recalled["hits"]]
    assert found[0]["content"] == "Releases are cut on Fridays."
    assert old["id"] not in {each["id"] for each in found}
    listed = await call("memory_list", limit=1)
    rest = await call("memory_list", after=listed["next"])
    assert len(listed["memories"] + rest["memories"]) == 3

    linked = await call("memory_link", source=new["id"], kind="derives-from", target=why)
    assert {**linked, "created_at": ""} == {
        "source": new["id"],
        "kind": "derives-from",
        "target": why,
        "created_at": "",
    }
    led = await call("memory_why", id=new["id"])
    assert led["memory"]["id"] == new["id"]
    assert why in {step["memory"]["id"] for step in led["steps"]}

    settled = await call("memory_resolve", id=new["id"], resolution="both", other=[why])
    assert [link["target"] for link in settled["links"]] == [why]
    [states] = (await call("memory_history", thing="When are releases cut?"))["chains"]
    assert [state["memory"]["id"] for state in states] == [old["id"], new["id"]]

    changed = await call("memory_update", id=why, content="On Thursdays most are in meetings.")
    assert changed == {"id": why, "version": 2, "sensitive": False}
    whole = await call("memory_get", id=why)
    assert [x["content"] for x in whole["earlier"]] == ["On Thursdays everybody is in meetings."]
    assert linked in whole["links"]
    around = await call("memory_timeline", around=why, before=2, after=2)
    assert around["anchor"]["id"] == why
    assert (await call("secret_get", id=secret["id"]))["content"] == "The door code is 4711."

    shared = await call("memory_share", id=why, reader=reader, right="write")
    assert (shared["reader"], shared["right"], shared["memory"]) == (reader, "write", why)
    tagged = await call("memory_share_tag", tag="ops", reader=reader)
    assert (tagged["reader"], tagged["right"], tagged["tag"]) == (reader, "read", "ops")
    mine = (await call("memory_my_shares"))["shares"]
    assert {each.get("memory") or each.get("tag") for each in mine} == {why, "ops"}
    assert (await call("memory_shared_with_me"))["shares"] == []
    await call("memory_unshare", id=why, reader=reader)
    await call("memory_unshare_tag", tag="ops", reader=reader)
    assert (await call("memory_my_shares"))["shares"] == []

    assert (await call("memory_delete", id=why))["id"] == why
    counts = await call("memory_count")
    assert (counts["live"], counts["superseded"], counts["deleted"]) == (2, 1, 1)

    reason = (await call("memory_why_not", query="Who is in meetings?", id=why))["reason"]
    assert reason == "it is deleted"
    assert (await call("memory_restore", id=why))["version"] == 4
    await drive_graph_and_inbox(call)
    assert called == {*BY_TOOL}


async def drive_graph_and_inbox(call: Callable[..., Coroutine[Any, Any, dict[str, Any]]]) -> None:
    """Call the tools of the concept graph and of the inbox."""
    drafts = [{"content": "Dana Okafor owns Redis."}, {"content": ""}]
    outcomes = (await call("memory_store_many", drafts=drafts))["outcomes"]
    assert [each["kind"] for each in outcomes] == ["stored", "not_stored"]
    await call("memory_store", content="Redis was replaced by Valkey.", wait=True)
    around = (await call("graph_neighbours", concept="redis"))["neighbours"]["found"]
    assert {"Dana Okafor", "Valkey"} <= {each["concept"]["label"] for each in around}
    assert (await call("graph_path", start="Dana Okafor", goal="Valkey"))["steps"]
    hubs = (await call("graph_hubs", containing="redis"))["concepts"]
    assert [each["label"] for each in hubs] == ["Redis"]

    for text in ("The orders service is deployed with Helm", "The wiki is backed up each night"):
        await call("memory_store_many", drafts=[{"content": f"{text}{end}"} for end in ".!"])
    assert (await call("inbox_review", propose=True))["proposals"]
    proposals = (await call("inbox_list"))["proposals"]
    first, second = (each["id"] for each in proposals if each["kind"] == "supersede")
    assert (await call("inbox_apply", id=first))["state"] == "applied"
    assert (await call("inbox_undo", id=first))["state"] == "undone"
    assert (await call("inbox_dismiss", id=second))["state"] == "dismissed"
    assert len((await call("inbox_list"))["proposals"]) == len(proposals) - 2


async def until(true: Callable[[], bool]) -> None:
    """Wait for something that a server is to bring about."""
    async with asyncio.timeout(_PATIENCE):
        while not true():  # noqa: ASYNC110  another thread or process brings it about
            await asyncio.sleep(0.01)


INITIALIZE = {
    "jsonrpc": "2.0",
    "id": "first",
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-11-25",
        "capabilities": {},
        "clientInfo": {"name": "raw-lines", "version": "1"},
    },
}
INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=10), inner, max_size=4)
    ),
    max_leaves=10,
)
METHODS = st.sampled_from(
    [
        "initialize",
        "ping",
        "tools/list",
        "tools/call",
        "resources/read",
        "resources/templates/list",
        "prompts/get",
        "notifications/cancelled",
        "notifications/progress",
        "notifications/initialized",
        "server/discover",
        "logging/setLevel",
        "completion/complete",
        "",
    ]
) | st.text(max_size=15)
PARAMS = JSON | st.fixed_dictionaries(
    {},
    optional={
        "name": st.sampled_from(["memory_store", "memory_recall", "memory_get", "recall"]) | JSON,
        "arguments": st.dictionaries(
            st.sampled_from(["content", "query", "id", "limit", "tags", "around"])
            | st.text(max_size=5),
            JSON,
            max_size=4,
        )
        | JSON,
        "uri": st.sampled_from(["bearinmind://brief", "bearinmind://memory/"]) | JSON,
        "requestId": JSON,
        "_meta": JSON,
        "cursor": JSON,
    },
)
MESSAGES = st.fixed_dictionaries(
    {},
    optional={
        "jsonrpc": st.just("2.0") | JSON,
        "id": st.integers(1_000, 9_999) | JSON,
        "method": METHODS | JSON,
        "params": PARAMS,
        "result": JSON,
        "error": JSON,
    },
)
LINES = (
    MESSAGES.map(json.dumps)
    | JSON.map(json.dumps)
    | st.text(st.characters(exclude_characters="\n\r", exclude_categories=["Cs"]), max_size=60)
    | st.just("[" * 5_000)
    | st.just('{"jsonrpc":"2.0","id":1e999,"method":"ping"}')
)


class Raw:
    """`bearinmind mcp`, spoken to line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process = process

    def open(self) -> dict[str, Any]:
        self.send(INITIALIZE)
        opened = self.receive()
        self.send(INITIALIZED)
        return opened

    def call(self, id: int, tool: str, /, **arguments: object) -> None:
        params = {"name": tool, "arguments": arguments}
        self.send({"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params})

    def send(self, message: object) -> None:
        self.line(json.dumps(message))

    def line(self, text: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(f"{text}\n")
        self.process.stdin.flush()

    def receive(self) -> dict[str, Any]:
        assert self.process.stdout is not None
        line = self.process.stdout.readline()
        assert line, "the server ended"
        message: dict[str, Any] = json.loads(line)
        assert message["jsonrpc"] == "2.0"
        return message


@contextmanager
def raw(path: Path, *arguments: str, **settings: object) -> Iterator[Raw]:
    process = subprocess.Popen(
        [sys.executable, "-m", "bearinmind", "--store", str(path), "mcp", *arguments],
        env={**os.environ, **environment(**settings)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        encoding="utf-8",
        errors="surrogatepass",
    )
    try:
        yield Raw(process)
    finally:
        process.stdin.close() if process.stdin else None
        if process.poll() is None:
            try:
                process.wait(60)
            except subprocess.TimeoutExpired:
                process.kill()
        process.stdout.close() if process.stdout else None
