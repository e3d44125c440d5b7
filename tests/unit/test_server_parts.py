"""Parts of the server that need no server: cursors, tags of versions, names, traces."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from bearinmind.config import Settings
from bearinmind.errors import InvalidRequest, InvalidSetting, VersionConflict
from bearinmind.surfaces.http import responses
from bearinmind.surfaces.http.logs import JsonLines
from bearinmind.surfaces.http.metrics import Metrics, StoreState, Telemetry, TrafficCounter
from bearinmind.surfaces.http.middleware import Around, BrokenAnswer, Envelope, Names, Pool
from bearinmind.surfaces.verbs.verb import read_cursor, write_cursor
from bearinmind.types import Memory


def test_a_cursor_names_the_place_that_it_was_made_from(
    make: Callable[..., Memory], noon: datetime
) -> None:
    memory = make()

    assert read_cursor(write_cursor(memory.created_at, memory.id)) == (noon, memory.id)


@given(st.text())
def test_any_text_is_a_cursor_or_is_refused_as_one(text: str) -> None:
    try:
        moment, id_ = read_cursor(text)
    except InvalidRequest:
        return
    assert moment.tzinfo
    assert len(id_) <= 12


@given(st.integers(1, 2**31 - 1), st.binary())
def test_a_tag_says_its_version(version: int, answer: bytes) -> None:
    for tag in (responses.version_tag(version), responses.answer_tag(version, answer)):
        assert responses.expected_version(tag, lambda: 0) == version
        assert responses.is_known(tag, tag)
        assert responses.is_known(f'"other", W/{tag}', tag)
        assert responses.is_known("*", tag)
        assert not responses.is_known('"other"', tag)


@given(st.text())
def test_any_header_names_a_version_any_version_or_none(header: str) -> None:
    try:
        version = responses.expected_version(header, lambda: 1)
    except VersionConflict:
        return
    assert header.strip() == "*" if version is None else str(version) in header


def test_one_of_several_versions_will_do() -> None:
    assert responses.expected_version('"1", "2", "3"', lambda: 2) == 2
    assert responses.expected_version('"1", "3"', lambda: 2) == 1


@pytest.mark.parametrize(
    ("host", "settings", "allowed"),
    [
        ("127.0.0.1", {}, {"localhost", "127.0.0.1", "::1"}),
        ("127.0.0.2", {}, {"localhost", "127.0.0.1", "::1", "127.0.0.2"}),
        ("0.0.0.0", {}, set()),  # noqa: S104  a name, not a socket
        ("0.0.0.0", {"server_hosts": ["Memory.lan"]}, {"memory.lan", "0.0.0.0"}),  # noqa: S104
        ("127.0.0.1", {"server_hosts": ["*"]}, set()),
    ],
)
def test_a_server_knows_its_names(
    host: str, settings: dict[str, object], allowed: set[str]
) -> None:
    chosen = Settings.model_validate({"server_host": host, **settings})

    assert Names.of(chosen).allowed == allowed


def test_where_others_reach_a_server_is_an_address() -> None:
    with pytest.raises(InvalidSetting, match="server_url = 'memory' is not an address"):
        Settings.model_validate({"server_url": "memory"})


def test_a_span_has_the_route_and_the_status_and_nothing_else() -> None:
    kept = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(kept))
    telemetry = Telemetry(provider.get_tracer("test"))
    parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    with telemetry.following("GET", {"traceparent": parent, "authorization": "x"}) as answered:
        answered("GET", "/api/v1/memories/{id}", 503)

    [span] = kept.get_finished_spans()
    assert span.name == "GET /api/v1/memories/{id}"
    assert dict(span.attributes or {}) == {
        "http.request.method": "GET",
        "http.route": "/api/v1/memories/{id}",
        "http.response.status_code": 503,
    }
    assert span.context is not None
    assert f"{span.context.trace_id:032x}" == "0af7651916cd43dd8448eb211c80319c"
    assert not span.status.is_ok


def test_without_telemetry_nothing_is_followed() -> None:
    with Telemetry().following("GET", {}) as answered:
        answered("GET", "/", 200)


# ---- what nobody meant to happen ---------------------------------------------------------------


async def asked(app: ASGIApp) -> list[Message]:
    """What an application answers to a request, inside of its envelope."""
    pool = Pool("test", threads=1, queue=0, seconds=None)
    around = Around(
        names=Names(allowed=frozenset()),
        metrics=Metrics(pool, pool, lambda: StoreState(ages={}, now=datetime.now(UTC))),
        traffic=TrafficCounter(lambda _: None, lambda: datetime.now(UTC)),
        telemetry=Telemetry(),
    )
    sent: list[Message] = []

    async def receive() -> Message:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Message) -> None:
        sent.append(message)

    scope: Scope = {
        "type": "http",
        "method": "GET",
        "path": "/",
        "raw_path": b"/",
        "query_string": b"",
        "headers": [(b"host", b"localhost")],
    }
    try:
        await Envelope(app, around)(scope, receive, send)
    finally:
        pool.close()
    return sent


def test_a_fault_is_told_without_what_it_says(caplog: pytest.LogCaptureFixture) -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        raise ValueError("kelp9salt")

    start, body = asyncio.run(asked(broken))

    assert start["status"] == 500
    told = json.loads(body["body"])
    assert (told["code"], told["status"]) == ("internal_error", 500)
    assert "kelp9salt" not in body["body"].decode()
    written = "".join(JsonLines().format(record) for record in caplog.records)
    assert "ValueError" in written
    assert "test_server_parts.py" in written
    assert told["request_id"] in written
    assert "kelp9salt" not in written


def test_an_answer_that_has_begun_breaks_off_when_it_cannot_be_finished() -> None:
    async def broken(scope: Scope, receive: Receive, send: Send) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise ValueError("kelp9salt")

    with pytest.raises(BrokenAnswer):
        asyncio.run(asked(broken))
