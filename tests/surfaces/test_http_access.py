"""Who a server lets in, by which name, and when it refuses to start."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from bearinmind.app import Mind
from bearinmind.config import Configuration
from bearinmind.errors import InvalidSetting
from bearinmind.surfaces.http.server import prepare
from support.http_server import serving

STATS = "/api/v1/stats"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "served.db"


def starting(place: Path, **settings: Any) -> None:
    """Start to serve, as far as being told that it may not."""
    chosen = Configuration.load(
        {"store": place, "embedder": "none", "server_port": 0, **settings}
    ).settings
    with Mind.build(chosen) as bearinmind:
        prepare(bearinmind, chosen)._socket.close()


def test_a_server_beyond_this_machine_wants_keys_or_does_not_start(place: Path) -> None:
    with pytest.raises(InvalidSetting, match=r"auth = 'off' and server_host = '0.0.0.0'"):
        starting(place, server_host="0.0.0.0", auth="off")  # noqa: S104  that is the point
    with pytest.raises(InvalidSetting, match="there is none yet") as told:
        starting(place, server_host="0.0.0.0")  # noqa: S104
    assert "bearinmind key create" in told.value.hint
    with pytest.raises(InvalidSetting, match="there is none yet"):
        starting(place, auth="on")


def test_a_port_that_is_taken_is_told(place: Path) -> None:
    with serving(place) as server, pytest.raises(InvalidSetting, match="cannot listen there"):
        starting(place, server_port=int(server.url.rpartition(":")[2]))


def test_a_local_server_stands_open_until_it_has_a_user(place: Path) -> None:
    with serving(place) as server, server.client() as anybody:
        assert anybody.get(STATS).status_code == 200
        assert anybody.get("/api/v1/users").status_code == 200

        server.key("ada")

        assert anybody.get(STATS).status_code == 401
        assert server.client("ada").get(STATS).status_code == 200


def test_a_server_without_auth_takes_everybody_for_its_user(place: Path) -> None:
    with serving(place, auth="off", user="lin") as server, server.client() as anybody:
        server.key("ada")
        made = anybody.post("/api/v1/memories", json={"content": "Tea is at four."}).json()

        assert made["memory"]["owner"] == "lin"


def test_nobody_gets_in_without_a_good_key(place: Path) -> None:
    with serving(place) as server:
        good = server.key("ada")
        past = datetime.now(UTC) + timedelta(hours=1)
        assert server.key("ada", expires_at=past) != good
        for header in (
            None,
            "",
            "Bearer",
            "Bearer x",
            f"Basic {good}",
            f"Bearer {good}x",
            f"Bearer {good[:-1]}",
        ):
            sent = {} if header is None else {"Authorization": header}
            answer = httpx.get(server.url + STATS, headers=sent)
            assert answer.status_code == 401
            assert answer.json()["code"] == "not_authenticated"
            challenge = answer.headers["WWW-Authenticate"]
            assert challenge.startswith('Bearer realm="bearinmind"')
            assert f"{server.url}/.well-known/oauth-protected-resource" in challenge
            assert ('error="invalid_token"' in challenge) is (header is not None)


def test_auth_comes_before_anything_that_the_request_says(place: Path) -> None:
    with serving(place) as server:
        server.key("ada")
        for path, body in (("/memories", b"{"), ("/recall", b"[]"), ("/import", b"")):
            answer = httpx.post(f"{server.url}/api/v1{path}", content=body)
            assert answer.status_code == 401
        for query in ("limit=many", "colour=red", "limit=1&limit=2"):
            assert httpx.get(f"{server.url}/api/v1/memories?{query}").status_code == 401


def test_a_key_opens_what_its_access_says_and_no_more(place: Path) -> None:
    with serving(place) as server:
        reader, admin = server.client("ada", "read"), server.client("root", "admin")
        body = {"content": "Tea is at four."}

        refused = reader.post("/api/v1/memories", json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "not_allowed")
        lines = {"Content-Type": "application/x-ndjson"}
        assert reader.post("/api/v1/import", content=b"", headers=lines).status_code == 403
        assert reader.get("/api/v1/keys").status_code == 403
        assert reader.post("/api/v1/recall", json={"query": "tea"}).status_code == 200
        assert admin.post("/api/v1/memories", json=body).status_code == 201
        assert reader.get(STATS).json()["live"] == 0


def test_a_key_is_used_as_often_as_it_may_be(place: Path) -> None:
    with serving(place, key_per_minute=3) as server:
        often = server.client("ada")
        statuses = [often.get(STATS).status_code for _ in range(5)]
        assert statuses[:3] == [200, 200, 200]
        assert statuses[-1] == 429
        last = often.get(STATS)
        assert last.json()["code"] == "too_many_requests"
        assert int(last.headers["Retry-After"]) >= 1

        few = server.bearing(server.key("lin", per_day=1))
        first, second = (
            few.post("/api/v1/memories", json={"content": f"Number {n}."}) for n in (1, 2)
        )
        assert (first.status_code, second.status_code) == (201, 429)
        assert second.json()["code"] == "quota_used_up"


def test_a_page_of_somebody_else_cannot_ask_a_local_server(place: Path) -> None:
    with serving(place) as server, server.client() as anybody:
        for headers in (
            {"Host": "evil.example"},
            {"Host": "evil.example:8377"},
            {"Origin": "https://evil.example"},
            {"Origin": "null"},
            {"Origin": "http://[bad"},
        ):
            answer = anybody.get(STATS, headers=headers)
            assert (answer.status_code, answer.json()["code"]) == (403, "not_allowed")
        for headers in ({"Host": "localhost"}, {"Host": "[::1]:1"}, {"Origin": server.url}):
            assert anybody.get(STATS, headers=headers).status_code == 200


def test_further_names_can_be_allowed(place: Path) -> None:
    settings = {"server_hosts": ["memory.lan"], "server_url": "https://memory.example.org/"}
    with serving(place, **settings) as server, server.client() as anybody:
        for name in ("memory.lan", "MEMORY.LAN:80", "memory.example.org"):
            assert anybody.get(STATS, headers={"Host": name}).status_code == 200
        assert anybody.get(STATS, headers={"Host": "other.lan"}).status_code == 403
    with serving(place, server_hosts=["*"]) as server, server.client() as anybody:
        assert anybody.get(STATS, headers={"Host": "other.lan"}).status_code == 200


def test_clients_of_oauth_find_out_how_to_get_in(place: Path) -> None:
    settings = {"server_url": "https://memory.example.org", "oauth_issuers": ["https://id.example"]}
    with serving(place, **settings) as server, server.client() as anybody:
        server.key("ada")
        whole = anybody.get("/.well-known/oauth-protected-resource").json()
        mcp = anybody.get("/.well-known/oauth-protected-resource/mcp").json()

    assert whole["resource"] == "https://memory.example.org"
    assert mcp["resource"] == "https://memory.example.org/mcp"
    assert whole["authorization_servers"] == ["https://id.example"]
    assert whole["scopes_supported"] == ["read", "write", "admin"]


def test_every_answer_has_the_headers_that_browsers_heed(place: Path) -> None:
    with serving(place) as server, server.client() as anybody:
        for path in (STATS, "/nothing", "/healthz", "/api/v1/memories/x"):
            headers = anybody.get(path).headers
            assert headers["X-Content-Type-Options"] == "nosniff"
            assert headers["X-Frame-Options"] == "DENY"
            assert "default-src 'none'" in headers["Content-Security-Policy"]
            assert headers["Cache-Control"] == "no-store"
            assert "Access-Control-Allow-Origin" not in headers
            assert "Server" not in headers


def test_a_request_keeps_the_id_that_it_came_with_if_that_is_one(place: Path) -> None:
    with serving(place) as server, server.client() as anybody:
        kept = anybody.get(STATS, headers={"X-Request-Id": "build-17.a_b"})
        assert kept.headers["X-Request-Id"] == "build-17.a_b"
        for bad in ("a b", "x" * 65, "{}"):
            fresh = anybody.get(STATS, headers={"X-Request-Id": bad})
            assert len(fresh.headers["X-Request-Id"]) == 32
