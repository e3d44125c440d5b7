"""What Pydantic finds wrong with a value, in the plain words of our errors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

_LONGEST = 60  # characters of a value that an error repeats
_NUMBER = re.compile(r"[+-]?\d{1,18}(\.\d{1,18})?")

#: By the type that Pydantic gives a flaw: what is allowed.
_ALLOWED: Mapping[str, str] = {
    "greater_than_equal": "it must be {ge:,} or more",
    "greater_than": "it must be above {gt:,}",
    "less_than_equal": "it must be {le:,} or less",
    "less_than": "it must be below {lt:,}",
    **dict.fromkeys(
        ("int_parsing", "int_parsing_size", "int_type", "int_from_float"),
        "it must be a whole number",
    ),
    **dict.fromkeys(("float_parsing", "float_type"), "it must be a number"),
    "finite_number": "it must be a finite number",
    **dict.fromkeys(("bool_parsing", "bool_type"), "it must be true or false"),
    "string_type": "it must be a text",
    "string_too_short": "it must have {min_length:,} or more characters",
    "string_too_long": "it must have {max_length:,} characters or less",
    "too_short": "it must have {min_length:,} or more entries",
    "too_long": "it must have {max_length:,} entries or less",
    **dict.fromkeys(("enum", "literal_error"), "it must be {expected}"),
    "dict_type": "it must be a table of names and values",
    **dict.fromkeys(
        ("model_type", "model_attributes_type", "dataclass_type", "dataclass_exact_type"),
        "it must be an object with fields",
    ),
    **dict.fromkeys(
        ("list_type", "tuple_type", "set_type", "frozen_set_type"), "it must be a list"
    ),
    **dict.fromkeys(
        ("datetime_type", "datetime_parsing", "datetime_from_date_parsing"),
        "it must be a time in ISO 8601",
    ),
    "timezone_aware": "it must be a time with its zone",
    "missing": "it is missing",
    "extra_forbidden": "there is no such field",
}
_OF_NO_VALUE = frozenset({"missing", "extra_forbidden"})
_NOT_EMPTY = "it must not be empty"


def shortened(value: object) -> str:
    """A value as an error quotes it."""
    text = value if isinstance(value, str) and _NUMBER.fullmatch(value) else repr(value)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def number_alone(value: object) -> str:
    """A value as an error quotes it where it may be secret: numbers, flags and nothing else."""
    if isinstance(value, str):
        return value if _NUMBER.fullmatch(value) else ""
    return shortened(value) if value is None or isinstance(value, bool | int | float) else ""


def allowed(flaw: Mapping[str, Any]) -> str:
    """What is allowed in place of a value, from a flaw as `ValidationError.errors()` lists it."""
    known = _ALLOWED.get(flaw["type"])
    if known is not None:
        limits = {name: whole(limit) for name, limit in flaw.get("ctx", {}).items()}
        said = known.format_map(limits)
        return _NOT_EMPTY if said.startswith("it must have 1 or more ") else said
    message = flaw["msg"].removeprefix("Value error, ")
    return str(message) if flaw["type"] == "value_error" else message[:1].lower() + message[1:]


def wrong(flaw: Mapping[str, Any], shown: str = "") -> str:
    """The same, with the value that was given as it is `shown`."""
    said = allowed(flaw)
    if not shown or flaw["type"] in _OF_NO_VALUE or said == _NOT_EMPTY:
        return said
    if flaw["type"] in _ALLOWED:
        return f"{said}, not {shown}"
    return said if shown in said else f"{said}: {shown}"


def whole(number: object) -> object:
    """A whole number as such, as people write it and JSON reads it: 1 rather than 1.0."""
    return int(number) if isinstance(number, float) and number.is_integer() else number
