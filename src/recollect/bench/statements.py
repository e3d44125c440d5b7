"""Loads the SQL of the benchmark: `-- name: what it does` begins each statement of a file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

_HEADING = re.compile(r"^-- (\w+): .+$", re.MULTILINE)


def load(name: str) -> Mapping[str, str]:
    """The statements of one file, by name."""
    text = files("recollect.bench").joinpath("sql", name).read_text(encoding="utf-8")
    _, *parts = _HEADING.split(text)
    return {
        heading: body.strip().rstrip(";")
        for heading, body in zip(parts[::2], parts[1::2], strict=True)
    }
