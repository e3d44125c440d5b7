"""The tools: every verb that an agent has a use for, made from the one table of verbs."""

from __future__ import annotations

import asyncio
import contextlib
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

import mcp_types as types
from mcp.shared.exceptions import MCPError

from bearinmind.errors import InvalidRequest, MindError
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.failures import meaning_of
from bearinmind.surfaces.mcp import schemas, texts
from bearinmind.surfaces.mcp.asking import Asking, Context, read
from bearinmind.surfaces.mcp.describing import TOOLS
from bearinmind.surfaces.verbs.table import VERBS, Verb
from bearinmind.types import Access

BY_TOOL: Mapping[str, Verb] = {verb.tool: verb for verb in VERBS if verb.tool}

# Claude Code shows its model only the names of tools until it looks for one. It would not look for
# what it does not know it has: these two are always shown whole.
_EVERY_TURN = ("recall", "store")
_ALWAYS = {"anthropic/alwaysLoad": True}
_EVERY = 0.5  # seconds between two words on how long a call takes
_AGENT = re.compile(r"[\w.@/-][\w .@/-]{0,63}")  # a client's name that can be a memory's agent


class Tools:
    """What a client may call."""

    def __init__(self, asking: Asking, categories: Sequence[str] = ()) -> None:
        """Have verbs answered so; a model is told the categories if they are known."""
        self._asking = asking
        self._told = all_described(categories)

    async def list(
        self,
        context: Context,  # noqa: ARG002  the same for everybody
        params: types.PaginatedRequestParams | None,  # noqa: ARG002  one page holds all
    ) -> types.ListToolsResult:
        """Every tool."""
        return self._told

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """What a tool answers; what cannot be done is an answer too, from which a model learns.

        Raises:
            MCPError: there is no such tool.
        """
        verb = BY_TOOL.get(params.name)
        if verb is None:
            raise MCPError(
                meaning_of(InvalidRequest).rpc_code,
                f"there is no tool {masked(params.name)[:64]!r}",
            )
        arguments = _with_agent(context, verb, params.arguments or {})
        try:
            async with _telling_progress(context, params.name):
                answer = await self._asking(context, verb, read(verb, arguments))
        except MindError as exc:
            return failed(exc)
        return types.CallToolResult(
            content=[types.TextContent(text=texts.of_answer(answer))],
            structured_content=TOOLS[verb.name].show(answer).data(),
        )


def all_described(categories: Sequence[str] = ()) -> types.ListToolsResult:
    """Every tool as a model is told of it."""
    return types.ListToolsResult(tools=[described(verb, categories) for verb in BY_TOOL.values()])


def described(verb: Verb, categories: Sequence[str] = ()) -> types.Tool:
    """A verb as a model is told of it."""
    told = TOOLS[verb.name]
    schema = schemas.of_request(verb.request, told.fields)
    if categories and "category" in schema["properties"]:
        schema["properties"]["category"]["enum"] = [*categories]
    return types.Tool(
        name=verb.tool or "",
        description=told.says,
        input_schema=schema,
        output_schema=schemas.of_answer(told.answer),
        annotations=_annotations(verb),
        _meta=_ALWAYS if verb.name in _EVERY_TURN else None,
    )


def failed(error: MindError) -> types.CallToolResult:
    """That a tool could not do what it was asked."""
    said = {"code": error.code, "message": masked(error.message), "hint": error.hint}
    return types.CallToolResult(
        content=[types.TextContent(text=texts.of_error(error))],
        structured_content={"error": said},
        is_error=True,
    )


def _annotations(verb: Verb) -> types.ToolAnnotations:
    """What a client may tell its user of a tool; only what is not the default of the protocol."""
    if verb.access is Access.READ:
        return types.ToolAnnotations(read_only_hint=True)
    told = TOOLS[verb.name]
    return types.ToolAnnotations(
        destructive_hint=None if told.destructive else False,
        idempotent_hint=True if told.idempotent else None,
    )


def _with_agent(context: Context, verb: Verb, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments; what is stored comes from the client that stores it, unless it says."""
    client = context.session.client_params
    if verb.name != "store" or client is None or "agent" in arguments:
        return arguments
    name = client.client_info.name if client.client_info else ""
    return {**arguments, "agent": name} if _AGENT.fullmatch(name) else arguments


@contextlib.asynccontextmanager
async def _telling_progress(context: Context, name: str) -> AsyncIterator[None]:
    """Tell a client that wants to know for how long a call has been going on."""
    begun = time.monotonic()

    async def tell() -> None:
        while True:
            await asyncio.sleep(_EVERY)
            seconds = time.monotonic() - begun
            await context.session.report_progress(seconds, None, f"{name}: {seconds:.1f} s")

    telling = asyncio.create_task(tell())
    try:
        yield
    finally:
        telling.cancel()
        with contextlib.suppress(asyncio.CancelledError, Exception):
            await telling
