"""The rooms of the graph, each loaded when it is first used: `bearinmind recall` needs few."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bearinmind.graph import (
        canonical,
        cards,
        contradictions,
        export,
        naming,
        patterns,
        triples,
        walk,
    )

    __all__ = [
        "canonical",
        "cards",
        "contradictions",
        "export",
        "naming",
        "patterns",
        "triples",
        "walk",
    ]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    return importlib.import_module(f"bearinmind.graph.{name}")
