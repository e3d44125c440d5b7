"""Reads the statements of .sql files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import LiteralString

_HEADING = re.compile(
    r"^-- (?:fragment (?P<fragment>\w+)|(?P<name>\w+): (?P<purpose>.+))$", re.MULTILINE
)
_INSERTION = re.compile(r"/\*(\w+)\*/")


def statements_of(*texts: LiteralString) -> Mapping[str, LiteralString]:
    """The statements of files by name, with their fragments filled in.

    A heading begins each of them: `-- name: what it does`, or `-- fragment name`. A file may use
    the fragments of those before it.
    """
    fragments: dict[str, str] = {}
    statements: dict[str, LiteralString] = {}
    for text in texts:
        headings = [*_HEADING.finditer(text)]
        ends = [heading.start() for heading in headings[1:]] + [len(text)]
        for heading, end in zip(headings, ends, strict=True):
            body = text[heading.end() : end].strip()
            body = _INSERTION.sub(lambda insertion: fragments[insertion[1]], body)
            if heading["fragment"]:
                fragments[heading["fragment"]] = body
            else:
                statements[heading["name"]] = body.rstrip(";")
    return statements
