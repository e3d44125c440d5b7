"""From models to the schemas that a model reads: what helps to fill them in, and no more."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel

Schema = dict[str, Any]

# Fields of an answer that explain themselves when they are there.
_UNTOLD = frozenset({"notice", "degraded", "trace", "state"})


def of_request(request: type[BaseModel], fields: Mapping[str, str]) -> Schema:
    """The schema of these fields of a request, each with a word on it."""
    whole = request.model_json_schema()
    properties: Schema = {}
    for name, says in fields.items():
        properties[name] = _simple(whole["properties"][name], whole)
        if says:
            properties[name]["description"] = says
    required = [name for name in whole.get("required", ()) if name in fields]
    return {
        "type": "object",
        "properties": properties,
        **({"required": required} if required else {}),
    }


def of_answer(answer: type[BaseModel]) -> Schema:
    """The schema of what a tool answers.

    Nothing in it is required: an error has none of it, and clients hold errors to it too.
    """
    whole = answer.model_json_schema(mode="serialization")
    return _bare(_simple(whole, whole))


def _bare(schema: Schema) -> Schema:
    """A schema of an answer: nobody fills it in, so nobody needs to know the words it may have."""
    bare = {key: each for key, each in schema.items() if key not in {"enum", "properties"}}
    if "items" in schema:
        bare["items"] = _bare(schema["items"])
    if "properties" in schema:
        fields = {name: each for name, each in schema["properties"].items() if name not in _UNTOLD}
        bare["properties"] = {name: _bare(each) for name, each in fields.items()}
    return bare


def _simple(part: Mapping[str, Any], whole: Mapping[str, Any]) -> Schema:
    """A part of a schema without references, limits, defaults and titles."""
    if "$ref" in part:
        return _simple(whole["$defs"][part["$ref"].rpartition("/")[2]], whole)
    for choice in ("anyOf", "allOf"):
        if choice in part:  # something or null: what is null is left out
            [said] = [each for each in part[choice] if each.get("type") != "null"]
            return _simple(said, whole)
    simple: Schema = {key: part[key] for key in ("type", "enum") if key in part}
    if "items" in part:
        simple["items"] = _simple(part["items"], whole)
    if "properties" in part:
        properties = part["properties"].items()
        simple["properties"] = {name: _simple(each, whole) for name, each in properties}
    return simple
