"""Import and export over HTTP."""

from __future__ import annotations

import gzip
import json
import socket
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import pytest

from support.http_server import Serving, connected, serving, wait_until

LINES = {"Content-Type": "application/x-ndjson"}


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db", request_bytes=1_000, server_streams=1) as running:
        yield running


def records(count: int) -> Iterator[bytes]:
    for number in range(count):
        yield json.dumps({"content": f"Fact {number} about {number * 7}."}).encode() + b"\n"


def imported(client: httpx.Client, body: Any) -> list[dict[str, Any]]:
    answer = client.post("/api/v1/import", content=body, headers=LINES)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == "application/x-ndjson"
    return [json.loads(line) for line in answer.text.splitlines()]


def test_an_import_may_be_longer_than_any_other_request(server: Serving) -> None:
    ada = server.client("ada")

    told = imported(ada, records(1_200))

    assert told[-1]["summary"]["stored"] == 1_200
    so_far = [line["progress"]["records"] for line in told[:-1]]
    assert so_far == sorted(so_far)
    assert ada.get("/api/v1/stats").json()["live"] == 1_200


def test_what_one_server_exports_another_imports(server: Serving, tmp_path: Path) -> None:
    ada = server.client("ada")
    for n in range(3):
        ada.post("/api/v1/memories", json={"content": f"Number {n}."}).raise_for_status()
    [first, *_] = ada.get("/api/v1/memories").json()["memories"]
    ada.patch(f"/api/v1/memories/{first['id']}", json={"importance": 1}).raise_for_status()
    exported = ada.get("/api/v1/export")
    assert exported.headers["Content-Type"] == "application/x-ndjson"

    with serving(tmp_path / "other.db") as other:
        lin = other.client("lin")
        [*_, last] = imported(lin, gzip.compress(exported.content))
        assert (last["summary"]["stored"], last["summary"]["bad"]) == (3, 0)
        assert lin.get(f"/api/v1/memories/{first['id']}").json()["memory"]["version"] == 2
        again = lin.get("/api/v1/export").text.splitlines()[1:]
    assert again == exported.text.splitlines()[1:]


def test_an_export_never_holds_a_secret_in_clear(server: Serving) -> None:
    ada = server.client("ada")
    said = {"content": "the wifi password of the Kingfisher room is kelp9salt"}
    ada.post("/api/v1/memories", json=said).raise_for_status()

    exported = ada.get("/api/v1/export").text

    assert '"record":"secret"' in exported
    assert "kelp9salt" not in exported


def test_bad_lines_are_named_and_the_others_kept(server: Serving) -> None:
    ada = server.client("ada")

    [*_, last] = imported(
        ada, b'{"content": "One."}\nnot json\n\n{"content": ""}\n{"content": "Two."}'
    )

    assert last["summary"]["stored"] == 2
    assert [(p["line"], p["code"]) for p in last["summary"]["problems"]] == [
        (2, "invalid_record"),
        (4, "empty_content"),
    ]


def test_lines_of_a_newer_release_are_refused_as_a_problem(server: Serving) -> None:
    [last] = imported(server.client("ada"), b'{"record": "bearinmind-export", "format": 99}\n')

    assert last["problem"]["code"] == "invalid_record"


def test_an_import_that_is_no_json_lines_is_refused_before_it_is_read(server: Serving) -> None:
    refused = server.client("ada").post("/api/v1/import", json={})

    assert (refused.status_code, refused.json()["code"]) == (415, "wrong_media_type")


def test_a_client_that_leaves_keeps_what_arrived(server: Serving) -> None:
    ada = server.client("ada")
    with connected(server.url) as connection:
        begin_import(server, connection)
        send_chunk(connection, b"".join(records(700)))
        send_chunk(connection, b'{"content": "Half of a li')
        wait_until(lambda: ada.get("/api/v1/stats").json()["live"] == 500)  # one page

    wait_until(lambda: ada.get("/api/v1/stats").json()["live"] == 700)


def test_one_import_too_many_is_asked_to_come_back(server: Serving) -> None:
    ada = server.client("ada")
    with connected(server.url) as connection:
        begin_import(server, connection)
        wait_until(
            lambda: (
                "bearinmind_streams_running 1.0"
                in server.client("root", "admin").get("/metrics").text
            )
        )

        refused = ada.post("/api/v1/import", content=b"", headers=LINES)

        assert (refused.status_code, refused.json()["code"]) == (503, "server_overloaded")
        assert int(refused.headers["Retry-After"]) >= 1
        assert ada.get("/api/v1/stats").status_code == 200
    wait_until(
        lambda: (
            "bearinmind_streams_running 0.0" in server.client("root", "admin").get("/metrics").text
        )
    )
    assert imported(ada, b"")[-1]["summary"]["stored"] == 0


def test_an_export_that_nobody_reads_ends(server: Serving) -> None:
    ada = server.client("ada")
    imported(ada, (line.replace(b"about", b"about" * 200) for line in records(2_000)))
    with connected(server.url, small=True) as connection:
        key = server.key("ada")
        connection.sendall(f"GET /api/v1/export HTTP/1.1\r\n{head(server, key)}\r\n".encode())
        assert connection.recv(1_000).startswith(b"HTTP/1.1 200")
        wait_until(
            lambda: (
                "bearinmind_streams_running 1.0"
                in server.client("root", "admin").get("/metrics").text
            )
        )

    wait_until(
        lambda: (
            "bearinmind_streams_running 0.0" in server.client("root", "admin").get("/metrics").text
        )
    )


def head(server: Serving, key: str) -> str:
    return f"Host: {urlsplit(server.url).netloc}\r\nAuthorization: Bearer {key}\r\n"


def begin_import(server: Serving, connection: socket.socket) -> None:
    """Send the head of an import, whose length nobody knows."""
    connection.sendall(
        f"POST /api/v1/import HTTP/1.1\r\n{head(server, server.key('ada'))}"
        "Content-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n".encode()
    )


def send_chunk(connection: socket.socket, part: bytes) -> None:
    connection.sendall(f"{len(part):x}\r\n".encode() + part + b"\r\n")


def test_every_memory_of_an_import_counts_against_the_quota_of_its_key(server: Serving) -> None:
    key = server.key("ada", "write", per_day=3)
    with server.client() as client:
        client.headers["Authorization"] = f"Bearer {key}"
        body = "".join(f'{{"content": "kept {number}"}}\n' for number in range(2_000))
        answer = client.post("/api/v1/import", content=body, headers=LINES)
        taken = client.post("/api/v1/memories", json={"content": "one more"})
        listed = client.get("/api/v1/memories").json()["memories"]
    [last] = answer.text.splitlines()
    assert "quota_used_up" in last
    assert "3 writes a day: 3 are left today" in last
    assert taken.status_code == 201
    assert [each["content"] for each in listed] == ["one more"]


def test_an_import_that_exceeds_a_quota_says_where_to_go_on(server: Serving) -> None:
    body = [f'{{"content": "kept {number}"}}\n' for number in range(1_100)]
    with server.bearing(server.key("ada", "write", per_day=600)) as client:
        first = client.post("/api/v1/import", content="".join(body), headers=LINES)
        rest = client.post("/api/v1/import", content="".join(body[500:600]), headers=LINES)
    problem = json.loads(first.text.splitlines()[-1])["problem"]
    assert "100 are left today" in problem["detail"]
    assert "Up to line 500 all is stored: go on" in problem["hint"]
    assert '"stored":100' in rest.text.splitlines()[-1]


def test_an_import_of_what_a_quota_leaves_is_taken(server: Serving) -> None:
    key = server.key("ada", "write", per_day=3)
    with server.client() as client:
        client.headers["Authorization"] = f"Bearer {key}"
        body = "".join(f'{{"content": "kept {number}"}}\n' for number in range(3))
        answer = client.post("/api/v1/import", content=body, headers=LINES)
        refused = client.post("/api/v1/memories", json={"content": "one more"})
    assert '"stored":3' in answer.text.splitlines()[-1]
    assert refused.status_code == 429


def test_many_drafts_beyond_a_quota_are_refused_before_any_is_stored(server: Serving) -> None:
    with server.bearing(server.key("ada", "write", per_day=3)) as client:
        six, three = (
            client.post(
                "/api/v1/store-many",
                json={"drafts": [{"content": f"{n} of {many}"} for n in range(many)]},
            )
            for many in (6, 3)
        )
    assert (six.status_code, six.json()["code"]) == (429, "quota_used_up")
    assert "3 are left today, and this is 6" in six.text
    assert three.status_code < 300
    assert server.client("ada").get("/api/v1/stats").json()["live"] == 3
