# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The generated parts of the pages about the server: verbs, routes, what errors mean there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from bearinmind import codec
from bearinmind.surfaces.failures import MEANINGS
from bearinmind.surfaces.http.routes import ROOT, Parts
from bearinmind.surfaces.verbs.sync_verbs import SERVED
from bearinmind.surfaces.verbs.table import ADMIN_VERBS, VERBS
from bearinmind.surfaces.verbs.verb import Verb


def verbs() -> None:
    """Print a row for every verb of a memory."""
    _rows(VERBS)


def admin_verbs() -> None:
    """Print a row for every verb about users and keys."""
    _rows(ADMIN_VERBS)


def _rows(table: tuple[Verb, ...]) -> None:
    print("| verb | what it does | access | HTTP, under `/api/v1` | MCP | command |")
    print("|---|---|---|---|---|---|")
    for verb in table:
        cells = (
            f"`{verb.name}`",
            verb.says,
            verb.access,
            f"`{verb.method} {verb.path}`",
            f"`{verb.tool}`" if verb.tool else "",
            f"`bearinmind {verb.command}`",
        )
        print(f"| {' | '.join(cells)} |")


def statuses() -> None:
    """Print what kind of error each status stands for."""
    print("| status | kind of error |")
    print("|---:|---|")
    for status in sorted({row.status for row in MEANINGS}):
        kinds = [row.error for row in MEANINGS if row.status == status]
        said = ", ".join(f"`{kind.code}`" for kind in kinds)
        print(f"| {status.value} {status.phrase} | {said} |")


def routes() -> None:
    """Print every route with what it takes, an example of its body, and what it answers."""
    for verb in SERVED:
        parts = Parts(verb)
        print(f"### `{verb.method} {ROOT}{verb.path}`\n")
        print(f"{verb.says} Needs {verb.access} access.\n")
        taken = ", ".join(_taken(parts))
        print((f"Takes {taken}. " if taken else "") + f"Answers {_kind(_schema(verb))}.\n")
        if verb.example:
            print(f"```json\n{json.dumps(verb.example, indent=2)}\n```\n")


def shapes() -> None:
    """Print the fields of everything that is answered, each shape once."""
    seen: dict[str, Any] = {}
    for verb in SERVED:
        schema = _schema(verb)
        for name, shape in (schema.get("$defs", {}) | {schema.get("title", ""): schema}).items():
            if "properties" in shape:
                other = {*seen.get(name, shape)["properties"]} != {*shape["properties"]}
                seen[f"{name} of {verb.name}" if other else name] = shape
    print("| shape | what it is | fields |")
    print("|---|---|---|")
    for name, shape in sorted(seen.items()):
        fields = ", ".join(f"`{each}`" for each in shape["properties"])
        print(f"| `{name}` | {shape.get('description', '').partition(chr(10))[0]} | {fields} |")


def _taken(parts: Parts) -> Iterator[str]:
    """The fields of a request, where each stands, and whether it must be given."""
    for name in parts.in_path:
        yield f"`{name}` (path)"
    for header in parts.verb.headers:
        yield f"`{header}` (header)"
    where = "body" if parts.has_body else "query"
    for name, info in parts.elsewhere.items():
        yield f"`{name}` ({where}{', required' if info.is_required() else ''})"


def _schema(verb: Verb) -> dict[str, Any]:
    return codec.schema(verb.answer)


def _kind(schema: dict[str, Any]) -> str:
    """The names of what a schema describes."""
    if "oneOf" in schema:
        return " or ".join(map(_kind, schema["oneOf"]))
    return f"`{schema.get('title') or schema['$ref'].rpartition('/')[2]}`"
