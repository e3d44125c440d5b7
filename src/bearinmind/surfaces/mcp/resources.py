"""Resources: a memory by its id, and a brief with which a session can begin."""

from __future__ import annotations

import re
from urllib.parse import unquote

import mcp_types as types

from bearinmind.errors import MemoryNotFound
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.mcp import texts
from bearinmind.surfaces.mcp.asking import Asking, Context, request
from bearinmind.surfaces.verbs.learning import BriefAnswer

MEMORY = "bearinmind://memory/{id}"
BRIEF = "bearinmind://brief"

_MEMORY = re.compile(r"bearinmind://memory/([^/?#]+)")
_TEXT = "text/plain"


class Resources:
    """What a client may read."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def list(
        self,
        context: Context,  # noqa: ARG002  the same for everybody
        params: types.PaginatedRequestParams | None,  # noqa: ARG002  one page holds all
    ) -> types.ListResourcesResult:
        """The brief; memories are too many to be listed here."""
        brief = types.Resource(
            uri=BRIEF,
            name="brief",
            title="Session brief",
            description="How much is remembered, and the most important and newest of it.",
            mime_type=_TEXT,
        )
        return types.ListResourcesResult(resources=[brief])

    async def templates(
        self,
        context: Context,  # noqa: ARG002  likewise
        params: types.PaginatedRequestParams | None,  # noqa: ARG002  likewise
    ) -> types.ListResourceTemplatesResult:
        """How the resource of a memory is named."""
        memory = types.ResourceTemplate(
            uri_template=MEMORY,
            name="memory",
            title="One memory",
            description="A memory with its earlier versions and links, by its id.",
            mime_type=_TEXT,
        )
        return types.ListResourceTemplatesResult(resource_templates=[memory])

    async def read(
        self, context: Context, params: types.ReadResourceRequestParams
    ) -> types.ReadResourceResult:
        """What a resource says.

        Raises:
            MindError: there is no such resource, or it cannot be read.
        """
        uri = str(params.uri)
        named = _MEMORY.fullmatch(uri)
        if named:
            text = texts.of_answer(
                await self._asking(context, *request("get", id=unquote(named[1])))
            )
        elif uri == BRIEF:
            text = await self._brief(context)
        else:
            raise MemoryNotFound(
                f"there is no resource {masked(unquote(uri))[:100]!r}",
                hint=f"Read {BRIEF} or {MEMORY}.",
            )
        shown = types.TextResourceContents(uri=params.uri, mime_type=_TEXT, text=text)
        return types.ReadResourceResult(contents=[shown])

    async def _brief(self, context: Context) -> str:
        counts = await self._asking(context, *request("stats"))
        brief = await self._asking(context, *request("brief"))
        if not isinstance(brief, BriefAnswer):
            raise TypeError(type(brief).__name__)
        parts = [texts.of_answer(counts)]
        if brief.memories:
            parts += ["Most important and newest:", texts.of_memories(brief.memories)]
        return "\n\n".join(parts)
