"""Traces of a server's requests for OpenTelemetry: request, verb, leg, statement.

Only names of our own code are in them: neither addresses of requests nor parameters of statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING, Protocol

from bearinmind.errors import MissingExtra
from bearinmind.observer import StepKind
from bearinmind.surfaces.http.metrics import Metrics

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

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

    @contextmanager
    def step(self, kind: StepKind, name: str) -> Iterator[None]:
        """Follow a part of what is done for a request."""
        if self._tracer is None:
            yield
            return
        with self._tracer.start_as_current_span(
            f"{kind} {name}",
            attributes={f"bearinmind.{kind}": name},
            record_exception=False,  # as above
            set_status_on_exception=False,
        ):
            yield


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


class StepObserver:
    """Satisfies `bearinmind.observer.Observer`: measures every step, and follows it."""

    def __init__(self, metrics: Metrics, telemetry: Telemetry) -> None:
        self._metrics = metrics
        self._telemetry = telemetry

    @contextmanager
    def step(self, kind: StepKind, name: str) -> Iterator[None]:
        """Measure a step, and follow it."""
        began = perf_counter()
        try:
            with self._telemetry.step(kind, name):
                yield
        finally:
            self._metrics.took(kind, name, perf_counter() - began)

    def worked(self, kind: str, *, finished: int, postponed: int, given_up: int) -> None:
        """Count what became of jobs."""
        self._metrics.worked(kind, finished=finished, postponed=postponed, given_up=given_up)


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
            "telemetry = true needs the OpenTelemetry libraries",
            hint="Install them: pip install 'bearinmind[telemetry]'.",
        ) from exc
    provider = TracerProvider(resource=Resource.create({"service.name": "bearinmind"}))
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return Telemetry(provider.get_tracer("bearinmind"))
