"""Administrators see the whole server, others what is theirs; what is counted is kept."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

import httpx
import pytest

from bearinmind.errors import StoreBusy
from bearinmind.protocols import TrafficCount, TrafficKind
from bearinmind.surfaces.client.clients import Client
from bearinmind.surfaces.http.auth import Service
from bearinmind.surfaces.http.metrics import TrafficCounter
from bearinmind.surfaces.verbs.server_verbs import SERVER_VERBS
from bearinmind.types import Access, UserId
from support.http_server import Serving, serving, wait_until

API = "/api/v1"
ADA = UserId("ada")
REPORT = "<!doctype html><title>walruses</title>"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Serving]:
    folder = tmp_path_factory.mktemp("server-verbs")
    reports = folder / "reports"
    reports.mkdir()
    (reports / "march.html").write_text(REPORT)
    (reports / "notes.txt").write_text("not a report")
    (folder / "outside.html").write_text("not listed")
    with serving(folder / "memories.db", reports=reports) as running:
        yield running


@pytest.fixture
def root(server: Serving) -> httpx.Client:
    return server.client("root", Access.ADMIN)


def test_only_an_administrator_sees_the_whole_server(server: Serving, root: httpx.Client) -> None:
    ada = server.client("ada", Access.WRITE)
    for verb in SERVER_VERBS:
        path, body = API + verb.path.format(name="ada"), verb.example or None
        assert ada.request(verb.method, path, json=body).status_code == 403, verb.name
        status = root.request(verb.method, path, json=body).status_code
        assert status == (409 if verb.name == "accounts.erase_user" else 200), verb.name


def test_what_is_asked_is_counted_for_its_user_and_for_everybody(
    server: Serving, root: httpx.Client
) -> None:
    cat, dan = server.client("cat"), server.client("dan")
    for client in (cat, cat, dan):
        client.post(f"{API}/recall", json={"query": "walruses"})
    cat.post(f"{API}/memories", json={"content": "walruses sing of cats"})
    cat.post(f"{API}/memories", json={"content": ""})
    server.client().get(f"{API}/stats")  # without a key
    service: Service = server.app.state.service

    def counted(client: httpx.Client, path: str = "traffic") -> dict[str, int]:
        service.traffic.flush()
        points = client.get(f"{API}/{path}", params={"step": "hour"}).json()["points"]
        kinds = ("requests", "recalls", "stores", "errors")
        return {kind: sum(point[kind] for point in points) for kind in kinds}

    # A request is counted when its answer has been sent: just after its sender has it.
    wait_until(lambda: counted(cat)["errors"] == 1)
    mine = counted(cat)
    assert mine["requests"] >= 4
    assert (mine["recalls"], mine["stores"]) == (2, 1)
    assert counted(dan)["recalls"] == 1
    assert counted(root, "traffic/all")["recalls"] >= 3
    users = root.get(f"{API}/traffic/all").json()["users"]
    by_name = {user["user"]: user for user in users}
    assert by_name["cat"]["stores"] == 1
    assert by_name[""]["errors"] >= 1  # who was not let in


def test_counts_wait_for_a_store_that_does_not_answer() -> None:
    kept: list[TrafficCount] = []
    is_busy = True

    def keep(counts: Sequence[TrafficCount]) -> None:
        if is_busy:
            raise StoreBusy("not now")
        kept.extend(counts)

    noon = datetime(2026, 3, 1, 12, 0, 30, tzinfo=UTC)
    counter = TrafficCounter(keep, lambda: noon)
    counter.answered(ADA, "/api/v1/stats", 200)
    counter.flush()
    counter.answered(ADA, "/api/v1/stats", 500)
    counter.answered(ADA, "/page/app.js", 200)  # a file is nobody's request
    is_busy = False
    counter.close()
    minute = noon.replace(second=0)
    assert kept == [
        TrafficCount(ADA, TrafficKind.REQUESTS, minute, 2),
        TrafficCount(ADA, TrafficKind.ERRORS, minute, 1),
    ]


def test_a_user_sees_renews_and_revokes_their_own_keys_alone(
    server: Serving, root: httpx.Client
) -> None:
    eve_key = server.key("eve", Access.WRITE, label="laptop", per_day=50)
    other = server.key("eve", Access.ADMIN, label="phone")
    eve = server.bearing(eve_key)
    eve.post(f"{API}/memories", json={"content": "eve was here"})

    listed = eve.get(f"{API}/me/keys").json()

    assert {key["label"] for key in listed["keys"]} == {"laptop", "phone"}
    assert all(key["user"] == "eve" and "hash" not in key for key in listed["keys"])
    [used] = listed["writes_today"].values()
    assert used == 1
    renewed = eve.post(f"{API}/me/key/renew", json={"overlap_hours": 0})
    assert renewed.status_code == 201
    new = renewed.json()
    # The key that asks is renewed, with its own terms: a weaker key never yields a stronger one.
    assert (new["key"]["access"], new["key"]["label"]) == ("write", "laptop")
    assert eve.get(f"{API}/stats").status_code == 401
    eve = server.bearing(new["text"])
    foreign = root.get(f"{API}/me/keys").json()["keys"][0]["id"]
    assert eve.delete(f"{API}/me/keys/{foreign}").status_code == 404
    assert eve.delete(f"{API}/me/keys/{other.split('_')[1]}").status_code == 200
    assert server.bearing(other).get(f"{API}/stats").status_code == 401


def test_a_user_sees_the_audit_of_their_own_account(server: Serving) -> None:
    server.key("fay", Access.READ)
    fay = server.client("fay", Access.READ)
    entries = fay.get(f"{API}/me/audit").json()["entries"]
    assert {entry["owner"] for entry in entries} == {"fay"}
    assert {"add user", "create key"} <= {entry["action"] for entry in entries}


def test_an_administrator_lists_and_opens_benchmark_reports(
    server: Serving, root: httpx.Client
) -> None:
    [report] = root.get(f"{API}/reports").json()["reports"]
    assert report["name"] == "march.html"
    opened = root.get("/reports/march.html")
    assert opened.text == REPORT
    policy = opened.headers["Content-Security-Policy"]
    assert "sandbox allow-scripts;" in policy  # a page of nobody: it sees no cookie and no API
    assert "default-src 'none'" in policy
    for name in ("notes.txt", "..%2Foutside.html", "april.html", "%2e%2e"):
        assert root.get(f"/reports/{name}").status_code == 404, name
    assert server.client("ada").get("/reports/march.html").status_code == 403
    assert server.client().get("/reports/march.html").status_code == 401


def test_a_purge_is_refused_when_the_plan_has_changed(server: Serving) -> None:
    gil = server.client("gil")
    ids = [
        gil.post(f"{API}/memories", json={"content": text}).json()["memory"]["id"]
        for text in ("gil is one", "gil is two")
    ]
    assert gil.get(f"{API}/purge", params={"ids": ids}).status_code == 409  # not deleted
    for id_ in ids:
        gil.delete(f"{API}/memories/{id_}")
    plan = gil.get(f"{API}/purge", params={"ids": ids}).json()
    counts = {"versions": plan["versions"], "links": plan["links"]}
    changed = {**counts, "versions": counts["versions"] + 1}
    assert gil.post(f"{API}/purge", json={"ids": ids, **changed}).status_code == 412
    done = gil.post(f"{API}/purge", json={"ids": ids, **counts})
    assert done.json()["plan"]["versions"] == counts["versions"]
    assert gil.get(f"{API}/memories/{ids[0]}").status_code == 404


def test_memories_over_time_are_counted_by_day_week_and_month(server: Serving) -> None:
    hal = server.client("hal")
    for day, category in (
        ("2026-03-02", "facts"),
        ("2026-03-08", "facts"),
        ("2026-04-01", "projects"),
    ):
        server.bearinmind.for_user("hal").store(
            f"hal on {day}",
            category=category,
            session=f"s-{day}",
            created_at=datetime.fromisoformat(f"{day}T10:00:00+00:00"),
        )

    def spans(bucket: str) -> list[tuple[str, int]]:
        answer = hal.get(f"{API}/density", params={"bucket": bucket}).json()
        return [(span["start"][:10], span["memories"]) for span in answer["spans"]]

    assert spans("day") == [("2026-03-02", 1), ("2026-03-08", 1), ("2026-04-01", 1)]
    assert spans("week") == [("2026-03-02", 2), ("2026-03-30", 1)]
    assert spans("month") == [("2026-03-01", 2), ("2026-04-01", 1)]
    sessions = hal.get(f"{API}/sessions").json()["sessions"]
    assert [each["session"] for each in sessions] == [
        "s-2026-04-01",
        "s-2026-03-08",
        "s-2026-03-02",
    ]


def test_the_client_asks_for_the_server_too(server: Serving) -> None:
    server.bearinmind.for_user("ivy").store("ivy grows")
    with Client(server.url, server.key("ivy", Access.ADMIN)) as ivy:
        assert ivy.server.density("month").spans[0].memories == 1
        assert ivy.server.agent_sessions() == ()
        assert ivy.server.traffic("hour").step == "hour"
        assert ivy.server.whole_traffic().points is not None
        assert "ivy" in {size.owner for size in ivy.server.sizes().owners}
        assert [report.name for report in ivy.server.reports()] == ["march.html"]
        assert ivy.server.shares() == ()
        assert ivy.work.status().queue[0].jobs
        assert ivy.work.dead() == ()
        assert ivy.work.retry_dead() == 0
        [key] = ivy.accounts.my_keys()
        assert key.user == "ivy"
        assert ivy.accounts.my_audit(1)[0].owner == "ivy"
        made = ivy.store("ivy withers").memory.id
        ivy.delete(made)
        plan = ivy.plan_purge([made])
        assert plan.versions == 2
        assert ivy.purge(plan) in {True, False}
        new = ivy.accounts.renew_my_key()
        assert ivy.accounts.revoke_my_key(new.key.id).revoked_at


def test_what_was_given_up_is_listed_without_its_text_and_tried_again(tmp_path: Path) -> None:
    with serving(tmp_path / "memories.db") as server:
        root = server.client("root", Access.ADMIN)
        root.post(f"{API}/memories", json={"content": "a walrus that cannot be compared"})
        store = server.bearinmind.work.store
        now = server.bearinmind.work.clock()
        store.give_back(store.claim(["compare"], 9, now, now), "no room", now, dead=True)
        listed = root.get(f"{API}/work/dead")
        [job] = listed.json()["jobs"]
        assert (job["kind"], job["error"]) == ("compare", "no room")
        assert "walrus" not in listed.text
        assert root.post(f"{API}/work/retry").json() == {"jobs": 1}
        assert root.get(f"{API}/work/dead").json()["jobs"] == []
        assert root.get(f"{API}/work").json()["queue"][0]["state"] == "waiting"
