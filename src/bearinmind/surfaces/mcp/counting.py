"""How many tokens a model pays for the list of tools."""

from __future__ import annotations

import math

from mcp_types import ListToolsResult

#: What the list may cost: it is in the context of every conversation.
MOST = 2_500

# Characters to a token: a little fewer than o200k makes of such JSON, so that the count is rather
# too high. A test holds it against o200k itself.
_CHARACTERS = 4.0


def wire_text(tools: ListToolsResult) -> str:
    """The list of tools as it is sent."""
    return tools.model_dump_json(by_alias=True, exclude_none=True)


def tokens(text: str) -> int:
    """About how many tokens a text is, rather too many than too few."""
    return math.ceil(len(text) / _CHARACTERS)
