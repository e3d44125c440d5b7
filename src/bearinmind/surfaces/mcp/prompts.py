"""Prompts: what a person may have an agent do about the memory."""

from __future__ import annotations

import mcp_types as types

from bearinmind.errors import InvalidRequest
from bearinmind.remember.secrets import masked
from bearinmind.surfaces.mcp import texts
from bearinmind.surfaces.mcp.asking import Asking, Context, request

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


class Prompts:
    """What a client may offer to its user."""

    def __init__(self, asking: Asking) -> None:
        self._asking = asking

    async def list(
        self,
        context: Context,  # noqa: ARG002  the same for everybody
        params: types.PaginatedRequestParams | None,  # noqa: ARG002  one page holds all
    ) -> types.ListPromptsResult:
        """Every prompt."""
        return types.ListPromptsResult(
            prompts=[
                types.Prompt(
                    name="remember",
                    title="Remember",
                    description="Have what was learned stored for later sessions.",
                    arguments=[
                        types.PromptArgument(
                            name="what", description="What to remember; else all that was learned."
                        )
                    ],
                ),
                types.Prompt(
                    name="recall",
                    title="Recall",
                    description="Bring what is remembered about something into the conversation.",
                    arguments=[
                        types.PromptArgument(
                            name="topic", description="What it is about.", required=True
                        )
                    ],
                ),
            ]
        )

    async def get(
        self, context: Context, params: types.GetPromptRequestParams
    ) -> types.GetPromptResult:
        """A prompt, filled in.

        Raises:
            MindError: there is no such prompt, or it cannot be filled in.
        """
        given = params.arguments or {}
        if params.name == "remember":
            return _said(_REMEMBER.format(what=given.get("what") or _EVERYTHING))
        if params.name == "recall":
            topic = given.get("topic")
            if not topic:
                raise InvalidRequest("topic: Field required", hint="Say what it is about.")
            found = await self._asking(context, *request("recall", query=topic))
            return _said(_RECALL.format(topic=masked(topic), memories=texts.of_answer(found)))
        raise InvalidRequest(
            f"there is no prompt {masked(params.name)[:64]!r}",
            hint="There are remember and recall.",
        )


def _said(text: str) -> types.GetPromptResult:
    message = types.PromptMessage(role="user", content=types.TextContent(text=text))
    return types.GetPromptResult(messages=[message])
