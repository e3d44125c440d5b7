"""`bearinmind serve` as a process: how it ends, what it writes down and what it counts."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from bearinmind.app import Mind
from support.http_server import Served, locked, served, serving, wait_until
from support.server_thread import on_thread

#: What must be found nowhere but in the answer of `secret_get`.
CANARY = "kelp9salt"
SECRET = f"the wifi password of the Kingfisher room is {CANARY}"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "served.db"


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "server.log"


def store(url: str, content: str) -> httpx.Response:
    return httpx.post(f"{url}/api/v1/memories", json={"content": content}, timeout=60)


def running(server: Served) -> bool:
    """Whether another request is in hand beside the one that asks."""
    return "bearinmind_requests_running 2.0" in httpx.get(f"{server.url}/metrics").text


def answers(url: str) -> bool:
    try:
        return httpx.get(f"{url}/healthz").status_code == 200
    except httpx.TransportError:
        return False


# ---- how it ends -------------------------------------------------------------------------------


def test_a_server_that_is_told_to_stop_finishes_what_it_has_begun(place: Path, log: Path) -> None:
    with served(place, log) as server, ThreadPoolExecutor(1) as others:
        assert store(server.url, "Before.").status_code == 201
        with locked(place):
            begun = others.submit(store, server.url, "Tea is at four.")
            wait_until(lambda: running(server))
            server.process.send_signal(signal.SIGTERM)
            wait_until(lambda: not answers(server.url))
            assert server.process.poll() is None
        assert begun.result().status_code == 201
        assert server.process.wait(60) == 0

    with Mind.open(place, embedder="none") as memory:
        assert memory.stats().live == 2


def test_a_second_signal_ends_it_at_once(place: Path, log: Path) -> None:
    with served(place, log) as server, ThreadPoolExecutor(1) as others:
        store(server.url, "Before.").raise_for_status()
        with locked(place):
            begun = others.submit(store, server.url, "Tea is at four.")
            wait_until(lambda: running(server))
            server.process.send_signal(signal.SIGINT)
            wait_until(lambda: not answers(server.url))
            server.process.send_signal(signal.SIGTERM)
            server.process.wait(60)
        with pytest.raises(httpx.TransportError):
            begun.result()


def test_a_server_says_where_everything_is(command: list[str], place: Path) -> None:
    environment = {**os.environ, "BEARINMIND_EMBEDDER": "none"}
    process = subprocess.Popen(
        [*command, "--store", str(place), "serve", "--port", "0", "--first-key"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        said = [process.stdout.readline() for _ in range(6)]
        key = next(line.split()[1] for line in said if line.startswith("Key"))
        api = next(line.split()[1] for line in said if line.startswith("API"))
        assert any(line.startswith("Claude Code: claude mcp add") and key in line for line in said)
        good = httpx.get(f"{api}/users", headers={"Authorization": f"Bearer {key}"})
        assert good.status_code == 200
        page, _, link = said[0].split()[1].partition("/#/signin?link=")
        own = {"Origin": page, "X-Bear-In-Mind": "page"}
        entered = [httpx.post(f"{api}/session", json={"link": link}, headers=own) for _ in range(2)]
        assert [answer.status_code for answer in entered] == [201, 401]  # it works once
        assert httpx.get(f"{api}/users").status_code == 401
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def test_the_line_for_claude_code_has_the_header_of_a_key_that_was_made_before(
    command: list[str], place: Path
) -> None:
    with Mind.open(place, worker="off", embedder="none") as mind:
        key = mind.accounts.first_key()
    assert key is not None
    environment = {**os.environ, "BEARINMIND_EMBEDDER": "none", "BEARINMIND_SERVER_KEY": key.text}
    process = subprocess.Popen(
        [*command, "--store", str(place), "serve", "--port", "0"],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    try:
        line = next(line for line in process.stdout if line.startswith("Claude Code: "))
        # A shell reads the line as a user pastes it.
        words = line.removeprefix("Claude Code: claude ").strip()
        printed = subprocess.check_output(
            ["sh", "-c", f"printf '%s\\n' {words}"], env=environment, text=True
        ).splitlines()
        assert printed[:5] == ["mcp", "add", "--transport", "http", "bearinmind"]
        assert printed[6:] == ["--header", f"Authorization: Bearer {key.text}"]
        name, _, value = printed[-1].partition(": ")
        call = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
        accept = {"Accept": "application/json, text/event-stream"}
        assert httpx.post(printed[5], json=call, headers=accept).status_code == 401
        assert httpx.post(printed[5], json=call, headers={**accept, name: value}).status_code != 401
    finally:
        process.terminate()
        process.wait(60)
        process.stdout.close()


def test_a_server_that_must_not_start_says_why(run: object, tmp_path: Path) -> None:
    answer = run("serve", "--host", "0.0.0.0", "--port", "0", "--json")  # type: ignore[operator]  # noqa: S104

    assert answer.code == 2
    assert answer.error["code"] == "invalid_setting"
    assert "bearinmind key create" in answer.error["hint"]


# ---- what it writes down and counts ------------------------------------------------------------


def test_every_request_is_a_line_that_says_nothing_of_what_was_asked(
    place: Path, log: Path
) -> None:
    with Mind.open(place, embedder="none") as memory:
        memory.accounts.add_user("ada")
        key = memory.accounts.create_key("ada", access="admin")
    with served(place, log) as server, httpx.Client(base_url=server.url) as client:
        client.headers["Authorization"] = f"Bearer {key.text}"
        client.headers["X-Request-Id"] = "the-one"
        made = client.post("/api/v1/memories", json={"content": SECRET}).json()["memory"]
        client.headers["X-Request-Id"] = "another"
        client.post("/api/v1/recall", json={"query": f"what about {CANARY}"})
        client.get("/api/v1/memories", params={"session": CANARY})
        client.get(f"/api/v1/memories/{made['id']}")
        assert CANARY in client.post(f"/api/v1/memories/{made['id']}/secret").text
        client.get(f"/api/v1/{CANARY}")
        client.get("/api/v1/stats", headers={"Authorization": f"Bearer {CANARY}"})
        counts = client.get("/metrics").text
        described = client.get("/openapi.json").text
        assert server.stop() == 0
        lines = [line for line in server.lines() if line["event"] == "request"]

    [first] = [line for line in lines if line["request_id"] == "the-one"]
    assert first.pop("ms") > 0
    assert first.pop("time")
    assert first == {
        "level": "info",
        "event": "request",
        "method": "POST",
        "route": "/api/v1/memories",
        "status": 201,
        "user": "ada",
        "key": key.key.id,
        "request_id": "the-one",
    }
    assert [line["route"] for line in lines if line["status"] == 404] == ["other"]
    written = log.read_text()
    secret = key.text.rpartition("_")[2]
    for text in (written, counts, described):
        assert CANARY not in text
        assert secret not in text
        assert made["id"] not in text


def test_what_is_counted_goes_by_route_and_status(place: Path) -> None:
    with serving(place) as server, server.client() as client:
        for _ in range(3):
            client.post("/api/v1/recall", json={"query": "tea"})
        client.post("/api/v1/recall", json={"limit": 0})
        client.request("PROPFIND", "/api/v1/recall")
        client.get("/api/v1/memories/000000000000")
        counts = client.get("/metrics").text

    requests = "bearinmind_requests_total"
    assert f'{requests}{{method="POST",route="/api/v1/recall",status="200"}} 3.0' in counts
    assert f'{requests}{{method="POST",route="/api/v1/recall",status="422"}} 1.0' in counts
    assert f'{requests}{{method="GET",route="/api/v1/memories/{{id}}",status="404"}} 1.0' in counts
    assert 'method="other"' in counts
    assert "PROPFIND" not in counts
    assert "bearinmind_recalls_total 3.0" in counts
    assert "bearinmind_recalls_degraded_total 0.0" in counts
    assert 'bearinmind_request_seconds_bucket{le="0.001",method="POST"' in counts
    assert "bearinmind_requests_waiting 0.0" in counts


def test_a_recall_that_a_leg_has_not_its_whole_part_in_is_counted(place: Path) -> None:
    with serving(place, embedder="hash") as server:
        client = server.client()
        client.post("/api/v1/memories", json={"content": "Tea is at four.", "wait": True})
        whole = client.post("/api/v1/recall", json={"query": "tea"}).json()
        client.post("/api/v1/memories", json={"content": "Tea is at five."})
        partial = client.post("/api/v1/recall", json={"query": "tea"}).json()
        counts = client.get("/metrics").text

    assert (whole["degraded"], len(partial["degraded"])) == ([], 2)  # meaning and graph
    assert "bearinmind_recalls_degraded_total 1.0" in counts
    assert 'bearinmind_work_jobs{kind="embed",state="waiting"} 1.0' in counts


def test_the_lines_are_json_whatever_happens(place: Path, log: Path) -> None:
    with served(place, log) as server:
        httpx.get(f"{server.url}/api/v1/stats", headers={"X-Request-Id": '"}\\'})
        assert server.stop() == 0
        assert all(json.loads(line) for line in log.read_text().splitlines())


class Collector(ThreadingHTTPServer):
    """Takes what a server sends about its requests, as OpenTelemetry's own collector does."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taking)
        self.received = b""


class _Taking(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        self.server.received += self.rfile.read(int(self.headers["Content-Length"]))
        self.send_response(200)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Be quiet."""


def test_traces_of_requests_go_to_a_collector_without_what_was_asked(
    place: Path, log: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with on_thread(Collector()) as collector:
        monkeypatch.setenv(
            "OTEL_EXPORTER_OTLP_ENDPOINT", f"http://127.0.0.1:{collector.server_port}"
        )
        with served(place, log, telemetry="true") as server:
            body = {"query": f"what about {CANARY}"}
            httpx.post(f"{server.url}/api/v1/recall", json=body).raise_for_status()
            httpx.get(f"{server.url}/api/v1/memories", params={"session": CANARY})
            assert server.stop() == 0

    assert b"POST /api/v1/recall" in collector.received
    assert b"GET /api/v1/memories" in collector.received
    assert CANARY.encode() not in collector.received
