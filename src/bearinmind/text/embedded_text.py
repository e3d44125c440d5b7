"""The text of a memory that is embedded, by the recipe of its vector space. Pure.

A recipe names what is said of a memory before its content, such as `tags+content`.
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
    """What an embedder is given for a memory: "tag, other tag: The content."."""
    said = [PARTS[part](memory) for part in parts(recipe)]
    before = ", ".join(text for text in said if text)
    return f"{before}: {memory.content}" if before else memory.content


def parts(recipe: str) -> list[str]:
    """What a recipe puts before the content.

    Raises:
        ValueError: it names something else, or does not end with the content.
    """
    *before, last = recipe.split("+")
    if last != CONTENT or not {*before} <= PARTS.keys():
        named = ", ".join(PARTS)
        raise ValueError(f"it names some of {named} and ends with content: {DEFAULT}")
    return before
