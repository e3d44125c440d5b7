"""What a server measures: metrics for Prometheus, and traces for OpenTelemetry.

No text and no id of anybody is in a label, and no address of a request in a trace.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from typing import TYPE_CHECKING, Protocol

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from bearinmind.errors import MindError, MissingExtra
from bearinmind.surfaces.http.limits import Pool
from bearinmind.surfaces.verbs.answers import RecallAnswer
from bearinmind.work.status import WorkStatus

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

METRICS_TYPE = CONTENT_TYPE_LATEST
OTHER = "other"  #: the label of methods and routes that the server does not have

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)

# ---- metrics -------------------------------------------------------------------------------------


class Metrics:
    """The counts of one server."""

    def __init__(self, pool: Pool, streams: Pool, work: Callable[[], WorkStatus]) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = Counter(
            "bearinmind_requests",
            "Requests that were answered.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._seconds = Histogram(
            "bearinmind_request_seconds",
            "How long answers took.",
            ["method", "route"],
            buckets=_SECONDS,
            registry=registry,
        )
        self._recalls = Counter("bearinmind_recalls", "Recalls.", registry=registry)
        self._degraded = Counter(
            "bearinmind_recalls_degraded",
            "Recalls that a leg or a reranker had no part in, or not its whole part.",
            registry=registry,
        )
        for name, says, value in (
            ("bearinmind_requests_running", "Requests in hand.", lambda: pool.running),
            ("bearinmind_requests_waiting", "Those that wait.", lambda: pool.waiting),
            ("bearinmind_streams_running", "Imports and exports.", lambda: streams.running),
        ):
            Gauge(name, says, registry=registry).set_function(value)
        registry.register(_Work(work))

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        known = method if method in _METHODS else OTHER
        self._requests.labels(known, route, status).inc()
        self._seconds.labels(known, route).observe(seconds)

    def looked_at(self, answer: object) -> None:
        """Count what an answer says about the server itself."""
        if isinstance(answer, RecallAnswer):
            self._recalls.inc()
            if answer.degraded:
                self._degraded.inc()

    def text(self) -> bytes:
        """All counts as Prometheus reads them."""
        return generate_latest(self._registry)


class _Work:
    """The queue of background work, looked at whenever it is asked for."""

    def __init__(self, status: Callable[[], WorkStatus]) -> None:
        self._status = status

    def describe(self) -> Iterable[Metric]:
        """Nothing: the store is not asked when the server starts."""
        return []

    def collect(self) -> Iterable[Metric]:
        """How many jobs there are; none are told while the store does not answer."""
        family = GaugeMetricFamily(
            "bearinmind_work_jobs", "Jobs of background work.", labels=["kind", "state"]
        )
        try:
            counts = self._status().queue
        except MindError:
            counts = []
        for count in counts:
            family.add_metric([count.kind, count.state], count.jobs)
        return [family]


# ---- traces --------------------------------------------------------------------------------------

# They are made by hand and not by OpenTelemetry's instrumentation of FastAPI, which puts whole
# addresses into its spans: what is asked stands in them.


class Followed(Protocol):
    """A request that is followed."""

    def answered(self, method: str, route: str, status: int) -> None:
        """Say what became of it."""


class Unfollowed:
    """A request that nobody follows."""

    def answered(self, method: str, route: str, status: int) -> None:
        """Say it to nobody."""


class Telemetry:
    """Follows requests if it was set up, and does nothing otherwise."""

    def __init__(self, tracer: Tracer | None = None) -> None:
        self._tracer = tracer

    @contextmanager
    def following(self, method: str, headers: Mapping[str, str]) -> Iterator[Followed]:
        """Follow a request, perhaps as a part of what its sender follows."""
        if self._tracer is None:
            yield Unfollowed()
            return
        from opentelemetry import propagate  # noqa: PLC0415  an extra
        from opentelemetry.trace import SpanKind  # noqa: PLC0415

        with self._tracer.start_as_current_span(
            method,
            context=propagate.extract(dict(headers)),
            kind=SpanKind.SERVER,
            record_exception=False,  # what it says may be what was asked
            set_status_on_exception=False,
        ) as span:
            yield _Following(span)


class _Following:
    def __init__(self, span: Span) -> None:
        self._span = span

    def answered(self, method: str, route: str, status: int) -> None:
        from opentelemetry.trace import StatusCode  # noqa: PLC0415

        self._span.update_name(f"{method} {route}")
        self._span.set_attribute("http.request.method", method)
        self._span.set_attribute("http.route", route)
        self._span.set_attribute("http.response.status_code", status)
        if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            self._span.set_status(StatusCode.ERROR)


def set_up() -> Telemetry:
    """Send traces to where the OTEL_ variables of OpenTelemetry say."""
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import (  # noqa: PLC0415
            OTLPSpanExporter,
        )
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as exc:
        raise MissingExtra(
            "telemetry = true needs the OpenTelemetry libraries", extra="telemetry"
        ) from exc
    provider = TracerProvider(resource=Resource.create({"service.name": "bearinmind"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Telemetry(provider.get_tracer("bearinmind"))
