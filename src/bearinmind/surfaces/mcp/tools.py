"""The tools: every verb that an agent has a use for, made from the one table of verbs."""

from __future__ import annotations

import asyncio
import contextlib
import math
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from secrets import token_hex
from typing import Any, Protocol

import mcp_types as types
from mcp.server import ServerRequestContext
from mcp.server.streamable_http import MCP_SESSION_ID_HEADER
from mcp.shared.exceptions import MCPError
from pydantic import ValidationError

from bearinmind import codec
from bearinmind.errors import InvalidLink, InvalidRequest, MindError
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.failures import meaning_of
from bearinmind.surfaces.http.responses import invalid_fields
from bearinmind.surfaces.mcp import texts
from bearinmind.surfaces.mcp.texts import advice
from bearinmind.surfaces.verbs.table import BY_NAME, VERBS
from bearinmind.surfaces.verbs.verb import Request, Tool, Verb
from bearinmind.types import Access, LinkKind, Trust

Context = ServerRequestContext[Any, Any]
Schema = dict[str, Any]

BY_TOOL: Mapping[str, Verb] = {verb.tool: verb for verb in VERBS if verb.tool}
#: What the list of the default tools may cost: it is in the context of every conversation.
MOST_TOKENS = 3_000

# Characters to a token: a little fewer than o200k makes of such JSON, so that the count is rather
# too high. A test holds it against o200k itself.
_CHARACTERS = 4.0
# What an agent knows already of an answer, or need not know of before it reads it.
_NO_NEWS = frozenset({"owner", "judgement", "valid_from", "valid_to", "oldest", "newest"}) | {
    *("live_again", "deleted_too"),
    *("live", "superseded", "expired", "not_yet_valid", "deleted", "earlier_versions"),
    *("shared", "sharers"),
    *(f"{word}_at" for word in ("created", "deleted", "removed", "ended")),
}
_HINT = "The schema of the tool says what it takes."

# Claude Code shows its model only the names of tools until it looks for one. It would not look for
# what it does not know it has: these two are always shown whole.
_EVERY_TURN = ("recall", "store")
_ALWAYS = {"anthropic/alwaysLoad": True}
_EVERY = 0.5  # seconds between two words on how long a call takes
_OF_THIS_PROCESS = f"mcp-{token_hex(4)}"  # over standard input it serves one client
_AGENT = re.compile(r"[\w.@/-][\w .@/-]{0,63}")  # a client's name that can be a memory's agent


class Ask(Protocol):
    """Has a verb answered for the sender of a request of the protocol."""

    async def __call__(self, context: Context, verb: Verb, request: Request, /) -> object:
        """The answer of a verb."""


class Tools:
    """What a client may call."""

    def __init__(
        self, ask: Ask, categories: Sequence[str] = (), *, with_extra: bool = False
    ) -> None:
        """Offer verbs as tools; a model is told the categories if they are known."""
        self._ask = ask
        self._described = all_described(categories, with_extra=with_extra)
        self._offered = {tool.name: BY_TOOL[tool.name] for tool in self._described.tools}

    async def list(self, *_: object) -> types.ListToolsResult:
        """Every tool that is offered, on one page for everybody."""
        return self._described

    async def call(
        self, context: Context, params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        """What a tool answers; what cannot be done is an answer too, from which a model learns."""
        verb = self._offered.get(params.name)
        if verb is None:
            raise MCPError(
                meaning_of(InvalidRequest).rpc_code,
                f"there is no tool {masked(params.name)[:64]!r}",
            )
        try:
            arguments = _of_agent(context, verb, params.arguments or {})
            async with _telling_progress(context, params.name):
                answer = await self._ask(context, verb, read(verb, arguments))
        except MindError as exc:
            return failed(exc)
        return types.CallToolResult(
            content=[types.TextContent(text=texts.of_answer(answer))],
            structured_content=texts.structured(answer, verb.answer),
        )


def all_described(
    categories: Sequence[str] = (), *, with_extra: bool = False
) -> types.ListToolsResult:
    """The tools as a model is told of them: the default ones, or every one."""
    verbs = [verb for verb in BY_TOOL.values() if with_extra or not _tool(verb).extra]
    return types.ListToolsResult(tools=[described(verb, categories) for verb in verbs])


def described(verb: Verb, categories: Sequence[str] = ()) -> types.Tool:
    """A verb as a model is told of it."""
    tool = _tool(verb)
    schema = _request_schema(verb, tool.fields)
    if categories and "category" in schema["properties"]:
        schema["properties"]["category"]["enum"] = [*categories]
    if verb.name == "link":  # see `_of_agent`
        kinds = schema["properties"]["kind"]
        kinds["enum"] = [each for each in kinds["enum"] if each != LinkKind.OUTDATES]
    return types.Tool(
        name=verb.tool,
        description=tool.says,
        input_schema=schema,
        output_schema=_answer_schema(verb.answer),
        annotations=_annotations(verb),
        _meta=_ALWAYS if verb.name in _EVERY_TURN else None,
    )


def wire_text(tools: types.ListToolsResult) -> str:
    """The list of tools as it is sent."""
    return tools.model_dump_json(by_alias=True, exclude_none=True)


def tokens(text: str) -> int:
    """About how many tokens a text is, rather too many than too few."""
    return math.ceil(len(text) / _CHARACTERS)


# ---- requests ------------------------------------------------------------------------------------


def read(verb: Verb, arguments: Mapping[str, Any]) -> Request:
    """The request that arguments make; a number may come as text, as models write it."""
    try:
        return verb.request.model_validate(arguments)
    except ValidationError as exc:
        error = invalid_fields(exc)
        error.hint = _HINT
        raise error from None


def request(name: str, **fields: Any) -> tuple[Verb, Request]:  # noqa: ANN401  by the verb's own model
    """A verb by its name, and a request for it."""
    verb = BY_NAME[name]
    return verb, verb.request.model_validate(fields)


# ---- schemas: what helps a model to fill them in, and no more ------------------------------------


def _tool(verb: Verb) -> Tool:
    if verb.tool_text is None:
        raise ValueError(f"{verb.name} is no tool")
    return verb.tool_text


def _request_schema(verb: Verb, fields: Mapping[str, str]) -> Schema:
    """The schema of these fields of a request, each with a word on it."""
    whole = _whole_schema(verb.request)
    properties: Schema = {}
    for name, text in fields.items():
        properties[name] = _simple(whole["properties"][name], whole)
        if text:
            properties[name]["description"] = text
    required = [name for name in whole.get("required", ()) if name in fields]
    described: Schema = {"type": "object", "properties": properties}
    return described | ({"required": required} if required else {})


@cache  # to describe a noun takes Pydantic milliseconds, and every server asks
def _whole_schema(request: type[Request]) -> Schema:
    return request.model_json_schema()


@cache  # likewise
def _answer_schema(answer: Any) -> Schema:  # noqa: ANN401  a noun, or a union of nouns
    """The fields that are sent of an answer: nobody fills them in, names and kinds will do.

    Nothing in it is required: an error has none of it, and clients hold errors to it too.
    """
    whole = codec.schema(answer)
    shapes = whole.get("oneOf") or [whole]
    fields = {name: each for shape in shapes for name, each in _resolved(shape, whole).items()}
    kinds = {name: _simple(each, whole).get("type") for name, each in fields.items()}
    unnamed = texts.left_out(answer) | _NO_NEWS
    properties = {name: {"type": kind} for name, kind in kinds.items() if kind}
    properties = {name: kind for name, kind in properties.items() if name not in unnamed}
    return {"type": "object", "properties": properties}


def _resolved(shape: Schema, whole: Schema) -> Schema:
    """The fields of a shape, which may be a reference."""
    if "$ref" in shape:
        shape = whole["$defs"][shape["$ref"].rpartition("/")[2]]
    return dict(shape["properties"])


def _simple(part: Mapping[str, Any], whole: Schema) -> Schema:
    """A part of a schema without references, limits, defaults and titles."""
    if "$ref" in part:
        return _simple(whole["$defs"][part["$ref"].rpartition("/")[2]], whole)
    for choice in ("anyOf", "allOf"):
        if choice in part:  # something or null: what is null is left out
            [known] = [each for each in part[choice] if each.get("type") != "null"]
            return _simple(known, whole)
    simple: Schema = {key: part[key] for key in ("type", "enum") if key in part}
    if "items" in part:
        simple["items"] = _simple(part["items"], whole)
    return simple


# ---- answers -------------------------------------------------------------------------------------


def failed(error: MindError) -> types.CallToolResult:
    """That a tool could not do what it was asked."""
    data = {"code": error.code, "message": masked(error.message), "hint": advice(error.hint)}
    return types.CallToolResult(
        content=[types.TextContent(text=texts.of_error(error))],
        structured_content={"error": data},
        is_error=True,
    )


def _annotations(verb: Verb) -> types.ToolAnnotations:
    """What a client may tell its user of a tool; only what is not the default of the protocol."""
    if verb.access is Access.READ:
        return types.ToolAnnotations(read_only_hint=True)
    tool = _tool(verb)
    return types.ToolAnnotations(
        destructive_hint=None if tool.destructive else False,
        idempotent_hint=True if tool.idempotent else None,
    )


def _of_agent(context: Context, verb: Verb, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments; what is stored comes from the client and its connection, unless it says.

    A tool decides for an agent, whatever it says. A link that is made by hand is a person's word.
    """
    if verb.name in ("resolve", "link", "curation.apply", "curation.dismiss"):
        arguments = {**arguments, "trust": Trust.AGENT}
    elif verb.name == "update":
        arguments = {"trust": Trust.AGENT, **arguments}
    if verb.name == "link" and arguments.get("kind") == LinkKind.OUTDATES:
        raise InvalidLink(
            "an agent does not link with outdates", hint="Call memory_resolve: newer, other."
        )
    client = context.session.client_params
    name = client.client_info.name if client and client.client_info else ""
    origin = {"agent": name} if _AGENT.fullmatch(name) else {}
    if session := _session_of(context):
        origin["session"] = session
    drafts = arguments.get("drafts")
    if verb.name == "store_many" and isinstance(drafts, list):
        named = [{**origin, **each} if isinstance(each, dict) else each for each in drafts]
        return {**arguments, "drafts": named}
    return {**origin, **arguments} if verb.name == "store" else arguments


def _session_of(context: Context) -> str | None:
    """The session of a connection; none over HTTP where the protocol has no connection."""
    if context.request is None:
        return _OF_THIS_PROCESS
    id_ = context.request.headers.get(MCP_SESSION_ID_HEADER)
    # Not the id itself: who has it and a key could go on with that connection.
    return f"mcp-{sha256(id_.encode()).hexdigest()[:8]}" if id_ else None


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
