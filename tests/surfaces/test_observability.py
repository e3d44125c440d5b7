"""What a server tells those who look after it: metrics, traces, the page at /status."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter

from bearinmind.surfaces.http import metrics
from bearinmind.surfaces.http.metrics import QueueAge
from support.http_server import Serving, serving, wait_until

HOOK = "X-Bear-In-Mind-Hook"


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Serving]:
    with serving(tmp_path / "served.db", metrics_user="prometheus") as running:
        yield running


def counts_of(server: Serving) -> str:
    answer = server.client("root", "admin").get("/metrics")
    assert answer.status_code == 200
    return answer.text


# ---- metrics -----------------------------------------------------------------------------------


def test_only_administrators_and_the_user_of_the_setting_read_the_metrics(server: Serving) -> None:
    server.client("ada").post("/api/v1/memories", json={"content": "Tea is at four."})

    assert server.client("ada").get("/metrics").status_code == 403
    assert server.client("ada", "read").get("/metrics").status_code == 403
    assert server.client().get("/metrics").status_code == 401
    assert 'owner="ada"' in server.client("prometheus", "read").get("/metrics").text
    assert 'owner="ada"' in counts_of(server)


def test_the_largest_users_are_named_and_everybody_is_summed(server: Serving) -> None:
    for number in range(23):
        content = {"content": "A word. " * (number + 1)}
        server.client(f"user{number:02}").post("/api/v1/memories", json=content)
    counts = counts_of(server)

    assert "bearinmind_memories 23.0" in counts
    assert "bearinmind_owners 23.0" in counts
    assert counts.count("bearinmind_owner_bytes{") == 20
    assert 'bearinmind_owner_memories{owner="user22"} 1.0' in counts
    assert 'owner="user02"' not in counts  # the three smallest
    total = sum(len(("A word. " * (number + 1)).strip()) for number in range(23))
    assert f"bearinmind_memory_bytes {float(total)}" in counts


def test_statements_and_legs_are_measured_by_name(server: Serving) -> None:
    ada = server.client("ada")
    ada.post("/api/v1/memories", json={"content": "Tea is at four."})
    ada.post("/api/v1/recall", json={"query": "tea"})
    counts = counts_of(server)

    for statement in ("insert_memory", "begin", "commit", "key_to_let_in"):
        assert f'bearinmind_statement_seconds_count{{statement="{statement}"}}' in counts
    assert 'bearinmind_leg_seconds_count{leg="lexical"} 1.0' in counts
    statements = re.findall(r'statement_seconds_count{statement="([^"]+)"}', counts)
    assert all(re.fullmatch("[a-z_]+", each) for each in statements)


def test_what_is_refused_is_counted_by_its_code(server: Serving) -> None:
    ada = server.client("ada")
    ada.post("/api/v1/recall", json={"limit": 0})
    ada.get("/api/v1/users")
    server.client().get("/api/v1/stats")
    ada.get("/healthz", headers={"Origin": "https://elsewhere.example"})
    counts = counts_of(server)

    assert 'bearinmind_refused_total{code="invalid_request"} 1.0' in counts
    assert 'bearinmind_refused_total{code="not_authenticated"} 1.0' in counts
    assert 'bearinmind_refused_total{code="not_allowed"} 2.0' in counts


def test_hooks_tell_what_became_of_them_and_strangers_do_not(server: Serving) -> None:
    ada = server.client("ada")
    for told in ("UserPromptSubmit good", "UserPromptSubmit late", "Mischief x" * 20):
        ada.get("/api/v1/stats", headers={HOOK: told})
    server.client().get("/api/v1/stats", headers={HOOK: "Stop failed"})
    counts = counts_of(server)

    runs = "bearinmind_hook_runs_total"
    assert f'{runs}{{event="UserPromptSubmit",outcome="good"}} 1.0' in counts
    assert f'{runs}{{event="UserPromptSubmit",outcome="late"}} 1.0' in counts
    assert f'{runs}{{event="other",outcome="other"}} 1.0' in counts
    assert "Mischief" not in counts
    assert 'event="Stop"' not in counts


def test_the_worker_of_a_server_tells_what_it_did(tmp_path: Path) -> None:
    with serving(tmp_path / "served.db", worker="auto", embedder="hash") as server:
        ada = server.client("ada")
        for content in ("Tea is at four.", "Coffee is at nine."):
            ada.post("/api/v1/memories", json={"content": content})
        done = 'bearinmind_work_done_total{kind="embed",outcome="finished"} 2.0'
        wait_until(lambda: done in counts_of(server))
        wait_until(lambda: 'statement="keep_vector"' in counts_of(server))


def test_the_age_of_a_queue_is_that_of_the_first_look_that_saw_its_first_job() -> None:
    age = QueueAge()

    def look(now: float, *ends: tuple[str, int, int]) -> dict[str, float]:
        return age(ends, now)

    assert look(100, ("embed", 5, 9)) == {"embed": 0}
    assert look(110, ("embed", 5, 20), ("extract", 1, 1)) == {
        "embed": 10,
        "extract": 0,
    }
    assert look(130, ("embed", 12, 20)) == {"embed": 20}  # 12 came between 100 and 110
    assert look(140, ("embed", 21, 21)) == {"embed": 0}
    assert look(150) == {}
    assert look(160, ("embed", 21, 21)) == {"embed": 0}


def test_a_store_that_does_not_answer_leaves_its_numbers_out(tmp_path: Path) -> None:
    with serving(tmp_path / "served.db") as server:
        client = server.client()
        assert "bearinmind_store_bytes" in client.get("/metrics").text
        server.bearinmind.server.store.close()
        (tmp_path / "served.db-wal").unlink(missing_ok=True)
        (tmp_path / "served.db").write_bytes(b"no database")
        answer = client.get("/status")

    assert answer.status_code == 503
    assert "not ready" in answer.text
    assert "served.db" not in answer.text


# ---- traces ------------------------------------------------------------------------------------


def test_a_trace_goes_from_the_request_over_the_verb_and_its_legs_to_the_statements(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    tracer = provider.get_tracer("test")
    monkeypatch.setattr(metrics, "tracer", lambda: tracer)  # else it sends them to a collector
    with serving(tmp_path / "served.db", embedder="hash", telemetry=True) as server:
        client = server.client()
        body = {"content": "Tea is at four.", "wait": True}
        client.post("/api/v1/memories", json=body).raise_for_status()
        client.post("/api/v1/recall", json={"query": "when is tea?"}).raise_for_status()

    spans = kept.get_finished_spans()
    [request] = [span for span in spans if span.name == "POST /api/v1/recall"]
    [verb] = children(spans, request, "verb recall")
    legs = {leg.name: leg for leg in children(spans, verb, "leg ")}
    assert {"leg lexical", "leg dense", "leg graph"} <= set(legs)
    for leg in ("leg lexical", "leg dense"):
        assert children(spans, legs[leg], "sql "), leg
    assert children(spans, verb, "sql ")
    assert "tea" not in "".join(f"{span.name} {span.attributes}" for span in spans).lower()
    assert {name for span in spans for name in span.attributes or {}} == {
        "bearinmind.leg",
        "bearinmind.sql",
        "bearinmind.verb",
        "http.request.method",
        "http.response.status_code",
        "http.route",
    }


def children(
    spans: tuple[ReadableSpan, ...], parent: ReadableSpan, prefix: str
) -> list[ReadableSpan]:
    assert parent.context is not None
    ours = [span for span in spans if span.parent and span.parent.span_id == parent.context.span_id]
    return [span for span in ours if span.name.startswith(prefix)]


# ---- the page ----------------------------------------------------------------------------------


def test_the_page_tells_everybody_whether_it_is_ready_and_an_administrator_the_rest(
    server: Serving,
) -> None:
    server.client("ada").post("/api/v1/memories", json={"content": "Tea is at four."})
    nobody = server.client().get("/status")
    user = server.client("ada").get("/status")
    admin = server.client("root", "admin").get("/status")

    for page in (nobody, user, admin):
        assert page.status_code == 200
        assert "everything works as it should" in page.text
        assert "script-src 'self'" in page.headers["Content-Security-Policy"]
        assert "<script" not in page.text
    assert nobody.text == user.text
    assert "ada" not in nobody.text
    assert "Version" not in nobody.text
    assert "User ada" in admin.text
    assert "1 of 1 users" in admin.text
    assert server.bearinmind.accounts.keys()[0].id not in admin.text


def test_the_page_refuses_a_wrong_key_and_counts_nobody_as_an_attempt(server: Serving) -> None:
    server.key("ada")
    for _ in range(40):  # more than the invalid keys that an address may try
        assert server.client().get("/status").status_code == 200
    assert server.bearing("bim_wrong").get("/status").status_code == 401
    assert server.client("ada").get("/api/v1/stats").status_code == 200
