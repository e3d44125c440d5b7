"""No request holds a place for ever: heads that never end, exports that nobody reads."""

from __future__ import annotations

import json
import socket
import time
from collections.abc import Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from support.http_server import Serving, connected, served, serving, wait_until

LINES = {"Content-Type": "application/x-ndjson"}
PATIENCE = 30.0  # seconds; a busy machine takes its time
STATS = "/api/v1/stats"


def is_ended(connection: socket.socket) -> bool:
    """Whether the other side ends the connection, within the patience."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionResetError:
        return True
    except TimeoutError:
        return False
    return True


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db", request_seconds=1.0, shutdown_seconds=1.0) as running:
        yield running


def test_every_head_of_a_connection_has_its_time(server: Serving) -> None:
    with closing(connected(server.url)) as connection:
        connection.sendall(f"GET {STATS} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        assert b" 200 " in connection.recv(65_536)
        connection.sendall(f"GET {STATS} HTTP/1.1\r\nHost: loc".encode())  # and no more
        assert is_ended(connection)


def filled(server: Serving, user: str) -> None:
    """More memories than fit into the buffers of a connection."""
    text = "the walrus eats fish at noon. " * 40
    lines = (json.dumps({"content": f"{n} {text}"}).encode() + b"\n" for n in range(3_000))
    answer = server.client(user).post("/api/v1/import", content=b"".join(lines), headers=LINES)
    assert json.loads(answer.text.splitlines()[-1])["summary"]["stored"] == 3_000


def unread(server: Serving, user: str) -> socket.socket:
    """An export that nobody reads."""
    connection = connected(server.url, small=True)
    key = server.headers(user)["Authorization"]
    head = f"GET /api/v1/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\n\r\n"
    connection.sendall(head.encode())
    return connection


def test_exports_that_nobody_reads_give_their_places_back(server: Serving) -> None:
    filled(server, "ada")
    streams = server.app.state.service.streams
    with ExitStack() as opened:
        for _ in range(2):
            opened.enter_context(closing(unread(server, "ada")))
        wait_until(lambda: streams.running == 2)
        third = server.client("ada").get("/api/v1/export")
        assert third.status_code == 503, "a user has half of the places"
        assert server.client("lin").get("/api/v1/export").status_code == 200
        wait_until(lambda: streams.running == 0)


def test_a_server_stops_in_time_though_an_export_is_not_read(tmp_path: Path) -> None:
    place = tmp_path / "served.db"
    with serving(place) as server:
        filled(server, "ada")
        key = server.headers("ada")["Authorization"]
    settings = {"request_seconds": 600, "shutdown_seconds": 1}
    head = f"GET /api/v1/export HTTP/1.1\r\nHost: localhost\r\nAuthorization: {key}\r\n\r\n"
    with (
        served(place, tmp_path / "log", **settings) as process,
        closing(connected(process.url, small=True)) as connection,
    ):
        connection.sendall(head.encode())
        assert connection.recv(100)
        began = time.monotonic()
        assert process.stop() == 0
        assert time.monotonic() - began < PATIENCE
