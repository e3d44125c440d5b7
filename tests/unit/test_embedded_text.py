from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

import pytest

from bearinmind.config import checked
from bearinmind.errors import InvalidSetting
from bearinmind.text.embedded_text import DEFAULT, embedded_text, parts
from bearinmind.types import Memory

Make = Callable[..., Memory]


@pytest.fixture
def memory(make: Make) -> Memory:
    return make(
        "Moved to Matrix.",
        category="decisions",
        tags=("tidemark", "community"),
        keywords=("chat", "irc"),
        created_at=datetime(2024, 5, 5, tzinfo=UTC),
    )


@pytest.mark.parametrize(
    ("recipe", "text"),
    [
        ("content", "Moved to Matrix."),
        ("tags+content", "tidemark, community: Moved to Matrix."),
        ("category+tags+content", "decisions, tidemark, community: Moved to Matrix."),
        ("keywords+content", "chat, irc: Moved to Matrix."),
        ("date+content", "5 May 2024: Moved to Matrix."),
    ],
)
def test_a_recipe_says_what_comes_before_the_content(
    memory: Memory, recipe: str, text: str
) -> None:
    assert embedded_text(memory, recipe) == text


def test_what_a_memory_lacks_leaves_no_trace(make: Make) -> None:
    assert embedded_text(make("Plain.", tags=()), "tags+keywords+content") == "Plain."


def test_the_shipped_recipe_is_one(memory: Memory) -> None:
    assert parts(DEFAULT)
    assert embedded_text(memory, DEFAULT).endswith(memory.content)


@pytest.mark.parametrize("recipe", ["", "tags", "content+tags", "owner+content", "tags content"])
def test_another_recipe_is_refused_by_name(recipe: str) -> None:
    with pytest.raises(InvalidSetting, match="embedded_text = ") as told:
        checked({"embedded_text": recipe})
    assert "tags+content" in told.value.message
