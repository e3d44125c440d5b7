"""Only the page of the server itself may change anything from a browser."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import urlsplit

import httpx

from support.http_server import serving

STATS = "/api/v1/stats"


def test_a_page_on_another_port_is_somebody_else_s(tmp_path: Path) -> None:
    with serving(tmp_path / "served.db") as server, server.client() as anybody:
        place = urlsplit(server.url)
        other_port = f"http://{place.hostname}:{(place.port or 0) + 1}"
        for origin in (other_port, "http://localhost", "http://127.0.0.1", "null"):
            answer = anybody.get(STATS, headers={"Origin": origin})
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed"), origin
        assert anybody.get(STATS, headers={"Origin": server.url}).status_code == 200


def test_the_page_of_a_server_behind_a_proxy_is_its_own(tmp_path: Path) -> None:
    settings = {"server_url": "https://memory.example.org", "server_hosts": ["memory.lan"]}
    with serving(tmp_path / "served.db", **settings) as server, server.client() as anybody:
        for host, origin, status in (
            ("memory.lan", "https://memory.example.org", 200),
            ("memory.example.org", "https://memory.example.org:443", 200),
            ("memory.lan", "http://memory.lan", 200),
            ("memory.lan", "https://memory.example.org:8443", 403),
            ("memory.example.org", "http://memory.lan:81", 403),
        ):
            headers = {"Host": host, "Origin": origin}
            assert anybody.get(STATS, headers=headers).status_code == status, headers


def test_no_page_restores_a_memory_by_an_empty_post(tmp_path: Path) -> None:
    with serving(tmp_path / "served.db") as server, server.client() as anybody:
        made = server.bearinmind.store("the walrus eats fish").memory
        server.bearinmind.delete(made.id)
        path = f"/api/v1/memories/{made.id}/restore"
        for kind in (
            None,
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data",
        ):
            request = anybody.build_request("POST", path)
            if kind is not None:
                request.headers["Content-Type"] = kind
            assert _status(anybody, request) == 415, kind
            assert server.bearinmind.get(made.id).deleted_at is not None
        headers = {"Content-Type": "application/json"}
        assert anybody.post(path, headers=headers).status_code == 200


def _status(client: httpx.Client, request: httpx.Request) -> int:
    answer = client.send(request)
    assert answer.json()["code"] == "wrong_media_type"
    return answer.status_code
