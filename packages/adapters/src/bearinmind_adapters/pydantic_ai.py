"""A toolset of Pydantic AI over memories."""

from __future__ import annotations

from typing import Any

from pydantic_ai.toolsets import FunctionToolset

from bearinmind_adapters.agent_tools import INSTRUCTIONS, memory_functions
from bearinmind_adapters.documents import Memories


def memory_toolset(mind: Memories, *, agent: str | None = None) -> FunctionToolset[Any]:
    """The tools remember, recall, history and forget, with a word on when to use them."""
    return FunctionToolset(
        tools=memory_functions(mind, agent=agent), id="bear-in-mind", instructions=INSTRUCTIONS
    )
