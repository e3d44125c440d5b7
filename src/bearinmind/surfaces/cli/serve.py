"""The command that serves the memories of a store to others."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

import typer

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.store_name import StoreFile
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.session import Session, write_json


def serve(
    ctx: typer.Context,
    host: Annotated[
        str | None,
        typer.Option("--host", help="The address to listen on; beyond this machine it wants keys."),
    ] = None,
    port: Annotated[
        int | None, typer.Option("--port", min=0, max=65_535, help="The port; 0 takes a free one.")
    ] = None,
    first_key: Annotated[
        bool,
        typer.Option("--first-key", help="Make a user and an admin key if there is no user yet."),
    ] = False,
    demo: Annotated[
        bool,
        typer.Option(
            "--demo",
            help="Serve a coding agent's memories, from a file that goes away, with a first key.",
        ),
    ] = False,
    idle_exit: Annotated[
        float | None,
        typer.Option(
            "--idle-exit", metavar="SECONDS", min=1, help="End when nobody asked for so long."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Serve the memories of a store over HTTP and MCP."""
    # Other commands need none of it, and it takes half a second to load.
    from bearinmind.surfaces.http import logs, serving  # noqa: PLC0415

    run = Session.of(ctx, as_json=as_json)
    said = options.given({"server_host": host, "server_port": port})
    with _memories(run.settings.model_copy(update=said), demo=demo) as app:
        settings = app.settings
        made = app.accounts.first_key() if first_key or demo else None
        server = serving.prepare(app, settings, idle_exit=idle_exit)
        places = _places(server.url, made.text if made else None)
        if as_json:
            write_json(places, sys.stdout)
        else:
            for line in _lines(places):
                typer.echo(line)
        sys.stdout.flush()
        logs.set_up()
        server.serve_until_told()


@contextmanager
def _memories(settings: Settings, *, demo: bool) -> Iterator[Mind]:
    """What is served: the store of the settings, or that of the demo."""
    if not demo:
        with Mind.build(settings, background=settings.worker == "auto") as app:
            yield app
        return
    from bearinmind.surfaces.demo import fill  # noqa: PLC0415 (likewise)

    with tempfile.TemporaryDirectory(prefix="bearinmind-demo-") as folder:
        place = StoreFile(Path(folder) / "memories.db")
        shown = settings.model_copy(update={"store": place})
        with Mind.build(shown, background=settings.worker == "auto") as app:
            fill(app, datetime.now(UTC))
            yield app


def _places(url: str, key: str | None) -> dict[str, Any]:
    return {"url": url, "api": f"{url}/api/v1", "mcp": f"{url}/mcp", "key": key}


def _lines(places: dict[str, Any]) -> Iterator[str]:
    """Where everything is, and how an agent is connected."""
    yield f"Page  {places['url']}/"
    yield f"API   {places['api']} (described by {places['url']}/openapi.json)"
    yield f"MCP   {places['mcp']}"
    header = ""
    if places["key"]:
        yield f"Key   {places['key']} (shown only now)"
        header = f' --header "Authorization: Bearer {places["key"]}"'
    yield f"Claude Code: claude mcp add --transport http bearinmind {places['mcp']}{header}"
    yield "Ctrl-C ends it."
