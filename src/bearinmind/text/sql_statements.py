"""Reads the statements of .sql files."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import LiteralString

_HEADING = re.compile(
    r"^-- (?:fragment (?P<fragment>\w+)(?P<shared>@shared)?|(?P<name>\w+): (?P<purpose>.+))$",
    re.MULTILINE,
)
_INSERTION = re.compile(r"/\*(\w+)\*/")
_FOR_A_READER = re.compile(r":reader\b")

#: The suffix of a statement's name in its form for a reader.
SHARED = "@shared"


def statements_of(*texts: LiteralString) -> Mapping[str, LiteralString]:
    """The statements of files by name, with their fragments filled in.

    Each begins with a heading: `-- name: what it does`, or `-- fragment name`. A file may use the
    fragments of those before it.

    `-- fragment name@shared` replaces a fragment where a reader other than the owner reads. A
    statement that names the `:reader` by such a fragment exists a second time, under its name and
    `@shared`; any other statement cannot serve a reader.
    """
    fragments: dict[str, str] = {}
    shared: dict[str, str] = {}
    statements: dict[str, LiteralString] = {}
    for text in texts:
        headings = [*_HEADING.finditer(text)]
        ends = [heading.start() for heading in headings[1:]] + [len(text)]
        for heading, end in zip(headings, ends, strict=True):
            body = text[heading.end() : end].strip()
            for_reader = _filled(body, shared)
            if heading["fragment"]:
                shared[heading["fragment"]] = for_reader
                if not heading["shared"]:
                    fragments[heading["fragment"]] = _filled(body, fragments)
                continue
            statements[heading["name"]] = _filled(body, fragments).rstrip(";")
            if _FOR_A_READER.search(for_reader):
                statements[heading["name"] + SHARED] = for_reader.rstrip(";")
    return statements


def _filled(body: str, fragments: Mapping[str, str]) -> str:
    return _INSERTION.sub(lambda insertion: fragments[insertion[1]], body)
