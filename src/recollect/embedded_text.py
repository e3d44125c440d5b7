"""The text of a memory that is embedded, by the recipe of its vector space. Pure."""

from __future__ import annotations

from recollect.types import Memory

CONTENT = "content"


def embedded_text(memory: Memory, recipe: str = CONTENT) -> str:
    """What an embedder is given for a memory."""
    if recipe != CONTENT:
        raise ValueError(f"there is no recipe {recipe!r} for an embedded text")
    return memory.content
