"""Loads the SQL of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import LiteralString

from bearinmind.statements import statements_of


def load(name: str) -> Mapping[str, LiteralString]:
    """The statements of one file, by name."""
    return statements_of(
        files("bearinmind.bench").joinpath("sql", name).read_text(encoding="utf-8")
    )
