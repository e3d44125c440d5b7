"""The page at /status: how the server does, for people, without a script.

Everybody reads whether it is ready, as `/readyz` says; an administrator reads the rest.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from html import escape
from http import HTTPStatus
from importlib.metadata import version

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response

from bearinmind.errors import MindError, StoreFailure
from bearinmind.surfaces.http import auth
from bearinmind.surfaces.http.auth import Service
from bearinmind.surfaces.http.metrics import StoreState, synced
from bearinmind.surfaces.page.files import POLICY
from bearinmind.types import Access

Row = tuple[str, str]

_MOST_OWNERS = 10  # named on the page
_MIB = 2**20
_WELL = "everything works as it should"
_TEMPLATE = """<!doctype html>
<html lang="en"><head><meta charset="utf-8"><title>Status of Bear in Mind</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark"><link rel="stylesheet" href="/page/style.css">
<link rel="icon" href="/page/icon.svg" type="image/svg+xml"></head>
<body><main><h1>Status of Bear in Mind</h1><table>{lines}</table></main></body></html>
"""


def add(app: FastAPI, service: Service, degraded: Callable[[], tuple[str, ...]]) -> None:
    """Serve the page; `degraded` asks the store what does not work as it should."""

    def answer(request: Request) -> Response:
        is_admin = _is_admin(service, request)
        status = HTTPStatus.OK
        try:
            rows = [("Server", "ready"), ("State", "; ".join(degraded()) or _WELL)]
        except MindError as exc:
            status = HTTPStatus.SERVICE_UNAVAILABLE
            rows = [("Server", "not ready"), ("State", f"the store does not answer: {exc.code}")]
        if is_admin:
            rows += [("Version", version("bearinmind")), *_rows(service.store())]
        headers = {"Content-Security-Policy": POLICY}
        lines = "\n".join(
            f'<tr><th scope="row">{escape(name)}</th><td>{escape(value)}</td></tr>'
            for name, value in rows
        )
        page = _TEMPLATE.replace("{lines}", lines)
        return Response(page, status, headers, "text/html; charset=utf-8")

    async def page(request: Request) -> Response:
        return await service.pool.run(lambda: answer(request))

    app.add_route("/status", page, methods=["GET"], include_in_schema=False)


def _is_admin(service: Service, request: Request) -> bool:
    """Whether an administrator asks. A wrong key is refused; who sends none is nobody."""
    sent = "Authorization" in request.headers or auth.token_of(request) is not None
    try:
        if not sent and not service.is_open:
            return False
        caller = request.state.caller = service.identify(request)
    except StoreFailure:  # it cannot be known who asks; the page says why
        return False
    return caller.access is Access.ADMIN


def _rows(state: StoreState) -> Iterator[Row]:
    if state.facts and state.facts.bytes is not None:
        yield "Store", f"{state.facts.bytes / _MIB:,.1f} MiB"
    if state.work:
        yield "Jobs that wait", f"{state.work.waiting:,}"
        yield "Jobs given up", f"{state.work.dead:,}"
    for kind, age in state.ages.items():
        yield f"Oldest job to {kind}", f"waits for {age:,.0f} s"
    if state.replica_lag is not None:
        yield "Replica", f"{state.replica_lag:,.1f} s behind"
    if state.sync:
        yield "Sync", f"{state.sync.waits:,} changes wait, {state.sync.refused:,} are refused"
        for way, at in synced(state.sync):
            yield f"Last {way}", f"{at:%Y-%m-%d %H:%M} UTC"
    memories = sum(use.memories for use in state.uses)
    yield "Memories", f"{memories:,} of {len(state.uses):,} users"
    for use in state.uses[:_MOST_OWNERS]:
        yield f"User {use.owner}", f"{use.memories:,} memories, {use.bytes / _MIB:,.1f} MiB"
