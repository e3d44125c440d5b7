"""Every verb over HTTP, on a real server."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

import httpx
import pytest

from support.http_server import Serving, serving


@pytest.fixture(params=["sqlite", "postgres"])
def server(
    request: pytest.FixtureRequest, tmp_path: Path, migrated_database: Callable[[], str]
) -> Iterator[Serving]:
    place = tmp_path / "served.db" if request.param == "sqlite" else migrated_database()
    with serving(place, request_bytes=20_000) as running:
        yield running


@pytest.fixture
def ada(server: Serving) -> Iterator[httpx.Client]:
    with server.client("ada") as client:
        yield client


def stored(client: httpx.Client, content: str, **fields: Any) -> dict[str, Any]:
    answer = client.post("/api/v1/memories", json={"content": content, **fields})
    assert answer.status_code == 201, answer.text
    return dict(answer.json()["memory"])


def problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    assert answer.status_code == status, answer.text
    assert answer.headers["Content-Type"] == "application/problem+json"
    told = answer.json()
    assert (told["status"], told["code"]) == (status, code)
    assert told["type"] == f"urn:bearinmind:{code}"
    assert told["request_id"] == answer.headers["X-Request-Id"]
    return dict(told)


# ---- verbs -------------------------------------------------------------------------------------


def test_a_memory_has_its_whole_life(ada: httpx.Client) -> None:
    memory = stored(ada, "The staging database is db-stage-3.", tags=["infra"])
    path = f"/api/v1/memories/{memory['id']}"

    [hit] = ada.post("/api/v1/recall", json={"query": "staging"}).json()["hits"]
    assert hit["memory"]["id"] == memory["id"]
    assert ada.patch(path, json={"importance": 0.9}).json()["version"] == 2
    assert [each["version"] for each in ada.get(path).json()["earlier"]] == [1]
    assert ada.delete(path).json()["deleted_at"]
    assert ada.post("/api/v1/recall", json={"query": "staging"}).json()["hits"] == []
    assert ada.post(f"{path}/restore").json()["deleted_at"] is None
    assert ada.get("/api/v1/stats").json()["live"] == 1


def test_a_recall_tells_how_it_came_to_its_answer_when_asked(ada: httpx.Client) -> None:
    stored(ada, "The staging database is db-stage-3.")

    plain = ada.post("/api/v1/recall", json={"query": "staging"}).json()
    traced = ada.post("/api/v1/recall", json={"query": "staging", "trace": True}).json()

    assert plain["trace"] is None
    assert "lexical" in {leg["leg"] for leg in traced["trace"]["legs"]}


def test_links_lead_from_one_memory_to_another(ada: httpx.Client) -> None:
    old, new = stored(ada, "It is db-stage-3."), stored(ada, "It is db-stage-4.")
    link = {"source": new["id"], "kind": "supersedes", "target": old["id"]}

    assert ada.post("/api/v1/links", json=link).status_code == 201
    why = ada.get(f"/api/v1/memories/{old['id']}/why").json()
    assert [each["id"] for each in why["superseded_by"]] == [new["id"]]
    assert ada.post("/api/v1/links/end", json=link).json()["removed_at"]


def test_a_timeline_goes_around_a_memory_or_a_moment(ada: httpx.Client) -> None:
    made = [stored(ada, f"Number {n}.", created_at=f"2026-01-0{n}T00:00:00Z") for n in (1, 2, 3)]

    by_id = ada.get("/api/v1/timeline", params={"around": made[1]["id"], "before": 1}).json()
    by_moment = ada.get("/api/v1/timeline", params={"around": "2026-01-02"}).json()

    assert [each["id"] for each in by_id["before"]] == [made[0]["id"]]
    assert by_moment["after"][-1]["id"] == made[2]["id"]


def test_a_secret_is_told_by_one_verb_alone(ada: httpx.Client) -> None:
    memory = stored(ada, "the wifi password of the Kingfisher room is kelp9salt")
    path = f"/api/v1/memories/{memory['id']}"

    assert memory["sensitive"]
    assert "kelp9salt" not in ada.get(path).text
    assert "kelp9salt" in ada.post(f"{path}/secret").json()["content"]


def test_what_is_shared_is_seen_with_its_owner_and_as_data(
    server: Serving, ada: httpx.Client
) -> None:
    memory = stored(ada, "The staging database is db-stage-3.", tags=["a/b"])
    grace = server.client("grace")

    assert ada.put(f"/api/v1/memories/{memory['id']}/shares/grace").json()["right"] == "read"
    recalled = grace.post("/api/v1/recall", json={"query": "staging"}).json()
    [hit] = recalled["hits"]
    assert (hit["memory"]["owner"], recalled["as_data"]) == ("ada", [memory["id"]])
    assert ada.get(f"/api/v1/memories/{memory['id']}").json()["as_data"] == []
    assert len(grace.get("/api/v1/shares/with-me").json()["shares"]) == 1
    assert len(ada.get("/api/v1/shares").json()["shares"]) == 1
    ada.delete(f"/api/v1/memories/{memory['id']}/shares/grace").raise_for_status()
    assert grace.post("/api/v1/recall", json={"query": "staging"}).json()["hits"] == []

    tag = f"/api/v1/tags/{quote('a/b', safe='')}/shares/grace"
    assert ada.put(tag, json={"right": "write"}).json()["tag"] == "a/b"
    assert len(grace.post("/api/v1/recall", json={"query": "staging"}).json()["hits"]) == 1
    ada.delete(tag).raise_for_status()
    assert grace.get("/api/v1/shares/with-me").json()["shares"] == []
    grace.close()


def test_users_keys_and_the_audit_are_for_admins(server: Serving, ada: httpx.Client) -> None:
    problem(ada.get("/api/v1/users"), 403, "not_allowed")
    with server.client("root", "admin") as root:
        assert root.post("/api/v1/users", json={"name": "lin"}).status_code == 201
        made = root.post("/api/v1/keys", json={"user": "lin", "access": "read"}).json()
        assert made["text"].startswith("bim_")
        assert "hash" not in made["key"]
        lin = {"Authorization": f"Bearer {made['text']}"}
        stats = f"{server.url}/api/v1/stats"
        assert httpx.get(stats, headers=lin).status_code == 200
        new = root.post(f"/api/v1/keys/{made['key']['id']}/renew", json={"overlap_hours": 0}).json()
        assert httpx.get(stats, headers=lin).status_code == 401
        lin = {"Authorization": f"Bearer {new['text']}"}
        assert httpx.get(stats, headers=lin).status_code == 200
        assert root.delete(f"/api/v1/keys/{new['key']['id']}").json()["revoked_at"]
        assert httpx.get(stats, headers=lin).status_code == 401
        assert {"root", "ada", "lin"} <= {
            u["name"] for u in root.get("/api/v1/users").json()["users"]
        }
        [*listed] = root.get("/api/v1/keys", params={"user": "lin"}).json()["keys"]
        assert not any({"text", "hash"} & {*key} for key in listed)
        done = [entry["action"] for entry in root.get("/api/v1/audit").json()["entries"]]
    assert done[:3] == ["revoke key", "renew key", "create key"]


# ---- pages, conditions, doing things once ------------------------------------------------------


def test_pages_go_on_behind_a_memory_that_is_gone(ada: httpx.Client) -> None:
    made = [stored(ada, f"Number {n}.", created_at=f"2026-01-0{n}T00:00:00Z") for n in range(1, 8)]
    seen: list[str] = []
    params: dict[str, Any] = {"limit": 2}
    while True:
        page = ada.get("/api/v1/memories", params=params).json()
        seen += [each["id"] for each in page["memories"]]
        if page["next"] is None:
            break
        params["after"] = page["next"]
        ada.delete(f"/api/v1/memories/{seen[-1]}").raise_for_status()

    assert seen == [each["id"] for each in reversed(made)]


def test_a_cursor_that_is_none_is_refused(ada: httpx.Client) -> None:
    for text in ("nonsense", "MjAyNg", "%00", "a" * 500):
        told = problem(ada.get("/api/v1/memories", params={"after": text}), 422, "invalid_request")
        assert "next" in told["detail"]


def test_a_change_happens_only_to_the_version_that_was_seen(ada: httpx.Client) -> None:
    path = f"/api/v1/memories/{stored(ada, 'Tea is at four.')['id']}"
    seen = ada.get(path).headers["ETag"]

    first = ada.patch(path, json={"content": "Tea is at five."}, headers={"If-Match": seen})
    assert first.status_code == 200
    assert first.headers["ETag"] == '"2"'
    late = ada.patch(path, json={"content": "Tea is at six."}, headers={"If-Match": seen})
    problem(late, 412, "version_conflict")
    problem(ada.delete(path, headers={"If-Match": seen}), 412, "version_conflict")
    for weak in ('W/"2"', "2", '"x"', ""):
        refused = ada.patch(path, json={"importance": 1}, headers={"If-Match": weak})
        problem(refused, 412, "version_conflict")
    several = ada.patch(path, json={"importance": 1}, headers={"If-Match": '"7", "2"'})
    assert several.json()["version"] == 3
    assert ada.delete(path, headers={"If-Match": "*"}).json()["content"] == "Tea is at five."


def test_a_memory_that_did_not_change_is_not_sent_again(ada: httpx.Client) -> None:
    first, second = stored(ada, "It is db-stage-3."), stored(ada, "It is db-stage-4.")
    path = f"/api/v1/memories/{first['id']}"
    tag = ada.get(path).headers["ETag"]

    again = ada.get(path, headers={"If-None-Match": f'"9", {tag}'})
    assert (again.status_code, again.content) == (304, b"")
    link = {"source": second["id"], "kind": "see-also", "target": first["id"]}
    ada.post("/api/v1/links", json=link).raise_for_status()
    assert ada.get(path, headers={"If-None-Match": tag}).json()["links"]


def test_a_store_that_is_sent_again_stores_nothing_again(ada: httpx.Client) -> None:
    headers = {"Idempotency-Key": "5c2e"}
    body = {"content": "Tea is at four."}

    first = ada.post("/api/v1/memories", json=body, headers=headers)
    second = ada.post("/api/v1/memories", json=body, headers=headers)
    other = ada.post("/api/v1/memories", json={"content": "No tea."}, headers=headers)

    assert first.json()["memory"]["id"] == second.json()["memory"]["id"]
    assert first.json()["kind"] == second.json()["kind"] == "stored"
    problem(other, 409, "idempotency_key_reused")
    assert ada.get("/api/v1/stats").json()["live"] == 1


def test_what_is_known_already_is_not_created(ada: httpx.Client) -> None:
    stored(ada, "Tea is at four.")

    again = ada.post("/api/v1/memories", json={"content": "Tea is at four."})

    assert (again.status_code, again.json()["kind"]) == (200, "already_known")
    assert again.headers["Location"].endswith(again.json()["memory"]["id"])


# ---- what cannot be answered -------------------------------------------------------------------


def test_bodies_that_are_not_json_are_told_from_those_that_say_wrong_things(
    ada: httpx.Client,
) -> None:
    def post(content: bytes, media: str = "application/json") -> httpx.Response:
        return ada.post("/api/v1/memories", content=content, headers={"Content-Type": media})

    problem(post(b"{"), 400, "unreadable_request")
    problem(post(b'{"content": "\\ud800"}'), 400, "unreadable_request")
    problem(post(b"[" * 100_0), 400, "unreadable_request")
    problem(post(b"\xff\xfe"), 400, "unreadable_request")
    problem(post(b"{}", "text/plain"), 415, "wrong_media_type")
    problem(post(b"[]"), 422, "invalid_request")
    told = problem(
        post(b'{"content": 7, "tags": ["a", 1], "colour": "red"}'), 422, "invalid_request"
    )
    assert {each["field"] for each in told["fields"]} == {"content", "tags.1", "colour"}
    assert "Extra inputs" not in told["detail"]
    assert "red" not in told["detail"], "a text may be secret"
    told = problem(post(b'{"content": " "}'), 422, "empty_content")
    assert told["hint"]


def test_a_wrong_value_is_told_with_its_field_and_what_is_allowed(ada: httpx.Client) -> None:
    told = problem(ada.get("/api/v1/memories?limit=0"), 422, "invalid_request")
    assert told["detail"] == "limit: it must be 1 or more, not 0"
    assert [each["message"] for each in told["fields"]] == ["it must be 1 or more, not 0"]
    told = problem(
        ada.post("/api/v1/memories", json={"content": "x", "created_at": "tomorrow"}),
        422,
        "invalid_time",
    )
    assert told["detail"] == "created_at 'tomorrow' is not a time"
    assert [each["field"] for each in told["fields"]] == ["created_at"]


def test_parameters_are_read_as_what_they_are(ada: httpx.Client) -> None:
    stored(ada, "Tea is at four.", tags=["tea", "time"])

    found = ada.get("/api/v1/memories?tags=tea&tags=time&limit=5&newest_first=false").json()
    assert len(found["memories"]) == 1
    for query in ("limit=many", "limit=0", "limit=1&limit=2", "newest_first=maybe", "colour=red"):
        problem(ada.get(f"/api/v1/memories?{query}"), 422, "invalid_request")
    problem(ada.post("/api/v1/recall?query=tea", json={"query": "tea"}), 422, "invalid_request")
    id_in_body = ada.patch("/api/v1/memories/abc", json={"id": "def"})
    problem(id_in_body, 422, "invalid_request")


def test_a_request_that_is_too_large_is_not_read_to_its_end(ada: httpx.Client) -> None:
    large = json.dumps({"content": "x" * 30_000})

    problem(ada.post("/api/v1/memories", content=large), 413, "request_too_large")
    in_parts = ada.post("/api/v1/memories", content=iter([large.encode()]))
    problem(in_parts, 413, "request_too_large")
    problem(ada.get(f"/api/v1/memories?session={'x' * 33_000}"), 414, "address_too_long")


def test_a_head_without_end_is_cut_off(server: Serving) -> None:
    place = urlsplit(server.url)
    with socket.create_connection((place.hostname, place.port), timeout=30) as connection:
        connection.sendall(b"GET /healthz HTTP/1.1\r\nX-Long: ")
        try:
            for _ in range(40):
                connection.sendall(b"x" * 4_096)
            answer = connection.recv(1_024)
        except (BrokenPipeError, ConnectionResetError):
            answer = b""

    assert not answer or answer.startswith(b"HTTP/1.1 431")
    assert httpx.get(f"{server.url}/healthz").status_code == 200


def test_a_path_that_is_none_and_a_method_that_is_none_are_told_as_problems(
    ada: httpx.Client,
) -> None:
    told = problem(ada.get("/api/v1/nothing"), 404, "path_not_found")
    assert "'/api/v1/nothing'" in told["detail"]
    problem(ada.get("/api/v1/memories/"), 404, "path_not_found")
    answer = ada.put("/api/v1/memories")
    problem(answer, 405, "method_not_allowed")
    assert answer.headers["Allow"] == "GET, HEAD, OPTIONS, POST"


def test_head_and_options_say_what_they_are_for(ada: httpx.Client) -> None:
    head, get = ada.head("/api/v1/stats"), ada.get("/api/v1/stats")
    assert (head.status_code, head.content) == (200, b"")
    assert head.headers["Content-Length"] == get.headers["Content-Length"]
    options = ada.options("/api/v1/stats")
    assert (options.status_code, options.headers["Allow"]) == (204, "GET, HEAD, OPTIONS")
    assert "Access-Control-Allow-Origin" not in options.headers


def test_an_id_that_no_memory_has_is_not_found_whoever_asks(
    server: Serving, ada: httpx.Client
) -> None:
    memory = stored(ada, "Only Ada knows.")
    with server.client("grace") as grace:
        theirs = grace.get(f"/api/v1/memories/{memory['id']}")
        nobodys = grace.get("/api/v1/memories/000000000000")
    told = problem(theirs, 404, "memory_not_found")
    assert told["title"] == problem(nobodys, 404, "memory_not_found")["title"]
    problem(ada.get("/api/v1/memories/u!u"), 422, "invalid_id")


def test_a_secret_in_what_is_refused_is_not_told_back(ada: httpx.Client) -> None:
    key = "AKIAQ3EGRSTUVWXY2345"  # made up

    answers = [
        ada.post("/api/v1/memories", json={"content": "x", "tags": [f"{key},a"]}),
        ada.post("/api/v1/memories", json={"content": "x", key: 1}),
        ada.get("/api/v1/memories", params={"after": key}),
        ada.get(f"/api/v1/{key}"),
    ]

    assert all(answer.status_code >= 400 for answer in answers)
    assert not any(key in answer.text for answer in answers)


# ---- what a caller may choose for one call -----------------------------------------------------


def test_a_question_weighs_its_legs_and_its_decay(ada: httpx.Client) -> None:
    stored(ada, "The walrus sings.")
    weights = {"leg_weights": {"graph": 0}, "decay_days": {"facts": 1}}
    told = ada.post("/api/v1/recall", json={"query": "walrus", "trace": True, **weights}).json()
    assert [leg["leg"] for leg in told["trace"]["legs"]] == ["lexical"]
    assert told["understood"]["leg_weights"] == {"graph": 0}
    assert "locks out by age" in told["trace"]["locked_out"][0]
    assert "decay" in told["hits"][0]["factors"]
    wrong = ada.post("/api/v1/recall", json={"query": "walrus", "leg_weights": {"smell": 1}})
    assert "smell" in problem(wrong, 422, "invalid_query")["detail"]


def test_why_has_a_depth_and_a_chain_is_deleted_as_one_likes(ada: httpx.Client) -> None:
    first = stored(ada, "The walrus sleeps at noon.")
    second = stored(ada, "The walrus sleeps at night.", supersedes=[first["id"]])
    third = stored(ada, "The walrus never sleeps.", supersedes=[second["id"]])
    path = f"/api/v1/memories/{third['id']}"
    assert len(ada.get(f"{path}/why", params={"depth": 1}).json()["steps"]) == 1
    assert len(ada.get(f"{path}/why").json()["steps"]) == 2
    assert ada.delete(path).json()["live_again"] == [second["id"]]
    ada.post(f"{path}/restore")
    gone = ada.delete(path, params={"with_earlier": "true"}).json()
    assert (gone["live_again"], gone["deleted_too"]) == ([], [second["id"], first["id"]])
    assert ada.get("/api/v1/memories").json()["memories"] == []


def test_a_list_by_importance_has_one_page(ada: httpx.Client) -> None:
    for importance in (0.2, 0.9, 0.5):
        stored(ada, f"Walrus number {importance}.", importance=importance)
    page = ada.get("/api/v1/memories", params={"by_importance": "true", "limit": 2}).json()
    assert [each["importance"] for each in page["memories"]] == [0.9, 0.5]
    assert page["next"] is None
