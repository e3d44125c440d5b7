"""The rooms of `bench own`, each loaded when it is first used: `bearinmind recall` needs none."""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bearinmind.bench.own import (
        adopt,
        agreement,
        arms,
        build,
        folder,
        grades,
        judge,
        label,
        models,
        trial,
    )

    __all__ = [
        "adopt",
        "agreement",
        "arms",
        "build",
        "folder",
        "grades",
        "judge",
        "label",
        "models",
        "trial",
    ]


def __getattr__(name: str) -> ModuleType:
    if name.startswith("_"):
        raise AttributeError(name)
    return importlib.import_module(f"bearinmind.bench.own.{name}")
