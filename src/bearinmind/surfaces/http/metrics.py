"""What a server counts, measures and traces: for Prometheus, OpenTelemetry, /status and users.

Labels have few values: routes, statements and codes of errors are those of our own code, and of the
users only the largest are named. No id and no text of anybody is in a label.
"""

from __future__ import annotations

import threading
from collections import Counter as Counts
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from http import HTTPStatus
from importlib.metadata import version
from time import monotonic, perf_counter
from typing import TYPE_CHECKING, Final, TypeVar

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    Info,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from bearinmind.app import Mind
from bearinmind.errors import MindError, MissingExtra
from bearinmind.protocols import OwnerUse, StoreFacts, TrafficCount, TrafficKind
from bearinmind.surfaces.http import logs
from bearinmind.surfaces.http.middleware import OTHER, Pool
from bearinmind.surfaces.verbs.verb import RecallAnswer
from bearinmind.sync.model import SyncStatus
from bearinmind.trace import StepKind
from bearinmind.types import Stored, UserId
from bearinmind.work.status import WorkStatus

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

METRICS_TYPE: Final = CONTENT_TYPE_LATEST
MOST_OWNERS: Final = 20  #: users that have series of their own; a sum over all has those of no one

_METHODS = frozenset({"GET", "HEAD", "OPTIONS", "POST", "PUT", "PATCH", "DELETE"})
_SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
_FEW_SECONDS = (0.001, 0.01, 0.1, 1.0, 10.0)  # there are some two hundred statements
_HOOK_EVENTS = frozenset({"UserPromptSubmit", "SessionStart", "PreToolUse", "Stop", "PreCompact"})
_HOOK_OUTCOMES = frozenset({"good", "late", "failed"})
_USES_KEPT = 300.0  # seconds: it reads every memory
_MOST_LOOKS = 10_000  # at the queue that are remembered: more than a day at one in 15 seconds

Value = TypeVar("Value")


class Metrics:
    """The counts of one server."""

    def __init__(self, pool: Pool, streams: Pool, store: Callable[[], StoreState]) -> None:
        self._registry = registry = CollectorRegistry()
        self._requests = self._counter(
            "requests", "Requests that were answered.", "method", "route", "status"
        )
        self._refused = self._counter("refused", "Answers that told an error.", "code")
        self._hooks = self._counter("hook_runs", "Runs that hooks told of.", "event", "outcome")
        self._worked = self._counter(
            "work_done", "What became of jobs of this server's worker.", "kind", "outcome"
        )
        self._recalls = self._counter("recalls", "Recalls.")
        self._degraded = self._counter(
            "recalls_degraded", "Recalls that a leg or a reranker had no whole part in."
        )
        self._seconds = self._histogram("request", "An answer.", _SECONDS, "method", "route")
        self._steps = {
            StepKind.SQL: self._histogram("statement", "A statement.", _FEW_SECONDS, "statement"),
            StepKind.LEG: self._histogram("leg", "A leg of a recall.", _FEW_SECONDS, "leg"),
        }
        for name, says, value in (
            ("bearinmind_requests_running", "Requests in hand.", lambda: pool.running),
            ("bearinmind_requests_waiting", "Those that wait.", lambda: pool.waiting),
            ("bearinmind_streams_running", "Imports and exports.", lambda: streams.running),
        ):
            Gauge(name, says, registry=registry).set_function(value)
        running = {"version": version("bearinmind")}
        Info("bearinmind_build", "What runs.", registry=registry).info(running)
        ProcessCollector(registry=registry)
        registry.register(_StoreGauges(store))

    def answered(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answer."""
        known = method if method in _METHODS else OTHER
        self._requests.labels(known, route, status).inc()
        self._seconds.labels(known, route).observe(seconds)

    def refused(self, code: str) -> None:
        """Count an answer that told an error."""
        self._refused.labels(code).inc()

    def hook_ran(self, told: str) -> None:
        """Count a run of a hook, of which the next run tells: the event, and what became of it."""
        event, _, outcome = told.partition(" ")
        outcome = outcome if outcome in _HOOK_OUTCOMES else OTHER
        self._hooks.labels(event if event in _HOOK_EVENTS else OTHER, outcome).inc()

    def looked_at(self, answer: object) -> None:
        """Count what an answer says about the server itself."""
        if isinstance(answer, RecallAnswer):
            self._recalls.inc()
            if answer.degraded:
                self._degraded.inc()

    def took(self, kind: StepKind, name: str, seconds: float) -> None:
        """Measure a step."""
        if kind in self._steps:
            self._steps[kind].labels(name).observe(seconds)

    def worked(self, kind: str, **outcomes: int) -> None:
        """Count what became of jobs."""
        for outcome, jobs in outcomes.items():
            self._worked.labels(kind, outcome).inc(jobs)

    def text(self) -> bytes:
        """All counts as Prometheus reads them."""
        return generate_latest(self._registry)

    def _counter(self, name: str, says: str, *labels: str) -> Counter:
        return Counter(f"bearinmind_{name}", says, labels, registry=self._registry)

    def _histogram(self, what: str, says: str, buckets: Sequence[float], *labels: str) -> Histogram:
        says = f"How long it took: {says}"
        name = f"bearinmind_{what}_seconds"
        return Histogram(name, says, labels, buckets=buckets, registry=self._registry)


# ---- the store -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreState:
    """How the store of a server does; what could not be read is None or empty."""

    work: WorkStatus | None = None
    ages: Mapping[str, float]  #: by kind of work: seconds that its oldest job has waited at least
    uses: Sequence[OwnerUse] = ()  #: the largest first
    facts: StoreFacts | None = None
    replica_lag: float | None = None  #: seconds; None without a replica
    sync: SyncStatus | None = None  #: None without a server to sync with
    now: datetime


class StoreWatch:
    """Looks at the store whenever it is asked to."""

    def __init__(self, mind: Mind) -> None:
        self._mind = mind
        self._age = QueueAge()
        self._uses: tuple[float, Sequence[OwnerUse]] = (0.0, ())

    def __call__(self) -> StoreState:
        """How the store does just now."""
        mind, server = self._mind, self._mind.server
        return StoreState(
            work=_tried(mind.work.status),
            ages=self._age(_tried(server.store.queue_ends) or (), monotonic()),
            uses=self._uses_by_owner(),
            facts=_tried(mind.store_facts),
            replica_lag=_tried(server.store.replica_lag),
            sync=_tried(mind.sync.status) if _tried(mind.sync.peer) else None,
            now=server.clock(),
        )

    def _uses_by_owner(self) -> Sequence[OwnerUse]:
        now = monotonic()
        until, uses = self._uses
        if now >= until:
            found = _tried(self._mind.server.store.uses_by_owner) or ()
            uses = sorted(found, key=lambda use: (-use.bytes, use.owner))
            self._uses = now + _USES_KEPT, uses
        return uses


class QueueAge:
    """How long the oldest job of each kind has waited at least, by looks at the queue.

    Jobs have numbers that rise. The first one of now was there at the first look that saw its
    number or a higher one.
    """

    def __init__(self) -> None:
        self._looks: dict[str, deque[tuple[float, int]]] = {}

    def __call__(self, ends: Iterable[tuple[str, int, int]], now: float) -> dict[str, float]:
        """By kind, the seconds that its first job has waited at least."""
        ages = {}
        for kind, first, last in ends:
            looks = self._looks.setdefault(kind, deque(maxlen=_MOST_LOOKS))
            while looks and looks[0][1] < first:
                looks.popleft()
            if not looks or looks[-1][1] < last:
                looks.append((now, last))
            ages[kind] = now - looks[0][0]
        for kind in self._looks.keys() - ages.keys():  # its queue is empty
            del self._looks[kind]
        return ages


def _tried(read: Callable[[], Value]) -> Value | None:
    """What is read; None while the store does not answer."""
    with suppress(MindError):
        return read()
    return None


class _StoreGauges:
    """The store, looked at whenever Prometheus asks."""

    def __init__(self, look: Callable[[], StoreState]) -> None:
        self._look = look

    def describe(self) -> Iterable[Metric]:
        """Nothing: the store is not asked when the server starts."""
        return []

    def collect(self) -> Iterator[Metric]:
        """The gauges of the store; what cannot be read is left out."""
        state = self._look()
        jobs: Counts[tuple[str, ...]] = Counts()
        for count in state.work.queue if state.work else ():  # of every space and extractor
            jobs[count.kind, count.state] += count.jobs
        named = state.uses[:MOST_OWNERS]
        yield _gauge("work_jobs", jobs, "kind", "state")
        yield _gauge("work_oldest_seconds", {(x,): age for x, age in state.ages.items()}, "kind")
        yield _gauge("owner_memories", {(use.owner,): use.memories for use in named}, "owner")
        yield _gauge("owner_bytes", {(use.owner,): use.bytes for use in named}, "owner")
        plain: dict[str, float | None] = {
            "owners": len(state.uses),
            "memories": sum(use.memories for use in state.uses),
            "memory_bytes": sum(use.bytes for use in state.uses),
            "store_bytes": state.facts.bytes if state.facts else None,
            "replica_lag_seconds": state.replica_lag,
        }
        if state.sync:
            plain["sync_waiting"] = state.sync.waits
            plain["sync_refused"] = state.sync.refused
            plain["sync_conflicts"] = state.sync.conflicts
            ages = {way: (state.now - at).total_seconds() for way, at in synced(state.sync)}
            yield _gauge("sync_age_seconds", {(x,): age for x, age in ages.items()}, "way")
        for name, value in plain.items():
            if value is not None:
                yield _gauge(name, {(): value})


def synced(sync: SyncStatus) -> Iterator[tuple[str, datetime]]:
    """When something was last got and sent, if ever."""
    ways = (("pull", sync.peer.pulled_at), ("push", sync.peer.pushed_at))
    return ((way, at) for way, at in ways if at is not None)


def _gauge(name: str, values: Mapping[tuple[str, ...], float], *labels: str) -> GaugeMetricFamily:
    said = f"See docs/howto/observe.md: {name.replace('_', ' ')}."
    family = GaugeMetricFamily(f"bearinmind_{name}", said, labels=labels)
    for place, value in values.items():
        family.add_metric(place, value)
    return family


# ---- traffic of users ----------------------------------------------------------------------------


_PAUSE = 10.0  # seconds between two batches: what a killed server loses at most
_MOST = 50_000  # counts that wait for a store that does not answer; later ones are lost
_COUNTED = ("/api/", "/mcp")  # routes: files, health and metrics are nobody's requests
_NOBODY = UserId("")

Keep = Callable[[Sequence[TrafficCount]], None]


class TrafficCounter:
    """Counts in memory, by user, kind and minute; a thread keeps the counts, no request waits."""

    def __init__(self, keep: Keep, clock: Callable[[], datetime]) -> None:
        self._keep = keep
        self._clock = clock
        self._lock = threading.Lock()
        self._counts: Counts[tuple[UserId, TrafficKind, datetime]] = Counts()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, name="bearinmind-traffic", daemon=True)

    def start(self) -> None:
        """Begin to hand counts on."""
        self._thread.start()

    def answered(self, user: UserId | None, route: str, status: int) -> None:
        """Count a request, and whether it was answered with an error."""
        if route.startswith(_COUNTED):
            self._add(user, TrafficKind.REQUESTS)
            if status >= HTTPStatus.BAD_REQUEST:
                self._add(user, TrafficKind.ERRORS)

    def looked_at(self, user: UserId, answer: object) -> None:
        """Count what an answer says was done."""
        if isinstance(answer, RecallAnswer):
            self._add(user, TrafficKind.RECALLS)
        elif isinstance(answer, Stored):
            self._add(user, TrafficKind.STORES)

    def flush(self) -> None:
        """Hand on what was counted; it stays for the next time when the store does not take it."""
        with self._lock:
            counts, self._counts = self._counts, Counts()
        if not counts:
            return
        try:
            self._keep([TrafficCount(*place, count) for place, count in counts.items()])
        except MindError as exc:
            logs.LOG.info("counts wait for the store", extra={"fields": {"code": exc.code}})
            with self._lock:
                self._counts.update(counts)

    def close(self) -> None:
        """Hand on what is left, and end."""
        self._ended.set()
        if self._thread.is_alive():
            self._thread.join()
        self.flush()

    def _run(self) -> None:
        while not self._ended.wait(_PAUSE):
            self.flush()

    def _add(self, user: UserId | None, kind: TrafficKind) -> None:
        minute = self._clock().replace(second=0, microsecond=0)
        with self._lock:
            place = (user or _NOBODY, kind, minute)
            if place in self._counts or len(self._counts) < _MOST:
                self._counts[place] += 1


# ---- traces ------------------------------------------------------------------------------------

# Traces for OpenTelemetry: request, verb, leg, statement. Only names of our own code are in them,
# neither addresses of requests nor parameters of statements. They are made by hand and not by
# OpenTelemetry's instrumentation of FastAPI, which puts whole addresses into its spans: what is
# asked stands in them.


#: Says what became of a request: its method, its route and its status.
Answered = Callable[[str, str, int], None]


@dataclass(frozen=True, slots=True)
class Telemetry:
    """Satisfies `bearinmind.trace.Observer`; follows what is done if there is a tracer."""

    tracer: Tracer | None = None
    metrics: Metrics | None = None

    @contextmanager
    def following(self, method: str, headers: Mapping[str, str]) -> Iterator[Answered]:
        """Follow a request, perhaps as a part of what its sender follows."""
        if self.tracer is None:
            yield lambda _method, _route, _status: None
            return
        from opentelemetry import propagate  # noqa: PLC0415  an extra
        from opentelemetry.trace import SpanKind  # noqa: PLC0415

        with self.tracer.start_as_current_span(
            method,
            context=propagate.extract(dict(headers)),
            kind=SpanKind.SERVER,
            record_exception=False,  # what it says may be what was asked
            set_status_on_exception=False,
        ) as span:
            yield partial(_tell, span)

    @contextmanager
    def step(self, kind: StepKind, name: str) -> Iterator[None]:
        """Measure a part of what is done, and follow it."""
        began = perf_counter()
        try:
            with (
                nullcontext()
                if self.tracer is None
                else self.tracer.start_as_current_span(
                    f"{kind} {name}",
                    attributes={f"bearinmind.{kind}": name},
                    record_exception=False,  # as above
                    set_status_on_exception=False,
                )
            ):
                yield
        finally:
            if self.metrics is not None:
                self.metrics.took(kind, name, perf_counter() - began)

    def worked(self, kind: str, finished: int, postponed: int, given_up: int) -> None:
        """Count what became of jobs."""
        if self.metrics is not None:
            self.metrics.worked(kind, finished=finished, postponed=postponed, given_up=given_up)


def _tell(span: Span, method: str, route: str, status: int) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415

    span.update_name(f"{method} {route}")
    span.set_attribute("http.request.method", method)
    span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.set_status(StatusCode.ERROR)


def tracer() -> Tracer:
    """A tracer that sends to where the OTEL_ variables of OpenTelemetry say."""
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
    return provider.get_tracer("bearinmind")
