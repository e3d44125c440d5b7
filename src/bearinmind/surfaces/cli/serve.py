"""The commands that serve memories: `serve` to many, `mcp` to one agent."""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from bearinmind.app import Mind
from bearinmind.config import Settings
from bearinmind.errors import FileMissing, InvalidSetting
from bearinmind.surfaces.cli import options
from bearinmind.surfaces.cli.options import flag, option
from bearinmind.surfaces.cli.terminal import Session, write_json
from bearinmind.text.addresses import StoreFile
from bearinmind.types import UserId

if TYPE_CHECKING:
    from mcp_types import Tool


def serve(
    run: Session,
    host: str | None = option(
        "--host", "The address to listen on; beyond this machine it wants keys."
    ),
    port: int | None = option("--port", "The port; 0 takes a free one.", min=0, max=65_535),
    first_key: bool = flag("--first-key", "Make a user and an admin key if there is no user yet."),
    demo: bool = flag(
        "--demo", "Serve a coding agent's memories, from a file that goes away, with a first key."
    ),
    link: bool = option(
        "--link/--no-link", "Print a link that signs one browser in, where keys are wanted.", True
    ),
    idle_exit: float | None = option(
        "--idle-exit", "End after so long without a request.", metavar="SECONDS", min=1
    ),
) -> None:
    """Serve the memories of a store over HTTP and MCP."""
    # Other commands need none of it, and it takes half a second to load.
    from bearinmind.surfaces.http import logs  # noqa: PLC0415
    from bearinmind.surfaces.http import server as http_server  # noqa: PLC0415

    said = options.without_none({"server_host": host, "server_port": port})
    with _memories(run.settings.model_copy(update=said), demo=demo) as mind:
        settings = mind.settings
        made = mind.accounts.first_key() if first_key or demo else None
        server = http_server.prepare(mind, settings, idle_exit=idle_exit)
        url = server.url
        key = made.text if made else None
        # A server that ends by itself was started by a program: nobody reads what it prints.
        page = _page(mind, server.url_for_browsers, with_link=link and idle_exit is None)
        places = {"url": url, "page": page, "api": f"{url}/api/v1", "mcp": f"{url}/mcp", "key": key}
        if run.as_json:
            write_json(places, sys.stdout)
        else:
            wants_key = settings.auth != "off" and bool(mind.accounts.users())
            for line in _lines(places, wants_key=wants_key):
                typer.echo(line)
        sys.stdout.flush()
        logs.set_up()
        server.serve_until_told()


@contextmanager
def _memories(settings: Settings, *, demo: bool) -> Iterator[Mind]:
    """What is served: the store of the settings, or that of the demo."""
    if not demo:
        with Mind.build(settings, background=settings.worker == "auto") as mind:
            yield mind
        return
    from bearinmind.surfaces.cli import demo as example  # noqa: PLC0415  rarely needed

    with tempfile.TemporaryDirectory(prefix="bearinmind-demo-") as folder:
        place = StoreFile(Path(folder) / "memories.db")
        chosen = settings.model_copy(update={"store": place})
        with Mind.build(chosen, background=settings.worker == "auto") as mind:
            example.fill(mind, datetime.now(UTC))
            example.add_changes(mind, datetime.now(UTC))
            yield mind


def _page(mind: Mind, url: str, *, with_link: bool) -> str:
    """Where the page is; with a link, the token is in the fragment, which no browser sends."""
    user = UserId(mind.settings.user)
    is_known = any(each.name == user and not each.disabled_at for each in mind.accounts.users())
    if not with_link or not is_known or mind.settings.auth == "off":
        return f"{url}/"
    return f"{url}/#/signin?link={mind.accounts.sessions().new_link(user).token}"


def _lines(places: dict[str, Any], *, wants_key: bool) -> Iterator[str]:
    """Where everything is, and how an agent is connected; a key is shown only when it is made."""
    once = " (signs one browser in, once, within 10 minutes)" if "#" in places["page"] else ""
    yield f"Page  {places['page']}{once}"
    yield f"API   {places['api']} (described by {places['url']}/openapi.json)"
    yield f"MCP   {places['mcp']}"
    header = ""
    if places["key"]:
        yield f"Key   {places['key']} (shown only now)"
    elif wants_key:
        yield "Key   yours, in BEARINMIND_SERVER_KEY; `bearinmind key create USER` makes one"
    if wants_key:
        key = places["key"] or "$BEARINMIND_SERVER_KEY"  # which a shell replaces
        header = f' --header "Authorization: Bearer {key}"'
    yield f"Claude Code: claude mcp add --transport http bearinmind {places['mcp']}{header}"
    yield "Ctrl-C ends it."


def mcp(
    run: Session,
    server: str | None = option(
        "--server", "A Bear in Mind server to ask; also BEARINMIND_SERVER.", metavar="URL"
    ),
    key: str | None = option(
        "--key", "The key for it; BEARINMIND_SERVER_KEY hides it from others."
    ),
    key_file: Path | None = option("--key-file", "A file that holds the key for it."),
    describe: bool = flag("--describe", "Show the tools as an agent sees them, and end."),
) -> None:
    """Serve one agent over standard input and output (MCP)."""
    if describe:
        _describe(run)
        return
    if not key and key_file is not None:
        key = _key_in(key_file)
    where = server or run.settings.server
    # Other commands need none of it, and it takes a second to load.
    from bearinmind.surfaces.mcp import stdio  # noqa: PLC0415

    if where is None:
        settings = run.settings
        with Mind.build(settings, background=settings.worker == "auto") as mind:
            stdio.serve(
                lambda verb, request: verb.run(mind, request),
                settings.categories,
                with_extra=settings.mcp_tools == "all",
            )
        return
    from bearinmind.surfaces.client.clients import Client  # noqa: PLC0415  as above

    with Client(where, key or run.settings.server_key) as client:
        stdio.serve(client.ask, with_extra=run.settings.mcp_tools == "all")


def _key_in(file: Path) -> str:
    try:
        return file.read_text("ascii").strip()
    except FileNotFoundError:
        raise FileMissing(f"there is no file {str(file)!r}") from None
    except (OSError, UnicodeDecodeError) as exc:
        raise InvalidSetting(f"--key-file {str(file)!r} holds no key that can be read") from exc


def _describe(run: Session) -> None:
    from bearinmind.surfaces.mcp import tools  # noqa: PLC0415  as above

    with_extra = run.settings.mcp_tools == "all"
    described = tools.all_described(run.settings.categories, with_extra=with_extra)
    data: dict[str, Any] = described.model_dump(by_alias=True, exclude_none=True)
    count = tools.tokens(tools.wire_text(described))
    most = None if with_extra else tools.MOST_TOKENS
    run.reply({**data, "tokens": count}, lambda: _tool_lines(described.tools, count, most))


def _tool_lines(tools: list[Tool], count: int, most: int | None) -> Iterator[str]:
    """Each tool with what it takes, and what all of them cost; they may cost the most, if any."""
    for tool in tools:
        required = tool.input_schema.get("required", ())
        fields = [
            name if name in required else f"[{name}]" for name in tool.input_schema["properties"]
        ]
        yield f"{tool.name} {' '.join(fields)}".rstrip()
        yield f"    {tool.description}"
    limit = f"; at most {most:,} are allowed" if most else ""
    yield f"{len(tools)} tools, about {count:,} tokens{limit}."
