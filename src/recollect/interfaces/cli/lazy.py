"""Parts that are loaded when they are first used: `--json` needs no rich, `recall` no demo."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from recollect.interfaces import (
        bench,
        demo,
        examine,
        lines,
        machine,
        progress,
        render,
        render_bench,
        render_own,
        render_trace,
        transfer,
    )

    __all__ = [
        "bench",
        "demo",
        "examine",
        "lines",
        "machine",
        "progress",
        "render",
        "render_bench",
        "render_own",
        "render_trace",
        "transfer",
    ]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    return importlib.import_module(f"recollect.interfaces.{name}")
