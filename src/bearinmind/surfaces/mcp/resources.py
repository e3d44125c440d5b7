"""Resources and prompts: a memory, a brief for a session, what a person has an agent do."""

from __future__ import annotations

import re
from urllib.parse import unquote

import mcp_types as types

from bearinmind.errors import InvalidRequest, MemoryNotFound
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.mcp import texts
from bearinmind.surfaces.mcp.tools import Ask, Context, request

MEMORY = "bearinmind://memory/{id}"
BRIEF = "bearinmind://brief"

_MEMORY = re.compile(r"bearinmind://memory/([^/?#]+)")
_TEXT = "text/plain"
_REMEMBER = """\
Store in the memory what will matter in later sessions: {what}

- Recall first: what is known already is not stored again, and what has changed supersedes it.
- One statement for each memory, which can be understood alone: with names and dates, not "he".
- Choose the category, a few tags, and keywords that a later question may use.
- What you read somewhere else has the trust external.
- Say in the end what you stored."""
_EVERYTHING = "whatever was learned in this conversation."
_RECALL = """\
This is remembered about {topic}:

{memories}

Use what helps. Say so if none of it does."""


class Resources:
    """What a client may read."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def list(self, *_: object) -> types.ListResourcesResult:
        """The brief, on one page for everybody; memories are too many to be listed here."""
        brief = types.Resource(
            uri=BRIEF,
            name="brief",
            title="Session brief",
            description="How much is remembered, and the most important and newest of it.",
            mime_type=_TEXT,
        )
        return types.ListResourcesResult(resources=[brief])

    async def templates(self, *_: object) -> types.ListResourceTemplatesResult:
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
        """What a resource says."""
        uri = str(params.uri)
        named = _MEMORY.fullmatch(uri)
        if named:
            text = texts.of_answer(await self._ask(context, *request("get", id=unquote(named[1]))))
        elif uri == BRIEF:
            said = [await self._ask(context, *request(name)) for name in ("stats", "brief")]
            text = "\n\n".join(filter(None, map(texts.of_answer, said)))
        else:
            raise MemoryNotFound(
                f"there is no resource {masked(unquote(uri))[:100]!r}",
                hint=f"Read {BRIEF} or {MEMORY}.",
            )
        shown = types.TextResourceContents(uri=params.uri, mime_type=_TEXT, text=text)
        return types.ReadResourceResult(contents=[shown])


class Prompts:
    """What a client may offer to its user."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def list(self, *_: object) -> types.ListPromptsResult:
        """Every prompt, on one page for everybody."""
        remember = "Have what was learned stored for later sessions."
        what = types.PromptArgument(
            name="what", description="What to remember; else all that was learned."
        )
        recall = "Bring what is remembered about something into the conversation."
        topic = types.PromptArgument(name="topic", description="What it is about.", required=True)
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name=name, title=name.capitalize(), description=says, arguments=[given]
                )
                for name, says, given in (("remember", remember, what), ("recall", recall, topic))
            ]
        )

    async def get(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """A prompt, filled in."""
        given = params.arguments or {}
        if params.name == "remember":
            return _message(_REMEMBER.format(what=given.get("what") or _EVERYTHING))
        if params.name == "recall":
            topic = given.get("topic")
            if not topic:
                raise InvalidRequest("topic: Field required", hint="Say what it is about.")
            answer = await self._ask(context, *request("recall", query=topic))
            return _message(_RECALL.format(topic=masked(topic), memories=texts.of_answer(answer)))
        raise InvalidRequest(
            f"there is no prompt {masked(params.name)[:64]!r}",
            hint="There are remember and recall.",
        )


def _message(text: str) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(messages=[message])
