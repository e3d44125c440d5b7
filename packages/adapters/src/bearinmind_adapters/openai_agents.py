"""A session and tools of the OpenAI Agents SDK over memories."""

from __future__ import annotations

import asyncio
from typing import Any

from agents.memory import SessionABC

from agents import FunctionTool, TResponseInputItem, function_tool
from bearinmind_adapters.agent_tools import memory_functions
from bearinmind_adapters.conversations import Conversation
from bearinmind_adapters.documents import Memories


class BearInMindSession(SessionABC):
    """The items of one conversation, kept as memories; those that are removed can be restored."""

    session_settings = None

    def __init__(self, session_id: str, mind: Memories, **options: Any) -> None:  # noqa: ANN401  those of `Documents`
        """Keep the items of a session in a memory."""
        self.session_id = session_id
        self._conversation = Conversation(mind, "openai-agents", session_id, **options)

    async def get_items(self, limit: int | None = None) -> list[TResponseInputItem]:
        """The items in their order, or the last ones of them."""
        return await asyncio.to_thread(self._conversation.messages, limit)

    async def add_items(self, items: list[TResponseInputItem]) -> None:
        """Add items."""
        await asyncio.to_thread(self._conversation.add, items)

    async def pop_item(self) -> TResponseInputItem | None:
        """Remove the last item and return it."""
        item: TResponseInputItem | None = await asyncio.to_thread(self._conversation.pop)
        return item

    async def clear_session(self) -> None:
        """Remove every item."""
        await asyncio.to_thread(self._conversation.clear)


def memory_tools(mind: Memories, *, agent: str | None = None) -> list[FunctionTool]:
    """The tools remember, recall, history and forget for an agent."""
    return [function_tool(function) for function in memory_functions(mind, agent=agent)]
