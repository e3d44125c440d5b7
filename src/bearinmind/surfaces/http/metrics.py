"""What a server counts, for Prometheus. No text and no id of anybody is in a label."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from bearinmind.errors import MindError
from bearinmind.surfaces.http.limits import Pool
from bearinmind.surfaces.verbs.answers import Answer, RecallAnswer
from bearinmind.work.status import WorkStatus

MEDIA_TYPE = CONTENT_TYPE_LATEST

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
OTHER = "other"  # methods and routes that the server does not have


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

    def looked_at(self, answer: Answer) -> None:
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
