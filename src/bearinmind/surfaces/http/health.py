"""Whether the server lives, whether it can do its work, and its counts."""

from __future__ import annotations

from functools import partial
from http import HTTPStatus
from typing import Literal

from fastapi import FastAPI
from pydantic import BaseModel, ConfigDict, Field
from starlette.requests import Request
from starlette.responses import Response

from bearinmind.errors import MindError, ServerOverloaded, StoreUnavailable
from bearinmind.surfaces.http import describing, metrics
from bearinmind.surfaces.http.server import Server, json_answer
from bearinmind.types import Access

_PATIENCE = 5.0  # seconds; whoever asks wants to know soon


class Alive(BaseModel):
    """That the process answers."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["alive"] = "alive"


class Ready(BaseModel):
    """That the store answers, and what does not work as it should."""

    model_config = ConfigDict(extra="forbid")

    status: Literal["ready"] = "ready"
    degraded: list[str] = Field(description="What recall goes without, in words; mostly empty.")
    waiting: int = Field(description="Jobs of background work that wait.")


def add(app: FastAPI, server: Server) -> None:
    """Give health, readiness and metrics their routes."""
    for path, endpoint, says, model, fails in (
        ("/healthz", _healthz, "Whether the process lives.", Alive, []),
        (
            "/readyz",
            partial(_readyz, server),
            "Whether the store answers, and what does not work as it should.",
            Ready,
            [HTTPStatus.SERVICE_UNAVAILABLE],
        ),
    ):
        app.add_api_route(
            path,
            endpoint,
            methods=["GET"],
            response_model=None,
            response_class=Response,
            **describing.of_health(path, says, model, fails),
        )
    app.add_api_route(
        "/metrics",
        partial(_metrics, server),
        methods=["GET"],
        response_model=None,
        response_class=Response,
        **describing.of_metrics(metrics.MEDIA_TYPE),
    )


async def _healthz() -> Response:
    return json_answer(Alive().model_dump_json())


async def _readyz(server: Server) -> Response:
    """Ask the store, and say of what it says only what anybody may know."""
    try:
        found = await server.pool.run(partial(_looked, server), seconds=_PATIENCE)
    except ServerOverloaded:
        raise
    except MindError as exc:
        # The message may name a file or a server: that is for the log of whoever runs this one.
        raise StoreUnavailable(f"the store does not answer: {exc.code}") from exc
    return json_answer(found.model_dump_json())


def _looked(server: Server) -> Ready:
    status = server.bearinmind.work.status()
    degraded = []
    if status.meaning_off:
        degraded.append("recall goes without meaning: the store cannot keep vectors")
    if status.dead:
        degraded.append(f"{status.dead:,} jobs of background work were given up")
    return Ready(degraded=degraded, waiting=status.waiting)


async def _metrics(server: Server, request: Request) -> Response:
    text = await server.pool.run(partial(_counted, server, request))
    return Response(text, media_type=metrics.MEDIA_TYPE)


def _counted(server: Server, request: Request) -> bytes:
    server.as_caller(request, Access.READ)
    return server.metrics.text()
