"""The formats that can be imported, and which of them a file has."""

from __future__ import annotations

from bearinmind.errors import InvalidInput
from bearinmind.importers import (
    claude_mem,
    conversations,
    knowledge_graph,
    markdown,
    mcp_memory_service,
    mem0,
    table,
)
from bearinmind.importers.files import Source
from bearinmind.importers.model import Format

OWN = "bearinmind"  #: JSON Lines with `content`: what no other format recognises
#: In this order: the first that recognises a file reads it.
FORMATS: tuple[Format, ...] = (
    mem0.FORMAT,
    mcp_memory_service.FORMAT,
    claude_mem.FORMAT,
    conversations.CLAUDE,
    conversations.CHATGPT,
    knowledge_graph.FORMAT,
    markdown.INSTRUCTIONS,
    markdown.MEMORY_TOOL,
    markdown.NOTES,
    table.FORMAT,
)
NAMES = (OWN, *(each.name for each in FORMATS))


def format_of(source: Source, name: str | None) -> Format | None:
    """The format of a file: the named one, else the one that it is recognised by; None is ours."""
    if name == OWN:
        return None
    if name is not None:
        return next(each for each in FORMATS if each.name == name)
    format_ = next((each for each in FORMATS if each.recognise(source)), None)
    if format_ is None and (source.is_folder or source.is_sqlite):
        what = "folder has no notes" if source.is_folder else "database is of no known program"
        raise InvalidInput(
            f"{str(source.path)!r} cannot be imported: the {what}",
            hint=f"--from says what it is: {', '.join(NAMES)}.",
        )
    return format_
