"""More than a server can do at once, and longer than it waits.

Another connection that holds the file's write lock makes a store take as long as a test wants.
"""

from __future__ import annotations

import socket
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import pytest

from support.http_server import locked, serving, wait_until


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "served.db"


def store(client: httpx.Client, content: str) -> httpx.Response:
    return client.post("/api/v1/memories", json={"content": content})


def test_a_request_too_many_is_asked_to_come_back_at_once(place: Path) -> None:
    with (
        serving(place, server_threads=1, server_queue=1) as server,
        server.client() as client,
        ThreadPoolExecutor(2) as others,
    ):
        with locked(place):
            begun = [others.submit(store, client, f"Number {n}.") for n in range(2)]
            wait_until(lambda: server.app.state.service.pool.running == 2)

            refused = store(client, "One too many.")

            assert (refused.status_code, refused.json()["code"]) == (503, "server_overloaded")
            assert int(refused.headers["Retry-After"]) >= 1
            assert client.get("/healthz").status_code == 200
        assert [each.result().status_code for each in begun] == [201, 201]
        wait_until(lambda: server.app.state.service.pool.running == 0)
        assert store(client, "Now it can be done.").status_code == 201


def test_an_answer_that_takes_too_long_is_told_and_the_verb_goes_on(place: Path) -> None:
    with serving(place, request_seconds=0.2) as server, server.client() as client:
        store(client, "Before.").raise_for_status()
        with locked(place):
            late = store(client, "Tea is at four.")

            assert (late.status_code, late.json()["code"]) == (504, "timed_out")
            assert "Idempotency-Key" in late.json()["hint"]
        wait_until(lambda: client.get("/api/v1/stats").json()["live"] == 2)


def test_what_waited_too_long_for_its_turn_is_never_begun(place: Path) -> None:
    with (
        serving(place, request_seconds=0.2, server_threads=1) as server,
        server.client() as client,
        ThreadPoolExecutor(2) as others,
    ):
        with locked(place):
            first = others.submit(store, client, "The first.")
            wait_until(lambda: server.app.state.service.pool.running == 1)
            second = store(client, "The second.")
            assert second.status_code == 504
            assert "not begun" in second.json()["detail"]
            assert first.result().status_code == 504
        wait_until(lambda: server.app.state.service.pool.running == 0)
        kept = client.get("/api/v1/memories").json()["memories"]
    assert [each["content"] for each in kept] == ["The first."]


def test_a_body_that_does_not_arrive_is_not_waited_for(place: Path) -> None:
    with serving(place, request_seconds=0.2) as server:
        address = urlsplit(server.url)
        with socket.create_connection((address.hostname, address.port), timeout=60) as slow:
            slow.sendall(
                f"POST /api/v1/memories HTTP/1.1\r\nHost: {address.netloc}\r\n"
                "Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{".encode()
            )
            assert slow.recv(1_000).startswith(b"HTTP/1.1 504")


def test_a_store_that_does_not_answer_as_it_should_is_told_and_not_ready(place: Path) -> None:
    with serving(place) as server, server.client() as client:
        assert client.get("/readyz").json() == {"status": "ready", "degraded": []}
        with closing(sqlite3.connect(place)) as other:
            other.execute("DROP TABLE work")

        told = client.get("/readyz")

        assert (told.status_code, told.json()["code"]) == (503, "store_unavailable")
        assert str(place) not in told.text
        assert client.get("/healthz").json() == {"status": "alive"}
