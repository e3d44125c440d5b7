"""The text of a memory that is embedded, by the recipe of its vector space.

A recipe names what is put before the content, such as `tags+content`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bearinmind.types import Memory

CONTENT = "content"
#: What was best on the development queries: docs/adr/0016.
DEFAULT = "tags+content"

#: What a recipe may name before the content.
PARTS: Mapping[str, Callable[[Memory], str]] = {
    "date": lambda memory: f"{memory.created_at:%d %B %Y}".lstrip("0"),
    "category": lambda memory: memory.category,
    "tags": lambda memory: ", ".join(memory.tags),
    "keywords": lambda memory: ", ".join(memory.keywords),
}


def embedded_text(memory: Memory, recipe: str = CONTENT) -> str:
    """The text of a memory for an embedder: "tag, other tag: The content."."""
    before = ", ".join(text for part in parts(recipe) if (text := PARTS[part](memory)))
    return f"{before}: {memory.content}" if before else memory.content


def parts(recipe: str) -> list[str]:
    """The parts that a recipe puts before the content; raises `ValueError` for a wrong recipe."""
    *before, last = recipe.split("+")
    if last != CONTENT or not {*before} <= PARTS.keys():
        named = ", ".join(PARTS)
        raise ValueError(f"it names some of {named} and ends with content: {DEFAULT}")
    return before
