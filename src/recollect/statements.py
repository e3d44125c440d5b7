"""Reads the statements of a .sql file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import LiteralString

_HEADING = re.compile(
    r"^-- (?:fragment (?P<fragment>\w+)|(?P<name>\w+): (?P<purpose>.+))$", re.MULTILINE
)
_INSERTION = re.compile(r"/\*(\w+)\*/")


def statements_of(text: LiteralString) -> Mapping[str, LiteralString]:
    """The statements of a file by name, with their fragments filled in.

    A heading begins each of them: `-- name: what it does`, or `-- fragment name`.
    """
    headings = [*_HEADING.finditer(text)]
    ends = [heading.start() for heading in headings[1:]] + [len(text)]
    fragments: dict[str, str] = {}
    statements: dict[str, LiteralString] = {}
    for heading, end in zip(headings, ends, strict=True):
        body = text[heading.end() : end].strip()
        body = _INSERTION.sub(lambda insertion: fragments[insertion[1]], body)
        if heading["fragment"]:
            fragments[heading["fragment"]] = body
        else:
            statements[heading["name"]] = body.rstrip(";")
    return statements
