"""What is true of the client that does not wait, and of no other: many verbs at once."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from bearinmind import AsyncClient
from bearinmind.types import Stored
from support.faulty_server import Behaviour, Handler, Seen, behaves, faulty
from support.http_server import Serving, serving

AT_ONCE = 60


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db") as server:
        yield server


def test_many_verbs_go_on_at_once(server: Serving) -> None:
    async def go() -> None:
        async with AsyncClient(server.url, server.key("ada")) as client:
            stored = await asyncio.gather(*(client.store(f"Number {n}.") for n in range(AT_ONCE)))
            assert all(isinstance(outcome, Stored) for outcome in stored)
            recalled, counts, found = await asyncio.gather(
                client.recall("number 7"), client.stats(), client.list(limit=AT_ONCE)
            )
            assert recalled.hits[0].memory.content == "Number 7."
            assert counts.live == AT_ONCE
            assert {memory.id for memory in found} == {outcome.memory.id for outcome in stored}

    asyncio.run(go())


def test_the_same_store_sent_many_times_at_once_is_kept_once(server: Serving) -> None:
    async def go() -> None:
        async with AsyncClient(server.url, server.key("ada")) as client:
            outcomes = await asyncio.gather(
                *(client.store("Only once.", idempotency_key="once") for _ in range(20))
            )
            assert len({outcome.memory.id for outcome in outcomes}) == 1
            assert all(isinstance(outcome, Stored) for outcome in outcomes)
            assert (await client.stats()).live == 1

    asyncio.run(go())


def held_up(path: str, until: threading.Event) -> Behaviour:
    """Answer at this path only when the time has come."""

    def behave(handler: Handler, seen: Seen) -> None:
        if seen.path == path:
            until.wait(60)
        behaves(handler, seen)

    return behave


def test_a_program_goes_on_while_a_server_thinks(server: Serving) -> None:
    told = threading.Event()

    async def go() -> None:
        with faulty(server.url) as between:
            between.always = held_up("/api/v1/stats", told)
            async with AsyncClient(between.url, server.key("ada")) as client:
                slow = asyncio.create_task(client.stats())
                await client.store("Meanwhile.")
                assert not slow.done()
                told.set()
                assert (await slow).live == 1

    asyncio.run(go())


def test_a_verb_that_is_cancelled_leaves_the_client_in_order(server: Serving) -> None:
    told = threading.Event()

    async def go() -> None:
        with faulty(server.url) as between:
            between.always = held_up("/api/v1/stats", told)
            async with AsyncClient(between.url, server.key("ada")) as client:
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(client.stats(), 0.1)
                assert isinstance(await client.store("Afterwards."), Stored)
                told.set()
                assert (await client.stats()).live == 1

    asyncio.run(go())


def test_pages_are_fetched_as_they_are_wanted(server: Serving) -> None:
    for n in range(150):
        server.bearinmind.for_user("ada").store(f"Number {n}.")

    async def go() -> None:
        with faulty(server.url) as between:
            async with AsyncClient(between.url, server.key("ada")) as client:
                every = client.every(newest_first=False)
                assert (await anext(every)).content == "Number 0."
                assert len(between.seen) == 1
                assert [memory.content async for memory in every][-1] == "Number 149."
                assert len(between.seen) == 2

    asyncio.run(go())
