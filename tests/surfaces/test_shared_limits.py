"""Two server processes of one store hold its limits together, on a file and on Postgres."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from http import HTTPStatus
from itertools import cycle
from pathlib import Path
from time import monotonic

import httpx
import pytest

from bearinmind.accounts.keys import Bearer, NewKey
from bearinmind.app import Mind
from support.http_server import PLAIN, served

STATS, MEMORIES = "/api/v1/stats", "/api/v1/memories"
PER_MINUTE, PER_DAY, FAILURES = 6, 5, 4


@dataclass
class Two:
    """Two servers, and who may ask them."""

    clients: list[httpx.Client]
    often: NewKey  #: a key with requests a minute
    much: NewKey  #: a key with writes a day

    def ask(self, key: str, times: int, content: str | None = None) -> list[int]:
        """The statuses of requests to both servers, all at once."""

        def answer(number: int, client: httpx.Client) -> int:
            headers = {"Authorization": f"Bearer {key}"}
            if content is None:
                return client.get(STATS, headers=headers).status_code
            body = {"content": f"{content} {number}"}
            return client.post(MEMORIES, json=body, headers=headers).status_code

        with ThreadPoolExecutor(4) as pool:
            return [*pool.map(answer, range(times), cycle(self.clients))]


@pytest.fixture(params=["sqlite", "postgres"])
def two(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Two]:
    store = str(tmp_path / "memories.db")
    if request.param == "postgres":
        store = request.getfixturevalue("postgres_url")
    with Mind.open(store, embedder="none", worker="off") as mind:
        mind.accounts.add_user("ada")
        often = mind.accounts.create_key("ada", per_minute=PER_MINUTE)
        much = mind.accounts.create_key("ada", per_day=PER_DAY)
    with ExitStack() as stack:
        running = [
            stack.enter_context(
                served(store, tmp_path / f"{name}.log", key_failures_per_minute=FAILURES, **PLAIN)
            )
            for name in ("one", "two")
        ]
        clients = [
            stack.enter_context(httpx.Client(base_url=each.url, timeout=60, trust_env=False))
            for each in running
        ]
        yield Two(clients, often, much)


def test_together_they_admit_exactly_the_limit(two: Two) -> None:
    began = monotonic()
    requests = two.ask(two.often.text, 4 * PER_MINUTE)
    allowed = PER_MINUTE + int((monotonic() - began) * PER_MINUTE / 60)
    assert PER_MINUTE <= requests.count(HTTPStatus.OK) <= allowed
    assert requests.count(HTTPStatus.OK) + requests.count(HTTPStatus.TOO_MANY_REQUESTS) == 24

    writes = two.ask(two.much.text, 4 * PER_DAY, content="walrus")
    assert writes.count(HTTPStatus.CREATED) == PER_DAY
    assert writes.count(HTTPStatus.TOO_MANY_REQUESTS) == 3 * PER_DAY

    began = monotonic()
    guesses = [
        client.get(STATS, headers={"Authorization": f"Bearer {Bearer.new().text}"}).status_code
        for client, _ in zip(cycle(two.clients), range(3 * FAILURES), strict=False)
    ]
    allowed = FAILURES + int((monotonic() - began) * FAILURES / 60)
    assert FAILURES <= guesses.count(HTTPStatus.UNAUTHORIZED) <= allowed
    assert guesses[-1] == HTTPStatus.TOO_MANY_REQUESTS
    assert two.ask(two.much.text, 2) == [HTTPStatus.TOO_MANY_REQUESTS] * 0 + [HTTPStatus.OK] * 2
