"""From memories to what an agent is given of them: whole ones only, in so many bytes."""

from __future__ import annotations

import json

from . import fencing

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from typing import Any

_FACTS = ("category", "project", "agent", "source", "trust")
_LONGEST_FACT = 80  # characters
_LONGEST_WORDS = 24  # as many words tell a memory from others
_SHORTEST_WORD = 5  # letters


def context(event: str, text: str) -> dict[str, Any]:
    """What a hook says to have a text put before the model."""
    return {"hookSpecificOutput": {"hookEventName": event, "additionalContext": text}}


def encoded(output: dict[str, Any]) -> bytes:
    """What a hook says, as it leaves."""
    return json.dumps(output, ensure_ascii=False).encode("utf-8", "replace")


def fitting(
    memories: Iterable[dict[str, Any]], *, event: str, intro: str, most: int, limit: int
) -> list[dict[str, Any]]:
    """The first memories that fit whole: one that is too big is left out, smaller ones may fit."""
    chosen: list[dict[str, Any]] = []
    for memory in memories:
        if len(chosen) == most:
            break
        longer = [*chosen, memory]
        if len(encoded(context(event, rendered(longer, intro)))) <= limit:
            chosen = longer
    return chosen


def rendered(memories: Iterable[dict[str, Any]], intro: str) -> str:
    """Memories as text: each between markers that say that it is data, and where it is from."""
    return "\n\n".join([intro, *map(_block, memories)])


def _block(memory: dict[str, Any]) -> str:
    return fencing.fence(memory["content"], " ".join(_facts(memory)))


def _facts(memory: dict[str, Any]) -> Iterator[str]:
    """Where a memory is from. What others may have written stands in quotes."""
    yield f"id={memory['id']}"
    yield f"date={fencing.one_line(fencing.neutral(memory['created_at'][:10]))}"
    if memory.get("is_data") and isinstance(memory.get("owner"), str):
        yield f"owner={fencing.quoted(memory['owner'][:_LONGEST_FACT])}"
    origin = memory.get("provenance")
    facts = {**memory, **origin} if isinstance(origin, dict) else memory
    for name in _FACTS:
        value = facts.get(name)
        if isinstance(value, str) and value:
            short = value[:_LONGEST_FACT]
            plain = short.isascii() and short.isalnum()
            yield f"{name}={short if plain else fencing.quoted(short)}"


def marked(memory: Any, answer: dict[str, Any]) -> Any:  # noqa: ANN401  whatever was answered
    """A memory of an answer, which says of it whether it is data."""
    data = answer.get("as_data")
    if not isinstance(memory, dict) or not isinstance(data, list):
        return memory
    return {**memory, "is_data": memory.get("id") in data}


def good(memory: object) -> bool:
    """Whether an answer holds a memory that can be given: what is sealed cannot."""
    if not isinstance(memory, dict) or memory.get("sensitive"):
        return False
    texts = [memory.get(name) for name in ("id", "content", "created_at")]
    if not all(isinstance(text, str) and text for text in texts):
        return False
    return bool(memory["id"].isascii() and memory["id"].replace("-", "").isalnum())


def telling_words(memory: dict[str, Any], prompt: str) -> list[str]:
    """Words of a memory that a prompt has not: whoever says them later has used the memory."""
    found = words(memory["content"]) - words(prompt)
    return sorted(found, key=lambda word: (-len(word), word))[:_LONGEST_WORDS]


def words(text: str) -> set[str]:
    """The long words of a text."""
    spaced = "".join(each if each.isalnum() else " " for each in text.lower())
    return {word for word in spaced.split() if len(word) >= _SHORTEST_WORD}
