"""Parts that are loaded when they are first used: `--json` needs no rich, `recall` no demo."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bearinmind.surfaces import (
        background,
        demo,
        examine,
        lines,
        machine,
        machine_accounts,
        machine_curate,
        machine_db,
        machine_graph,
        machine_learning,
        machine_sharing,
        machine_sync,
        moving,
        progress,
        render,
        render_accounts,
        render_curate,
        render_db,
        render_graph,
        render_learning,
        render_moving,
        render_recall,
        render_secret,
        render_sharing,
        render_stats,
        render_sync,
        render_trace,
        render_work,
        staying,
        transfer,
        turn_files,
    )

    __all__ = [
        "background",
        "demo",
        "examine",
        "lines",
        "machine",
        "machine_accounts",
        "machine_curate",
        "machine_db",
        "machine_graph",
        "machine_learning",
        "machine_sharing",
        "machine_sync",
        "moving",
        "progress",
        "render",
        "render_accounts",
        "render_curate",
        "render_db",
        "render_graph",
        "render_learning",
        "render_moving",
        "render_recall",
        "render_secret",
        "render_sharing",
        "render_stats",
        "render_sync",
        "render_trace",
        "render_work",
        "staying",
        "transfer",
        "turn_files",
    ]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    return importlib.import_module(f"bearinmind.surfaces.{name}")
