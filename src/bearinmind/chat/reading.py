"""JSON in what a model says, which may be wrapped in thoughts, fences and small talk. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import Any

_THOUGHTS = re.compile(r"<think>.*?</think>", re.DOTALL)
_MOST_CHARACTERS = 200_000  # of an answer: more than any that we ask for
_MOST_TRIES = 500  # places at which an object may begin and does not
_decoder = json.JSONDecoder()


def json_object(text: str) -> Any:  # noqa: ANN401  whatever JSON holds
    """The one object in a text.

    Raises:
        ValueError: there is none, or it is not whole.
    """
    text = _THOUGHTS.sub("", text)
    begin, end = text.find("{"), text.rfind("}")
    try:
        return json.loads(text[begin : end + 1])
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def json_objects(text: str) -> Iterator[dict[str, Any]]:
    """Every whole object in a text; of one that is not whole, those inside it that are."""
    text = _THOUGHTS.sub("", text)[:_MOST_CHARACTERS]
    place = text.find("{")
    tries = 0
    while place >= 0 and tries < _MOST_TRIES:
        try:
            found, place = _decoder.raw_decode(text, place)
        except (ValueError, RecursionError):
            tries += 1
            place += 1
        else:
            yield found
        place = text.find("{", place)
