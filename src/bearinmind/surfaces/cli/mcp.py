"""The command that connects an agent: `mcp`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from bearinmind.app import Mind
from bearinmind.errors import InvalidSetting
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.session import Session

if TYPE_CHECKING:
    from mcp_types import Tool


def mcp(
    ctx: typer.Context,
    server: Annotated[
        str | None,
        typer.Option(
            "--server", metavar="URL", help="A Bear in Mind server to ask; also BEARINMIND_SERVER."
        ),
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--key", help="The key for it; BEARINMIND_SERVER_KEY hides it from others."),
    ] = None,
    key_file: Annotated[
        Path | None, typer.Option("--key-file", help="A file that holds the key for it.")
    ] = None,
    describe: Annotated[
        bool, typer.Option("--describe", help="Show what an agent is told, and end.")
    ] = False,
    as_json: options.Json = False,
) -> None:
    """Serve one agent over standard input and output (MCP)."""
    run = Session.of(ctx, as_json=as_json)
    if describe:
        _describe(run)
        return
    where = server or run.settings.server
    if where is None:
        _serve_store(run)
    else:
        _serve_server(run, where, key or (None if key_file is None else _key_in(key_file)))


def _serve_store(run: Session) -> None:
    """Answer from the store of this machine."""
    # Other commands need none of it, and it takes a second to load.
    from bearinmind.surfaces.mcp import stdio  # noqa: PLC0415

    settings = run.settings
    with Mind.build(settings, background=settings.worker == "auto") as app:
        stdio.serve(lambda verb, request: verb.run(app, request), settings.categories)


def _serve_server(run: Session, where: str, key: str | None) -> None:
    """Answer with what a server answers."""
    from bearinmind.surfaces.client.clients import Client  # noqa: PLC0415  as above
    from bearinmind.surfaces.mcp import stdio  # noqa: PLC0415
    from bearinmind.surfaces.mcp.tools import sent_once  # noqa: PLC0415

    with Client(where, key or run.settings.server_key) as client:
        stdio.serve(lambda verb, request: client.ask(verb, sent_once(request)))


def _key_in(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidSetting(f"--key-file {str(file)!r} holds no key that can be read") from exc


def _describe(run: Session) -> None:
    from bearinmind.surfaces.mcp import tools  # noqa: PLC0415  as above

    told = tools.all_described(run.settings.categories)
    data: dict[str, Any] = told.model_dump(by_alias=True, exclude_none=True)
    count = tools.tokens(tools.wire_text(told))
    run.reply({**data, "tokens": count}, lambda: _lines(told.tools, count, tools.MOST_TOKENS))


def _lines(tools: list[Tool], count: int, most: int) -> Iterator[str]:
    """Each tool with what it takes, and what all of them cost."""
    for tool in tools:
        required = tool.input_schema.get("required", ())
        fields = [
            name if name in required else f"[{name}]" for name in tool.input_schema["properties"]
        ]
        yield f"{tool.name} {' '.join(fields)}".rstrip()
        yield f"    {tool.description}"
    yield f"{len(tools)} tools, about {count:,} tokens; at most {most:,} are allowed."
