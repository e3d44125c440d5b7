"""Parsing: any text at all becomes a safe query; anything else that is wrong is named."""

from __future__ import annotations

import re
from dataclasses import replace

from bearinmind import errors
from bearinmind.types import Query, State

TEXT_LIMIT = 100_000  # characters
LARGEST_LIMIT = 1_000
LARGEST_POOL = 10_000

# Halves of characters and NUL cannot be looked for; a space in their place changes nothing else.
_UNSEARCHABLE = re.compile("[\x00\ud800-\udfff]")


def parse(query: Query) -> Query:
    """The query as the legs will see it.

    Raises:
        InvalidQuery: a number is out of its range or the text is too long.
    """
    if len(query.text) > TEXT_LIMIT:
        raise errors.InvalidQuery(
            f"the query has {len(query.text):,} characters; it may have {TEXT_LIMIT:,}",
            hint="Ask with the part of the text that matters.",
        )
    check_number("limit", query.limit, LARGEST_LIMIT)
    check_number("pool", query.pool, LARGEST_POOL)
    if State.DELETED in query.filter.states:
        raise errors.InvalidQuery(
            "deleted memories are not recalled",
            hint="`bearinmind list --state deleted` shows them; `--as-of` recalls what was there.",
        )
    if query.budget_bytes is not None and query.budget_bytes < 0:
        raise errors.InvalidQuery(f"the budget of {query.budget_bytes} bytes is negative")
    return replace(
        query,
        text=_UNSEARCHABLE.sub(" ", query.text),
        expanded=tuple(_UNSEARCHABLE.sub(" ", term) for term in query.expanded),
        pool=max(query.pool, query.limit),  # a pool that cannot fill the answer would hide memories
    )


def check_number(name: str, value: int, most: int, least: int = 1) -> int:
    """A number in its range.

    Raises:
        InvalidQuery: it is not.
    """
    if not least <= value <= most:
        raise errors.InvalidQuery(
            f"{name} {value!r} is not between {least} and {most:,}",
            hint=f"Choose a {name} in that range.",
        )
    return value
