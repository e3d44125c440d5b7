# ruff: noqa: INP001, T201  a script beside the docs whose output is its purpose
"""The generated parts of the pages about the server: verbs, routes, what errors mean there."""

from __future__ import annotations

import json
from typing import Any

from bearinmind.surfaces.http.asking import Reader
from bearinmind.surfaces.verbs.admin_table import ADMIN_VERBS

from bearinmind.surfaces.failures import MEANINGS
from bearinmind.surfaces.http import describing, examples
from bearinmind.surfaces.http.routes import ROOT
from bearinmind.surfaces.verbs.sync import SERVED
from bearinmind.surfaces.verbs.table import VERBS, Verb


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
    """Print every route with what it takes, and an example."""
    for verb in SERVED:
        reader = Reader(verb)
        print(f"### `{verb.method} {ROOT}{verb.path}`\n")
        print(f"{verb.says} Needs {verb.access} access.\n")
        _fields(reader)
        if verb.name in examples.REQUESTS:
            _shown("Request", examples.REQUESTS[verb.name])
        _shown(f"Answer ({verb.status.value})", examples.ANSWERS[verb.name])


def _fields(reader: Reader) -> None:
    asked: Any = describing.of_verb(reader)["openapi_extra"]
    rows = [
        (parameter["name"], parameter["in"], parameter["required"])
        for parameter in asked.get("parameters", ())
    ]
    if reader.has_body:
        rows += [(name, "body", info.is_required()) for name, info in reader.elsewhere.items()]
    if not rows:
        return
    said = [f"`{name}` ({where}{', required' if needed else ''})" for name, where, needed in rows]
    print(f"Takes {', '.join(said)}.\n")


def _shown(title: str, data: object) -> None:
    print(f"{title}:\n\n```json\n{json.dumps(data, indent=2)}\n```\n")
