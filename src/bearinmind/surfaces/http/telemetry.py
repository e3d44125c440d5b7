"""Traces of a server's requests for OpenTelemetry: request, verb, leg, statement.

Only names of our own code are in them: neither addresses of requests nor parameters of statements.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, nullcontext
from functools import partial
from http import HTTPStatus
from time import perf_counter
from typing import TYPE_CHECKING

from bearinmind.errors import MissingExtra
from bearinmind.surfaces.http.metrics import Metrics
from bearinmind.trace import StepKind

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer

# They are made by hand and not by OpenTelemetry's instrumentation of FastAPI, which puts whole
# addresses into its spans: what is asked stands in them.


#: Says what became of a request: its method, its route and its status.
Answered = Callable[[str, str, int], None]


class Telemetry:
    """Satisfies `bearinmind.trace.Observer`; follows what is done if there is a tracer."""

    def __init__(self, tracer: Tracer | None = None, metrics: Metrics | None = None) -> None:
        self._tracer = tracer
        self._metrics = metrics

    @contextmanager
    def following(self, method: str, headers: Mapping[str, str]) -> Iterator[Answered]:
        """Follow a request, perhaps as a part of what its sender follows."""
        if self._tracer is None:
            yield lambda _method, _route, _status: None
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
            yield partial(_tell, span)

    @contextmanager
    def step(self, kind: StepKind, name: str) -> Iterator[None]:
        """Measure a part of what is done, and follow it."""
        began = perf_counter()
        try:
            with (
                nullcontext()
                if self._tracer is None
                else self._tracer.start_as_current_span(
                    f"{kind} {name}",
                    attributes={f"bearinmind.{kind}": name},
                    record_exception=False,  # as above
                    set_status_on_exception=False,
                )
            ):
                yield
        finally:
            if self._metrics is not None:
                self._metrics.took(kind, name, perf_counter() - began)

    def worked(self, kind: str, finished: int, postponed: int, given_up: int) -> None:
        """Count what became of jobs."""
        if self._metrics is not None:
            self._metrics.worked(kind, finished=finished, postponed=postponed, given_up=given_up)


def _tell(span: Span, method: str, route: str, status: int) -> None:
    from opentelemetry.trace import StatusCode  # noqa: PLC0415

    span.update_name(f"{method} {route}")
    span.set_attribute("http.request.method", method)
    span.set_attribute("http.route", route)
    span.set_attribute("http.response.status_code", status)
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR:
        span.set_status(StatusCode.ERROR)


def set_up() -> Tracer:
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
