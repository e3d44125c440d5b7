"""Whatever can be measured: a class that takes one user's records and answers queries.

    class Mine:
        def __init__(self, corpus): ...     # may also take `user=` and `others=`
        def retrieve(self, query, k): ...   # ids, or (id, score), best first
        def facts(self): ...                # optional: {"models": [...], "store_bytes": 1024}
        def close(self): ...                # optional

`corpus` are the memories to answer from, `others` those of all other users: they may count in the
statistics of words, as they do where many users share one index, and are never given back.
"""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Protocol

from bearinmind.bench.baselines.table import BASELINES
from bearinmind.bench.evaluation import Record
from bearinmind.errors import InvalidRetriever


class Retriever(Protocol):
    """Answers queries over the records of one user, which it is made with."""

    def __init__(self, corpus: Sequence[Record]) -> None: ...

    def retrieve(self, query: str, k: int) -> Sequence[str] | Sequence[tuple[str, float]]:
        """The ids of the k best memories, best first, with their scores where there are any."""


def load(name: str) -> type[Retriever]:
    """The class of a baseline (`fts5-porter`) or of one's own (`module:Class`).

    Raises:
        InvalidRetriever: there is none of that name, or it cannot retrieve.
    """
    if name in BASELINES:
        return BASELINES[name]
    module_name, colon, class_name = name.partition(":")
    if not (module_name and colon and class_name):
        raise InvalidRetriever(
            f"{name!r} is neither a baseline nor module:Class",
            hint=f"The baselines are {', '.join(BASELINES)}.",
        )
    found = getattr(_imported(module_name), class_name, None)
    if not isinstance(found, type):
        what = "no class" if found is None else f"a {type(found).__name__}, not a class,"
        raise InvalidRetriever(f"the module {module_name!r} has {what} {class_name!r}")
    if not callable(getattr(found, "retrieve", None)):
        raise InvalidRetriever(f"the class {name!r} has no method `retrieve(query, k)`")
    return found


def _imported(name: str) -> ModuleType:
    """A module, which may lie in the current folder."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # for good: a retriever may import more when it is used
    importlib.invalidate_caches()  # the file may be newer than Python's view of the folder
    try:
        return importlib.import_module(name)
    except Exception as exc:  # whatever a module of the user's does when it is imported
        raise InvalidRetriever(
            f"the module {name!r} cannot be imported: {type(exc).__name__}: {exc}",
            hint=f"Give a module that is installed or lies in {here!r}.",
        ) from exc
